//! Owns measuring how fast queued runs go through worker processes, and what they leave in each table.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::json;
use wfstudio::Studio;
use wfstudio::config::Config;
use wfstudio::model::event::EntityKind;
use wfstudio::studio::runs::requests::RunRequest;
use wfstudio::studio::{Resource, Scope};

use crate::number;

/// A model call between start and stop, or five of them among pure nodes.
const GRAPHS: [(&str, &str); 2] = [
    ("one model call", "start -> llm_1{provider: script, model: echo} -> stop{reply: \"{{llm_response}}\"}"),
    (
        "five model calls, ten pure nodes",
        "start -> set_1{key: a, value: 1} -> llm_1{provider: script, model: echo} -> set_2{key: b, value: 2} -> set_3{key: c, value: 3} \
         -> llm_2{provider: script, model: echo} -> set_4{key: d, value: 4} -> set_5{key: e, value: 5} -> llm_3{provider: script, model: echo} \
         -> set_6{key: f, value: 6} -> set_7{key: g, value: 7} -> llm_4{provider: script, model: echo} -> set_8{key: h, value: 8} \
         -> set_9{key: i, value: 9} -> llm_5{provider: script, model: echo} -> set_10{key: j, value: 10} -> stop",
    ),
];

/// Queues runs of each graph and lets worker processes take them; prints runs a second, and what each run left.
pub async fn measure(name: &str, database: &str, folder: &Path) {
    let runs = number("STUDIO_MEASURE_RUNS", 2000);
    let program = std::env::var("STUDIO_PROGRAM").unwrap_or_else(|_| env!("CARGO_BIN_EXE_studio").to_owned());
    let settings = json!({"environment": "local", "async_runs_enabled": true, "database": {"url": database}, "worker": {"in_process": false},
        "default_provider": "script", "default_model": "echo"});
    let file = folder.join("studio.json");
    std::fs::write(&file, settings.to_string()).expect("a configuration");
    let studio = Studio::open(Config::with(settings).expect("a configuration")).expect("a studio");
    let scope = Scope::default();
    for (about, sketch) in GRAPHS {
        let graph = wfstudio::model::sketch::graph(sketch).expect("a graph");
        let stored = studio.create(&scope, Resource::Workflow, &json!({"name": about, "graph": graph})).await.expect("a workflow");
        let id = stored["id"].as_str().expect("an id");
        for workers in [1, 2, 4] {
            let before = tables(database);
            let queued = Instant::now();
            let all = (0..runs).map(|_| {
                let body = RunRequest::parse(&json!({"message": "measure"}), EntityKind::Workflow).expect("a body");
                studio.start(&scope, EntityKind::Workflow, id, body, true)
            });
            futures_util::future::try_join_all(all).await.expect("runs");
            let queued = queued.elapsed().as_secs_f64();
            let spent = spent(database);
            let began = Instant::now();
            let processes: Vec<_> = (0..workers)
                .map(|_| {
                    let mut worker = Command::new(&program);
                    worker.arg("--config").arg(&file).args(["--quiet", "work", "--stop-when-empty", "--concurrency", "32"]);
                    worker.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("a worker")
                })
                .collect();
            for mut process in processes {
                assert!(process.wait().expect("its end").success());
            }
            let took = began.elapsed().as_secs_f64();
            let counts = studio.run_counts(&scope).await.expect("counts");
            assert_eq!((counts["queued"].as_u64(), counts["running"].as_u64()), (Some(0), Some(0)), "{counts}");
            println!("{name}: {about}: {workers} workers: {:.0} runs/s (queued at {:.0}/s)", runs as f64 / took, runs as f64 / queued);
            if workers == 1 {
                print_spent(&spent, &self::spent(database), runs);
            }
            if workers == 4 {
                print_growth(&before, &tables(database), runs);
            }
        }
    }
}

/// What a server did so far: transactions, bytes of its write-ahead log, ticks of processor time of all its processes.
fn spent(database: &str) -> Option<[f64; 3]> {
    if !database.starts_with("postgres") {
        return None;
    }
    let sql = "SELECT pg_stat_clear_snapshot(), (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()), \
        pg_current_wal_lsn() - '0/0', pg_read_file('postmaster.pid', 0, 16)";
    let told = psql(database, &[sql]);
    let mut fields = told.trim_start_matches('|').split('|').map(|field| field.lines().next().unwrap_or_default().trim().to_owned());
    let (commits, bytes, server) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?, fields.next()?);
    Some([commits, bytes, ticks(&server)])
}

fn ticks(server: &str) -> f64 {
    let stat = |pid: &str| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let fields: Vec<f64> = text.rsplit_once(')')?.1.split_whitespace().skip(1).filter_map(|field| field.parse().ok()).collect();
        Some((fields[0], fields[10] + fields[11], fields[12] + fields[13]))
    };
    let own = stat(server).map_or(0.0, |(_, own, ended)| own + ended);
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| stat(entry.file_name().to_str()?));
    let parent: f64 = server.parse().unwrap_or(-1.0);
    own + all.filter(|(of, ..)| *of == parent).map(|(_, own, _)| own).sum::<f64>()
}

fn print_spent(before: &Option<[f64; 3]>, after: &Option<[f64; 3]>, runs: u64) {
    let (Some(before), Some(after)) = (before, after) else { return };
    let a_run = |at: usize| (after[at] - before[at]) / runs as f64;
    println!("  the server: {:.1} commits, {:.0} bytes of log, {:.2} ms of processor a run", a_run(0), a_run(1), a_run(2) * 10.0);
}

fn psql(database: &str, commands: &[&str]) -> String {
    let url = database.replace("sslmode=disable&", "").replace("?sslmode=disable", "?");
    let mut program = Command::new("psql");
    program.args([url.as_str(), "-X", "-A", "-t", "-q"]);
    for command in commands {
        program.args(["-c", command]);
    }
    String::from_utf8(program.output().expect("psql").stdout).expect("UTF-8")
}

type Table = (String, i64, i64);

/// Bytes and rows of each table of a server's schema, indexes included.
fn tables(database: &str) -> Vec<Table> {
    if !database.starts_with("postgres") {
        return Vec::new();
    }
    let sql = "SELECT c.relname, pg_total_relation_size(c.oid), c.reltuples::bigint FROM pg_class c \
        WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace ORDER BY 1";
    let text = psql(database, &["VACUUM ANALYZE", sql]);
    let row = |line: &str| {
        let mut fields = line.split('|');
        Some((fields.next()?.to_owned(), fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    text.lines().filter_map(row).collect()
}

fn print_growth(before: &[Table], after: &[Table], runs: u64) {
    let runs = i64::try_from(runs).expect("a count");
    let was = |name: &str| before.iter().find(|(known, ..)| known == name).map_or((0, 0), |(_, bytes, rows)| (*bytes, *rows));
    let mut all = 0;
    for (name, bytes, rows) in after {
        let grown = bytes - was(name).0;
        all += grown;
        if grown > runs * 8 {
            println!("  {name}: {} bytes and {:.1} rows a run", grown / runs, (rows - was(name).1) as f64 / runs as f64);
        }
    }
    println!("  in all {} bytes a run", all / runs);
}
