//! Tables of prices.

use serde_json::{Value, json};
use wfstudio::model::Timestamp;
use wfstudio::model::prices::PriceTable;

use crate::trial::{STACK, trial};

fn row(n: usize, prefix: bool) -> Value {
    let (model, kind) = if prefix { (format!("m{n}*"), "prefix") } else { (format!("m{n}"), "exact") };
    json!({"provider": "p", "model": model, "match": kind, "input": "0.15", "output": "1"})
}

#[test]
fn what_is_wrong_with_a_table_is_told_a_hundred_times() {
    trial("prices::what_is_wrong_with_a_table_is_told_a_hundred_times", STACK, || {
        let tiers = json!({"provider": "p", "model": "m", "input": "1", "output": "1", "tiers": vec![json!(0); 300_000]});
        for models in [json!(vec![json!(0); 600_000]), json!(vec![json!({}); 200_000]), json!([tiers])] {
            let told = PriceTable::parse(&json!({"models": models})).expect_err("refused");
            assert!((100..120).contains(&told.len()), "{}", told.len());
        }
    });
}

#[test]
fn the_largest_table_is_asked_soon() {
    trial("prices::the_largest_table_is_asked_soon", STACK, || {
        for prefix in [false, true] {
            let rows: Vec<Value> = (0..60_000).map(|n| row(n, prefix)).collect();
            let table = PriceTable::parse(&json!({"models": rows})).expect("a table");
            drop(rows);
            for n in 0..50 {
                assert!(table.lookup("p", &format!("m{n}"), Timestamp(0)).is_some());
            }
        }
    });
}
