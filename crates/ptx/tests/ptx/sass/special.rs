//! Statements that test what ptxas looks through, computes itself or does not move arithmetic across.

use super::generate::{Kind, NUMBERS, OUTPUTS, SLOT};
use super::write::Writer;

impl Writer {
    /// A register or an immediate with a number that is the same in all lanes.
    pub(super) fn factor(&mut self) -> String {
        let moved = self.kind.moved();
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
                // of the 32 bytes of constants
                let offset = self.below(4) * 8 % (32 - self.kind.bits() as usize / 8);
                let d = self.register();
                self.line(format!("ld.const.{moved} {d}, [kc+{offset}];"));
                d
            }
        }
    }

    pub(super) fn constant_product(&mut self) {
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
    pub(super) fn one(&self) -> &'static str {
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
    pub(super) fn nothing(&mut self) {
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
                self.line(format!("selp.{moved} {d}, {a}, {a}, {p};"));
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
    pub(super) fn unpack_and_pack(&mut self, d: &str, a: &str) {
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

    pub(super) fn divide(&mut self) {
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
    pub(super) fn constant(&mut self) -> String {
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
    pub(super) fn function(&mut self, mut a: String) {
        if self.kind != Kind::F32 {
            return self.arithmetic();
        }
        let flush = if self.flush { ".ftz" } else { "" };
        if !self.folds {
            // ptxas knows the reciprocal of a reciprocal
            a = self.input();
        }
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

    pub(super) fn guarded(&mut self) {
        let p = if self.chance(85) {
            self.condition()
        } else {
            // always true
            let (p, number) = (self.predicate(), self.integer());
            self.line(format!("mov.u32 {number}, 3;"));
            self.line(format!("setp.eq.s32 {p}, {number}, 3;"));
            p
        };
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
    pub(super) fn between(&mut self) {
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
}
