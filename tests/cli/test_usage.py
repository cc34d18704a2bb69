# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Help, versions, and what wrong usage gets: status 2, the nearest known name, nothing changed."""

import os
import sqlite3
import unittest

from support import CommandTest

VERBS = (
    "init notify listen publish read consume enqueue work claim ack fail retry queues jobs".split()
)


class Usage(CommandTest):
    def wrong(self, *arguments, says):
        self.fails(2, *arguments, says=says)
        self.assertFalse(os.path.exists(self.db))

    def test_help_explains_every_verb_with_an_example(self):
        text = "\n".join(self.lines("help"))
        for verb in VERBS:
            self.assertIn(f"gander {verb} app.db", text)
        self.assertEqual(self.lines("--help"), self.lines("help"))

    def test_help_of_a_verb(self):
        for verb in VERBS:
            text = self.lines("help", verb)
            self.assertTrue(text[0].startswith(f"gander {verb} FILE"))
            self.assertEqual(self.lines(verb, "--help"), text)
            self.assertEqual(self.lines(verb, self.db, "--help"), text)

    def test_version_is_the_commands_and_sqlites(self):
        (line,) = self.lines("--version")
        self.assertRegex(line, r"^gander \d+\.\d+\.\d+ \(SQLite \d+\.\d+\.\d+\)$")
        self.assertIn(sqlite3.sqlite_version, line)

    def test_without_arguments_the_usage_is_talk(self):
        done = self.fails(2, says="gander VERB FILE")
        self.assertEqual(done.stdout, "")

    def test_unknown_names_are_answered_with_the_nearest(self):
        self.wrong("notfy", self.db, says="did you mean 'notify'")
        self.wrong("enque", self.db, says="did you mean 'enqueue'")
        self.wrong("--versoin", says="did you mean '--version'")
        self.wrong("help", "lsiten", says="did you mean 'listen'")
        self.wrong("listen", self.db, "c", "--cuont", "1", says="'--count'")
        self.wrong("work", self.db, "q", "--concurency=2", "--", "true", says="'--concurrency'")
        self.wrong("queues", self.db, "-j", says="'--json'")

    def test_missing_and_superfluous_arguments(self):
        self.wrong("notify", says="FILE")
        self.wrong("notify", self.db, says="CHANNEL")
        self.wrong("notify", self.db, "c", "1", "2", says="'2'")
        self.wrong("consume", self.db, "topic", says="CONSUMER")
        self.wrong("work", self.db, "q", says="COMMAND")
        self.wrong("work", self.db, "q", "--", says="COMMAND")
        self.wrong("ack", self.db, "1", says="--worker")
        self.wrong("listen", self.db, "c", "--since", says="--since needs a value")
        self.wrong("notify", self.db, "c", "1", "--text=yes", says="--text takes no value")

    def test_values_of_options(self):
        self.wrong("listen", self.db, "c", "--count", "0", says="--count")
        self.wrong("listen", self.db, "c", "--since", "-1", says="--since")
        self.wrong("listen", self.db, "c", "--timeout", "5", says="500ms")
        self.wrong("enqueue", self.db, "q", "1", "--delay=-5s", says="--delay")
        self.wrong("enqueue", self.db, "q", "1", "--delay", "9999999999999999d", says="--delay")
        self.wrong("enqueue", self.db, "q", "1", "--at", "2030-02-30T00:00:00Z", says="--at")
        self.wrong("enqueue", self.db, "q", "1", "--max-attempts", "0", says="--max-attempts")
        self.wrong("enqueue", self.db, "q", "1", "--delay", "1s", "--at", "1", says="exclude")
        self.wrong("notify", self.db, "c", "1", "--synchronous", "off", says="full or normal")
        self.wrong("jobs", self.db, "--state", "done", says="processing")
        self.wrong("ack", self.db, "one", "--worker", "w", says="'one'")

    def test_names_are_not_empty(self):
        self.wrong("notify", self.db, "", "1", says="empty")
        self.wrong("listen", self.db, "c", "", says="empty")
        self.wrong("work", self.db, "", "--", "true", says="empty")

    def test_command_must_be_there_before_any_job_is_claimed(self):
        self.wrong("work", self.db, "q", "--", "no-such-program", says="no-such-program")
        self.wrong("work", self.db, "q", "--", self.directory, says=self.directory)

    def test_options_that_do_not_exist_yet_are_unknown(self):
        self.wrong("enqueue", self.db, "q", "1", "--unique", "k", says="unknown option")
        self.wrong("work", self.db, "q", "--result", "--", "true", says="unknown option")

    def test_two_dashes_end_the_options(self):
        self.lines("notify", self.db, "c", "--text", "--", "--text")
        self.assertEqual(self.sql("SELECT payload FROM _honker_notifications"), [('"--text"',)])

    def test_a_negative_number_is_a_payload(self):
        self.lines("notify", self.db, "c", "-5")
        self.assertEqual(self.sql("SELECT payload FROM _honker_notifications"), [("-5",)])


if __name__ == "__main__":
    unittest.main()
