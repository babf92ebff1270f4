//! Writes kernels whose products and additions meet in many ways. A seed, a target and a wish say everything.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::structures::{self, Structure};

/// What a kernel computes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    F32,
    F64,
    F16,
    F16x2,
    BF16,
    BF16x2,
    F32x2,
}

impl Kind {
    /// All, with the PTX type and the letter of its registers.
    pub(super) const ALL: [(Kind, &'static str, char); 7] = [
        (Kind::F32, "f32", 'f'),
        (Kind::F64, "f64", 'e'),
        (Kind::F16, "f16", 'h'),
        (Kind::F16x2, "f16x2", 'r'),
        (Kind::BF16, "bf16", 'h'),
        (Kind::BF16x2, "bf16x2", 'r'),
        (Kind::F32x2, "f32x2", 'd'),
    ];

    pub(super) fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    pub(super) fn letter(self) -> char {
        Self::ALL[self as usize].2
    }

    pub(super) fn bits(self) -> u32 {
        match self {
            Kind::F16 | Kind::BF16 => 16,
            Kind::F32 | Kind::F16x2 | Kind::BF16x2 => 32,
            Kind::F64 | Kind::F32x2 => 64,
        }
    }

    /// The type of loads, stores and moves.
    pub(super) fn moved(self) -> String {
        match self {
            Kind::F32 | Kind::F64 => self.name().to_owned(),
            _ => format!("b{}", self.bits()),
        }
    }

    /// Whether a target computes in it, additions and multiplications alike.
    fn exists(self, target: &str) -> bool {
        match self {
            Kind::BF16 | Kind::BF16x2 => target != "sm_80",
            Kind::F32x2 => target.starts_with("sm_10"),
            _ => true,
        }
    }

    /// A number of a text, between 1/4 and 8.
    pub(super) fn number(self, random: &mut ChaCha8Rng) -> u64 {
        self.drawn(random, 5, false)
    }

    /// A number of an input. Narrow ones are below 2, so that few turns of a loop do not reach infinity. Where they are tiny,
    /// their products are subnormal.
    fn input(self, random: &mut ChaCha8Rng, tiny: bool) -> u64 {
        self.drawn(random, if matches!(self, Kind::F16 | Kind::F16x2) { 3 } else { 5 }, tiny)
    }

    /// A number whose product with another one has to be rounded, with one of as many exponents.
    fn drawn(self, random: &mut ChaCha8Rng, exponents: u64, tiny: bool) -> u64 {
        let mut code = |fraction_bits: u32, bias: u64, sign_at: u32| {
            let exponent = if tiny { bias / 2 } else { bias } - 2 + random.next_u64() % exponents;
            let fraction = random.next_u64() & ((1 << fraction_bits) - 1);
            let sign = random.next_u64() & 1;
            sign << sign_at | exponent << fraction_bits | fraction
        };
        match self {
            Kind::F32 => code(23, 127, 31),
            Kind::F64 => code(52, 1023, 63),
            Kind::F16 => code(10, 15, 15),
            Kind::BF16 => code(7, 127, 15),
            Kind::F16x2 => code(10, 15, 15) | code(10, 15, 15) << 16,
            Kind::BF16x2 => code(7, 127, 15) | code(7, 127, 15) << 16,
            Kind::F32x2 => code(23, 127, 31) | code(23, 127, 31) << 32,
        }
    }

    /// An immediate.
    pub(super) fn immediate(self, code: u64) -> String {
        match self {
            Kind::F32 => format!("0f{code:08X}"),
            Kind::F64 => format!("0d{code:016X}"),
            _ => format!("0x{code:X}"),
        }
    }
}

/// What to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wish {
    pub(super) target: String,
    pub(super) structures: Vec<Structure>,
    pub(super) kinds: Vec<Kind>,
    /// Whether there are functions of constants.
    pub(super) folds: bool,
}

/// A kernel.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) seed: u64,
    pub(super) structure: Structure,
    pub(super) kind: Kind,
    /// Instructions between the loads of the operands and the end.
    pub(super) body: Vec<String>,
}

/// Slots of 32 lanes with 8 bytes each. Inputs: numbers, then integers.
pub(super) const NUMBERS: usize = 8;
pub(super) const INTEGERS: usize = 4;
pub(super) const OUTPUTS: usize = 40;
/// Bytes from slot to slot.
pub(super) const SLOT: usize = 256;

impl Entry {
    /// The kernel of a seed.
    pub(super) fn of(seed: u64, wish: &Wish) -> Entry {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let structure = wish.structures[(seed % wish.structures.len() as u64) as usize];
        let kinds: Vec<Kind> = wish
            .kinds
            .iter()
            .copied()
            .filter(|kind| kind.exists(&wish.target) && structure.has(*kind))
            .collect();
        // half of the kernels compute in the first kind
        let kind = match random.next_u32() % 2 {
            0 => kinds.first(),
            _ => kinds.get(random.next_u32() as usize % kinds.len().max(1)),
        };
        let kind = kind.copied().unwrap_or(Kind::F32);
        let body = structures::body(structure, kind, wish.folds, random);
        Entry { seed, structure, kind, body }
    }

    pub(super) fn name(&self) -> String {
        format!("e{}", self.seed)
    }

    /// Its family, as in `loops/f32`.
    pub(super) fn family(&self) -> String {
        format!("{}/{}", self.structure.name(), self.kind.name())
    }

    pub(super) fn text(&self, name: &str) -> String {
        let (kind, letter) = (self.kind, self.kind.letter());
        let registers = if self.structure == Structure::Long { 300 } else { 100 };
        let mut lines = vec![
            format!(".visible .entry {name}(.param .u64 x, .param .u64 y, .param .{} k)", kind.moved()),
            ".reqntid 32".to_owned(),
            "{".to_owned(),
            ".reg .pred %p<40>;".to_owned(),
            format!(".reg .b16 %h<{registers}>;"),
            format!(".reg .b32 %r<{registers}>;"),
            ".reg .b32 %i<40>;".to_owned(),
            format!(".reg .b64 %d<{registers}>;"),
            ".reg .b64 %l<10>;".to_owned(),
            format!(".reg .f32 %f<{registers}>;"),
            format!(".reg .f64 %e<{registers}>;"),
            "mov.u32 %i0, %tid.x;".to_owned(),
            "mul.wide.u32 %l0, %i0, 8;".to_owned(),
            "ld.param.u64 %l1, [x];".to_owned(),
            "ld.param.u64 %l2, [y];".to_owned(),
            "add.s64 %l1, %l1, %l0;".to_owned(),
            "add.s64 %l2, %l2, %l0;".to_owned(),
        ];
        for slot in 0..NUMBERS {
            lines.push(format!("ld.global.{} %{letter}{slot}, [%l1+{}];", kind.moved(), SLOT * slot));
        }
        for slot in 0..INTEGERS {
            lines.push(format!("ld.global.b32 %i{}, [%l1+{}];", slot + 1, SLOT * (NUMBERS + slot)));
        }
        lines.extend(self.body.iter().cloned());
        lines.push("ret;".to_owned());
        lines.push("}".to_owned());
        lines.join("\n") + "\n"
    }

    /// The bytes of the first argument.
    pub(super) fn inputs(&self) -> Vec<u8> {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed ^ 0x5a5a_5a5a);
        let mut bytes = vec![];
        for slot in 0..NUMBERS + INTEGERS {
            for lane in 0..SLOT / 8 {
                let code = if slot < NUMBERS {
                    self.kind.input(&mut random, lane >= 28)
                } else {
                    random.next_u64() & 0xffff_ffff
                };
                bytes.extend(code.to_le_bytes());
            }
        }
        bytes
    }

    /// The bits of the third argument.
    pub(super) fn parameter(&self) -> u64 {
        self.kind.number(&mut ChaCha8Rng::seed_from_u64(self.seed ^ 0xa5a5_a5a5))
    }
}

/// What comes before the entries of a text.
pub(super) fn head(target: &str) -> String {
    let version = if target.starts_with("sm_10") { "8.7" } else { "8.4" };
    let words: Vec<String> = CONSTANTS.iter().map(|word| format!("0x{word:08x}")).collect();
    format!(
        ".version {version}\n.target {target}\n.address_size 64\n.const .align 8 .b32 kc[{}] = {{{}}};\n",
        words.len(),
        words.join(", ")
    )
}

/// Words of constant memory, of which every format makes a number between 0.5 and 4.
const CONSTANTS: [u32; 8] =
    [0x3f8c_3ccd, 0x3fa1_3e71, 0x4049_3fdb, 0x3fd3_4135, 0x3f31_3f17, 0x3ff7_3c9b, 0x3f9e_3ab3, 0x3fc5_3d29];

/// A text of several entries.
pub(super) fn text(entries: &[Entry], target: &str) -> String {
    let mut text = head(target);
    for entry in entries {
        text.push_str(&entry.text(&entry.name()));
    }
    text
}
