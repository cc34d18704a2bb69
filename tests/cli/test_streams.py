# SPDX-License-Identifier: Apache-2.0 OR MIT
"""publish, read and consume."""

import json
import signal
import unittest

from support import CommandTest


class Streams(CommandTest):
    def publish(self, count, topic="t"):
        return self.lines("publish", self.db, topic, input="".join(f"{n}\n" for n in range(count)))

    def payloads(self, *arguments, **options):
        return [e["payload"] for e in self.objects(*arguments, **options)]

    def test_fields(self):
        self.assertEqual(self.lines("publish", self.db, "t", "1", "--key", "k"), ["1"])
        self.lines("publish", self.db, "t", "2")
        first, second = self.objects("read", self.db, "t")
        self.assertEqual(list(first), ["offset", "topic", "key", "payload", "created_at"])
        self.assertEqual((first["offset"], first["topic"], first["key"]), (1, "t", "k"))
        self.assertIsNone(second["key"])

    def test_read_replays_one_topic(self):
        self.publish(250)
        self.publish(3, "other")
        self.assertEqual(self.payloads("read", self.db, "t"), list(range(250)))
        self.assertEqual(self.payloads("read", self.db, "t", "--after", "247"), [247, 248, 249])
        self.assertEqual(self.payloads("read", self.db, "t", "--limit", "150"), list(range(150)))
        self.assertEqual(self.payloads("read", self.db, "nothing"), [])

    def test_read_beyond_the_end(self):
        self.publish(3)
        self.assertEqual(self.payloads("read", self.db, "t", "--after", "3"), [])
        self.fails(2, "read", self.db, "t", "--after", "99")

    def test_read_follows(self):
        self.publish(2)
        process = self.start("read", self.db, "t", "--follow", "--limit", "4")
        self.assertEqual([process.json()["payload"] for _ in range(2)], [0, 1])
        self.publish(2)
        self.assertEqual([process.json()["payload"] for _ in range(2)], [0, 1])
        self.assertEqual(process.end(), 0)

    def test_consume_goes_on_where_it_ended(self):
        self.publish(120)
        self.assertEqual(self.payloads("consume", self.db, "t", "c"), list(range(120)))
        self.assertEqual(self.payloads("consume", self.db, "t", "c"), [])
        self.publish(2)
        self.assertEqual(self.payloads("consume", self.db, "t", "c"), [0, 1])
        self.assertEqual(len(self.payloads("consume", self.db, "t", "another")), 122)

    def test_consume_follows_and_saves(self):
        self.publish(1)
        process = self.start("consume", self.db, "t", "c", "--follow")
        process.json()
        self.publish(1)
        process.json()
        self.eventually(lambda: self.saved() == 2)
        process.signal(signal.SIGTERM)
        self.assertEqual(process.end(), 0)
        self.assertEqual(self.payloads("consume", self.db, "t", "c"), [])

    def saved(self):
        rows = self.sql("SELECT offset FROM _honker_stream_consumers")
        return rows[0][0] if rows else 0

    def test_a_command_gets_batches(self):
        self.publish(5)
        self.lines("consume", self.db, "t", "c", "--batch", "2", "--", "sh", "-c",
                   f"cat >> {self.path('got')}; echo end >> {self.path('got')}")
        with open(self.path("got"), encoding="utf-8") as file:
            got = file.read().splitlines()
        self.assertEqual([line if line == "end" else json.loads(line)["payload"] for line in got],
                         [0, 1, "end", 2, 3, "end", 4, "end"])
        self.assertEqual(self.saved(), 5)

    def test_a_command_that_fails_keeps_the_offset(self):
        self.publish(5)
        command = self.script("once", f"cat > {self.path('got')}; grep -q '\"payload\":2' "
                                      f"{self.path('got')} && exit 3; exit 0")
        self.fails(1, "consume", self.db, "t", "c", "--batch", "2", "--", command, says="3")
        self.assertEqual(self.saved(), 2)
        self.assertEqual(self.payloads("consume", self.db, "t", "c"), [2, 3, 4])

    def test_a_command_that_does_not_read(self):
        self.lines("publish", self.db, "t", input='"' + "x" * 1_000_000 + '"')
        self.lines("consume", self.db, "t", "c", "--", "true")
        self.assertEqual(self.saved(), 1)

    def test_the_commands_output_is_ours(self):
        self.publish(1)
        (shown,) = self.objects("consume", self.db, "t", "c", "--", "cat")
        self.assertEqual(shown["payload"], 0)


if __name__ == "__main__":
    unittest.main()
