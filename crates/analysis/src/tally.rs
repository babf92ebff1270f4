//! How many elements of two arrays of codes differ, and by how much.

use bitmma_engine::formats::{BF16, F16, F32, F64, Format, text};

/// What the codes of an array mean.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Numbers of a format, one code an element.
    Float(Format),
    /// Whole numbers in two's complement.
    Signed,
    /// Whole numbers without a sign.
    Unsigned,
}

/// The differences of two arrays, element by element; all NaNs are one value, +0 and -0 are two.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Elements whose bits differ.
    pub differing: usize,
    /// The largest difference of two finite elements.
    pub largest: f64,
    /// The norm of the differences of elements finite in both, over the norm of the first array's finite elements; 0 where that is 0.
    pub relative: f64,
    /// The first element that differs.
    pub first: Option<usize>,
    /// Elements that are finite in one of the two only.
    pub not_finite: usize,
    /// How many elements are at most 1, 2 to 3, 4 to 7, … codes apart, the codes in the order of their values; empty for whole numbers.
    pub codes_apart: Vec<usize>,
}

/// Elements that are looked at together: those of both arrays stay in the nearest cache.
const PART: usize = 2048;

/// Compares two arrays of one length; `sizes` also measures how large the differences are.
pub fn tally<T: Copy + Eq + Into<u64>>(kind: Kind, ours: &[T], theirs: &[T], sizes: bool) -> Tally {
    // a format that is known when this is compiled is compared several times faster
    match kind {
        Kind::Float(format) if format == F32 => {
            compare(ours, theirs, sizes, Some(F32), |x| f64::from(f32::from_bits(word(x))))
        }
        Kind::Float(format) if format == F64 => {
            compare(ours, theirs, sizes, Some(F64), |x| f64::from_bits(x.into()))
        }
        Kind::Float(format) if format == BF16 => {
            compare(ours, theirs, sizes, Some(BF16), |x| f64::from(f32::from_bits(word(x) << 16)))
        }
        Kind::Float(format) if format == F16 => compare(ours, theirs, sizes, Some(F16), |x| half(word(x))),
        Kind::Float(format) => {
            let value = |x: T| f64::from_bits(text::to_f64_bits(&format, x.into()));
            compare(ours, theirs, sizes, Some(format), value)
        }
        Kind::Signed => {
            let unused = 64 - 8 * size_of::<T>() as u32;
            compare(ours, theirs, sizes, None, |x| (((x.into() << unused) as i64) >> unused) as f64)
        }
        Kind::Unsigned => compare(ours, theirs, sizes, None, |x| x.into() as f64),
    }
}

/// The low 32 bits of a code.
#[inline]
fn word(code: impl Into<u64>) -> u32 {
    code.into() as u32
}

/// An FP16 number: its bits in the place of FP32's, whose bias is 112 larger.
#[inline]
fn half(code: u32) -> f64 {
    let magnitude = (code & 0x7fff) << 13;
    let finite = f32::from_bits(magnitude) * f32::from_bits((112 + 127) << 23);
    let value = if code & 0x7c00 == 0x7c00 { f32::from_bits(magnitude | 0x7f80_0000) } else { finite };
    f64::from(if code & 0x8000 == 0 { value } else { -value })
}

/// `ordered` is the format whose order the codes have; None for whole numbers.
#[inline(always)]
fn compare<T: Copy + Eq + Into<u64>>(
    ours: &[T],
    theirs: &[T],
    sizes: bool,
    ordered: Option<Format>,
    value: impl Fn(T) -> f64,
) -> Tally {
    let mut found = Tally::default();
    let (mut squares, mut apart) = (0.0, [0_usize; 64]);
    let mut places = [0_usize; PART];
    for (part, (x, y)) in ours.chunks(PART).zip(theirs.chunks(PART)).enumerate() {
        if x == y {
            continue;
        }
        if !sizes {
            let differs = |(&x, &y): (&T, &T)| (x != y) & !(value(x).is_nan() & value(y).is_nan());
            found.differing += x.iter().zip(y).map(|pair| u32::from(differs(pair))).sum::<u32>() as usize;
            continue;
        }
        // which elements differ, without a branch that is foreseen as often as not
        let mut count = 0;
        for (at, (x, y)) in x.iter().zip(y).enumerate() {
            places[count] = at;
            count += usize::from(x != y);
        }
        for &at in &places[..count] {
            let (x, y) = (x[at], y[at]);
            let (a, b) = (value(x), value(y));
            if a.is_nan() && b.is_nan() {
                continue;
            }
            found.first.get_or_insert(part * PART + at);
            found.differing += 1;
            found.not_finite += usize::from(a.is_finite() != b.is_finite());
            let difference = (a - b).abs();
            if difference.is_finite() {
                found.largest = found.largest.max(difference);
                squares += difference * difference;
            }
            if let Some(format) = ordered {
                let codes = format.place(x.into()).abs_diff(format.place(y.into())) as u64; // below 2^64 in FP64
                apart[codes.max(1).ilog2() as usize] += 1;
            }
        }
    }
    let used = apart.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
    found.codes_apart = apart[..used].to_vec();
    if squares > 0.0 {
        let whole = norm(ours, value);
        found.relative = if whole > 0.0 { squares.sqrt() / whole } else { 0.0 };
    }
    found
}

/// The norm of the finite elements, in eight sums that the processor adds side by side.
fn norm<T: Copy + Eq + Into<u64>>(array: &[T], value: impl Fn(T) -> f64) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    for part in array.chunks(LANES) {
        for (sum, &x) in sums.iter_mut().zip(part) {
            let x = value(x);
            *sum += if x.is_finite() { x * x } else { 0.0 };
        }
    }
    sums.iter().sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every code, so that no NaN, infinity, subnormal or zero is left out.
    #[test]
    fn an_fp16_code_is_its_value() {
        for code in 0..=0xffff_u32 {
            let exact = f64::from_bits(text::to_f64_bits(&F16, u64::from(code)));
            let found = half(code);
            assert!(
                found.to_bits() == exact.to_bits() || (found.is_nan() && exact.is_nan()),
                "{code:#x}: {found}"
            );
        }
    }

    #[test]
    fn counts_by_hand() {
        // 1, -0, NaN, infinity, 2, largest against 1 + 2 codes, +0, another NaN, largest, 2, -largest
        let ours = [0x3c00_u16, 0x8000, 0x7e00, 0x7c00, 0x4000, 0x7bff];
        let theirs = [0x3c02_u16, 0x0000, 0xfe01, 0x7bff, 0x4000, 0xfbff];
        let found = tally(Kind::Float(F16), &ours, &theirs, true);
        let whole = (1.0_f64 + 4.0 + 65504.0 * 65504.0).sqrt();
        let squares = (2.0_f64 / 1024.0).powi(2) + (2.0 * 65504.0_f64).powi(2);
        let mut apart = vec![0; 16];
        (apart[0], apart[1], apart[15]) = (2, 1, 1); // zeros, infinity; 1; 2 · 0x7bff = 63486
        assert_eq!((found.differing, found.first, found.not_finite), (4, Some(0), 1));
        assert_eq!((found.largest, found.codes_apart), (2.0 * 65504.0, apart));
        assert!((found.relative - squares.sqrt() / whole).abs() < 1e-12);
        assert_eq!(tally(Kind::Float(F16), &ours, &theirs, false).differing, 4);
    }

    #[test]
    fn whole_numbers_and_far_places() {
        let (ours, mut theirs) = (vec![0_u8; 5000], vec![0_u8; 5000]);
        theirs[4321] = 0xff;
        let signed = tally(Kind::Signed, &ours, &theirs, true);
        assert_eq!((signed.first, signed.largest, signed.codes_apart.len()), (Some(4321), 1.0, 0));
        assert_eq!(tally(Kind::Unsigned, &ours, &theirs, true).largest.to_bits(), 255.0_f64.to_bits());
        // the extremes of FP64 are 2^64 - 2^53 - 1 codes apart
        let far = tally(Kind::Float(F64), &[f64::MAX.to_bits()], &[(-f64::MAX).to_bits()], true);
        assert_eq!((far.codes_apart.len(), far.differing, far.largest), (64, 1, 0.0));
    }
}
