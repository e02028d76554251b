//! Owns the truncation of a step's values to 64 KiB of JSON each, for display.

use serde_json::Value;

/// What a value may have, in bytes of JSON.
const VALUE: usize = 64 << 10;
/// Stands where something was left out.
const CUT: &str = "[truncated]";

/// Cuts the values of a step and of its spans: each key of a state or an output, each input and output of a span.
pub(in crate::studio) fn cut_values(step: &mut Value) {
    for name in ["state_snapshot", "output"] {
        step.get_mut(name).into_iter().for_each(cut_each);
    }
    for span in step.get_mut("spans").and_then(Value::as_array_mut).into_iter().flatten() {
        for name in ["input", "output"] {
            span.get_mut(name).into_iter().for_each(cut_whole);
        }
    }
}

/// Cuts each member of an object by itself; anything else as one value.
fn cut_each(value: &mut Value) {
    match value {
        Value::Object(members) => members.values_mut().for_each(cut_whole),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => cut_whole(value),
    }
}

fn cut_whole(value: &mut Value) {
    cut(value, &mut { VALUE });
}

/// Takes what a value needs from the room. What does not fit is left out: the end of a text, of a list, of an object.
fn cut(value: &mut Value, room: &mut usize) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => *room = room.saturating_sub(8),
        Value::String(text) => cut_text(text, room),
        Value::Array(items) => {
            let mut kept = 0;
            while *room > 0 && kept < items.len() {
                cut(&mut items[kept], room);
                *room = room.saturating_sub(1);
                kept += 1;
            }
            if kept < items.len() {
                items.truncate(kept);
                items.push(CUT.into());
            }
        }
        Value::Object(members) => {
            let mut fits = true;
            members.retain(|name, member| {
                let left = *room;
                if left > 0 {
                    *room = left.saturating_sub(name.len() + 4);
                    cut(member, room);
                } else {
                    fits = false;
                }
                left > 0
            });
            if !fits {
                members.insert(CUT.into(), true.into());
            }
        }
    }
}

fn cut_text(text: &mut String, room: &mut usize) {
    if text.len() > *room {
        text.truncate(text.floor_char_boundary(*room));
        text.push_str("\n\n");
        text.push_str(CUT);
        *room = 0;
    } else {
        *room = room.saturating_sub(text.len() + 2);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of_state(value: Value) -> Value {
        let mut step = json!({"state_snapshot": {"kept": "short", "value": value}});
        cut_values(&mut step);
        assert_eq!(step["state_snapshot"]["kept"], "short", "each key has room of its own");
        step["state_snapshot"]["value"].take()
    }

    #[test]
    fn a_value_is_cut_whatever_its_form() {
        let line = "x".repeat(1000);
        let many = of_state(json!(vec![line.clone(); 200]));
        let items = many.as_array().expect("a list");
        assert_eq!((items.len(), items.last()), (67, Some(&json!("[truncated]"))));
        let fields: serde_json::Map<_, _> = (0..200).map(|n| (format!("k{n}"), json!(line))).collect();
        let object = of_state(Value::Object(fields));
        assert_eq!((object.as_object().map(serde_json::Map::len), &object["[truncated]"]), (Some(66), &json!(true)));
        let deep = of_state(json!({"a": {"b": vec![line.clone(); 200]}}));
        assert!(deep.to_string().len() < VALUE + 2000);
        let text = of_state(json!("ü".repeat(VALUE)));
        assert_eq!(text.as_str().map(str::len), Some(VALUE + "\n\n[truncated]".len()));
    }

    #[test]
    fn what_fits_stays_as_it_is() {
        for value in [json!(null), json!([]), json!({}), json!([1, {"a": [true, null]}]), json!("x".repeat(VALUE)), json!(vec!["x".repeat(100); 600])] {
            assert_eq!(of_state(value.clone()), value);
        }
    }

    #[test]
    fn what_a_span_took_and_gave_is_cut_too() {
        let mut step = json!({"output": null, "spans": [{"input": vec!["y".repeat(1000); 200], "output": {"text": "y".repeat(100_000)}}]});
        cut_values(&mut step);
        assert!(step.to_string().len() < 2 * VALUE + 3000, "{}", step.to_string().len());
    }
}
