# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The file: missing, no database, locked, replaced. Status 3, named, and nothing changed."""

import os
import shutil
import sqlite3
import unittest

from support import SLOWNESS, CommandTest


class Files(CommandTest):
    def readers(self, file):
        return [["listen", file, "c", "--timeout", "1s"], ["read", file, "t"],
                ["queues", file], ["jobs", file], ["consume", file, "t", "c"]]

    def writers(self, file):
        return [["init", file], ["notify", file, "c", "1"], ["publish", file, "t", "1"],
                ["enqueue", file, "q", "1"], ["claim", file, "q"],
                ["work", file, "q", "--drain", "--", "true"]]

    def test_a_missing_file_is_refused_by_who_reads(self):
        for arguments in self.readers(self.db):
            with self.subTest(arguments[0]):
                self.fails(3, *arguments, says=self.db)
                self.assertEqual(os.listdir(self.directory), [])

    def test_a_missing_file_is_created_by_who_writes(self):
        for n, arguments in enumerate(self.writers("FILE")):
            with self.subTest(arguments[0]):
                file = self.path(f"{n}.db")
                done = self.run_command(*[file if a == "FILE" else a for a in arguments])
                self.assertIn(done.returncode, (0, 1), done.stderr)
                self.assertTrue(os.path.exists(file))

    def test_init_prints_nothing_and_may_be_repeated(self):
        for _ in range(2):
            self.assertEqual(self.lines("init", self.db), [])
        self.assertEqual(self.sql("PRAGMA journal_mode"), [("wal",)])

    def test_what_is_not_a_database(self):
        with open(self.db, "w", encoding="utf-8") as file:
            file.write("these are not the pages you are looking for\n" * 200)
        before = self.content()
        for arguments in self.readers(self.db) + self.writers(self.db):
            with self.subTest(arguments[0]):
                self.fails(3, *arguments, says=self.db)
                self.assertEqual(self.content(), before)
                self.assertEqual(os.listdir(self.directory), ["app.db"])

    def test_a_directory(self):
        for arguments in self.readers(self.directory) + self.writers(self.directory):
            with self.subTest(arguments[0]):
                self.fails(3, *arguments, says=self.directory)
                self.assertEqual(os.listdir(self.directory), [])

    def test_a_directory_that_is_not_there(self):
        self.fails(3, "init", self.path("no/such.db"), says="no/such.db")

    def test_memory_is_no_file(self):
        self.fails(3, "init", ":memory:", says=":memory:")
        self.assertFalse(os.path.exists(":memory:"))

    @unittest.skipIf(os.geteuid() == 0, "nothing is forbidden to root")
    def test_a_file_that_may_not_be_written(self):
        self.lines("init", self.db)
        os.chmod(self.db, 0o444)
        self.fails(3, "notify", self.db, "c", "1", says=self.db)

    def test_who_reads_changes_nothing(self):
        self.lines("enqueue", self.db, "q", "1")
        self.lines("publish", self.db, "t", "1")
        self.lines("notify", self.db, "c", "1")
        before = self.dump()
        self.lines("listen", self.db, "c", "--since", "0", "--count", "1")
        for arguments in (["read", self.db, "t"], ["queues", self.db], ["jobs", self.db]):
            self.lines(*arguments)
        self.assertEqual(self.dump(), before)

    def test_a_database_without_our_tables_is_refused_and_gets_none(self):
        self.sql("CREATE TABLE mine(x)")
        before = self.dump()
        for arguments in (["listen", self.db, "c", "--timeout", "100ms"], ["read", self.db, "t"],
                          ["queues", self.db], ["jobs", self.db]):
            with self.subTest(arguments[0]):
                self.fails(3, *arguments, says=self.db)
                self.assertEqual(self.dump(), before)

    def content(self):
        with open(self.db, "rb") as file:
            return file.read()

    def dump(self):
        connection = sqlite3.connect(self.db)
        try:
            return list(connection.iterdump())
        finally:
            connection.close()

    def test_a_lock_held_beyond_the_deadline(self):
        self.lines("init", self.db)
        connection = sqlite3.connect(self.db, isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        process = self.start("notify", self.db, "c", "1")
        self.lines("queues", self.db)
        self.assertEqual(process.end(), 3)
        self.assertIn(self.db, process.errors())
        connection.execute("ROLLBACK")
        connection.close()
        self.lines("notify", self.db, "c", "2")
        self.assertEqual(self.sql("SELECT payload FROM _honker_notifications"), [("2",)])

    def test_a_replaced_file_ends_a_waiting_verb(self):
        self.lines("init", self.db)
        for arguments in (["listen", self.db, "c"], ["read", self.db, "t", "--follow"],
                          ["work", self.db, "q", "--", "true"]):
            with self.subTest(arguments[0]):
                process = self.start(*arguments)
                process.no_line_within(0.3 * SLOWNESS)
                copy = self.path("copy")
                shutil.copy(self.db, copy)
                os.replace(copy, self.db)
                self.lines("notify", self.db, "c", "1")
                self.assertEqual(process.end(), 3)
                self.assertIn(self.db, process.errors())


if __name__ == "__main__":
    unittest.main()
