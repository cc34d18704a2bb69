# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Starting the processes of one measurement, and knowing how much else the machine was doing."""

import os
import subprocess
import threading
import time

TICKS = os.sysconf("SC_CLK_TCK")

# Cores that processes other than the measured ones may use before a round counts as disturbed.
DISTURBED = 0.3


class RoundFailed(Exception):
    """A process of the round ended badly, or the round took too long."""


class Child:
    """A benchmark process: prints "ready", may wait for a line, prints its results."""

    def __init__(self, argv, stdin=subprocess.PIPE, pass_fds=()):
        self.argv = [str(a) for a in argv]
        self.proc = subprocess.Popen(
            self.argv, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            pass_fds=pass_fds)
        self.cpu = 0.0

    def await_ready(self):
        if self.proc.stdout.readline() != b"ready\n":
            self.fail("did not get ready")

    def go(self):
        self.proc.stdin.write(b"go\n")
        self.proc.stdin.flush()

    def result(self):
        """The rest of its output, when it has ended well."""
        out = self.proc.stdout.read().decode()
        if self.reap() != 0:
            self.fail("ended badly")
        return out

    def reap(self):
        # wait4 and not Popen.wait: it tells the CPU time of this child alone.
        if self.proc.returncode is None:
            _, status, usage = os.wait4(self.proc.pid, 0)
            self.proc.returncode = os.waitstatus_to_exitcode(status)
            self.cpu = usage.ru_utime + usage.ru_stime
        return self.proc.returncode

    def fail(self, what):
        self.kill()
        self.reap()
        said = self.proc.stderr.read().decode(errors="replace").strip().splitlines()
        raise RoundFailed(f"{os.path.basename(self.argv[0])} {self.argv[1]} {what} "
                          f"({self.proc.returncode}): {said[-1] if said else 'said nothing'}")

    def kill(self):
        if self.proc.returncode is None:
            self.proc.kill()

    def close(self):
        self.kill()
        self.reap()
        for stream in (self.proc.stdin, self.proc.stdout, self.proc.stderr):
            if stream:
                try:
                    stream.close()
                except BrokenPipeError:
                    pass


class Group:
    """The children of one round. Leaves none behind, and ends them all at the deadline."""

    def __init__(self, deadline):
        self.children = []
        self.timer = threading.Timer(deadline, self.expire)

    def __enter__(self):
        self.timer.start()
        self.busy, self.own = busy_seconds(), own_seconds()
        self.began = time.monotonic()
        return self

    def __exit__(self, *_):
        self.timer.cancel()
        for child in self.children:
            child.close()

    def start(self, argv, **options):
        self.children.append(Child(argv, **options))
        return self.children[-1]

    def expire(self):
        for child in self.children:
            child.kill()

    def foreign_cores(self):
        """Cores used by everything else since the round began. Call when all children ended."""
        own = own_seconds() - self.own + sum(child.cpu for child in self.children)
        elapsed = time.monotonic() - self.began
        return max(0.0, (busy_seconds() - self.busy - own) / elapsed)


def run_to_end(argv, deadline=60):
    """Runs a step that is not measured."""
    with Group(deadline) as group:
        return group.start(argv, stdin=subprocess.DEVNULL).result()


def own_seconds():
    times = os.times()
    return times.user + times.system


def busy_seconds():
    """What all processors have worked, the hypervisor's share included."""
    with open("/proc/stat") as stat:
        user, nice, system, _idle, _iowait, irq, softirq, steal = map(
            int, stat.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / TICKS


def quietest(measure, attempts):
    """Repeats a disturbed measurement, up to a bound, and keeps the least disturbed one.

    `measure()` returns (result, foreign cores).
    """
    best = None
    for attempt in range(attempts):
        try:
            got = measure()
        except RoundFailed:
            if best is None and attempt + 1 == attempts:
                raise
            continue
        if best is None or got[1] < best[1]:
            best = got
        if best[1] <= DISTURBED:
            break
    return best
