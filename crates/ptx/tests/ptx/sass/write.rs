//! Writes the statements of a kernel, one after the other.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;

use super::generate::{INTEGERS, Kind, NUMBERS, OUTPUTS, SLOT};

/// What a kernel may have beside products and additions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Statement {
    MultiplyAdd,
    Extreme,
    Select,
    Compare,
    Store,
    Constant,
    Nothing,
    Divide,
    Function,
    Folded,
    Guarded,
    Between,
    Block,
    Loop,
    Scale,
}

/// A register with a value.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) name: String,
    pub(super) is_product: bool,
    pub(super) uses: usize,
}

pub(super) struct Writer {
    pub(super) random: ChaCha8Rng,
    pub(super) kind: Kind,
    pub(super) statements: Vec<(Statement, usize)>,
    pub(super) lines: Vec<String>,
    pub(super) values: Vec<Value>,
    /// Whether there are functions of constants, which ptxas computes with and without fusion.
    pub(super) folds: bool,
    /// Whether instructions that can have `.ftz`.
    pub(super) flush: bool,
    /// Whether each instruction draws its own modifiers.
    pub(super) each: bool,
    pub(super) depth: usize,
    /// Registers of the kind after which only arithmetic takes more.
    pub(super) registers: usize,
    /// The next free register of the kind, of 16, 32 and 64 bits, predicate, label, output.
    pub(super) next: usize,
    pub(super) integer: usize,
    pub(super) predicate: usize,
    pub(super) label: usize,
    pub(super) slot: usize,
}

impl Writer {
    pub(super) fn new(
        kind: Kind,
        statements: Vec<(Statement, usize)>,
        folds: bool,
        random: ChaCha8Rng,
    ) -> Writer {
        let values = (0..NUMBERS)
            .map(|at| Value { name: format!("%{}{at}", kind.letter()), is_product: false, uses: 1 })
            .collect();
        Writer {
            random,
            kind,
            statements,
            lines: vec![],
            values,
            folds,
            flush: false,
            each: false,
            depth: 0,
            registers: 70,
            next: NUMBERS,
            integer: INTEGERS + 1,
            predicate: 0,
            label: 0,
            slot: 0,
        }
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.random.next_u32() as usize % bound
    }

    pub(super) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// A choice by weights.
    pub(super) fn weighted(&mut self, weights: &[usize]) -> usize {
        let mut left = self.below(weights.iter().sum());
        for (at, weight) in weights.iter().enumerate() {
            if left < *weight {
                return at;
            }
            left -= weight;
        }
        0
    }

    pub(super) fn one_of<'w>(&mut self, words: &[&'w str]) -> &'w str {
        words[self.below(words.len())]
    }

    /// A quarter of the kernels flush subnormal numbers everywhere.
    pub(super) fn flush_sometimes(&mut self) {
        self.flush = self.can_flush() && self.chance(25);
    }

    pub(super) fn modify_each(&mut self) {
        self.each = true;
    }

    pub(super) fn line(&mut self, line: String) {
        self.lines.push(line);
    }

    pub(super) fn register(&mut self) -> String {
        self.next += 1;
        format!("%{}{}", self.kind.letter(), self.next - 1)
    }

    pub(super) fn integer(&mut self) -> String {
        self.integer += 1;
        format!("%i{}", self.integer - 1)
    }

    pub(super) fn predicate(&mut self) -> String {
        self.predicate += 1;
        format!("%p{}", self.predicate - 1)
    }

    pub(super) fn label(&mut self) -> String {
        self.label += 1;
        format!("L{}", self.label - 1)
    }

    /// Makes a value known; later instructions may use it.
    pub(super) fn define(&mut self, name: String, is_product: bool) {
        self.values.push(Value { name, is_product, uses: 0 });
    }

    pub(super) fn take(&mut self, at: usize) -> String {
        self.values[at].uses += 1;
        self.values[at].name.clone()
    }

    /// Any value, the latest ones more often.
    pub(super) fn any(&mut self) -> String {
        let count = self.values.len();
        let at = if self.chance(50) { count - 1 - self.below(count.min(4)) } else { self.below(count) };
        self.take(at)
    }

    /// A product, if there is one.
    pub(super) fn product(&mut self) -> String {
        let products: Vec<usize> = (0..self.values.len()).filter(|at| self.values[*at].is_product).collect();
        if products.is_empty() {
            return self.any();
        }
        let at = self.below(products.len());
        self.take(products[at])
    }

    pub(super) fn input(&mut self) -> String {
        let at = self.below(NUMBERS);
        self.take(at)
    }

    pub(super) fn any_integer(&mut self) -> String {
        format!("%i{}", 1 + self.below(INTEGERS))
    }

    /// A predicate that differs from lane to lane.
    pub(super) fn condition(&mut self) -> String {
        let p = self.predicate();
        let simple = matches!(self.kind, Kind::F32 | Kind::F64 | Kind::F16 | Kind::BF16);
        if simple && self.chance(60) {
            let (a, b) = (self.input(), self.input());
            let comparison = self.one_of(&["lt", "gt", "le", "ge"]);
            let flush = if self.flush { ".ftz" } else { "" };
            self.line(format!("setp.{comparison}{flush}.{} {p}, {a}, {b};", self.kind.name()));
        } else {
            let (a, b) = (self.any_integer(), self.any_integer());
            let comparison = self.one_of(&["lt", "gt", "ne"]);
            self.line(format!("setp.{comparison}.s32 {p}, {a}, {b};"));
        }
        p
    }

    pub(super) fn can_flush(&self) -> bool {
        matches!(self.kind, Kind::F32 | Kind::F16 | Kind::F16x2 | Kind::F32x2)
    }

    pub(super) fn can_saturate(&self) -> bool {
        matches!(self.kind, Kind::F32 | Kind::F16 | Kind::F16x2)
    }

    /// Modifiers of an instruction; `rounds`: it needs a rounding.
    pub(super) fn modifiers(&mut self, rounds: bool) -> String {
        let each = self.each;
        let mut text = String::new();
        if rounds || each && self.chance(15) {
            text.push_str(".rn");
        }
        let (flushes, saturates) = (self.can_flush(), self.can_saturate());
        if self.flush != (each && flushes && self.chance(25)) {
            text.push_str(".ftz");
        }
        if each && saturates && self.chance(10) {
            text.push_str(".sat");
        }
        text
    }

    pub(super) fn store(&mut self, name: &str) {
        if self.slot < OUTPUTS - 2 {
            let line = format!("st.global.{} [%l2+{}], {name};", self.kind.moved(), SLOT * self.slot);
            self.line(line);
            self.slot += 1;
        }
    }

    /// Stores what nothing uses, and some of the rest.
    pub(super) fn store_all(&mut self) {
        for at in NUMBERS..self.values.len() {
            let Value { name, uses, .. } = self.values[at].clone();
            if uses == 0 || self.chance(10) {
                self.store(&name);
            }
        }
    }
}
