# SPDX-License-Identifier: Apache-2.0 OR MIT
"""work: a COMMAND for each job."""

import json
import os
import signal
import time
import unittest

from support import PATIENCE, CommandTest


class Work(CommandTest):
    def enqueue(self, *arguments, queue="q", **options):
        (line,) = self.lines("enqueue", self.db, queue, *arguments, **options)
        return int(line)

    def jobs(self, *arguments):
        return self.objects("jobs", self.db, "--json", *arguments)

    def drain(self, *arguments, queue="q"):
        return self.objects("work", self.db, queue, "--drain", *arguments)

    def alive(self, pid):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                return file.read().rsplit(")", 1)[1].split()[0] != "Z"
        except FileNotFoundError:
            return False

    def written(self, name):
        path = self.path(name)
        self.eventually(lambda: os.path.exists(path) and os.path.getsize(path) > 0)
        with open(path, encoding="utf-8") as file:
            return file.read().strip()

    def test_a_job_on_standard_input_and_in_the_environment(self):
        id = self.enqueue('{"a": 1}')
        out = self.path("out")
        (line,) = self.drain("--", "sh", "-c",
                             f'cat > {out}; echo "$GANDER_JOB_ID|$GANDER_QUEUE|$GANDER_ATTEMPT|'
                             f'$GANDER_CLAIM" >> {out}')
        self.assertEqual(list(line), ["id", "queue", "attempt", "exit", "ms"])
        self.assertEqual((line["id"], line["queue"], line["attempt"], line["exit"]), (id, "q", 1, 0))
        with open(out, encoding="utf-8") as file:
            payload, environment = file.read().splitlines()
        self.assertEqual(payload, '{"a": 1}')
        self.assertRegex(environment, rf"^{id}\|q\|1\|.+$")
        self.assertEqual(self.jobs(), [])

    def test_the_commands_output_goes_to_standard_error(self):
        self.enqueue("1")
        done = self.run_command("work", self.db, "q", "--drain", "--", "echo", "hello")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stderr, "hello\n")
        self.assertEqual(json.loads(done.stdout)["exit"], 0)

    def test_a_command_may_ignore_its_input(self):
        self.enqueue(input='"' + "x" * 1_000_000 + '"')
        (line,) = self.drain("--", "true")
        self.assertEqual(line["exit"], 0)

    def test_65_is_dead(self):
        id = self.enqueue("1")
        (line,) = self.drain("--", "sh", "-c", "exit 65")
        self.assertEqual(line["exit"], 65)
        (job,) = self.jobs("--state", "dead")
        self.assertEqual(job["id"], id)
        self.assertIn("65", job["last_error"])

    def test_another_status_is_tried_again_later(self):
        self.enqueue("1")
        (line,) = self.drain("--", "sh", "-c", "exit 7")
        self.assertEqual(line["exit"], 7)
        (job,) = self.jobs("--state", "delayed")
        self.assertEqual(job["attempts"], 1)
        self.assertTrue(1 <= job["run_at"] - time.time() <= 4)

    def test_a_failed_last_attempt_is_dead_at_once(self):
        self.enqueue("1", "--max-attempts", "1")
        self.drain("--", "sh", "-c", "kill -9 $$")
        (job,) = self.jobs("--state", "dead")
        self.assertIn("signal 9", job["last_error"])

    def test_a_killed_command_counts_as_a_shell_does(self):
        self.enqueue("1")
        (line,) = self.drain("--", "sh", "-c", "kill -9 $$")
        self.assertEqual(line["exit"], 137)

    def test_drain_does_all(self):
        self.lines("enqueue", self.db, "q", input="".join(f"{n}\n" for n in range(40)))
        lines = self.drain("--concurrency", "4", "--", "true")
        self.assertEqual(sorted(line["id"] for line in lines), list(range(1, 41)))
        self.assertEqual(self.drain("--", "true"), [])

    def test_drain_does_what_a_command_enqueues(self):
        self.enqueue("1")
        gander = os.environ["GANDER"]
        lines = self.drain("--concurrency", "2", "--", "sh", "-c",
                           f'read n; test $n = 3 || {gander} enqueue {self.db} q $((n + 1)) >&2')
        self.assertEqual(len(lines), 3)

    def test_the_order_of_the_queues(self):
        for n in range(3):
            for queue in ("low", "high"):
                self.enqueue(n, queue=queue)
        lines = self.objects("work", self.db, "high", "low", "--drain", "--", "true")
        self.assertEqual([line["queue"] for line in lines], ["high"] * 3 + ["low"] * 3)

    def test_several_queues_wake_it(self):
        self.lines("init", self.db)
        process = self.start("work", self.db, "a", "b", "--", "true")
        for queue in ("b", "a", "b"):
            self.enqueue("1", queue=queue)
            self.assertEqual(process.json()["queue"], queue)

    def test_at_a_time(self):
        for n in range(3):
            self.enqueue(n)
        mark = self.path("mark")
        process = self.start("work", self.db, "q", "--concurrency", "3", "--", "sh", "-c",
                             f'echo x >> {mark}; while test $(wc -l < {mark}) -lt 3; do sleep 0.05; '
                             "done")
        for _ in range(3):
            self.assertEqual(process.json()["exit"], 0)

    def test_the_lease_is_kept_alive(self):
        self.enqueue("1")
        (line,) = self.drain("--lease", "1s", "--", "sleep", "3")
        self.assertEqual((line["exit"], line["attempt"]), (0, 1))
        self.assertEqual(self.jobs(), [])

    def test_a_lost_lease_ends_the_command(self):
        self.enqueue("1")
        process = self.start("work", self.db, "q", "--lease", "2s", "--", "sh", "-c",
                             f"echo $$ > {self.path('pid')}; sleep 60")
        pid = int(self.written("pid"))
        self.sql("DELETE FROM _honker_live")
        line = process.json()
        self.assertEqual(line["exit"], 128 + signal.SIGTERM)
        self.assertFalse(self.alive(pid))
        process.signal(signal.SIGTERM)
        self.assertEqual(process.end(), 0)

    def test_a_run_that_takes_too_long(self):
        self.enqueue("1")
        began = time.monotonic()
        (line,) = self.drain("--timeout", "200ms", "--", "sleep", "60")
        self.assertLess(time.monotonic() - began, PATIENCE)
        self.assertEqual(line["exit"], 128 + signal.SIGTERM)
        (job,) = self.jobs()
        self.assertEqual((job["state"], job["attempts"]), ("delayed", 1))

    def test_a_timed_out_run_has_failed_whatever_it_says(self):
        self.enqueue("1", "--max-attempts", "1")
        self.drain("--timeout", "200ms", "--", "sh", "-c", "trap 'exit 0' TERM; sleep 60 & wait")
        (job,) = self.jobs("--state", "dead")
        self.assertIn("timed out", job["last_error"])

    def test_a_command_that_ignores_sigterm_is_killed(self):
        self.enqueue("1")
        (line,) = self.drain("--timeout", "200ms", "--", "sh", "-c",
                             "trap '' TERM; while :; do sleep 1; done")
        self.assertEqual(line["exit"], 137)

    def test_sigterm_lets_it_finish(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            for n in range(2):
                self.enqueue(n)
            process = self.start("work", self.db, "q", "--", "sh", "-c",
                                 f"echo $$ > {self.path('pid')}; sleep 1")
            self.written("pid")
            process.signal(number)
            self.assertEqual(process.end(), 0)
            self.assertEqual(len(process.rest()), 1)
            self.assertEqual(len(self.jobs("--state", "ready")), 1)
            self.drain("--", "true")
            os.remove(self.path("pid"))

    def test_a_second_signal_kills(self):
        self.enqueue("1")
        process = self.start("work", self.db, "q", "--", "sh", "-c",
                             f"trap '' TERM; sleep 60 & echo $! > {self.path('child')}; "
                             f"echo $$ > {self.path('pid')}; wait; sleep 60")
        pid, child = int(self.written("pid")), int(self.written("child"))
        process.signal(signal.SIGTERM)
        time.sleep(0.3)
        self.assertIsNone(process.popen.poll())
        began = time.monotonic()
        process.signal(signal.SIGTERM)
        self.assertEqual(process.end(), -signal.SIGTERM)
        self.assertLess(time.monotonic() - began, 5)
        self.eventually(lambda: not self.alive(pid) and not self.alive(child))
        self.assertEqual(len(self.jobs("--state", "processing")), 1)

    def test_idle_it_ends_at_once(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            for queues in (["q"], ["q", "r"]):
                process = self.start("work", self.db, *queues, "--", "true")
                self.eventually(lambda: os.path.exists(self.db))
                time.sleep(0.2)
                process.signal(number)
                self.assertEqual(process.end(), 0)

    def test_a_killed_workers_job_comes_back(self):
        self.enqueue("1")
        process = self.start("work", self.db, "q", "--lease", "1s", "--", "sh", "-c",
                             f"echo $$ > {self.path('pid')}; exec sleep 60")
        pid = int(self.written("pid"))
        process.signal(signal.SIGKILL)
        os.kill(pid, signal.SIGKILL)
        process.end()
        second = self.start("work", self.db, "q", "--", "true")
        self.assertEqual(second.json()["attempt"], 2)

    def test_the_command_has_only_its_own_descriptors_and_signals(self):
        self.enqueue("1")
        out = self.path("out")
        self.drain("--", "sh", "-c", f"ls -l /proc/self/fd > {out}; "
                                     f"grep -E 'Sig(Ign|Blk)' /proc/self/status >> {out}")
        with open(out, encoding="utf-8") as file:
            text = file.read()
        self.assertNotIn("app.db", text)
        self.assertNotIn("anon_inode", text)
        for line in text.splitlines():
            if line.startswith("Sig"):
                # The two beyond the 31st are the C library's own.
                self.assertEqual(int(line.split()[1], 16) & 0x7FFFFFFF, 0, line)


if __name__ == "__main__":
    unittest.main()
