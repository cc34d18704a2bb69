# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Payloads in and out: arguments, lines of standard input, what is not JSON."""

import os
import subprocess
import time
import unittest

from support import SLOWNESS, CommandTest


class Payloads(CommandTest):
    def stored(self):
        return [p for (p,) in self.sql("SELECT payload FROM _honker_notifications ORDER BY id")]

    def test_an_argument_is_kept_byte_for_byte(self):
        body = '{ "b":1.0,  "a":[1e3, "\\u00e9"] }'
        self.assertEqual(self.lines("notify", self.db, "c", body), ["1"])
        self.assertEqual(self.stored(), [body])
        (line,) = self.lines("listen", self.db, "c", "--since", "0", "--count", "1")
        self.assertIn(f'"payload":{body},', line)

    def test_an_argument_that_is_not_json_changes_nothing(self):
        for verb in ("notify", "publish", "enqueue"):
            self.fails(2, verb, self.db, "x", "hello", says=["not JSON", "--text"])
            self.fails(2, verb, self.db, "x", "", says="not JSON")
        self.assertFalse(os.path.exists(self.db))

    def test_text(self):
        self.lines("notify", self.db, "c", 'say "hi"\t\\', "--text")
        (shown,) = self.objects("listen", self.db, "c", "--since", "0", "--count", "1")
        self.assertEqual(shown["payload"], 'say "hi"\t\\')

    def test_not_utf8(self):
        self.fails(2, "notify", self.db, "c", b"\xff", "--text", says="UTF-8")
        self.assertFalse(os.path.exists(self.db))

    def run_command(self, *arguments, **options):
        if any(isinstance(a, bytes) for a in arguments):
            arguments = [a if isinstance(a, str) else os.fsdecode(a) for a in arguments]
        return super().run_command(*arguments, **options)

    def test_every_line_is_a_payload(self):
        ids = self.lines("notify", self.db, "c", input='{"a":1}\n"two"\n3')
        self.assertEqual(ids, ["1", "2", "3"])
        self.assertEqual(self.stored(), ['{"a":1}', '"two"', "3"])

    def test_lines_as_text(self):
        self.lines("publish", self.db, "log", "--text", input='one "1"\n\ntwo\n')
        shown = self.objects("read", self.db, "log")
        self.assertEqual([e["payload"] for e in shown], ['one "1"', "", "two"])

    def test_no_lines(self):
        self.assertEqual(self.lines("notify", self.db, "c", input=""), [])

    def test_a_bad_line_is_named_and_ends_it(self):
        for verb in ("notify", "publish", "enqueue"):
            done = self.fails(2, verb, self.db, "x", input="1\n2\nnot json\n4\n", says="line 3 ")
            self.assertEqual(len(done.stdout.splitlines()), 2)
        self.assertEqual(self.stored(), ["1", "2"])
        self.assertEqual(self.sql("SELECT count(*) FROM _honker_stream"), [(2,)])
        self.assertEqual(self.sql("SELECT count(*) FROM _honker_live"), [(2,)])

    def test_the_number_of_a_bad_line_counts_all_groups(self):
        text = "1\n" * 2500 + "}\n" + "1\n" * 10
        done = self.fails(2, "notify", self.db, "c", input=text, says="line 2501 ")
        self.assertEqual(len(done.stdout.splitlines()), 2500)
        self.assertEqual(len(self.stored()), 2500)

    def test_a_line_that_is_not_utf8(self):
        done = subprocess.run(
            [os.environ["GANDER"], "notify", self.db, "c", "--text"],
            input=b"good\n\xff\xfe\n", capture_output=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"line 2 ", done.stderr)
        self.assertEqual(self.stored(), ['"good"'])

    def test_a_line_is_committed_as_it_arrives(self):
        process = self.start("publish", self.db, "log", stdin=subprocess.PIPE)
        for n in range(1, 4):
            process.send(f"{n}\n")
            self.assertEqual(process.line(), str(n))
        process.send("4")
        process.no_line_within(0.2)
        process.popen.stdin.close()
        self.assertEqual(process.line(), "4")
        self.assertEqual(process.end(), 0)

    def test_many_lines_are_committed_in_groups(self):
        for verb, more in (("notify", []), ("publish", []), ("publish", ["--key", "k"]),
                           ("enqueue", [])):
            began = time.monotonic()
            ids = self.lines(verb, self.db, f"{verb}{len(more)}", *more, input="[]\n" * 20000)
            # One commit for each line would take a minute.
            self.assertLess(time.monotonic() - began, 10 * SLOWNESS)
            self.assertEqual(len(set(ids)), 20000)
            self.assertEqual(ids, sorted(ids, key=int))

    def test_a_large_line(self):
        body = '"' + "x" * 3_000_000 + '"'
        self.lines("publish", self.db, "t", input=body + "\n1\n")
        self.assertEqual([len(str(e["payload"])) for e in self.objects("read", self.db, "t")],
                         [3_000_000, 1])

    def test_what_others_wrote_is_shown_as_text_if_it_is_not_json(self):
        self.lines("init", self.db)
        insert = "INSERT INTO _honker_notifications(channel, payload) VALUES('c', ?)"
        for body in ("plain", '{\n  "pretty": [1,\r\n 2]\n}', "{", "\x01\u00e9\"\\"):
            self.sql(insert, body)
        shown = self.objects("listen", self.db, "c", "--since", "0", "--count", "4")
        self.assertEqual(shown[0]["payload_text"], "plain")
        self.assertNotIn("payload", shown[0])
        self.assertEqual(shown[1]["payload"], {"pretty": [1, 2]})
        self.assertEqual(shown[2]["payload_text"], "{")
        self.assertEqual(shown[3]["payload_text"], "\x01\u00e9\"\\")


if __name__ == "__main__":
    unittest.main()
