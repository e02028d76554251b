//! Owns the parser of expressions: precedence of operators, depth of brackets.

use super::filters::{self, Filter};
use super::lexer::{Token, tokens};
use super::probes::{self, Probe};
use super::syntax::{Arguments, Comparison, Expr, Literal, Operation, Step};

/// Brackets in brackets. Reading, evaluating and dropping need a stack in proportion.
const DEPTH: usize = 24;

/// How tight an operator binds.
type Level = u8;
const OR: Level = 1;
const AND: Level = 2;
const NOT: Level = 3;
const COMPARE: Level = 4;
const SUM: Level = 5;
const CONCAT: Level = 6;
const PRODUCT: Level = 7;
const POWER: Level = 8;

#[derive(Clone, Copy)]
enum Operator {
    Or,
    And,
    Compare(Comparison),
    Math(Operation, Level),
}

impl Operator {
    const fn level(self) -> Level {
        match self {
            Self::Or => OR,
            Self::And => AND,
            Self::Compare(_) => COMPARE,
            Self::Math(_, level) => level,
        }
    }
}

pub(super) fn parse(source: &str) -> Result<Expr, String> {
    let mut parser = Parser { tokens: tokens(source)?, at: 0, depth: 0 };
    let found = parser.whole()?;
    match parser.peek() {
        Token::End => Ok(found),
        other @ (Token::Name(_) | Token::Text(_) | Token::Int(_) | Token::Float(_) | Token::Sign(_)) => {
            Err(format!("unexpected {}, expected the end", token_text(other)))
        }
    }
}

fn token_text(token: &Token<'_>) -> String {
    match token {
        Token::Name(name) => format!("`{name}`"),
        Token::Text(_) => "text".to_owned(),
        Token::Int(_) | Token::Float(_) => "number".to_owned(),
        Token::Sign(sign) => format!("`{sign}`"),
        Token::End => "end of input".to_owned(),
    }
}

struct Parser<'s> {
    tokens: Vec<Token<'s>>,
    at: usize,
    depth: usize,
}

impl<'s> Parser<'s> {
    fn peek(&self) -> &Token<'s> {
        self.tokens.get(self.at).unwrap_or(&Token::End)
    }

    fn takes(&mut self, token: &Token<'_>) -> bool {
        let takes = self.peek() == token;
        self.at += usize::from(takes);
        takes
    }

    fn takes_sign(&mut self, sign: &'static str) -> bool {
        self.takes(&Token::Sign(sign))
    }

    fn takes_name(&mut self, name: &str) -> bool {
        self.takes(&Token::Name(name))
    }

    fn must(&mut self, sign: &'static str) -> Result<(), String> {
        if self.takes_sign(sign) { Ok(()) } else { Err(format!("unexpected {}, expected `{sign}`", token_text(self.peek()))) }
    }

    fn name(&mut self) -> Result<&'s str, String> {
        let Token::Name(name) = *self.peek() else { return Err(format!("unexpected {}, expected a name", token_text(self.peek()))) };
        self.at += 1;
        Ok(name)
    }

    /// What stands alone or in brackets.
    fn whole(&mut self) -> Result<Expr, String> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(format!("brackets nest deeper than {DEPTH}"));
        }
        let found = self.choice();
        self.depth -= 1;
        found
    }

    fn choice(&mut self) -> Result<Expr, String> {
        let mut value = self.operation(OR)?;
        let mut cases = Vec::new();
        while self.takes_name("if") {
            cases.push((value, self.operation(OR)?));
            if !self.takes_name("else") {
                return Ok(Expr::Choice(cases.into(), None));
            }
            value = self.operation(OR)?;
        }
        Ok(if cases.is_empty() { value } else { Expr::Choice(cases.into(), Some(Box::new(value))) })
    }

    /// Operands with operators between them that bind at least as tight.
    fn operation(&mut self, least: Level) -> Result<Expr, String> {
        let mut left = if least <= NOT { self.negated()? } else { self.signed()? };
        while let Some(operator) = self.operator().filter(|operator| operator.level() >= least) {
            let level = operator.level();
            left = match operator {
                Operator::Or => Expr::Any(self.row(left, level, |parser| parser.takes_name("or"))?),
                Operator::And => Expr::All(self.row(left, level, |parser| parser.takes_name("and"))?),
                Operator::Compare(_) => self.comparison(left)?,
                Operator::Math(..) => self.math(left, level)?,
            };
        }
        Ok(left)
    }

    fn row(&mut self, first: Expr, level: Level, more: impl Fn(&mut Self) -> bool) -> Result<Box<[Expr]>, String> {
        let mut row = vec![first];
        while more(self) {
            row.push(self.operation(level + 1)?);
        }
        Ok(row.into())
    }

    fn comparison(&mut self, first: Expr) -> Result<Expr, String> {
        let mut others = Vec::new();
        while let Some(Operator::Compare(comparison)) = self.operator() {
            self.at += if comparison == Comparison::NotIn { 2 } else { 1 };
            others.push((comparison, self.operation(SUM)?));
        }
        Ok(Expr::Compare(Box::new(first), others.into()))
    }

    fn math(&mut self, first: Expr, level: Level) -> Result<Expr, String> {
        let mut others = Vec::new();
        while let Some(Operator::Math(operation, _)) = self.operator().filter(|operator| operator.level() == level) {
            self.at += 1;
            others.push((operation, self.operation(level + 1)?));
        }
        Ok(Expr::Math(Box::new(first), others.into()))
    }

    fn operator(&self) -> Option<Operator> {
        let found = match self.peek() {
            Token::Name("or") => Operator::Or,
            Token::Name("and") => Operator::And,
            Token::Name("in") => Operator::Compare(Comparison::In),
            Token::Name("not") if self.tokens.get(self.at + 1) == Some(&Token::Name("in")) => Operator::Compare(Comparison::NotIn),
            Token::Sign(sign) => operator_of(sign)?,
            Token::Name(_) | Token::Text(_) | Token::Int(_) | Token::Float(_) | Token::End => return None,
        };
        Some(found)
    }

    /// `not`, as often as it stands there.
    fn negated(&mut self) -> Result<Expr, String> {
        let mut times = 0_usize;
        while self.takes_name("not") {
            times += 1;
        }
        if times == 0 {
            return self.signed();
        }
        let inner = Expr::Not(Box::new(self.operation(COMPARE)?));
        Ok(if times.is_multiple_of(2) { Expr::Not(Box::new(inner)) } else { inner })
    }

    /// An operand with its minus signs, then filters and `is`.
    fn signed(&mut self) -> Result<Expr, String> {
        let mut times = 0;
        while self.takes_sign("-") {
            times += 1;
        }
        let operand = self.operand()?;
        let operand = if times > 0 { Expr::Negative(times, Box::new(operand)) } else { operand };
        let mut steps = Vec::new();
        loop {
            if self.takes_sign("|") {
                let filter = self.filter()?;
                steps.push(Step::Filter(filter, if self.takes_sign("(") { self.arguments()? } else { Arguments::default() }));
            } else if self.takes_name("is") {
                let negated = self.takes_name("not");
                let probe = self.probe()?;
                steps.push(Step::Is(probe, negated, self.probed_with()?));
            } else {
                return Ok(chain(operand, steps));
            }
        }
    }

    fn filter(&mut self) -> Result<Filter, String> {
        let name = self.name()?;
        filters::named(name).ok_or_else(|| format!("there is no filter `{name}`"))
    }

    fn probe(&mut self) -> Result<Probe, String> {
        let name = self.name()?;
        probes::named(name).ok_or_else(|| format!("there is no test `{name}`"))
    }

    /// What `is divisibleby 3` and `is divisibleby(3)` are asked with.
    fn probed_with(&mut self) -> Result<Box<[Expr]>, String> {
        let bare = match self.peek() {
            Token::Sign("(") => {
                self.at += 1;
                return self.list_until(")").map(Into::into);
            }
            Token::Name("and" | "or" | "else" | "is" | "if" | "in" | "not") | Token::Sign(_) | Token::End => {
                matches!(self.peek(), Token::Sign("-" | "[" | "{"))
            }
            Token::Name(_) | Token::Text(_) | Token::Int(_) | Token::Float(_) => true,
        };
        if !bare {
            return Ok(Box::default());
        }
        let negative = self.takes_sign("-");
        let operand = self.operand()?;
        Ok(Box::new([if negative { Expr::Negative(1, Box::new(operand)) } else { operand }]))
    }

    /// A value with what is looked up in it.
    fn operand(&mut self) -> Result<Expr, String> {
        let first = self.primary()?;
        let mut steps = Vec::new();
        loop {
            if self.takes_sign(".") {
                steps.push(Step::Item(self.field()?));
            } else if self.takes_sign("[") {
                steps.push(self.subscript()?);
            } else if matches!(self.peek(), Token::Sign("(")) {
                return Err("only `range` can be called".to_owned());
            } else {
                return Ok(chain(first, steps));
            }
        }
    }

    fn field(&mut self) -> Result<Expr, String> {
        let literal = match self.peek() {
            Token::Name(name) => Literal::Text((*name).into()),
            Token::Int(index) => Literal::Int(*index),
            other @ (Token::Text(_) | Token::Float(_) | Token::Sign(_) | Token::End) => {
                return Err(format!("unexpected {}, expected identifier or integer", token_text(other)));
            }
        };
        self.at += 1;
        Ok(Expr::Literal(literal))
    }

    fn subscript(&mut self) -> Result<Step, String> {
        let mut parts = [const { None }; 3];
        let mut colons = 0;
        loop {
            if self.takes_sign("]") {
                break;
            } else if colons < 2 && self.takes_sign(":") {
                colons += 1;
            } else if parts[colons].is_none() {
                parts[colons] = Some(self.whole()?);
            } else {
                return Err(format!("unexpected {}, expected `]`", token_text(self.peek())));
            }
        }
        match (colons, parts) {
            (0, [Some(index), _, _]) => Ok(Step::Item(index)),
            (0, _) => Err("empty subscript".to_owned()),
            (_, parts) => Ok(Step::Slice(Box::new(parts))),
        }
    }

    fn primary(&mut self) -> Result<Expr, String> {
        let token = self.peek().clone();
        self.at += 1;
        match token {
            Token::Name("true" | "True") => Ok(Expr::Literal(Literal::Bool(true))),
            Token::Name("false" | "False") => Ok(Expr::Literal(Literal::Bool(false))),
            Token::Name("none" | "None") => Ok(Expr::Literal(Literal::None)),
            Token::Name("state") => Ok(Expr::State),
            Token::Name("range") if self.takes_sign("(") => Ok(Expr::Range(self.list_until(")")?.into())),
            Token::Name(name) if !matches!(name, "and" | "or" | "not" | "if" | "else" | "in" | "is") => Ok(Expr::Unknown),
            Token::Int(number) => Ok(Expr::Literal(Literal::Int(number))),
            Token::Float(number) => Ok(Expr::Literal(Literal::Float(number))),
            Token::Text(mut text) => {
                while let Token::Text(more) = self.peek() {
                    text.push_str(more);
                    self.at += 1;
                }
                Ok(Expr::Literal(Literal::Text(text.into())))
            }
            Token::Sign("(") => self.parentheses(),
            Token::Sign("[") => Ok(Expr::List(self.list_until("]")?.into())),
            Token::Sign("{") => self.map(),
            Token::Name(_) | Token::Sign(_) | Token::End => Err(format!("unexpected {}, expected an expression", token_text(&token))),
        }
    }

    fn parentheses(&mut self) -> Result<Expr, String> {
        if self.takes_sign(")") {
            return Ok(Expr::List(Box::default()));
        }
        let first = self.whole()?;
        if self.takes_sign(")") {
            return Ok(first);
        }
        self.must(",")?;
        let mut items = vec![first];
        items.extend(self.list_until(")")?);
        Ok(Expr::List(items.into()))
    }

    fn list_until(&mut self, end: &'static str) -> Result<Vec<Expr>, String> {
        let mut items = Vec::new();
        while !self.takes_sign(end) {
            items.push(self.whole()?);
            if !matches!(self.peek(), Token::Sign(sign) if *sign == end) {
                self.must(",")?;
            }
        }
        Ok(items)
    }

    fn map(&mut self) -> Result<Expr, String> {
        let mut fields = Vec::new();
        while !self.takes_sign("}") {
            let key = self.whole()?;
            self.must(":")?;
            fields.push((key, self.whole()?));
            if !matches!(self.peek(), Token::Sign("}")) {
                self.must(",")?;
            }
        }
        Ok(Expr::Map(fields.into()))
    }

    fn arguments(&mut self) -> Result<Arguments, String> {
        let mut arguments = Arguments::default();
        while !self.takes_sign(")") {
            let named = match (self.peek(), self.tokens.get(self.at + 1)) {
                (Token::Name(name), Some(Token::Sign("="))) => Some(*name),
                _ => None,
            };
            if let Some(name) = named {
                self.at += 2;
                arguments.named.push((name.into(), self.whole()?));
            } else if arguments.named.is_empty() {
                arguments.plain.push(self.whole()?);
            } else {
                return Err("non-keyword arg after keyword arg".to_owned());
            }
            if !matches!(self.peek(), Token::Sign(")")) {
                self.must(",")?;
            }
        }
        Ok(arguments)
    }
}

fn operator_of(sign: &str) -> Option<Operator> {
    Some(match sign {
        "==" => Operator::Compare(Comparison::Equal),
        "!=" => Operator::Compare(Comparison::NotEqual),
        "<" => Operator::Compare(Comparison::Less),
        "<=" => Operator::Compare(Comparison::LessOrEqual),
        ">" => Operator::Compare(Comparison::Greater),
        ">=" => Operator::Compare(Comparison::GreaterOrEqual),
        "+" => Operator::Math(Operation::Add, SUM),
        "-" => Operator::Math(Operation::Subtract, SUM),
        "~" => Operator::Math(Operation::Concat, CONCAT),
        "*" => Operator::Math(Operation::Multiply, PRODUCT),
        "/" => Operator::Math(Operation::Divide, PRODUCT),
        "//" => Operator::Math(Operation::FloorDivide, PRODUCT),
        "%" => Operator::Math(Operation::Remainder, PRODUCT),
        "**" => Operator::Math(Operation::Power, POWER),
        _ => return None,
    })
}

fn chain(first: Expr, steps: Vec<Step>) -> Expr {
    if steps.is_empty() { first } else { Expr::Chain(Box::new(first), steps.into()) }
}
