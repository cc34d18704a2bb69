// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// The protocol of a benchmark process: the counterpart of bench/harness/*.hpp.

use std::io::Write;
use std::time::Duration;

pub fn now_ns() -> i64 {
    let mut t = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut t) };
    t.tv_sec * 1_000_000_000 + t.tv_nsec
}

pub fn say_ready() {
    println!("ready");
    std::io::stdout().flush().expect("stdout");
}

pub fn await_go() {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).expect("stdin");
    assert!(!line.is_empty(), "the script went away");
}

/// Random gaps of 1 to 20 ms: the same as those of the C++ programs for the same seed.
pub struct Gaps(u64);

impl Gaps {
    pub fn new(seed: u64) -> Self {
        Gaps(seed)
    }

    pub fn next(&mut self) -> Duration {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        Duration::from_micros(1000 + z % 19001)
    }
}

/// One stamp for each message, in memory taken before the run.
pub struct SampleLog(Vec<i64>);

impl SampleLog {
    pub fn new(count: usize) -> Self {
        SampleLog(vec![0; count])
    }

    pub fn stamp(&mut self, seq: usize, now: i64) {
        assert!(self.0[seq] == 0, "message {seq} twice");
        self.0[seq] = now;
    }

    pub fn dump(&self) {
        let mut out = std::io::stdout().lock();
        for (seq, at) in self.0.iter().enumerate() {
            writeln!(out, "{seq} {at}").expect("stdout");
        }
    }
}

pub struct Usage {
    pub cpu_us: i64,
    pub switches: i64,
}

impl Usage {
    pub fn now() -> Self {
        let mut r: libc::rusage = unsafe { std::mem::zeroed() };
        assert!(unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut r) } == 0);
        let micros = |t: libc::timeval| t.tv_sec * 1_000_000 + t.tv_usec;
        Usage {
            cpu_us: micros(r.ru_utime) + micros(r.ru_stime),
            switches: r.ru_nvcsw + r.ru_nivcsw,
        }
    }
}

pub fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").expect("proc").count()
}
