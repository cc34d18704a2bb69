# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The question "wake": how long after COMMIT has returned does the handler run?"""

import os
import sqlite3
import statistics
import subprocess

from harness.procs import Group, RoundFailed, quietest, run_to_end
from harness.report import percentile

WRITERS = {"api": "other process", "foreign": "foreign writer", "same": "same process"}
MODES = {"normal": "WAL NORMAL", "full": "WAL FULL", "delete": "DELETE"}


def case_name(writer, mode, listening):
    return f"{WRITERS[writer]}, {MODES[mode]}, {listening} listening"


def cases(quick):
    for mode in MODES:
        for writer in WRITERS:
            for listening in (1, 8) if quick else (1, 8, 32):
                if writer != "same" or listening == 1:
                    yield writer, mode, listening


def parse(text, logs=1):
    """"sequence nanoseconds" lines: `logs` lists of equal length, ordered by sequence."""
    stamps = [int(line.split()[1]) for line in text.splitlines()]
    size = len(stamps) // logs
    if size == 0 or 0 in stamps:
        raise RoundFailed("a message without a stamp")
    return [stamps[i * size:(i + 1) * size] for i in range(logs)]


class Database:
    """One system that commits to a file: its programs, and a fresh file for each measurement."""

    def __init__(self, bench, system):
        self.bench = bench
        self.program = bench.program("wake") if system == "gander" else bench.honker

    def measure(self, writer, mode, listening, count, seed):
        path = self.bench.fresh_path("wake.db")
        run_to_end([self.program, "prepare", path, mode])
        with Group(deadline=60 + count * 0.05) as group:
            if writer == "same":
                process = group.start([self.program, "same", path, mode, count, seed])
                process.await_ready()
                process.go()
                written, *received = parse(process.result(), logs=2)
            else:
                readers = [group.start([self.program, "listen", path, mode, count])
                           for _ in range(listening)]
                for reader in readers:
                    reader.await_ready()
                role = (self.program, "write") if writer == "api" else (
                    self.bench.program("wake"), "foreign")
                process = group.start([*role, path, mode, count, seed])
                process.await_ready()
                process.go()
                written = parse(process.result())[0]
                received = [parse(reader.result())[0] for reader in readers]
            foreign = group.foreign_cores()
        self.check_journal(path, mode)
        return latencies(written, received), foreign

    @staticmethod
    def check_journal(path, mode):
        connection = sqlite3.connect(path)
        found = connection.execute("PRAGMA journal_mode").fetchone()[0]
        connection.close()
        if found != ("delete" if mode == "delete" else "wal"):
            raise RoundFailed(f"the journal mode became {found}")


class Pipe:
    """The limit: the same processes and gaps, and a pipe in place of the file."""

    def __init__(self, bench):
        self.program = bench.program("wake")

    def measure(self, writer, _mode, listening, count, seed):
        with Group(deadline=60 + count * 0.05) as group:
            if writer == "same":
                process = group.start([self.program, "pipe-same", count, seed])
                process.await_ready()
                process.go()
                written, *received = parse(process.result(), logs=2)
                return latencies(written, received), group.foreign_cores()
            ends = [os.pipe() for _ in range(listening)]
            try:
                readers = [group.start([self.program, "pipe-listen", count], stdin=end)
                           for end, _ in ends]
                for reader in readers:
                    reader.await_ready()
                write_ends = [end for _, end in ends]
                process = group.start([self.program, "pipe-write", count, seed, *write_ends],
                                      stdin=subprocess.PIPE, pass_fds=write_ends)
                process.await_ready()
                process.go()
                written = parse(process.result())[0]
                received = [parse(reader.result())[0] for reader in readers]
            finally:
                for pair in ends:
                    for end in pair:
                        os.close(end)
            return latencies(written, received), group.foreign_cores()


def latencies(written, received):
    """Microseconds, ordered. One may be negative: a commit is visible to others a moment before
    COMMIT returns to its writer."""
    for log in received:
        if len(log) != len(written):
            raise RoundFailed(f"{len(log)} of {len(written)} messages arrived")
    return sorted((there - here) / 1000 for log in received for here, there in zip(written, log))


def count_for(listening, quick):
    if quick:
        return 30
    return 300 if listening == 1 else 100


def run(bench):
    systems = {"limit": Pipe(bench), "gander": Database(bench, "gander")}
    if bench.honker:
        systems["honker"] = Database(bench, "honker")
    for writer, mode, listening in cases(bench.quick):
        measure_case(bench, systems, writer, mode, listening)


def measure_case(bench, systems, writer, mode, listening):
    case = case_name(writer, mode, listening)
    bench.progress(f"wake: {case}")
    count = count_for(listening, bench.quick)
    rounds = {name: [] for name in systems}
    for number in range(bench.rounds):
        # Every system goes first, second and last in turn.
        order = list(systems)
        order = order[number % len(order):] + order[:number % len(order)]
        for name in order:
            try:
                rounds[name].append(quietest(
                    lambda name=name: systems[name].measure(
                        writer, mode, listening, count, 1000 * number + listening),
                    bench.attempts))
            except RoundFailed as failure:
                bench.report.note(f"wake, {case}: {name}: round {number + 1} failed: {failure}")
    for name, measured in rounds.items():
        if len(measured) == bench.rounds:
            add_rows(bench, case, name, measured)


def add_rows(bench, case, system, measured):
    samples = [latency for latency, _ in measured]
    pooled = sorted(value for latency in samples for value in latency)
    for name, p in (("p50", 50), ("p90", 90), ("p99", 99)):
        median = statistics.median(percentile(latency, p) for latency in samples)
        bench.report.add("wake", case, system, name, median, "us", len(pooled))
    # One round has too few samples for this one: it is taken over all of them.
    bench.report.add("wake", case, system, "p99.9", percentile(pooled, 99.9), "us", len(pooled))
    bench.report.noted_noise("wake", case, system, [foreign for _, foreign in measured])


def add_targets(bench):
    for writer, mode, listening in cases(bench.quick):
        case = case_name(writer, mode, listening)
        if mode == "normal" and writer == "api":
            bench.report.target("wake", case, "p50", "limit", 1.5, "us")
            bench.report.target("wake", case, "p50", "honker", 1 / 8, "us")
            bench.report.target_at_most("wake", case, "p99", 2000, "us")
        elif mode == "normal" and writer == "foreign":
            bench.report.target("wake", case, "p50", "honker", 1 / 6, "us")
            bench.report.target_at_most("wake", case, "p99", 2000, "us")
        elif mode == "full" or (mode == "delete" and writer != "foreign"):
            bench.report.target("wake", case, "p50", "honker", 1 / 4, "us")
