// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// honker on a file with a rollback journal. Its `Database` always switches a file to WAL, so this
// is put together from the parts that `Database` itself is made of: honker-core's shared update
// watcher, its pragmas and functions, and the query and loop of its `Subscription`.

use std::error::Error;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use honker_core::SharedUpdateWatcher;
use rusqlite::{Connection, params};

use crate::{Outcome, Side, message};

#[derive(Clone)]
pub struct Rollback {
    conn: Arc<Mutex<Connection>>,
    updates: Arc<SharedUpdateWatcher>,
}

impl Side for Rollback {
    fn open(path: &str, synchronous: &str) -> Result<Self, Box<dyn Error>> {
        let conn = Connection::open(path)?;
        conn.execute_batch(honker_core::DEFAULT_PRAGMAS)?;
        conn.execute_batch(&format!("PRAGMA synchronous={synchronous}"))?;
        honker_core::attach_notify(&conn)?;
        honker_core::attach_honker_functions(&conn)?;
        honker_core::bootstrap_honker_schema(&conn)?;
        Ok(Rollback {
            conn: Arc::new(Mutex::new(conn)),
            updates: Arc::new(SharedUpdateWatcher::new(PathBuf::from(path))),
        })
    }

    fn notify(&self, seq: usize) -> Outcome {
        let body = format!("{{\"seq\":{}}}", message(seq)["seq"]);
        self.conn.lock().expect("connection").query_row(
            "SELECT notify(?1, ?2)",
            params!["bench", body],
            |r| r.get::<_, i64>(0),
        )?;
        Ok(())
    }

    fn listen(&self, ready: impl FnOnce(), mut f: impl FnMut(&str) -> bool) -> Outcome {
        let mut last_id: i64 = self.conn.lock().expect("connection").query_row(
            "SELECT COALESCE(MAX(id), 0) FROM _honker_notifications",
            [],
            |r| r.get(0),
        )?;
        let (_, ticks) = self.updates.subscribe();
        ready();
        loop {
            let rows = self.rows_after(last_id)?;
            for (id, payload) in &rows {
                last_id = *id;
                if !f(payload) {
                    return Ok(());
                }
            }
            if rows.is_empty() {
                ticks.recv()?;
                while ticks.try_recv().is_ok() {}
            }
        }
    }
}

impl Rollback {
    fn rows_after(&self, last_id: i64) -> Result<Vec<(i64, String)>, Box<dyn Error>> {
        let conn = self.conn.lock().expect("connection");
        let mut query = conn.prepare_cached(
            "SELECT id, channel, payload
             FROM _honker_notifications
             WHERE id > ?1 AND channel = ?2
             ORDER BY id ASC
             LIMIT 1000",
        )?;
        let rows = query.query_map(params![last_id, "bench"], |r| Ok((r.get(0)?, r.get(2)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}
