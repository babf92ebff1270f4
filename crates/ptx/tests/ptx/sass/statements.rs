//! Statements of a kernel: products, sums and what decides between them.

use super::generate::Kind;
use super::write::{Statement, Writer};

impl Writer {
    pub(super) fn statements(&mut self, count: usize) {
        for _ in 0..count {
            self.statement();
        }
    }

    pub(super) fn statement(&mut self) {
        let nested = self.depth >= 2;
        let others: Vec<(Statement, usize)> = self
            .statements
            .iter()
            .copied()
            .filter(|(statement, _)| !nested || !matches!(statement, Statement::Block | Statement::Loop))
            .collect();
        let sum: usize = others.iter().map(|(_, weight)| weight).sum();
        // few registers are declared
        if self.below(70 + sum) < 70 || self.next > self.registers || self.predicate > 30 || self.integer > 30
        {
            self.arithmetic();
            return;
        }
        let weights: Vec<usize> = others.iter().map(|(_, weight)| *weight).collect();
        match others[self.weighted(&weights)].0 {
            Statement::MultiplyAdd => self.multiply_add(),
            Statement::Extreme => self.extreme(),
            Statement::Select => self.select(),
            Statement::Compare => self.compare(),
            Statement::Store => self.store_one(),
            Statement::Constant => self.constant_product(),
            Statement::Nothing => self.nothing(),
            Statement::Divide => self.divide(),
            Statement::Function => {
                let a = self.any();
                self.function(a);
            }
            Statement::Folded => {
                let a = self.constant();
                self.function(a);
            }
            Statement::Guarded => self.guarded(),
            Statement::Between => self.between(),
            Statement::Block => self.block(),
            Statement::Loop => self.turns(),
            Statement::Scale => self.scale(),
        }
    }

    /// A product, a sum, a change of sign or a move.
    pub(super) fn arithmetic(&mut self) {
        let d = self.register();
        let is_product = self.arithmetic_into(&d);
        self.define(d, is_product);
    }

    pub(super) fn arithmetic_into(&mut self, d: &str) -> bool {
        let kind = self.kind.name();
        let negates = if self.kind == Kind::F32x2 { 0 } else { 5 };
        match self.weighted(&[40, 30, 20, negates, 5]) {
            0 => {
                let a = self.any();
                let b = if self.chance(80) { self.input() } else { self.any() };
                let modifiers = self.modifiers(false);
                self.line(format!("mul{modifiers}.{kind} {d}, {a}, {b};"));
                true
            }
            which @ (1 | 2) => {
                let operation = if which == 1 { "add" } else { "sub" };
                self.sum_into(operation, d);
                false
            }
            3 => {
                let a = self.product();
                let flush = if self.flush { ".ftz" } else { "" };
                self.line(format!("neg{flush}.{kind} {d}, {a};"));
                true
            }
            _ => {
                let a = self.product();
                let moved = self.kind.moved();
                self.line(format!("mov.{moved} {d}, {a};"));
                true
            }
        }
    }

    pub(super) fn sum_into(&mut self, operation: &str, d: &str) {
        let a = if self.chance(70) { self.product() } else { self.any() };
        let b = if self.chance(40) { self.product() } else { self.any() };
        let (a, b) = if self.chance(50) { (a, b) } else { (b, a) };
        let modifiers = self.modifiers(false);
        self.line(format!("{operation}{modifiers}.{} {d}, {a}, {b};", self.kind.name()));
    }

    /// Products of operands, and sums of products, operands and sums.
    pub(super) fn sums(&mut self) {
        let (products, sums) = (2 + self.below(3), 2 + self.below(3));
        for _ in 0..products {
            let (a, b, d) = (self.input(), self.input(), self.register());
            let modifiers = self.modifiers(false);
            self.line(format!("mul{modifiers}.{} {d}, {a}, {b};", self.kind.name()));
            self.define(d, true);
        }
        for _ in 0..sums {
            let operation = self.one_of(&["add", "sub"]);
            let d = self.register();
            self.sum_into(operation, &d);
            self.define(d, false);
        }
    }

    pub(super) fn multiply_add(&mut self) {
        let (a, b, c) = (self.any(), self.input(), self.product());
        let d = self.register();
        let modifiers = self.modifiers(true);
        self.line(format!("fma{modifiers}.{} {d}, {a}, {b}, {c};", self.kind.name()));
        self.define(d, false);
    }

    pub(super) fn extreme(&mut self) {
        if self.kind == Kind::F32x2 {
            return self.arithmetic();
        }
        let (a, b) = (self.product(), self.any());
        let d = self.register();
        let flush = if self.flush { ".ftz" } else { "" };
        let operation = self.one_of(&["min", "max"]);
        self.line(format!("{operation}{flush}.{} {d}, {a}, {b};", self.kind.name()));
        self.define(d, false);
    }

    /// A product times a power of two.
    fn scale(&mut self) {
        let powers = ["0f3F000000", "0f3E800000", "0f3E000000", "0f40000000", "0f40800000", "0f41000000"];
        let (a, power) = (self.product(), self.one_of(&powers));
        let d = self.register();
        let flush = if self.flush || self.chance(5) { ".ftz" } else { "" };
        let (a, power) = if self.chance(50) { (a.as_str(), power) } else { (power, a.as_str()) };
        match self.below(8) {
            0 if a != "0f40000000" && power == "0f40000000" => {
                self.line(format!("div.full{flush}.f32 {d}, {a}, {power};"));
            }
            _ => self.line(format!("mul{flush}.f32 {d}, {a}, {power};")),
        }
        self.define(d, true);
    }

    pub(super) fn select(&mut self) {
        let p = self.condition();
        let (a, b) = (self.product(), self.any());
        let d = self.register();
        let moved = self.kind.moved();
        self.line(format!("selp.{moved} {d}, {a}, {b}, {p};"));
        self.define(d, false);
    }

    /// A product that decides.
    pub(super) fn compare(&mut self) {
        if !matches!(self.kind, Kind::F32 | Kind::F64 | Kind::F16 | Kind::BF16) {
            return self.select();
        }
        let p = self.predicate();
        let (a, b) = (self.product(), self.input());
        let flush = if self.flush { ".ftz" } else { "" };
        self.line(format!("setp.lt{flush}.{} {p}, {a}, {b};", self.kind.name()));
        let (a, b) = (self.any(), self.input());
        let d = self.register();
        let moved = self.kind.moved();
        self.line(format!("selp.{moved} {d}, {a}, {b}, {p};"));
        self.define(d, false);
    }

    pub(super) fn store_one(&mut self) {
        let a = self.product();
        self.store(&a);
    }
}
