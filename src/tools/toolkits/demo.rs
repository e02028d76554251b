//! Owns the toolkit `demo`: a refund that is only simulated.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Built, Place, ToolReply, failed, text};
use crate::tools::schema;

pub(super) const ISSUE_REFUND: Built = Built {
    toolkit: "demo",
    name: "issue_refund",
    description: "Refunds an order (simulated). Amount and reason are texts.",
    idempotent: false,
    schema: arguments,
    run: issue_refund,
};

fn arguments() -> Value {
    schema::object(&[
        ("order_id", "string", "The order"),
        ("amount", "string", "The amount, such as 25.00"),
        ("reason", "string", "Why it is refunded"),
    ])
}

fn issue_refund(arguments: &Value, _: &Place) -> ToolReply {
    let given = ["order_id", "amount", "reason"].map(|name| (name, text(arguments, name)));
    if let Some((name, _)) = given.iter().find(|(_, text)| text.trim().is_empty()) {
        return failed(format!("`{name}` must not be blank"));
    }
    let [(_, order_id), (_, amount), (_, reason)] = given;
    let hash = Sha256::digest(format!("{order_id}|{amount}|{reason}"));
    let hex: String = hash.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    ToolReply::value(&json!({
        "status": "refunded", "refund_id": format!("rfnd_{hex}"), "order_id": order_id,
        "amount": amount, "reason": reason, "simulated": true,
    }))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::super::try_out;
    use super::*;

    #[test]
    fn a_refund_is_deterministic_and_needs_all_arguments() {
        let whole = json!({"order_id": "A-100", "amount": "25.00", "reason": "customer request"});
        expect![[r#"{"status":"refunded","refund_id":"rfnd_8fecb4b527ab","order_id":"A-100","amount":"25.00","reason":"customer request","simulated":true}"#]]
            .assert_eq(&try_out(&ISSUE_REFUND, &whole));
        expect![[r#"error {"error":"`reason` must not be blank"}"#]]
            .assert_eq(&try_out(&ISSUE_REFUND, &json!({"order_id": "A", "amount": "1", "reason": " "})));
    }
}
