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
}

/// A register with a value.
#[derive(Clone, Debug)]
struct Value {
    name: String,
    is_product: bool,
    uses: usize,
}

pub(super) struct Writer {
    random: ChaCha8Rng,
    kind: Kind,
    statements: Vec<(Statement, usize)>,
    pub(super) lines: Vec<String>,
    values: Vec<Value>,
    /// Whether there are functions of constants, which ptxas computes with and without fusion.
    folds: bool,
    /// Whether instructions that can have `.ftz`.
    flush: bool,
    /// Whether each instruction draws its own modifiers.
    each: bool,
    depth: usize,
    /// The next free register of the kind, of 16, 32 and 64 bits, predicate, label, output.
    next: usize,
    integer: usize,
    predicate: usize,
    label: usize,
    slot: usize,
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
            next: NUMBERS,
            integer: INTEGERS + 1,
            predicate: 0,
            label: 0,
            slot: 0,
        }
    }

    // ---- chance ----

    pub(super) fn below(&mut self, bound: usize) -> usize {
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

    fn one_of<'w>(&mut self, words: &[&'w str]) -> &'w str {
        words[self.below(words.len())]
    }

    /// A quarter of the kernels flush subnormal numbers everywhere.
    pub(super) fn flush_sometimes(&mut self) {
        self.flush = self.can_flush() && self.chance(25);
    }

    pub(super) fn modify_each(&mut self) {
        self.each = true;
    }

    // ---- names ----

    fn line(&mut self, line: String) {
        self.lines.push(line);
    }

    fn register(&mut self) -> String {
        self.next += 1;
        format!("%{}{}", self.kind.letter(), self.next - 1)
    }

    fn integer(&mut self) -> String {
        self.integer += 1;
        format!("%i{}", self.integer - 1)
    }

    fn predicate(&mut self) -> String {
        self.predicate += 1;
        format!("%p{}", self.predicate - 1)
    }

    fn label(&mut self) -> String {
        self.label += 1;
        format!("L{}", self.label - 1)
    }

    // ---- values ----

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

    fn any_integer(&mut self) -> String {
        format!("%i{}", 1 + self.below(INTEGERS))
    }

    /// A predicate that differs from lane to lane.
    fn condition(&mut self) -> String {
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

    // ---- modifiers ----

    fn can_flush(&self) -> bool {
        matches!(self.kind, Kind::F32 | Kind::F16 | Kind::F16x2 | Kind::F32x2)
    }

    fn can_saturate(&self) -> bool {
        matches!(self.kind, Kind::F32 | Kind::F16 | Kind::F16x2)
    }

    /// Modifiers of an instruction; `rounds`: it needs a rounding.
    fn modifiers(&mut self, rounds: bool) -> String {
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

    // ---- statements ----

    pub(super) fn statements(&mut self, count: usize) {
        for _ in 0..count {
            self.statement();
        }
    }

    fn statement(&mut self) {
        let nested = self.depth >= 2;
        let others: Vec<(Statement, usize)> = self
            .statements
            .iter()
            .copied()
            .filter(|(statement, _)| !nested || !matches!(statement, Statement::Block | Statement::Loop))
            .collect();
        let sum: usize = others.iter().map(|(_, weight)| weight).sum();
        // few registers are declared
        if self.below(70 + sum) < 70 || self.next > 70 || self.predicate > 30 || self.integer > 30 {
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
        }
    }

    /// A product, a sum, a change of sign or a move.
    fn arithmetic(&mut self) {
        let d = self.register();
        let is_product = self.arithmetic_into(&d);
        self.define(d, is_product);
    }

    fn arithmetic_into(&mut self, d: &str) -> bool {
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

    fn sum_into(&mut self, operation: &str, d: &str) {
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

    fn multiply_add(&mut self) {
        let (a, b, c) = (self.any(), self.input(), self.product());
        let d = self.register();
        let modifiers = self.modifiers(true);
        self.line(format!("fma{modifiers}.{} {d}, {a}, {b}, {c};", self.kind.name()));
        self.define(d, false);
    }

    fn extreme(&mut self) {
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

    /// The type of selections.
    fn selected(&self) -> String {
        self.kind.moved()
    }

    fn select(&mut self) {
        let p = self.condition();
        let (a, b) = (self.product(), self.any());
        let d = self.register();
        let selected = self.selected();
        self.line(format!("selp.{selected} {d}, {a}, {b}, {p};"));
        self.define(d, false);
    }

    /// A product that decides.
    fn compare(&mut self) {
        if !matches!(self.kind, Kind::F32 | Kind::F64 | Kind::F16 | Kind::BF16) {
            return self.select();
        }
        let p = self.predicate();
        let (a, b) = (self.product(), self.input());
        let flush = if self.flush { ".ftz" } else { "" };
        self.line(format!("setp.lt{flush}.{} {p}, {a}, {b};", self.kind.name()));
        let (a, b) = (self.any(), self.input());
        let d = self.register();
        let selected = self.selected();
        self.line(format!("selp.{selected} {d}, {a}, {b}, {p};"));
        self.define(d, false);
    }

    fn store_one(&mut self) {
        let a = self.product();
        self.store(&a);
    }

    /// A register or an immediate with a number that is the same in all lanes.
    fn factor(&mut self) -> String {
        let moved = self.kind.moved();
        let bits = self.kind.bits();
        match self.weighted(&[30, 20, 25, 25]) {
            0 if matches!(self.kind, Kind::F32 | Kind::F64) => {
                let code = self.kind.number(&mut self.random);
                self.kind.immediate(code)
            }
            0 | 1 => {
                let code = self.kind.number(&mut self.random);
                let (d, number) = (self.register(), self.kind.immediate(code));
                self.line(format!("mov.{moved} {d}, {number};"));
                d
            }
            2 => {
                let d = self.register();
                self.line(format!("ld.param.{moved} {d}, [k];"));
                d
            }
            _ => {
                let offset = self.below(4) * 8 % (32 - bits as usize / 8);
                let offset = offset - offset % 8;
                let d = self.register();
                self.line(format!("ld.const.{moved} {d}, [kc+{offset}];"));
                d
            }
        }
    }

    fn constant_product(&mut self) {
        let factor = self.factor();
        let a = self.any();
        let d = self.register();
        let modifiers = self.modifiers(false);
        let kind = self.kind.name();
        if self.folds && self.kind == Kind::F32 && self.chance(10) {
            let flush = if self.flush { ".ftz" } else { "" };
            self.line(format!("div.full{flush}.f32 {d}, {a}, {factor};"));
        } else if self.chance(15) && factor.starts_with('%') {
            // a constant that is added
            self.line(format!("add{modifiers}.{kind} {d}, {a}, {factor};"));
            return self.define(d, false);
        } else {
            self.line(format!("mul{modifiers}.{kind} {d}, {a}, {factor};"));
        }
        self.define(d, true);
    }

    /// The register of a one.
    fn one(&self) -> &'static str {
        match self.kind {
            Kind::F32 => "0f3F800000",
            Kind::F64 => "0d3FF0000000000000",
            Kind::F16 => "0x3C00",
            Kind::BF16 => "0x3F80",
            Kind::F16x2 => "0x3C003C00",
            Kind::BF16x2 => "0x3F803F80",
            Kind::F32x2 => "0x3F8000003F800000",
        }
    }

    /// An instruction whose result is its operand.
    fn nothing(&mut self) {
        let (kind, bits, moved) = (self.kind.name(), self.kind.bits(), self.kind.moved());
        let a = self.product();
        let d = self.register();
        let flush = if self.flush { ".ftz" } else { "" };
        match self.below(9) {
            0 => {
                let operation = self.one_of(&["and.bB D, A, -1", "or.bB D, A, 0", "xor.bB D, A, 0"]);
                let bits = bits.to_string();
                self.line(operation.replace('B', &bits).replace('D', &d).replace('A', &a) + ";");
            }
            1 if self.kind != Kind::F32x2 => {
                let operation = self.one_of(&["min", "max"]);
                self.line(format!("{operation}{flush}.{kind} {d}, {a}, {a};"));
            }
            2 => {
                let p = self.condition();
                let selected = self.selected();
                self.line(format!("selp.{selected} {d}, {a}, {a}, {p};"));
            }
            3 | 4 => {
                let one = self.one();
                if self.kind == Kind::F32 && self.chance(40) {
                    self.line(format!("div.full{flush}.f32 {d}, {a}, {one};"));
                } else if matches!(self.kind, Kind::F32 | Kind::F64) {
                    self.line(format!("mul{flush}.{kind} {d}, {a}, {one};"));
                } else {
                    let factor = self.register();
                    self.line(format!("mov.{moved} {factor}, {one};"));
                    self.line(format!("mul{flush}.{kind} {d}, {a}, {factor};"));
                }
            }
            5 | 6 => self.unpack_and_pack(&d, &a),
            7 if self.kind == Kind::F32 => {
                self.line(format!("cvt{flush}.f32.f32 {d}, {a};"));
            }
            8 if self.kind == Kind::F32 => {
                let between = self.integer();
                self.line(format!("mov.b32 {between}, {a};"));
                self.line(format!("mov.b32 {d}, {between};"));
            }
            _ if self.kind != Kind::F32x2 => {
                let between = self.register();
                self.line(format!("neg{flush}.{kind} {between}, {a};"));
                self.line(format!("neg{flush}.{kind} {d}, {between};"));
            }
            _ => self.line(format!("mov.{moved} {d}, {a};")),
        }
        self.define(d, true);
    }

    /// A register made of the parts of another one.
    fn unpack_and_pack(&mut self, d: &str, a: &str) {
        let at = self.next;
        self.next += 3;
        match self.kind {
            Kind::F32 => {
                let other = self.any_integer();
                self.line(format!("mov.b64 %d{at}, {{{a}, {other}}};"));
                let rest = self.integer();
                self.line(format!("mov.b64 {{{d}, {rest}}}, %d{at};"));
            }
            Kind::F64 => {
                self.line(format!("mov.b64 {{%r{at}, %r{}}}, {a};", at + 1));
                self.line(format!("mov.b64 {d}, {{%r{at}, %r{}}};", at + 1));
            }
            Kind::F16 | Kind::BF16 => {
                let other = self.any();
                self.line(format!("mov.b32 %r{at}, {{{a}, {other}}};"));
                self.line(format!("mov.b32 {{{d}, %h{}}}, %r{at};", at + 1));
            }
            Kind::F16x2 | Kind::BF16x2 => {
                self.line(format!("mov.b32 {{%h{at}, %h{}}}, {a};", at + 1));
                self.line(format!("mov.b32 {d}, {{%h{at}, %h{}}};", at + 1));
            }
            Kind::F32x2 => {
                self.line(format!("mov.b64 {{%f{at}, %f{}}}, {a};", at + 1));
                if self.chance(40) {
                    // an addition of one number of two
                    let (other, flush) = (self.any(), if self.flush { ".ftz" } else { "" });
                    self.line(format!("mov.b64 {{%f{}, _}}, {other};", at + 2));
                    self.line(format!("add{flush}.f32 %f{at}, %f{at}, %f{};", at + 2));
                }
                self.line(format!("mov.b64 {d}, {{%f{at}, %f{}}};", at + 1));
            }
        }
    }

    fn divide(&mut self) {
        if self.kind != Kind::F32 {
            return self.arithmetic();
        }
        let (a, b) = (self.any(), self.input());
        let d = self.register();
        let flush = if self.flush { ".ftz" } else { "" };
        match self.weighted(&[40, 20, 20, 5]) {
            0 => self.line(format!("div.full{flush}.f32 {d}, {a}, {b};")),
            1 => self.line(format!("div.approx{flush}.f32 {d}, {a}, {b};")),
            2 => self.line(format!("rcp.approx{flush}.f32 {d}, {b};")),
            _ => self.line(format!("div.rn{flush}.f32 {d}, {a}, {b};")),
        }
        self.define(d, true);
    }

    /// A constant, one with its sign turned, or a product of two, in a register.
    fn constant(&mut self) -> String {
        if self.kind != Kind::F32 || !self.folds {
            return self.any();
        }
        let flush = if self.flush { ".ftz" } else { "" };
        let number = |writer: &mut Writer| {
            let code = Kind::F32.number(&mut writer.random);
            Kind::F32.immediate(code & 0x7fff_ffff)
        };
        let (constant, d) = (number(self), self.register());
        self.line(format!("mov.f32 {d}, {constant};"));
        let result = self.register();
        match self.weighted(&[50, 25, 25]) {
            0 => return d,
            1 => self.line(format!("neg{flush}.f32 {result}, {d};")),
            _ => {
                let other = number(self);
                self.line(format!("mul{flush}.f32 {result}, {d}, {other};"));
            }
        }
        result
    }

    /// A function of a value.
    fn function(&mut self, mut a: String) {
        if self.kind != Kind::F32 {
            return self.arithmetic();
        }
        let flush = if self.flush { ".ftz" } else { "" };
        let function = self.one_of(&["ex2", "sin", "cos", "lg2", "sqrt", "rsqrt", "rcp"]);
        if matches!(function, "lg2" | "sqrt" | "rsqrt") {
            let magnitude = self.register();
            self.line(format!("abs{flush}.f32 {magnitude}, {a};"));
            a = magnitude;
        }
        let d = self.register();
        self.line(format!("{function}.approx{flush}.f32 {d}, {a};"));
        self.define(d, function == "rcp");
    }

    fn guarded(&mut self) {
        let p = self.condition();
        let not = if self.chance(50) { "!" } else { "" };
        let d = self.register();
        let first = self.any();
        let moved = self.kind.moved();
        self.line(format!("mov.{moved} {d}, {first};"));
        let at = self.lines.len();
        let is_product = self.arithmetic_into(&d);
        for line in &mut self.lines[at..] {
            *line = format!("@{not}{p} {line}");
        }
        self.define(d, is_product);
    }

    /// Something that ptxas may not move arithmetic across.
    fn between(&mut self) {
        // lanes that have parted do not wait for one another
        let choice = if self.depth > 0 { [2, 5, 6, 7, 8][self.below(5)] } else { self.below(9) };
        match choice {
            0 => self.line("bar.sync 0;".to_owned()),
            1 => self.line("bar.warp.sync 0xffffffff;".to_owned()),
            2 => {
                let fence = self.one_of(&["membar.cta;", "membar.gl;", "fence.acq_rel.cta;"]);
                self.line(fence.to_owned());
            }
            3 | 4 if self.kind.bits() == 32 => {
                let (a, d) = (self.any(), self.register());
                self.line(format!("shfl.sync.bfly.b32 {d}, {a}, 4, 31, 0xffffffff;"));
                self.define(d, false);
            }
            3 => {
                let (a, d) = (self.any_integer(), self.integer());
                self.line(format!("shfl.sync.bfly.b32 {d}, {a}, 2, 31, 0xffffffff;"));
                self.line(format!("st.global.b32 [%l2+{}], {d};", SLOT * (OUTPUTS - 1)));
            }
            5 => {
                let a = self.any_integer();
                self.line(format!("st.global.b32 [%l2+{}], {a};", SLOT * (OUTPUTS - 1)));
            }
            6 => {
                let (moved, d) = (self.kind.moved(), self.register());
                let slot = self.below(NUMBERS);
                self.line(format!("ld.global.{moved} {d}, [%l1+{}];", SLOT * slot));
                self.define(d, false);
            }
            7 => {
                let (moved, a, d) = (self.kind.moved(), self.any(), self.register());
                self.line(format!("st.volatile.global.{moved} [%l2+{}], {a};", SLOT * (OUTPUTS - 2)));
                self.line(format!("ld.volatile.global.{moved} {d}, [%l2+{}];", SLOT * (OUTPUTS - 2)));
                self.define(d, false);
            }
            _ => self.store_one(),
        }
    }

    // ---- blocks ----

    /// Statements whose values are unknown afterwards, but for one that may be moved into a register.
    fn inside(&mut self, merged: Option<&str>) {
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
    fn assign(&mut self, merged: &str) {
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

    // ---- results ----

    fn store(&mut self, name: &str) {
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
