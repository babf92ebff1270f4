//! Statements that branch: arms, loops, code that nothing reaches.

use super::write::Writer;

impl Writer {
    /// Statements whose values are unknown afterwards, but for one that may be moved into a register.
    pub(super) fn inside(&mut self, merged: Option<&str>) {
        let known = self.values.len();
        self.depth += 1;
        let count = 1 + self.below(3);
        self.statements(count);
        if let Some(merged) = merged {
            self.assign(merged);
        }
        if self.chance(20) {
            self.store_one();
        }
        self.depth -= 1;
        self.values.truncate(known);
    }

    /// Gives a register another value: by arithmetic, or by a move.
    pub(super) fn assign(&mut self, merged: &str) {
        if self.chance(60) {
            let operation = self.one_of(&["add", "sub"]);
            self.sum_into(operation, merged);
        } else if self.chance(50) {
            self.arithmetic_into(merged);
        } else {
            let (moved, a) = (self.kind.moved(), self.product());
            self.line(format!("mov.{moved} {merged}, {a};"));
        }
    }

    pub(super) fn block(&mut self) {
        let moved = self.kind.moved();
        match self.weighted(&[35, 20, 15, 10, 10, 10]) {
            0 => {
                // two arms
                let (p, merged) = (self.condition(), self.register());
                let (other, end) = (self.label(), self.label());
                self.line(format!("@{p} bra {other};"));
                self.inside(Some(&merged));
                let uniform = self.one_of(&["", ".uni"]);
                self.line(format!("bra{uniform} {end};"));
                self.line(format!("{other}:"));
                self.inside(Some(&merged));
                self.line(format!("{end}:"));
                let is_product = self.chance(30);
                self.define(merged, is_product);
            }
            1 => {
                // one arm
                let (p, merged) = (self.condition(), self.register());
                let end = self.label();
                let first = self.product();
                self.line(format!("mov.{moved} {merged}, {first};"));
                self.line(format!("@{p} bra {end};"));
                self.inside(Some(&merged));
                self.line(format!("{end}:"));
                self.define(merged, true);
            }
            2 => {
                // a branch to the next line
                let next = self.label();
                self.line(format!("bra.uni {next};"));
                self.line(format!("{next}:"));
            }
            3 => {
                // a branch that is always or never taken
                let (p, end, merged) = (self.predicate(), self.label(), self.register());
                let first = self.product();
                self.line(format!("mov.{moved} {merged}, {first};"));
                let taken = self.one_of(&["eq", "ne"]);
                let number = self.integer();
                self.line(format!("mov.u32 {number}, 3;"));
                self.line(format!("setp.{taken}.s32 {p}, {number}, 3;"));
                self.line(format!("@{p} bra {end};"));
                self.inside(Some(&merged));
                self.line(format!("{end}:"));
                self.define(merged, true);
            }
            4 => {
                // code that nothing reaches
                let end = self.label();
                self.line(format!("bra.uni {end};"));
                self.inside(None);
                self.line(format!("{end}:"));
            }
            _ => {
                // a branch over code that does nothing
                let (p, end) = (self.condition(), self.label());
                self.line(format!("@{p} bra {end};"));
                let known = self.values.len();
                self.depth += 1;
                self.arithmetic();
                self.depth -= 1;
                self.values.truncate(known);
                self.line(format!("{end}:"));
            }
        }
    }

    /// A loop.
    pub(super) fn turns(&mut self) {
        let (moved, kind) = (self.kind.moved(), self.kind.name());
        let (counter, p, start) = (self.integer(), self.predicate(), self.label());
        let turns = 1 + self.below(8);
        let by_data = self.chance(30);
        let down = self.chance(30);
        let limit = if by_data {
            let (a, limit) = (self.any_integer(), self.integer());
            self.line(format!("and.b32 {limit}, {a}, 7;"));
            if down {
                self.line(format!("add.s32 {limit}, {limit}, 1;"));
            }
            limit
        } else {
            turns.to_string()
        };
        let (sum, product) = (self.register(), self.register());
        let first = self.product();
        self.line(format!("mov.{moved} {sum}, {first};"));
        let carries = self.chance(40);
        if carries {
            let (a, b, modifiers) = (self.any(), self.input(), self.modifiers(false));
            self.line(format!("mul{modifiers}.{kind} {product}, {a}, {b};"));
        }
        if down {
            self.line(format!("mov.u32 {counter}, {limit};"));
        } else {
            self.line(format!("mov.u32 {counter}, 0;"));
        }
        self.line(format!("{start}:"));
        if self.chance(90) {
            let known = self.values.len();
            self.depth += 1;
            if carries {
                self.define(product.clone(), true);
            }
            self.define(sum.clone(), false);
            let count = self.below(3);
            self.statements(count);
            let (a, b, modifiers) = (self.any(), self.product(), self.modifiers(false));
            let operation = self.one_of(&["add", "sub"]);
            self.line(format!("{operation}{modifiers}.{kind} {sum}, {a}, {b};"));
            if carries {
                let (a, b, modifiers) = (self.any(), self.input(), self.modifiers(false));
                self.line(format!("mul{modifiers}.{kind} {product}, {a}, {b};"));
            }
            self.depth -= 1;
            self.values.truncate(known);
        }
        if down {
            self.line(format!("add.s32 {counter}, {counter}, -1;"));
            self.line(format!("setp.ne.s32 {p}, {counter}, 0;"));
        } else {
            self.line(format!("add.s32 {counter}, {counter}, 1;"));
            self.line(format!("setp.lt.s32 {p}, {counter}, {limit};"));
        }
        self.line(format!("@{p} bra {start};"));
        self.define(sum, false);
        if carries {
            self.define(product, true);
        }
    }
}
