//! Owns what is measured: wall time, processor time of the process, memory; and the line that says it.

use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

/// Processor time of this process so far, user and system.
pub fn cpu_ms() -> f64 {
    used_ms(libc::RUSAGE_SELF)
}

/// Processor time of this thread so far.
pub fn thread_cpu_ms() -> f64 {
    used_ms(libc::RUSAGE_THREAD)
}

/// Lets this process open as many files as it may.
pub fn raise_open_files() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel reads and fills the structure that the pointer leads to.
    unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit);
        limit.rlim_cur = limit.rlim_max;
        libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
    }
}

fn used_ms(of: libc::c_int) -> f64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel fills the whole structure that the pointer leads to.
    let usage = unsafe {
        libc::getrusage(of, usage.as_mut_ptr());
        usage.assume_init()
    };
    let millis = |time: libc::timeval| time.tv_sec as f64 * 1e3 + time.tv_usec as f64 / 1e3;
    millis(usage.ru_utime) + millis(usage.ru_stime)
}

/// A line of `/proc/self/status` in KiB.
pub fn status(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(name));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}

/// One measured stretch.
pub struct Sample(Instant, f64);

impl Sample {
    pub fn start() -> Self {
        Self(Instant::now(), cpu_ms())
    }

    /// Wall and processor milliseconds.
    pub fn stop(self) -> (f64, f64) {
        (self.0.elapsed().as_secs_f64() * 1e3, cpu_ms() - self.1)
    }
}

/// The middle one.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}

/// Prints one result.
pub fn emit(workload: &str, variant: &str, size: u64, units: u64, samples: &[(f64, f64)], extra: Value) {
    let walls: Vec<f64> = samples.iter().map(|sample| sample.0).collect();
    let wall = median(walls.clone());
    let cpu = median(samples.iter().map(|sample| sample.1).collect());
    let mut line = json!({
        "peer": "studio", "w": workload, "variant": variant, "size": size, "reps": samples.len(), "wall_ms": wall,
        "wall_min": walls.iter().copied().fold(f64::INFINITY, f64::min), "wall_max": walls.iter().copied().fold(0.0, f64::max),
        "cpu_ms": cpu, "us_per_unit": wall * 1e3 / units as f64, "cpu_us_per_unit": cpu * 1e3 / units as f64,
        "rss_kb": status("VmRSS:"), "hwm_kb": status("VmHWM:"),
    });
    if let (Some(line), Value::Object(extra)) = (line.as_object_mut(), extra) {
        line.extend(extra);
    }
    println!("{line}");
}

/// The database with its side files, in bytes.
pub fn size(database: &Path) -> u64 {
    side_files(database).iter().filter_map(|path| std::fs::metadata(path).ok()).map(|file| file.len()).sum()
}

/// Removes a database with its side files.
pub fn remove(database: &Path) {
    for path in side_files(database) {
        drop(std::fs::remove_file(path));
    }
}

fn side_files(database: &Path) -> Vec<std::path::PathBuf> {
    let name = database.as_os_str().to_string_lossy().into_owned();
    ["", "-wal", "-shm"].iter().map(|side| format!("{name}{side}").into()).collect()
}
