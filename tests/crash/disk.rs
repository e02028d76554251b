//! A disk that is full or may not be written: problems say what to do, and runs go on when it can be written again.

use std::io::Write as _;
use std::time::Duration;

use serde_json::json;
use wfstudio::Kind;

use crate::record::record;
use crate::support::{Bench, Mount, folder, graph, marks, single};

const SOON: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_stops_a_run_and_space_lets_it_go_on() {
    if crate::place::on_server("").is_some() {
        return;
    }
    let Some(mount) = Mount::new(3000) else { return };
    let bench = Bench::open(&mount.0, json!({}));
    let slow_then_pay = graph(
        &[
            ("start", "start", json!({})), ("talk", "llm", json!({"provider": "script", "model": "drip", "stream": true})),
            ("note", "tool", json!({"tool_ref": "host:note"})), ("stop", "stop", json!({})),
        ],
        &[("start", "talk"), ("talk", "note"), ("note", "stop")],
    );
    let workflow = bench.workflow("drip", slow_then_pay).await;
    let run = bench.start(&workflow, json!({"message": "hi"}), false).await.expect("a run").run;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let filler = mount.0.join("filler");
    fill(&filler);
    let refused = bench.start(&workflow, json!({"message": "x".repeat(100_000)}), false).await.expect_err("a full disk");
    assert_eq!(refused.kind, Kind::StoreUnavailable);
    assert!(refused.to_string().contains("full"), "{refused}");
    tokio::time::sleep(Duration::from_secs(5)).await;
    let row = bench.row(&run).await;
    assert_eq!(row.status, "running", "readers are served, the run stays as it was");
    assert_eq!(marks(&bench.effects), Vec::<String>::new(), "nothing is done that cannot be recorded");
    std::fs::remove_file(&filler).expect("space");
    let row = bench.until(&run, "completed", SOON).await;
    assert_eq!((row.fence, row.takeovers), (1, 0), "its owner went on by itself");
    let _checked = record(&bench, &run).await;
}

fn fill(path: &std::path::Path) {
    let mut file = std::fs::File::create(path).expect("a file");
    while file.write_all(&[0; 4096]).is_ok() {}
    while file.write_all(&[0; 1]).is_ok() {}
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_becomes_read_only_is_named_and_read() {
    if crate::place::on_server("").is_some() {
        return;
    }
    let Some(mount) = Mount::new(8000) else { return };
    let bench = Bench::open(&mount.0, json!({}));
    let workflow = bench.workflow("talk", single("llm", json!({"provider": "script", "model": "talk"}))).await;
    let run = bench.start(&workflow, json!({"message": "hi"}), false).await.expect("a run").run;
    bench.until(&run, "completed", SOON).await;
    bench.studio.shutdown(Duration::from_secs(5)).await;
    drop(bench);
    mount.remount("ro");
    let bench = Bench::open(&mount.0, json!({}));
    let refused = bench.start(&workflow, json!({"message": "hi"}), false).await.expect_err("a read-only disk");
    assert_eq!(refused.kind, Kind::StoreUnavailable);
    assert!(refused.to_string().contains("read-only"), "{refused}");
    assert_eq!(bench.row(&run).await.status, "completed");
    mount.remount("rw");
    let run = bench.start(&workflow, json!({"message": "hi"}), false).await.expect("a disk that can be written again").run;
    bench.until(&run, "completed", SOON).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_others_lock_for_long_is_waited_for() {
    if crate::place::on_server("").is_some() {
        return;
    }
    let folder = folder();
    let bench = Bench::open(folder.path(), json!({}));
    let workflow = bench.workflow("drip", single("llm", json!({"provider": "script", "model": "drip", "stream": true}))).await;
    let run = bench.start(&workflow, json!({"message": "hi"}), false).await.expect("a run").run;
    let other = rusqlite::Connection::open(folder.path().join("studio.sqlite")).expect("a database");
    other.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    tokio::time::sleep(Duration::from_secs(6)).await;
    other.execute_batch("ROLLBACK").expect("the end of the lock");
    let row = bench.until(&run, "completed", SOON).await;
    assert_eq!((row.fence, row.takeovers), (1, 0));
    let _checked = record(&bench, &run).await;
}
