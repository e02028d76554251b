use serde_json::json;

use super::*;

fn read(schema: &Value, text: &str) -> String {
    match Form::of(schema).read(text) {
        Ok(answer) => answer.to_string(),
        Err(wrong) => format!("! {}", wrong.join("; ")),
    }
}

fn form(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required})
}

#[test]
fn one_value_is_the_whole_text() {
    let one = |field: Value| form(json!({ "it": field }), &["it"]);
    let titled = json!({"type": "string", "oneOf": [{"const": "f", "title": "Free"}, {"const": "p", "title": "Paid"}]});
    let many = json!({"type": "array", "items": {"type": "string", "enum": ["red", "blue"]}});
    for (field, text, wanted) in [
        (json!({"type": "string"}), " a: b, c ", r#"{"action":"accept","content":{"it":"a: b, c"}}"#),
        (json!({"type": "integer"}), "12", r#"{"action":"accept","content":{"it":12}}"#),
        (json!({"type": "number"}), "1.5", r#"{"action":"accept","content":{"it":1.5}}"#),
        (json!({"type": "boolean"}), "Não", r#"{"action":"accept","content":{"it":false}}"#),
        (titled.clone(), "paid", r#"{"action":"accept","content":{"it":"p"}}"#),
        (titled.clone(), "gold", r#"! /it: "gold" is not valid under any of the schemas listed in the 'oneOf' keyword"#),
        (json!({"type": "string", "enum": ["decline", "stay"]}), "Decline", r#"{"action":"accept","content":{"it":"decline"}}"#),
        (many, "Blue, red,", r#"{"action":"accept","content":{"it":["blue","red"]}}"#),
        (json!({"type": "integer"}), "twelve", r#"! /it: "twelve" is not of type "integer""#),
        (json!({"type": "string"}), "recusar", r#"{"action":"decline"}"#),
        (json!({"type": "string"}), "Cancel", r#"{"action":"cancel"}"#),
        (json!({"type": "string"}), "accept", r#"{"action":"accept","content":{"it":"accept"}}"#),
        (json!({"type": "string", "default": "x"}), "accept", r#"{"action":"accept","content":{"it":"x"}}"#),
    ] {
        assert_eq!(read(&one(field), text), wanted, "{text}");
    }
}

#[test]
fn several_values_have_a_line_each_or_are_an_object() {
    let two = form(json!({"n": {"type": "integer", "title": "Rows"}, "s": {"type": "string", "default": "d"}}), &["n"]);
    assert_eq!(read(&two, "rows: 3\n\nS: a:b"), r#"{"action":"accept","content":{"n":3,"s":"a:b"}}"#);
    assert_eq!(read(&two, r#"{"n": 3}"#), r#"{"action":"accept","content":{"n":3,"s":"d"}}"#);
    assert_eq!(read(&two, r#"{"action": "accept", "content": {"n": 4}}"#), r#"{"action":"accept","content":{"n":4,"s":"d"}}"#);
    assert_eq!(read(&two, r#"{"action": "cancel"}"#), r#"{"action":"cancel"}"#);
    assert_eq!(read(&two, "s: x"), r#"! "n" is a required property"#);
    assert_eq!(read(&form(json!({}), &[]), "accept"), r#"{"action":"accept","content":{}}"#);
}

#[test]
fn the_prompt_says_who_asks_and_how_to_answer() {
    let schema = form(json!({"n": {"type": "integer", "title": "Rows", "description": "How many"}, "s": {"type": "string", "enum": ["a", "b"]}}), &["n"]);
    let (call, tool) = (String::new(), "book".to_owned());
    let question = OpenQuestion { call_id: call.clone(), call, key: "k".into(), server: "crm".into(), tool, schema };
    expect_test::expect![[r#"
        “crm” pergunta, para a sua ferramenta “book”: Quantas?

        Responda com uma linha para cada item, no formato “nome: valor”:
        n (Rows: How many): um número inteiro
        s: um de: a, b, pode ficar de fora
        Responda “recusar” para não dar resposta."#]]
    .assert_eq(&Words(Locale::PtBr).prompt(&question, "Quantas?\n"));
}
