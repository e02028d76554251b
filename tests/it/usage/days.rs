//! Days begin and end where the configured time zone says.

use serde_json::{Value, json};

use super::{Hands, at, chain, llm, run, using, window};
use crate::support::Bench;

async fn days(zone: &str, times: &[&str]) -> (Bench, String) {
    let hands = Hands::at(times[0]);
    let bench = at(&hands, json!({"timezone": zone, "providers": {"script": {"scripts": {"m": using(1, 0)}}}}));
    let workflow = bench.workflow(chain(&[llm("a", "m")])).await;
    for time in times {
        hands.set(time);
        run(&bench, &workflow).await;
    }
    (bench, workflow)
}

fn counts(told: &Value) -> Vec<String> {
    let entries = told["breakdown"].as_array().expect("a list").iter();
    entries.map(|entry| format!("{} {}", entry["date"].as_str().expect("a date"), entry["run_count"])).collect()
}

#[tokio::test]
async fn a_day_holds_its_first_and_its_last_millisecond() {
    for (zone, day, first, last) in [
        ("UTC", "2026-11-20", "2026-11-20T00:00:00.000Z", "2026-11-20T23:59:59.999Z"),
        // 30 minutes off the hour.
        ("Asia/Kolkata", "2026-11-20", "2026-11-19T18:30:00.000Z", "2026-11-20T18:29:59.999Z"),
        // Clocks go back: the day has 25 hours.
        ("America/New_York", "2026-11-01", "2026-11-01T04:00:00.000Z", "2026-11-02T04:59:59.999Z"),
        // Clocks go forward: the day has 23 hours.
        ("Europe/Berlin", "2026-03-29", "2026-03-28T23:00:00.000Z", "2026-03-29T21:59:59.999Z"),
    ] {
        let shift = |text: &str, by: i64| {
            let time: jiff::Timestamp = text.parse().expect("a time");
            jiff::Timestamp::from_millisecond(time.as_millisecond() + by).expect("a time").to_string()
        };
        // A call began when it ended less the time that it took by a clock of its own: on a busy machine some milliseconds before the time set here.
        for (model, inside) in [("", 0), ("&model=m", 60_000)] {
            let times = [shift(first, -1 - inside), shift(first, inside), shift(last, -inside), shift(last, 1 + inside)];
            let (bench, _) = days(zone, &times.each_ref().map(String::as_str)).await;
            let told = window(&bench, &format!("from={day}&to={day}{model}")).await;
            assert_eq!(told["totals"]["run_count"], 2, "{zone}{model}");
            let shown = |time: &str| {
                let time: jiff::Timestamp = time.parse().expect("a time");
                time.in_tz(zone).expect("a zone").strftime("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string()
            };
            assert!(shown(first).starts_with(&format!("{day}T00:00:00.000")) && shown(last).starts_with(&format!("{day}T23:59:59.999")), "{zone}");
            assert_eq!((told["from"].as_str(), told["to"].as_str()), (Some(&*shown(first)), Some(&*shown(last))), "{zone}");
            let date: jiff::civil::Date = day.parse().expect("a date");
            let (eve, morrow) = (date.yesterday().expect("a day"), date.tomorrow().expect("a day"));
            let told = window(&bench, &format!("from={eve}&to={morrow}&group_by=day{model}")).await;
            assert_eq!(counts(&told), [format!("{eve} 1"), format!("{day} 2"), format!("{morrow} 1")], "{zone}{model}");
            if inside > 0 {
                let told = window(&bench, &format!("from={day}&to={day}&group_by=model")).await;
                assert_eq!(told["breakdown"][0]["total_tokens"], 2, "{zone}");
            }
        }
    }
}

#[tokio::test]
async fn a_run_that_waits_in_the_queue_for_the_first_time_is_in_no_window() {
    let hands = Hands::at("2026-11-20T10:00:00Z");
    let settings = json!({"async_runs_enabled": true, "worker": {"in_process": false},
        "providers": {"script": {"scripts": {"m": using(1, 0)}}}});
    let bench = at(&hands, settings);
    let workflow = bench.workflow(chain(&[llm("a", "m")])).await;
    let request = wfstudio::studio::runs::requests::RunRequest::parse(&json!({"message": "go"}), wfstudio::model::event::EntityKind::Workflow);
    let kind = wfstudio::model::event::EntityKind::Workflow;
    bench.studio.start(&bench.scope, kind, &workflow, request.expect("a body"), true).await.expect("a run");
    for group in ["", "&group_by=day", "&group_by=entity", "&group_by=thread"] {
        let told = window(&bench, &format!("from=2026-11-20&to=2026-11-20{group}")).await;
        assert_eq!((&told["totals"]["run_count"], &told["breakdown"]), (&json!(0), &json!([])), "{group}");
    }
}

#[tokio::test]
async fn threads_come_by_their_first_run_and_days_without_runs_are_left_out() {
    let (bench, workflow) = days("UTC", &["2026-11-03T10:00:00Z", "2026-11-01T10:00:00Z"]).await;
    let told = window(&bench, "from=2026-11-01&to=2026-11-05&group_by=day").await;
    assert_eq!(counts(&told), ["2026-11-01 1", "2026-11-03 1"]);
    for model in ["", "&model=m"] {
        let told = window(&bench, &format!("from=2026-11-01&to=2026-11-05&group_by=thread{model}")).await;
        assert_eq!(told["breakdown"].as_array().map(Vec::len), Some(2));
        let only = window(&bench, &format!("from=2026-11-01&to=2026-11-01&group_by=thread{model}")).await;
        assert_eq!(told["breakdown"][0], only["breakdown"][0], "the run of the first day comes first");
    }
    let told = window(&bench, &format!("from=2026-11-01&to=2026-11-05&group_by=entity&entity_id={workflow}")).await;
    assert_eq!(told["breakdown"][0]["run_count"], 2);
}
