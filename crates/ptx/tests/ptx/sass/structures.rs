//! What the bodies of kernels look like.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;

use super::generate::{Kind, NUMBERS, OUTPUTS, SLOT};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Structure {
    /// Products and additions one after the other.
    Straight,
}

impl Structure {
    pub(super) const ALL: [(Structure, &'static str); 1] = [(Structure::Straight, "straight")];

    pub(super) fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Whether there are such kernels of a kind.
    pub(super) fn has(self, _kind: Kind) -> bool {
        match self {
            Structure::Straight => true,
        }
    }
}

pub(super) fn body(structure: Structure, kind: Kind, target: &str, random: ChaCha8Rng) -> Vec<String> {
    let mut writer = Writer::new(kind, target, random);
    match structure {
        Structure::Straight => {
            let count = 3 + writer.below(7);
            writer.statements(count);
        }
    }
    writer.store_all();
    writer.lines
}

/// A register with a value.
#[derive(Clone, Debug)]
struct Value {
    name: String,
    is_product: bool,
    uses: usize,
}

struct Writer {
    random: ChaCha8Rng,
    kind: Kind,
    #[allow(dead_code)]
    target: String,
    lines: Vec<String>,
    values: Vec<Value>,
    next: usize,
    slot: usize,
}

impl Writer {
    fn new(kind: Kind, target: &str, random: ChaCha8Rng) -> Writer {
        let values = (0..NUMBERS)
            .map(|at| Value { name: format!("%{}{at}", kind.letter()), is_product: false, uses: 1 })
            .collect();
        Writer { random, kind, target: target.to_owned(), lines: vec![], values, next: NUMBERS, slot: 0 }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.random.next_u32() as usize % bound
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// A choice by weights.
    fn weighted(&mut self, weights: &[usize]) -> usize {
        let mut left = self.below(weights.iter().sum());
        for (at, weight) in weights.iter().enumerate() {
            if left < *weight {
                return at;
            }
            left -= weight;
        }
        0
    }

    fn line(&mut self, line: String) {
        self.lines.push(line);
    }

    fn register(&mut self) -> String {
        self.next += 1;
        format!("%{}{}", self.kind.letter(), self.next - 1)
    }

    /// Makes a value known; later instructions may use it.
    fn define(&mut self, name: String, is_product: bool) {
        self.values.push(Value { name, is_product, uses: 0 });
    }

    fn take(&mut self, at: usize) -> String {
        self.values[at].uses += 1;
        self.values[at].name.clone()
    }

    /// Any value, the latest ones more often.
    fn any(&mut self) -> String {
        let count = self.values.len();
        let at = if self.chance(50) { count - 1 - self.below(count.min(4)) } else { self.below(count) };
        self.take(at)
    }

    /// A product, if there is one.
    fn product(&mut self) -> String {
        let products: Vec<usize> = (0..self.values.len()).filter(|at| self.values[*at].is_product).collect();
        if products.is_empty() {
            return self.any();
        }
        let at = self.below(products.len());
        self.take(products[at])
    }

    fn input(&mut self) -> String {
        let at = self.below(NUMBERS);
        self.take(at)
    }

    fn statements(&mut self, count: usize) {
        for _ in 0..count {
            self.statement();
        }
    }

    fn statement(&mut self) {
        let kind = self.kind.name();
        let packed_f32 = self.kind == Kind::F32x2;
        match self.weighted(&[40, 30, 20, if packed_f32 { 0 } else { 5 }, 5]) {
            0 => {
                let (a, b) = (self.any(), self.input());
                let d = self.register();
                self.line(format!("mul.{kind} {d}, {a}, {b};"));
                self.define(d, true);
            }
            which @ (1 | 2) => {
                let operation = if which == 1 { "add" } else { "sub" };
                let a = if self.chance(70) { self.product() } else { self.any() };
                let b = if self.chance(50) { self.product() } else { self.any() };
                let (a, b) = if self.chance(50) { (a, b) } else { (b, a) };
                let d = self.register();
                self.line(format!("{operation}.{kind} {d}, {a}, {b};"));
                self.define(d, false);
            }
            3 => {
                let a = self.product();
                let d = self.register();
                self.line(format!("neg.{kind} {d}, {a};"));
                self.define(d, true);
            }
            _ => {
                let a = self.product();
                let d = self.register();
                let moved = self.kind.moved();
                self.line(format!("mov.{moved} {d}, {a};"));
                self.define(d, true);
            }
        }
    }

    fn store(&mut self, name: &str) {
        if self.slot < OUTPUTS {
            let line = format!("st.global.{} [%l2+{}], {name};", self.kind.moved(), SLOT * self.slot);
            self.line(line);
            self.slot += 1;
        }
    }

    /// Stores what nothing uses, and some of the rest.
    fn store_all(&mut self) {
        for at in NUMBERS..self.values.len() {
            let Value { name, uses, .. } = self.values[at].clone();
            if uses == 0 || self.chance(10) {
                self.store(&name);
            }
        }
    }
}
