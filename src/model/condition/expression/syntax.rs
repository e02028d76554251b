//! Owns the syntax tree of expressions.

use super::filters::Filter;
use super::probes::Probe;

/// An expression. Chains lie flat, so only brackets nest.
pub(super) enum Expr {
    Literal(Literal),
    /// The variable `state`.
    State,
    /// Any other variable: undefined.
    Unknown,
    List(Box<[Self]>),
    Map(Box<[(Self, Self)]>),
    /// The function `range`.
    Range(Box<[Self]>),
    /// What is looked up in a value, and what is done with it, one after another.
    Chain(Box<Self>, Box<[Step]>),
    Not(Box<Self>),
    /// As many minus signs.
    Negative(usize, Box<Self>),
    All(Box<[Self]>),
    Any(Box<[Self]>),
    Compare(Box<Self>, Box<[(Comparison, Self)]>),
    Math(Box<Self>, Box<[(Operation, Self)]>),
    /// `value if test else …`: the pairs in order, then what is left.
    Choice(Box<[(Self, Self)]>, Option<Box<Self>>),
}

/// A value that is written out.
pub(super) enum Literal {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(Box<str>),
}

/// One step of a chain.
pub(super) enum Step {
    Item(Expr),
    Slice(Box<[Option<Expr>; 3]>),
    Filter(Filter, Arguments),
    /// `is`, with whether it is `is not`.
    Is(Probe, bool, Box<[Expr]>),
}

/// What is in the brackets of a filter.
#[derive(Default)]
pub(super) struct Arguments {
    pub(super) plain: Vec<Expr>,
    pub(super) named: Vec<(Box<str>, Expr)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    NotIn,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Add,
    Subtract,
    Concat,
    Multiply,
    Divide,
    FloorDivide,
    Remainder,
    Power,
}

impl Operation {
    pub(super) const fn sign(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Concat => "~",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::FloorDivide => "//",
            Self::Remainder => "%",
            Self::Power => "**",
        }
    }
}
