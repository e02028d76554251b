//! Owns one trial: the test starts itself again as a child with bounds, and the child does the work.

use std::process::Command;
use std::time::{Duration, Instant};

/// Set in the child: the name of the test that it is.
const CHILD: &str = "STUDIO_HOSTILE_TRIAL";
/// What the work may take beside what the program takes anyway.
const MEMORY: u64 = 256 << 20;
/// What the work may take of a core. Code that is not optimised takes many times as long.
const TIME: Duration = if cfg!(debug_assertions) { Duration::from_secs(30) } else { Duration::from_secs(2) };
/// After this the child is ended.
const PATIENCE: Duration = Duration::from_secs(120);
/// A thread of the host may have as little.
pub const STACK: usize = 256 << 10;

/// Runs `work` in a child process on a thread with a stack of this size; the child survives, and keeps to its bounds. `name` is the test's own.
pub fn trial(name: &str, stack: usize, work: impl FnOnce() + Send + 'static) {
    let of = name.to_owned();
    trials(name, stack, move || each(&of, work));
}

/// The same for many works, each of which is done with [`each`].
pub fn trials(name: &str, stack: usize, work: impl FnOnce() + Send + 'static) {
    match std::env::var(CHILD) {
        Ok(child) if child == name => bounded(stack, work),
        Ok(_) => {}
        Err(_) => watched(name),
    }
}

fn watched(name: &str) {
    let program = std::env::current_exe().expect("this program");
    let mut child = Command::new(program)
        .args([name, "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD, name)
        // One heap: further ones reserve addresses that are never used.
        .env("MALLOC_ARENA_MAX", "1")
        .spawn()
        .expect("a child process");
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("the child's state") {
            break status;
        }
        if begun.elapsed() > PATIENCE {
            child.kill().expect("the child ends");
            child.wait().expect("the child's end");
            panic!("{name}: still busy after {PATIENCE:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert!(status.success(), "{name}: the process ended with {status}");
}

fn bounded(stack: usize, work: impl FnOnce() + Send + 'static) {
    limit_memory();
    let thread = std::thread::Builder::new().stack_size(stack).spawn(work);
    thread.expect("a thread").join().expect("the work does not panic");
}

/// One work on this thread, within the bound of time.
pub fn each(name: &str, work: impl FnOnce()) {
    let before = processor_time();
    work();
    let taken = processor_time() - before;
    println!("{name} took {taken:?}");
    assert!(taken < TIME, "{name} took {taken:?} of a core");
}

fn limit_memory() {
    let status = std::fs::read_to_string("/proc/self/statm").expect("the size of this process");
    let pages: u64 = status.split(' ').next().and_then(|pages| pages.parse().ok()).expect("a number of pages");
    let most = pages * 4096 + MEMORY;
    let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
    // SAFETY: the limit is a whole value that outlives the call.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) }, 0);
}

fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is written to a value that outlives the call.
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) }, 0);
    Duration::new(time.tv_sec.try_into().expect("a time"), time.tv_nsec.try_into().expect("a time"))
}
