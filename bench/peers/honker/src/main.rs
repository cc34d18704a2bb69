// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// honker 0.5.0 as a user has it by default, as one process of a benchmark:
//
//   honker_peer prepare FILE MODE         makes the file, in MODE: normal, full (WAL) or delete
//   honker_peer listen FILE MODE N        receives N notifications
//   honker_peer write FILE MODE N SEED    notifies N times
//   honker_peer same FILE MODE N SEED     listens and notifies in one process
//   honker_peer idle FILE SETTLE SECONDS  waits for a notification that does not come
//   honker_peer sql FILE                  runs the SQL of standard input on honker's connection
//
// Writers and readers print "ready", writers wait for a line, and at the end each prints its stamps
// as "sequence nanoseconds" of CLOCK_MONOTONIC.

mod process;
mod rollback;

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Read;
use std::time::Duration;

use honker::Database;
use process::{Gaps, SampleLog, await_go, now_ns, say_ready};

type Outcome = Result<(), Box<dyn Error>>;

/// What the roles need of honker, so that they read the same for either journal.
pub trait Side: Clone + Send + 'static {
    fn open(path: &str, synchronous: &str) -> Result<Self, Box<dyn Error>>;
    fn notify(&self, seq: usize) -> Outcome;
    /// Calls `f` with the payload of each notification until it returns false.
    fn listen(&self, ready: impl FnOnce(), f: impl FnMut(&str) -> bool) -> Outcome;
}

/// The message of every program of the benchmark: {"seq":42}.
pub fn message(seq: usize) -> BTreeMap<&'static str, usize> {
    BTreeMap::from([("seq", seq)])
}

fn sequence_of(payload: &str) -> usize {
    let digits = payload
        .trim_start_matches("{\"seq\":")
        .trim_end_matches('}');
    digits.parse().expect("not a message of this benchmark")
}

#[derive(Clone)]
struct Wal(Database);

impl Side for Wal {
    fn open(path: &str, synchronous: &str) -> Result<Self, Box<dyn Error>> {
        let db = Database::open(path)?;
        db.with_conn(|c| c.execute_batch(&format!("PRAGMA synchronous={synchronous}")))?;
        Ok(Wal(db))
    }

    fn notify(&self, seq: usize) -> Outcome {
        self.0.notify("bench", &message(seq))?;
        Ok(())
    }

    fn listen(&self, ready: impl FnOnce(), mut f: impl FnMut(&str) -> bool) -> Outcome {
        let mut subscription = self.0.listen("bench")?;
        ready();
        while let Some(n) = subscription.recv() {
            if !f(&n?.payload) {
                break;
            }
        }
        Ok(())
    }
}

fn receive<S: Side>(side: &S, count: usize, ready: impl FnOnce()) -> SampleLog {
    let mut log = SampleLog::new(count);
    let mut left = count;
    side.listen(ready, |payload| {
        let now = now_ns();
        log.stamp(sequence_of(payload), now);
        left -= 1;
        left != 0
    })
    .expect("listen");
    log
}

fn send<S: Side>(side: &S, count: usize, seed: u64) -> SampleLog {
    let mut log = SampleLog::new(count);
    let mut gaps = Gaps::new(seed);
    for seq in 0..count {
        std::thread::sleep(gaps.next());
        side.notify(seq).expect("notify");
        log.stamp(seq, now_ns());
    }
    log
}

fn run<S: Side>(args: &[String]) -> Outcome {
    let (role, path) = (args[0].as_str(), args[1].as_str());
    let synchronous = if args[2] == "normal" {
        "NORMAL"
    } else {
        "FULL"
    };
    let number = |i: usize| args[i].parse::<u64>().expect("a number");
    let side = S::open(path, synchronous)?;
    match role {
        "prepare" => {}
        "listen" => receive(&side, number(3) as usize, say_ready).dump(),
        "write" => {
            say_ready();
            await_go();
            send(&side, number(3) as usize, number(4)).dump();
        }
        "same" => {
            let (count, seed) = (number(3) as usize, number(4));
            let (listening_tx, listening) = std::sync::mpsc::channel();
            let reader = side.clone();
            let reading = std::thread::spawn(move || {
                receive(&reader, count, || listening_tx.send(()).expect("ready"))
            });
            listening.recv()?;
            say_ready();
            await_go();
            let written = send(&side, count, seed);
            let received = reading.join().expect("reader");
            written.dump();
            received.dump();
        }
        _ => return Err(format!("unknown role {role}").into()),
    }
    Ok(())
}

fn idle(path: &str, settle: u64, window: u64) -> Outcome {
    let db = Database::open(path)?;
    let mut subscription = db.listen("bench")?;
    say_ready();
    subscription.recv_timeout(Duration::from_secs(settle))?;
    let before = process::Usage::now();
    let began = now_ns();
    let got = subscription.recv_timeout(Duration::from_secs(window))?;
    let after = process::Usage::now();
    let ended = now_ns();
    assert!(got.is_none(), "an idle file said something");
    println!(
        "{} {} {} {}",
        after.cpu_us - before.cpu_us,
        after.switches - before.switches,
        process::threads(),
        ended - began
    );
    Ok(())
}

fn sql(path: &str) -> Outcome {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    Database::open(path)?.with_conn(|c| c.execute_batch(&text))?;
    Ok(())
}

fn main() -> Outcome {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args[0].as_str() {
        "idle" => idle(&args[1], args[2].parse()?, args[3].parse()?),
        "sql" => sql(&args[1]),
        _ if args[2] == "delete" => run::<rollback::Rollback>(&args),
        _ => run::<Wal>(&args),
    }
}
