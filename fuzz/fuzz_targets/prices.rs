//! Price tables: what is read can be asked, and sums stay within their bounds.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use wfstudio::model::Timestamp;
use wfstudio::model::chat::Tokens;
use wfstudio::model::prices::PriceTable;

fuzz_target!(|data: &[u8]| {
    let Ok(value) = serde_json::from_slice::<Value>(data) else { return };
    let Ok(table) = PriceTable::parse(&value) else { return };
    let currency = table.currency().to_owned();
    let (all, left_out) = PriceTable::layered([table.clone(), PriceTable::bundled()], &currency);
    assert!(!left_out.contains(&0));
    for row in value["models"].as_array().into_iter().flatten() {
        let (provider, model) = (row["provider"].as_str().unwrap_or_default(), row["model"].as_str().unwrap_or_default());
        for at in [i64::MIN, 0, 1_800_000_000_000, i64::MAX] {
            for count in [0, 1, 100_000_000, u64::MAX] {
                let tokens = Tokens { prompt: count, completion: count, cached: count / 2, reasoning: count / 3, ..Tokens::default() };
                let Some(price) = all.lookup(provider, model.trim_end_matches('*'), Timestamp(at)) else { continue };
                assert!(price.cost(&tokens).0 >= 0);
                let _shown = (price.shown(), all.meter(provider, model, Some(tokens), Timestamp(at)));
            }
        }
    }
});
