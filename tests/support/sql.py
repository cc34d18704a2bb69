# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A foreign writer: each line of standard input is a statement for the file named on the command
line. Answers "ok FIRST-COLUMN" or "error MESSAGE" when it has ended."""
import sqlite3
import sys

db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=10)
print("ready", flush=True)
for line in sys.stdin:
    try:
        row = db.execute(line).fetchone()
        print("ok", "" if row is None else row[0], flush=True)
    except sqlite3.Error as error:
        print("error", error, flush=True)
