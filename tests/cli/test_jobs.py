# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Jobs by hand: enqueue, claim, ack, fail, retry, and the listings."""

import time
import unittest

from support import CommandTest


class Jobs(CommandTest):
    def enqueue(self, *arguments):
        (line,) = self.lines("enqueue", self.db, "q", *arguments)
        return int(line)

    def jobs(self, *arguments):
        return self.objects("jobs", self.db, "--json", *arguments)

    def test_claim_and_ack(self):
        id = self.enqueue('{"n":1}')
        (claimed,) = self.objects("claim", self.db, "q", "--lease", "90s")
        self.assertEqual(list(claimed), ["id", "queue", "payload", "attempt", "worker",
                                         "expires_at"])
        self.assertEqual((claimed["id"], claimed["payload"], claimed["attempt"]), (id, {"n": 1}, 1))
        self.assertTrue(80 <= claimed["expires_at"] - time.time() <= 91)
        self.assertEqual(self.lines("ack", self.db, id, "--worker", claimed["worker"]), [])
        self.assertEqual(self.jobs(), [])

    def test_nothing_to_claim_is_a_no(self):
        self.assertEqual(self.lines("claim", self.db, "q", status=1), [])
        began = time.monotonic()
        self.assertEqual(self.lines("claim", self.db, "q", "--wait", "300ms", status=1), [])
        self.assertGreaterEqual(time.monotonic() - began, 0.3)

    def test_claim_waits(self):
        self.lines("init", self.db)
        process = self.start("claim", self.db, "q", "--wait", "1m")
        process.no_line_within(0.2)
        id = self.enqueue("1")
        self.assertEqual(process.json()["id"], id)
        self.assertEqual(process.end(), 0)

    def test_claim_many_in_order(self):
        low, high, mid = (self.enqueue("0", "--priority", p) for p in ("-1", "5", "0"))
        claimed = self.objects("claim", self.db, "q", "--count", "10")
        self.assertEqual([c["id"] for c in claimed], [high, mid, low])

    def test_a_worker_by_name(self):
        id = self.enqueue("1")
        (claimed,) = self.objects("claim", self.db, "q", "--worker", "me")
        self.assertEqual(claimed["worker"], "me")
        self.lines("ack", self.db, id, "--worker", "me")

    def test_somebody_elses_job_is_a_no(self):
        id = self.enqueue("1")
        self.lines("claim", self.db, "q", "--worker", "me")
        for verb in ("ack", "fail", "retry"):
            self.fails(1, verb, self.db, id, "--worker", "you", says=str(id))
            self.fails(1, verb, self.db, 999, "--worker", "me", says="999")
        self.assertEqual([j["state"] for j in self.jobs()], ["processing"])

    def test_fail(self):
        id = self.enqueue("1")
        self.lines("claim", self.db, "q", "--worker", "me")
        self.lines("fail", self.db, id, "--worker", "me", "--error", "no such address")
        (job,) = self.jobs("--state", "dead")
        self.assertEqual((job["id"], job["last_error"]), (id, "no such address"))

    def test_retry(self):
        id = self.enqueue("1", "--max-attempts", "2")
        self.lines("claim", self.db, "q", "--worker", "me")
        self.lines("retry", self.db, id, "--worker", "me", "--delay", "1h")
        (job,) = self.jobs("--state", "delayed")
        self.assertTrue(3590 <= job["run_at"] - time.time() <= 3601)
        self.sql("UPDATE _honker_live SET run_at = 0")
        (claimed,) = self.objects("claim", self.db, "q", "--worker", "me")
        self.assertEqual(claimed["attempt"], 2)
        self.lines("retry", self.db, id, "--worker", "me", "--error", "again")
        (job,) = self.jobs("--state", "dead")
        self.assertEqual(job["last_error"], "again")

    def test_when_a_job_runs(self):
        now = int(time.time())
        self.enqueue("1", "--delay", "3600500ms")
        self.enqueue("2", "--at", now + 500)
        self.enqueue("3", "--at", "2033-05-18T03:33:20Z")
        self.enqueue("4", "--at", "2033-05-18t05:33:19.5+02:00")
        self.enqueue("5", "--expires", "1d")
        elapsed = int(time.time()) - now + 1
        jobs = self.jobs()
        self.assertTrue(3601 <= jobs[0]["run_at"] - now <= 3601 + elapsed)
        self.assertEqual([j["run_at"] for j in jobs[1:4]],
                         [now + 500, 2_000_000_000, 2_000_000_000])
        self.assertTrue(86400 <= jobs[4]["expires_at"] - now <= 86401 + elapsed)
        self.assertEqual([j["state"] for j in jobs], ["delayed"] * 4 + ["ready"])

    def test_listings(self):
        self.lines("enqueue", self.db, "b", input="1\n2\n")
        self.lines("enqueue", self.db, "a", "3", "--delay", "1h")
        self.lines("claim", self.db, "b")
        self.assertEqual(self.objects("queues", self.db, "--json"), [
            {"queue": "a", "ready": 0, "delayed": 1, "processing": 0, "dead": 0},
            {"queue": "b", "ready": 1, "delayed": 0, "processing": 1, "dead": 0},
        ])
        self.assertEqual(self.lines("queues", self.db), [
            "queue  ready  delayed  processing  dead",
            "a          0        1           0     0",
            "b          1        0           1     0",
        ])
        self.assertEqual([j["payload"] for j in self.jobs("b")], [1, 2])
        table = self.lines("jobs", self.db)
        self.assertEqual(len(table), 4)
        self.assertRegex(table[0], r"^id +queue +state +priority")
        self.assertEqual(self.jobs("nothing"), [])

    def test_a_table_keeps_to_its_lines(self):
        self.enqueue('"' + "\\n" * 10 + "x" * 1000 + '"')
        self.sql("UPDATE _honker_live SET payload = ? || payload", "\n\n\x1b[31m")
        table = self.lines("jobs", self.db)
        self.assertEqual(len(table), 2)
        self.assertNotIn("\x1b", table[1])
        self.assertTrue(table[1].endswith("..."))


if __name__ == "__main__":
    unittest.main()
