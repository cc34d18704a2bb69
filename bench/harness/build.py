# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Building our programs and the peers', and saying what machine they run on."""

import os
import platform
import re
import shutil
import sqlite3
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
JOBS = str(os.cpu_count() or 1)


def build_ours(questions):
    """Returns the directory of the programs. A failure is the end: without ours there is no run.

    The release preset in a directory of its own, with nothing but the library and the programs:
    neither what the tests need nor the state of another build has a part in the numbers.
    """
    directory = os.path.join(ROOT, "build", "bench")
    parts = [f"-DGANDER_BUILD_{part}=OFF" for part in ("CLI", "TESTS", "EXAMPLES")]
    run_quietly("cmake", "--preset", "release", "-B", directory, *parts, "-DGANDER_BUILD_BENCH=ON")
    run_quietly("cmake", "--build", directory, "-j", JOBS, "--target",
                *(f"bench_{q}" for q in questions))
    return os.path.join(directory, "bench")


def run_quietly(*argv):
    """Says what a tool said only when it failed."""
    done = subprocess.run(argv, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        sys.exit(done.stdout.decode(errors="replace") + f"\n{' '.join(argv)} failed")


def build_honker():
    """Returns (program, None), or (None, why it is absent)."""
    if not shutil.which("cargo"):
        return None, "cargo is not installed"
    source = os.path.join(ROOT, "bench", "peers", "honker")
    target = os.path.join(ROOT, "build", "bench-honker")
    done = subprocess.run(["cargo", "build", "--release", "--quiet", "-j", JOBS], cwd=source,
                          env={**os.environ, "CARGO_TARGET_DIR": target},
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        why = next((line for line in said if line.startswith("error")), "cargo build failed")
        return None, why
    return os.path.join(target, "release", "honker_peer"), None


def first_line(*argv):
    try:
        out = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        return out.stdout.decode(errors="replace").splitlines()[0]
    except (OSError, IndexError):
        return "absent"


def found(pattern, path):
    try:
        with open(path) as text:
            match = re.search(pattern, text.read())
    except OSError:
        return "unknown"
    return match.group(1) if match else "unknown"


def describe_machine(data_directory):
    return {
        "cpu": found(r"model name\s*:\s*(.*)", "/proc/cpuinfo"),
        "cores": os.cpu_count(),
        "memory_mib": int(found(r"MemTotal:\s*(\d+)", "/proc/meminfo")) // 1024,
        "kernel": platform.release(),
        "system": found(r'PRETTY_NAME="(.*)"', "/etc/os-release"),
        "file_system": first_line("findmnt", "-n", "-o", "FSTYPE", "--target", data_directory),
        "compiler": first_line("c++", "--version"),
        "boost": found(r'BOOST_LIB_VERSION "(.*)"', "/usr/include/boost/version.hpp"),
        "sqlite": sqlite3.sqlite_version,
        "rust": first_line("rustc", "--version"),
        "honker": found(r'honker = "=(.*)"',
                        os.path.join(ROOT, "bench", "peers", "honker", "Cargo.toml")),
    }
