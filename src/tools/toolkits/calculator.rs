//! Owns the toolkit `calculator`: arithmetic expressions with brackets, powers and a few functions.

use serde_json::{Value, json};

use super::{Built, Place, ToolReply, failed, text};
use crate::tools::schema;

pub(super) const CALCULATE: Built = Built {
    toolkit: "calculator",
    name: "calculate",
    description: "Evaluates an arithmetic expression with + - * / % ^, brackets, pi, e and the functions \
                  sqrt, abs, round, floor, ceil, ln, log, exp, sin, cos, tan, min, max.",
    idempotent: true,
    schema: || schema::object(&[("expression", "string", "Such as (2 + 3) * 4 ^ 2")]),
    run: calculate,
};

/// The longest expression.
const LENGTH: usize = 2000;
/// The deepest nesting.
const DEPTH: usize = 64;

fn calculate(arguments: &Value, _: &Place) -> ToolReply {
    match evaluate(text(arguments, "expression")) {
        Ok(result) => ToolReply::value(&json!({ "result": number(result) })),
        Err(problem) => failed(problem),
    }
}

fn evaluate(expression: &str) -> Result<f64, String> {
    if expression.len() > LENGTH {
        return Err(format!("the expression is longer than {LENGTH} characters"));
    }
    let mut reader = Reader { rest: expression, depth: 0 };
    let result = reader.sum()?;
    if !reader.peek().is_empty() {
        return Err(format!("`{}` was not understood", reader.rest));
    }
    if result.is_finite() { Ok(result) } else { Err("the result is not a number".into()) }
}

/// Fifteen digits: what floating point can promise.
fn number(result: f64) -> Value {
    let rounded: f64 = format!("{result:.14e}").parse().unwrap_or(result);
    if rounded.fract() == 0.0 && rounded.abs() < 9e15 {
        #[expect(clippy::cast_possible_truncation, reason = "it is whole and fits")]
        return Value::from(rounded as i64);
    }
    Value::from(rounded)
}

struct Reader<'a> {
    rest: &'a str,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn peek(&mut self) -> &'a str {
        self.rest = self.rest.trim_start();
        self.rest
    }

    fn eat(&mut self, sign: &str) -> bool {
        let after = self.peek().strip_prefix(sign);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    fn sum(&mut self) -> Result<f64, String> {
        let mut total = self.product()?;
        loop {
            if self.eat("+") {
                total += self.product()?;
            } else if self.eat("-") {
                total -= self.product()?;
            } else {
                return Ok(total);
            }
        }
    }

    fn product(&mut self) -> Result<f64, String> {
        let mut total = self.signed()?;
        loop {
            if self.eat("*") {
                total *= self.signed()?;
            } else if self.eat("/") {
                total /= nonzero(self.signed()?)?;
            } else if self.eat("%") {
                total %= nonzero(self.signed()?)?;
            } else {
                return Ok(total);
            }
        }
    }

    fn signed(&mut self) -> Result<f64, String> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err("the expression is nested too deeply".into());
        }
        let value = match (self.eat("-"), self.eat("+")) {
            (true, _) => -self.signed()?,
            (false, true) => self.signed()?,
            (false, false) => self.power()?,
        };
        self.depth -= 1;
        Ok(value)
    }

    fn power(&mut self) -> Result<f64, String> {
        let base = self.atom()?;
        if self.eat("**") || self.eat("^") { Ok(base.powf(self.signed()?)) } else { Ok(base) }
    }

    fn atom(&mut self) -> Result<f64, String> {
        if self.eat("(") {
            let value = self.sum()?;
            return if self.eat(")") { Ok(value) } else { Err("a closing bracket is missing".into()) };
        }
        let name = self.take(|c| c.is_ascii_alphabetic());
        if !name.is_empty() {
            return self.named(name);
        }
        let digits = self.take(|c| c.is_ascii_digit() || c == '.');
        digits.parse().map_err(|_| match self.peek() {
            "" => "the expression ends too early".to_owned(),
            rest => format!("`{rest}` was not understood"),
        })
    }

    fn take(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let text = self.peek();
        let end = text.find(|c| !wanted(c)).unwrap_or(text.len());
        let (taken, rest) = text.split_at(end);
        self.rest = rest;
        taken
    }

    fn named(&mut self, name: &str) -> Result<f64, String> {
        match name {
            "pi" => return Ok(std::f64::consts::PI),
            "e" => return Ok(std::f64::consts::E),
            _ if !self.eat("(") => return Err(format!("`{name}` is unknown")),
            _ => {}
        }
        let mut arguments = vec![self.sum()?];
        while self.eat(",") {
            arguments.push(self.sum()?);
        }
        if !self.eat(")") {
            return Err("a closing bracket is missing".into());
        }
        apply(name, &arguments)
    }
}

fn nonzero(divisor: f64) -> Result<f64, String> {
    if divisor == 0.0 { Err("division by zero".into()) } else { Ok(divisor) }
}

fn apply(name: &str, arguments: &[f64]) -> Result<f64, String> {
    let unknown = || format!("`{name}` is unknown, or takes another number of arguments");
    if let ("min" | "max", [first, others @ ..]) = (name, arguments) {
        let pick = if name == "min" { f64::min } else { f64::max };
        return Ok(others.iter().copied().fold(*first, pick));
    }
    let [value] = arguments else { return Err(unknown()) };
    let function: fn(f64) -> f64 = match name {
        "sqrt" => f64::sqrt,
        "abs" => f64::abs,
        "round" => f64::round,
        "floor" => f64::floor,
        "ceil" => f64::ceil,
        "ln" => f64::ln,
        "log" => f64::log10,
        "exp" => f64::exp,
        "sin" => f64::sin,
        "cos" => f64::cos,
        "tan" => f64::tan,
        _ => return Err(unknown()),
    };
    Ok(function(*value))
}

#[cfg(test)]
mod tests {
    use super::super::try_out;
    use super::*;

    #[test]
    fn expressions_are_evaluated() {
        let table = [
            ("1 + 2 * 3", r#"{"result":7}"#),
            ("(1+2)*3 - -4", r#"{"result":13}"#),
            ("0.1 + 0.2", r#"{"result":0.3}"#),
            ("-2 ^ 2", r#"{"result":-4}"#),
            ("2 ^ 3 ^ 2", r#"{"result":512}"#),
            ("2 ** -1", r#"{"result":0.5}"#),
            ("10 % 4 + max(1, 5, 2) + sqrt(16)", r#"{"result":11}"#),
            ("1 / 3", r#"{"result":0.333333333333333}"#),
            ("1 / 0", r#"error {"error":"division by zero"}"#),
            ("2 +", r#"error {"error":"the expression ends too early"}"#),
            ("2 $ 3", r#"error {"error":"`$ 3` was not understood"}"#),
            ("(1", r#"error {"error":"a closing bracket is missing"}"#),
            ("foo(1)", r#"error {"error":"`foo` is unknown, or takes another number of arguments"}"#),
            ("sqrt(-1)", r#"error {"error":"the result is not a number"}"#),
        ];
        for (expression, wanted) in table {
            assert_eq!(try_out(&CALCULATE, &json!({ "expression": expression })), wanted, "{expression}");
        }
        let deep = format!("{}1{}", "(".repeat(900), ")".repeat(900));
        assert!(try_out(&CALCULATE, &json!({ "expression": deep })).contains("too deeply"));
    }
}
