//! Random dot products and matrices in families, each case addressed by seed and index alone.
//!
//! Case `index` of a seed is the same on every machine and in every order of asking: ChaCha is a
//! counter-based generator, the index its stream; distributions are drawn with `libm` in Rust, not the
//! platform's.

use std::cell::RefCell;

use bitmma_engine::arithmetic::Model;
use bitmma_engine::formats::{
    BlockScale, F64, Format, Overflow, Rounding, cases::notable_codes, decode, encode,
};
use bitmma_engine::{Case, Error, Matrices, Signature};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rand_distr::{Distribution, StandardNormal, StandardUniform};

/// What kind of numbers a case is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// Every bit random: all ranges, subnormal numbers, infinities, NaN (paper, Step 4, third kind).
    Bits,
    /// Numbers within a factor of 64 of one.
    Moderate,
    /// Subnormal and barely normal numbers.
    Tiny,
    /// Three of four elements zero.
    Zeros,
    /// Products that cancel but for their last bits (paper, Step 4, second kind).
    Cancelling,
    /// One large term, the others up to 50 bits below it, fractions of ones and zeros: carries and ties.
    Spread,
    /// Limits of the format and their neighbors, specials among them.
    Notable,
    /// N(0, 1) (paper, Step 4, first kind; scale factors as in [`Family::Moderate`], here and below).
    Normal,
    /// Uniform on [-1, 1).
    Uniform,
    /// N(0, 1) + Bernoulli(0.001) · N(0, 100): activations of neural networks.
    Outliers,
}

impl Family {
    /// Every family.
    pub const ALL: [Family; 10] = [
        Family::Bits,
        Family::Moderate,
        Family::Tiny,
        Family::Zeros,
        Family::Cancelling,
        Family::Spread,
        Family::Notable,
        Family::Normal,
        Family::Uniform,
        Family::Outliers,
    ];

    /// Its name in commands and files.
    pub const fn name(self) -> &'static str {
        match self {
            Family::Bits => "bits",
            Family::Moderate => "moderate",
            Family::Tiny => "tiny",
            Family::Zeros => "zeros",
            Family::Cancelling => "cancelling",
            Family::Spread => "spread",
            Family::Notable => "notable",
            Family::Normal => "normal",
            Family::Uniform => "uniform",
            Family::Outliers => "outliers",
        }
    }
}

/// The formats that cases are drawn in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Formats {
    /// Of A.
    pub a: Format,
    /// Of B.
    pub b: Format,
    /// Of C.
    pub c: Format,
    /// Of the scale factors, and how many elements share one.
    pub scale: Option<BlockScale>,
}

impl From<&Model> for Formats {
    fn from(model: &Model) -> Formats {
        Formats { a: model.a, b: model.b, c: model.c, scale: model.scale }
    }
}

impl From<&Signature> for Formats {
    fn from(signature: &Signature) -> Formats {
        Formats { a: signature.a, b: signature.b, c: signature.c, scale: signature.scale }
    }
}

/// Instruction `index` of `family` under `seed`: case `index · lines + i` gives row i of A and column i of
/// B, `lines` being blocks · max(M, N); each element of C is drawn apart, but on the diagonal, which
/// holds the cases whole.
pub fn matrices(signature: &Signature, family: Family, seed: u64, index: u64) -> Result<Matrices, Error> {
    let Signature { m, n, k, blocks, .. } = *signature;
    let lines = m.max(n);
    let first = index.wrapping_mul((blocks * lines) as u64);
    let cases: Vec<Case> = (0..(blocks * lines) as u64)
        .map(|line| case(signature, k, family, seed, first.wrapping_add(line)))
        .collect();
    let at = |block: usize, line: usize| &cases[block * lines + line];
    let mut others = Random::new(!seed, index);
    Matrices::assemble(signature, at, |block, row, column| {
        let drawn = others.accumulator(&signature.c, family);
        if row == column { at(block, row).c } else { drawn }
    })
}

/// Case `index` of `family` under `seed`, for dot products of `k` elements in `formats`.
pub fn case(formats: impl Into<Formats>, k: usize, family: Family, seed: u64, index: u64) -> Case {
    let model = formats.into();
    let mut random = Random::new(seed, index);
    let (mut a, mut b) = (Vec::with_capacity(k), Vec::with_capacity(k));
    match family {
        Family::Spread => {
            let large = random.below(k as u64 + 1);
            for element in 0..k as u64 {
                let down = if element == large { 0 } else { random.below(26) as i32 };
                let up = if element == large { 2 } else { 0 };
                a.push(random.near(&model.a, up - down));
                let further = random.below(u64::from(down.unsigned_abs()) + 1) as i32;
                b.push(random.near(&model.b, up - further));
            }
        }
        _ => {
            for _ in 0..k {
                a.push(random.code(&model.a, family));
                b.push(random.code(&model.b, family));
            }
        }
    }
    if family == Family::Cancelling {
        for pair in 0..k / 2 {
            let (from, to) = (2 * pair, 2 * pair + 1);
            a[to] = random.nearly(&model.a, a[from]) ^ model.a.sign_bit();
            b[to] = random.nearly(&model.b, b[from]);
        }
        random.shuffle(&mut a, &mut b);
    }
    let c = random.accumulator(&model.c, family);
    let mut scales = || match model.scale {
        None => Vec::new(),
        Some(scale) => (0..k / scale.size).map(|_| random.scale(&scale.format, family)).collect(),
    };
    Case { scale_a: scales(), scale_b: scales(), a, b, c }
}

/// The notable codes of a format, which each thread works out once.
fn notable<T>(format: &Format, take: impl FnOnce(&[u64]) -> T) -> T {
    thread_local! {
        static KNOWN: RefCell<Vec<(Format, Vec<u64>)>> = const { RefCell::new(Vec::new()) };
    }
    KNOWN.with_borrow_mut(|known| {
        let index = known.iter().position(|(one, _)| one == format).unwrap_or_else(|| {
            known.push((*format, notable_codes(format)));
            known.len() - 1
        });
        take(&known[index].1)
    })
}

/// Zero; one in a format that has no zero.
pub fn zero(format: &Format) -> u64 {
    if format.subnormals { 0 } else { format.one_code() }
}

/// The number of `format` nearest to `value`; beyond its range the largest.
pub fn nearest(format: &Format, value: f64) -> u64 {
    let real = decode(&F64, value.to_bits()).real(&F64);
    encode(format, real, Rounding::NearestEven, Overflow::Saturate)
}

/// The random stream of one case.
struct Random(ChaCha8Rng);

impl Random {
    fn new(seed: u64, index: u64) -> Random {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        generator.set_stream(index);
        Random(generator)
    }

    fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `bound`; the bias of the remainder is of no account here.
    fn below(&mut self, bound: u64) -> u64 {
        self.bits() % bound
    }

    fn code(&mut self, format: &Format, family: Family) -> u64 {
        match family {
            Family::Bits => self.bits() & format.max_code(),
            Family::Moderate | Family::Cancelling => {
                let shift = self.below(13) as i32 - 6;
                self.with_exponent(format, format.bias + shift)
            }
            Family::Tiny => {
                let field = self.below(3) as i32;
                self.with_exponent(format, field)
            }
            Family::Zeros if self.below(4) != 0 => self.sign(format),
            Family::Zeros => {
                let other = [Family::Bits, Family::Moderate, Family::Tiny][self.below(3) as usize];
                self.code(format, other)
            }
            Family::Spread => self.near(format, 0),
            Family::Notable => notable(format, |codes| codes[self.below(codes.len() as u64) as usize]),
            Family::Normal | Family::Uniform | Family::Outliers => self.drawn(format, family),
        }
    }

    fn accumulator(&mut self, format: &Format, family: Family) -> u64 {
        match family {
            Family::Spread => {
                let shift = self.below(40) as i32 - 20;
                self.near(format, shift)
            }
            _ => self.code(format, family),
        }
    }

    /// The number of the format nearest to one drawn from the family's distribution.
    #[allow(clippy::float_arithmetic)] // random numbers, not results
    fn drawn(&mut self, format: &Format, family: Family) -> u64 {
        let normal = |random: &mut Self| -> f64 { StandardNormal.sample(&mut random.0) };
        let value = match family {
            Family::Uniform => {
                let unit: f64 = StandardUniform.sample(&mut self.0);
                2.0 * unit - 1.0
            }
            Family::Outliers if self.below(1000) == 0 => normal(self) + 10.0 * normal(self),
            _ => normal(self),
        };
        nearest(format, value)
    }

    fn sign(&mut self, format: &Format) -> u64 {
        self.bits() & format.sign_bit()
    }

    /// A random number whose exponent field is `field`, brought into the format's range.
    fn with_exponent(&mut self, format: &Format, field: i32) -> u64 {
        let low_bits = format.fraction_bits + format.padding_bits;
        let largest = (format.max_finite_code() >> low_bits) as i32;
        let fraction = self.bits() & ((1 << low_bits) - 1);
        let magnitude = ((field.clamp(0, largest) as u64) << low_bits) | fraction;
        magnitude.min(format.max_finite_code()) | self.sign(format)
    }

    /// A number near 2^`shift` whose fraction is random, all ones or all zeros.
    fn near(&mut self, format: &Format, shift: i32) -> u64 {
        let code = self.with_exponent(format, format.bias + shift);
        let fraction = ((1u64 << format.fraction_bits) - 1) << format.padding_bits;
        match self.below(4) {
            0 => (code | fraction).min(format.max_finite_code() | (code & format.sign_bit())),
            1 => code & !fraction,
            _ => code,
        }
    }

    /// The same number with its last bits changed now and then.
    fn nearly(&mut self, format: &Format, code: u64) -> u64 {
        let last = self.below(4) << format.padding_bits;
        let changed = code ^ last;
        if self.below(2) == 0 || changed & !format.sign_bit() > format.max_finite_code() {
            code
        } else {
            changed
        }
    }

    fn scale(&mut self, format: &Format, family: Family) -> u64 {
        match family {
            Family::Bits | Family::Notable => self.code(format, family),
            Family::Zeros if self.below(8) == 0 => 0,
            Family::Tiny => self.below(6),
            _ => {
                let shift = self.below(9) as i32 - 4;
                self.with_exponent(format, format.bias + shift)
            }
        }
    }

    fn shuffle(&mut self, a: &mut [u64], b: &mut [u64]) {
        for last in (1..a.len()).rev() {
            let other = self.below(last as u64 + 1) as usize;
            a.swap(last, other);
            b.swap(last, other);
        }
    }
}
