# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The command as a process: signals, pipes, closed descriptors."""

import fcntl
import os
import subprocess
import time
import unittest

from support import GANDER, PATIENCE, TERMINATION, CommandTest


class Waiting(CommandTest):
    """Every verb that waits, while it waits."""

    def setUp(self):
        super().setUp()
        self.lines("init", self.db)

    def waiting(self):
        yield "listen", ["listen", self.db, "c"]
        yield "several", ["listen", self.db, "c", "d"]
        yield "read", ["read", self.db, "t", "--follow"]
        yield "consume", ["consume", self.db, "t", "c", "--follow"]
        yield "claim", ["claim", self.db, "q", "--wait", "1h"]
        yield "work", ["work", self.db, "q", "--", "true"]
        yield "work2", ["work", self.db, "q", "r", "--", "true"]

    def test_signals_end_it_cleanly(self):
        for name, arguments in self.waiting():
            for number in TERMINATION:
                with self.subTest(name, signal=number):
                    process = self.start(*arguments)
                    time.sleep(0.3)
                    self.assertIsNone(process.popen.poll())
                    process.signal(number)
                    self.assertEqual(process.end(), 0)
                    self.assertEqual(process.errors(), "")

    def test_it_ends_when_its_reader_goes_even_if_idle(self):
        for name, arguments in self.waiting():
            with self.subTest(name):
                end, start = os.pipe()
                process = subprocess.Popen([GANDER, *arguments], stdout=start,
                                           stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
                os.close(start)
                time.sleep(0.3)
                self.assertIsNone(process.poll())
                os.close(end)
                self.assertEqual(process.wait(timeout=PATIENCE), 0)
                self.assertEqual(process.stderr.read(), b"")
                process.stderr.close()

    def test_input_ends_with_a_signal(self):
        for number in TERMINATION:
            process = self.start("notify", self.db, "c", stdin=subprocess.PIPE)
            process.send("1\n")
            process.line()
            process.signal(number)
            self.assertEqual(process.end(), 0)

    def test_a_reader_that_does_not_read_does_not_keep_it(self):
        self.lines("publish", self.db, "t", input="[]\n" * 20000)
        end, start = os.pipe()
        process = subprocess.Popen([GANDER, "read", self.db, "t", "--follow"], stdout=start,
                                   stdin=subprocess.DEVNULL)
        os.close(start)
        time.sleep(0.5)
        process.terminate()
        self.assertEqual(process.wait(timeout=PATIENCE), 0)
        with os.fdopen(end, encoding="utf-8") as stream:
            for line in stream:
                self.assertTrue(line.endswith("}\n"))


class Streams(CommandTest):
    def test_a_reader_that_has_seen_enough(self):
        self.lines("publish", self.db, "t", input="[]\n" * 20000)
        done = subprocess.run(f"{GANDER} read {self.db} t | head -n 1; echo ${{PIPESTATUS[0]}}",
                              shell=True, executable="/bin/bash", capture_output=True, text=True,
                              timeout=PATIENCE, check=False)
        self.assertEqual(done.stdout.splitlines()[1], "0")
        self.assertEqual(done.stderr, "")

    def test_an_unheard_claim_is_given_back(self):
        self.lines("enqueue", self.db, "q", "1")
        end, start = os.pipe()
        os.close(end)
        done = self.run_command("claim", self.db, "q", stdout=start)
        os.close(start)
        self.assertEqual(done.returncode, 0)
        (job,) = self.objects("jobs", self.db, "--json")
        self.assertEqual(job["state"], "ready")

    def test_unheard_events_are_not_consumed(self):
        self.lines("publish", self.db, "t", "1")
        end, start = os.pipe()
        os.close(end)
        self.run_command("consume", self.db, "t", "c", stdout=start)
        os.close(start)
        self.assertEqual(len(self.lines("consume", self.db, "t", "c")), 1)

    def test_a_full_disk_under_standard_output(self):
        self.lines("publish", self.db, "t", "1")
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = self.run_command("consume", self.db, "t", "c", stdout=full)
        self.assertEqual(done.returncode, 3)
        self.assertIn("standard output", done.stderr)
        self.assertEqual(len(self.lines("consume", self.db, "t", "c")), 1)

    def shell(self, text):
        return subprocess.run(["bash", "-c", text], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=PATIENCE, check=False)

    def test_closed_descriptors_never_become_the_database(self):
        for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            with self.subTest(closed):
                self.shell(f"{GANDER} notify {self.db} c 1 {closed}")
                self.assertEqual(self.sql("PRAGMA integrity_check"), [("ok",)])
        self.assertEqual(self.sql("SELECT count(*) FROM _honker_notifications"), [(4,)])
        self.assertEqual(self.shell(f"{GANDER} notify {self.db} c 1 >&-").returncode, 3)
        self.assertEqual(self.shell(f"{GANDER} notify {self.db} c <&-").returncode, 3)
        self.assertEqual(self.shell(f"{GANDER} queues {self.db} 2>&-").returncode, 0)

    def test_what_is_shared_stays_as_it_was(self):
        """Other programs hold the same pipe: O_NONBLOCK would be theirs too."""
        our_end, input_end = os.pipe()
        output_end, their_end = os.pipe()
        process = subprocess.Popen([GANDER, "publish", self.db, "t"], stdin=our_end,
                                   stdout=their_end)
        time.sleep(0.3)
        for fd in (our_end, their_end):
            self.assertFalse(fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_NONBLOCK)
        os.close(input_end)
        self.assertEqual(process.wait(timeout=PATIENCE), 0)
        for fd in (our_end, output_end, their_end):
            os.close(fd)

    def test_standard_input_from_a_file(self):
        with open(self.path("lines"), "w", encoding="utf-8") as file:
            file.write("1\n2\n")
        with open(self.path("lines"), encoding="utf-8") as file:
            self.assertEqual(self.lines("notify", self.db, "c", stdin=file), ["1", "2"])

    def test_standard_output_to_a_file(self):
        self.lines("publish", self.db, "t", input="[]\n" * 1000)
        with open(self.path("out"), "w", encoding="utf-8") as file:
            self.run_command("read", self.db, "t", stdout=file)
        with open(self.path("out"), encoding="utf-8") as file:
            self.assertEqual(len(file.readlines()), 1000)


if __name__ == "__main__":
    unittest.main()
