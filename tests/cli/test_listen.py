# SPDX-License-Identifier: Apache-2.0 OR MIT
"""notify and listen, between processes."""

import json
import threading
import time
import unittest

from support import PATIENCE, CommandTest


class Listen(CommandTest):
    def setUp(self):
        super().setUp()
        self.lines("init", self.db)

    def start_from_now(self, *arguments):
        """A listener that is known to listen: it has printed what was notified on `ready`."""
        process = self.start("listen", self.db, "ready", *arguments)
        stop = threading.Event()

        def knock():
            while not stop.is_set():
                self.lines("notify", self.db, "ready", "0")

        thread = threading.Thread(target=knock)
        thread.start()
        try:
            process.json()
        finally:
            stop.set()
            thread.join()
        return process

    @staticmethod
    def next_but_ready(process):
        while True:
            shown = process.json()
            if shown["channel"] != "ready":
                return shown

    def test_fields(self):
        before = int(time.time())
        self.lines("notify", self.db, "orders", '{"id":42}')
        (line,) = self.lines("listen", self.db, "orders", "--since", "0", "--count", "1")
        shown = json.loads(line)
        self.assertEqual(list(shown), ["id", "channel", "payload", "created_at"])
        self.assertEqual((shown["id"], shown["channel"], shown["payload"]), (1, "orders", {"id": 42}))
        self.assertTrue(before <= shown["created_at"] <= time.time())

    def test_from_now(self):
        self.lines("notify", self.db, "c", '"old"')
        process = self.start_from_now("c")
        self.lines("notify", self.db, "c", '"new"')
        self.assertEqual(self.next_but_ready(process)["payload"], "new")

    def test_from_now_a_plain_insert_wakes_it(self):
        process = self.start_from_now("c")
        self.sql("INSERT INTO _honker_notifications(channel, payload) VALUES('c', '7')")
        self.assertEqual(self.next_but_ready(process)["payload"], 7)

    def test_since(self):
        for n in range(5):
            self.lines("notify", self.db, "c", n)
        shown = self.objects("listen", self.db, "c", "--since", "3", "--count", "2")
        self.assertEqual([s["id"] for s in shown], [4, 5])

    def test_since_beyond_the_end(self):
        self.fails(2, "listen", self.db, "c", "--since", "99", "--timeout", "5s")

    def test_count(self):
        self.lines("notify", self.db, "c", input="1\n2\n3\n")
        self.assertEqual(len(self.lines("listen", self.db, "c", "--since=0", "--count=2")), 2)

    def test_the_end_of_the_time_is_a_no(self):
        began = time.monotonic()
        self.assertEqual(self.lines("listen", self.db, "c", "--timeout", "300ms", status=1), [])
        self.assertTrue(0.3 <= time.monotonic() - began < PATIENCE)
        self.lines("notify", self.db, "c", "1")
        shown = self.lines("listen", self.db, "c", "--since", "0", "--count", "2", "--timeout",
                           "300ms", status=1)
        self.assertEqual(len(shown), 1)

    def test_a_prefix(self):
        for channel in ("user.1", "user", "users", "user.2", "a*b"):
            self.lines("notify", self.db, channel, "0")
        shown = self.objects("listen", self.db, "user.*", "--since", "0", "--count", "2")
        self.assertEqual([s["channel"] for s in shown], ["user.1", "user.2"])
        shown = self.objects("listen", self.db, "*", "--since", "0", "--count", "5")
        self.assertEqual([s["id"] for s in shown], [1, 2, 3, 4, 5])

    def test_several_channels_come_in_the_order_of_the_ids(self):
        for n in range(30):
            self.lines("notify", self.db, "abcde"[n % 5], n)
        shown = self.objects("listen", self.db, "b", "d*", "a", "--since", "0", "--count", "18")
        self.assertEqual([s["payload"] for s in shown], [n for n in range(30) if n % 5 in (0, 1, 3)])

    def test_every_listener_gets_everything_once_and_in_order(self):
        listeners = [self.start("listen", self.db, "c", "--since", "0", "--count", "2000")
                     for _ in range(3)]
        writers = [self.start("notify", self.db, "c", stdin=-1, stdout=-3) for _ in range(2)]
        for writer in writers:
            for n in range(100):
                writer.send("[]\n" * 10)
        for writer in writers:
            writer.popen.stdin.close()
            self.assertEqual(writer.end(), 0)
        for listener in listeners:
            self.assertEqual([listener.json()["id"] for _ in range(2000)], list(range(1, 2001)))
            self.assertEqual(listener.end(), 0)

    def test_rolled_back_is_not_heard(self):
        process = self.start_from_now("c")
        try:
            self.sql("INSERT INTO _honker_notifications(channel, payload) VALUES('c', '1'), "
                     "('c', NULL)")
        except Exception:  # NULL is refused, so the statement is undone.
            pass
        self.lines("notify", self.db, "c", "2")
        self.assertEqual(self.next_but_ready(process)["payload"], 2)


if __name__ == "__main__":
    unittest.main()
