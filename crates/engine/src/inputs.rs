//! Random dot products in families, each case addressed by seed and index alone.
//!
//! Case `index` of a seed is the same on every machine and in every order of asking: ChaCha is a
//! counter-based generator, the index its stream.

use bitmma_arithmetic::Model;
use bitmma_formats::{Format, cases::notable_codes};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

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
    /// Limits of the format and their neighbours, specials among them.
    Notable,
}

impl Family {
    /// Every family.
    pub const ALL: [Family; 7] = [
        Family::Bits,
        Family::Moderate,
        Family::Tiny,
        Family::Zeros,
        Family::Cancelling,
        Family::Spread,
        Family::Notable,
    ];
}

/// The operands of one dot product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// K codes.
    pub a: Vec<u64>,
    /// K codes.
    pub b: Vec<u64>,
    /// One code.
    pub c: u64,
    /// K/block codes, or none.
    pub scale_a: Vec<u64>,
    /// K/block codes, or none.
    pub scale_b: Vec<u64>,
}

/// Case `index` of `family` under `seed`, for dot products of `k` elements by `model`.
pub fn case(model: &Model, k: usize, family: Family, seed: u64, index: u64) -> Case {
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
    let c = match family {
        Family::Spread => {
            let shift = random.below(40) as i32 - 20;
            random.near(&model.c, shift)
        }
        _ => random.code(&model.c, family),
    };
    let mut scales = || match model.scale {
        None => Vec::new(),
        Some(scale) => (0..k / scale.size).map(|_| random.scale(&scale.format, family)).collect(),
    };
    Case { scale_a: scales(), scale_b: scales(), a, b, c }
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
            Family::Notable => {
                let codes = notable_codes(format);
                codes[self.below(codes.len() as u64) as usize]
            }
        }
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
