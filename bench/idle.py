# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The question "idle": what does waiting cost when nothing happens?"""

import os
import shutil
import sqlite3
import statistics

from harness.procs import Group, RoundFailed, quietest, run_to_end

ONE = "one listening process"
MANY = "1,000 open files in one process"
FILES = 1000


def run(bench):
    settle, window = (1, 3) if bench.quick else (3, 10)
    ours, peer = bench.program("idle"), bench.honker
    path = bench.fresh_path("idle.db")
    run_to_end([bench.program("wake"), "prepare", path, "normal"])
    one = {"limit": [ours, "limit", settle, window],
           "gander": [ours, "listen", settle, window, path]}
    if peer:
        peers_path = bench.fresh_path("idle-honker.db")
        run_to_end([peer, "prepare", peers_path, "normal"])
        one["honker"] = [peer, "idle", peers_path, settle, window]
    measure_case(bench, ONE, one, settle + window)
    many = {"gander": [ours, "listen", settle, window, *copies(bench, path)]}
    measure_case(bench, MANY, many, settle + window + 60)


def copies(bench, path):
    """A thousand files, made by copying one that nobody has open."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    directory = bench.fresh_path("idle-files")
    os.mkdir(directory)
    paths = [os.path.join(directory, f"{i}.db") for i in range(FILES)]
    for copy in paths:
        shutil.copyfile(path, copy)
    return paths


def measure_case(bench, case, commands, seconds):
    bench.progress(f"idle: {case}")
    rounds = {name: [] for name in commands}
    for number in range(bench.rounds):
        order = list(commands)
        order = order[number % len(order):] + order[:number % len(order)]
        for name in order:
            try:
                rounds[name].append(quietest(
                    lambda name=name: measure(commands[name], seconds), bench.attempts))
            except RoundFailed as failure:
                bench.report.note(f"idle, {case}: {name}: round {number + 1} failed: {failure}")
    for name, measured in rounds.items():
        if len(measured) == bench.rounds:
            add_rows(bench, case, name, measured)


def measure(command, seconds):
    with Group(deadline=seconds + 30) as group:
        process = group.start(command)
        process.await_ready()
        cpu_us, switches, threads, elapsed_ns = map(int, process.result().split())
        seconds = elapsed_ns / 1e9
        return (cpu_us / 1000 / seconds, switches / seconds, threads), group.foreign_cores()


def add_rows(bench, case, system, measured):
    metrics = (("CPU", "ms/s"), ("context switches", "/s"), ("threads", ""))
    for i, (metric, unit) in enumerate(metrics):
        value = statistics.median(result[i] for result, _ in measured)
        bench.report.add("idle", case, system, metric, value, unit, len(measured))
    bench.report.noted_noise("idle", case, system, [foreign for _, foreign in measured])


def add_targets(bench):
    report = bench.report
    report.target("idle", ONE, "CPU", "honker", 1 / 20, "ms/s")
    report.target("idle", ONE, "context switches", "honker", 1 / 20, "/s")
    report.target_at_most("idle", MANY, "CPU", 10, "ms/s")
    report.target_at_most("idle", MANY, "threads", report.value("idle", ONE, "gander", "threads"),
                          "", goal="not more than for one file")
