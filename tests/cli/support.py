# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What the tests of the command share: running it, as a shell would, in a directory of its own."""

import json
import os
import queue
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time
import unittest

GANDER = os.environ["GANDER"]
SLOWNESS = float(os.environ.get("GANDER_TEST_SLOWNESS", "1"))

# Far beyond what anything here takes: the end of a wait for something that does not come.
PATIENCE = 20 * SLOWNESS


class Process:
    """A command that runs meanwhile. Its standard output arrives line by line."""

    def __init__(self, arguments, **options):
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        self.popen = subprocess.Popen(arguments, text=True, **options)
        self._lines = queue.Queue()
        self._errors = []
        self._threads = []
        if self.popen.stdout is not None:
            self._read(self.popen.stdout, self._lines.put)
        if self.popen.stderr is not None:
            self._read(self.popen.stderr, self._errors.append)

    def _read(self, stream, keep):
        def run():
            for line in stream:
                keep(line)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        self._threads.append(thread)

    def line(self):
        """The next line of standard output."""
        try:
            return self._lines.get(timeout=PATIENCE).rstrip("\n")
        except queue.Empty:
            raise AssertionError(f"no line came; standard error: {self._errors}") from None

    def json(self):
        return json.loads(self.line())

    def no_line_within(self, seconds):
        try:
            raise AssertionError("a line came: " + self._lines.get(timeout=seconds))
        except queue.Empty:
            pass

    def send(self, text):
        self.popen.stdin.write(text)
        self.popen.stdin.flush()

    def signal(self, number):
        self.popen.send_signal(number)

    def end(self):
        """Waits for the end, and returns the exit status."""
        status = self.popen.wait(timeout=PATIENCE)
        for thread in self._threads:
            thread.join(timeout=PATIENCE)
        return status

    def errors(self):
        return "".join(self._errors)

    def rest(self):
        """The lines not yet taken; after `end`."""
        lines = []
        while not self._lines.empty():
            lines.append(self._lines.get().rstrip("\n"))
        return lines

    def clean_up(self):
        if self.popen.poll() is None:
            self.popen.kill()
        self.popen.wait()
        for thread in self._threads:
            thread.join(timeout=PATIENCE)
        for stream in (self.popen.stdin, self.popen.stdout, self.popen.stderr):
            if stream is not None:
                stream.close()


class CommandTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="gander-cli-")
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.db = os.path.join(self.directory, "app.db")

    def path(self, name):
        return os.path.join(self.directory, name)

    def run_command(self, *arguments, **options):
        """Runs it to its end."""
        options.setdefault("stdin", subprocess.DEVNULL)
        if "input" in options:
            del options["stdin"]
        return subprocess.run(
            [GANDER, *map(str, arguments)],
            stdout=options.pop("stdout", subprocess.PIPE),
            stderr=subprocess.PIPE,
            text=options.pop("text", True),
            timeout=PATIENCE,
            check=False,
            **options,
        )

    def lines(self, *arguments, status=0, **options):
        """Its standard output, when the exit status is as expected."""
        done = self.run_command(*arguments, **options)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout.splitlines()

    def objects(self, *arguments, **options):
        return [json.loads(line) for line in self.lines(*arguments, **options)]

    def fails(self, status, *arguments, says=(), **options):
        """It ends with `status`, says each of `says` on standard error and nothing else."""
        done = self.run_command(*arguments, **options)
        self.assertEqual(done.returncode, status, done.stderr)
        for part in [says] if isinstance(says, str) else says:
            self.assertIn(part, done.stderr)
        return done

    def start(self, *arguments, **options):
        process = Process([GANDER, *map(str, arguments)], **options)
        self.addCleanup(process.clean_up)
        return process

    def sql(self, statement, *parameters):
        """Another program at the same file."""
        connection = sqlite3.connect(self.db, timeout=PATIENCE)
        try:
            with connection:
                return connection.execute(statement, parameters).fetchall()
        finally:
            connection.close()

    def eventually(self, condition):
        deadline = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), deadline, "it did not come to pass")
            time.sleep(0.02)

    def script(self, name, text):
        """An executable shell script."""
        path = self.path(name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + text + "\n")
        os.chmod(path, 0o755)
        return path


TERMINATION = (signal.SIGINT, signal.SIGTERM)
