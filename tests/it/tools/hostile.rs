//! Scripts that want to harm: each answer comes in time, and the process stays small. They run in a process of their own, whose
//! memory is nobody else's.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{stored, tried};
use crate::support::Bench;

/// How long each script may run.
const LIMIT: u64 = 400;
/// How much longer an answer may take, on a machine that has other work.
const SLACK: Duration = Duration::from_secs(15);
/// What the process may take at most.
const MEGABYTES: u64 = 300;

const SCRIPTS: [&str; 30] = [
    "for (;;);",
    "try { for (;;); } catch { } finally { for (;;); }",
    "return new Array(1e9) + ''",
    "return [new Array(4e9)].flat().length",
    "(function deep() { deep() })()",
    "return /(a+)+b/.test('a'.repeat(60))",
    "return /^(([a-z])+.)+[A-Z]([a-z])+$/.test('a'.repeat(60))",
    "return 'x'.repeat(2 ** 30 - 2)",
    "let s = 'x'; for (;;) s += s",
    "const a = []; for (;;) a.push('x'.repeat(1000) + a.length)",
    "let q = null; for (;;) q = {q}",
    "const m = new Map(); for (let i = 0; ; i++) m.set(i, new Uint8Array(1000))",
    "return {get a() { for (;;); }}",
    "return {toJSON() { for (;;); }}",
    "return new Proxy({}, {get() { for (;;); }, ownKeys() { for (;;); }})",
    "return {then(done) { this.then(done) }}",
    "const flood = () => { Promise.resolve().then(flood); Promise.resolve().then(flood) }; flood(); await new Promise(() => {})",
    "return 'y'.repeat(6e7)",
    "const a = []; for (let i = 0; i < 4e6; i++) a.push(i); return [a, a, a, a]",
    "return JSON.stringify(new Array(1e9))",
    "return 2n ** 1000000n + ''",
    "return 2n ** 100000000n",
    "let x = 3n; for (;;) x *= x",
    "let x = 1n; for (;;) x = x << 1000n",
    "const all = []; for (let x = 2n ** 1000000n; ; x += 1n) all.push(x)",
    "return BigInt('9'.repeat(3e7))",
    "for (;;) (7n ** 370000n).toString()",
    "const s = 'ab'.repeat(1e7); return s.replaceAll('a', s)",
    "return 'a'.repeat(3e7).indexOf('a'.repeat(1.5e7) + 'b')",
    "return JSON.parse('['.repeat(1e7))",
];

/// The most memory that this process ever had, in megabytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find(|line| line.starts_with("VmHWM")).expect("a peak");
    line.split_whitespace().nth(1).and_then(|kilobytes| kilobytes.parse::<u64>().ok()).expect("a number") / 1024
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "run by the test below, in a process of its own"]
async fn in_a_process_of_its_own() {
    let bench = Bench::new(json!({}));
    let honest = stored(&bench, json!({"name": "honest", "kind": "builder", "config": {"code": "return 'still here'"}})).await;
    for (at, code) in SCRIPTS.into_iter().enumerate() {
        let body = json!({"name": format!("hostile_{at}"), "kind": "builder", "timeout_ms": LIMIT, "config": {"code": code}});
        let id = stored(&bench, body).await;
        until_a_place_is_free(&bench, &honest).await;
        let began = Instant::now();
        let told = tried(&bench, &id, json!({})).await;
        let took = began.elapsed();
        assert!(told.starts_with("error: "), "{code}: {}", &told[..told.len().min(80)]);
        assert!(took < Duration::from_millis(LIMIT) + SLACK, "{code} took {took:?}");
        assert!(peak() < MEGABYTES, "{code} left the process at {} MB", peak());
    }
    eprintln!("the process never had more than {} MB", peak());
    until_a_place_is_free(&bench, &honest).await;
}

/// Work on huge numbers that was given up ends by itself and gives its place back.
async fn until_a_place_is_free(bench: &Bench, honest: &str) {
    let until = Instant::now() + Duration::from_secs(60);
    while tried(bench, honest, json!({})).await != "still here" {
        assert!(Instant::now() < until, "no place came free again");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn hostile_scripts_end_in_time_and_leave_the_process_small() {
    let program = std::env::current_exe().expect("this program");
    let name = "tools::hostile::in_a_process_of_its_own";
    let ran = Command::new(program).args(["--exact", name, "--ignored", "--test-threads=1"]).output().expect("a run");
    let told = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && told.contains("1 passed"), "{told}\n{}", String::from_utf8_lossy(&ran.stderr));
}
