//! Arguments of tools as models write them.

use wfstudio::fuzzing::arguments;

use crate::trial::{STACK, trial};

#[test]
fn arguments_of_any_shape_are_read_or_told() {
    trial("arguments::arguments_of_any_shape_are_read_or_told", STACK, || {
        for piece in ["0,", "[],", "{\"\":0},", "\"\",", "\"\\ud83d\",", "\\ud83d", "[", "{\"a\":", "\"", "9", "9e", "-"] {
            // The longest answer of a provider.
            let many = piece.repeat((16 << 20) / piece.len());
            arguments(&format!("{{\"a\":[{many}0]}}"));
            arguments(&many);
        }
    });
}
