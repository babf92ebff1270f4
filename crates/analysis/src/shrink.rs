//! From a case that shows something to a small one that still shows it.

use bitmma_engine::formats::{BlockScale, Format, decode};
use bitmma_engine::{Case, Model};

/// How simple a case is, the simplest first: non-zero elements of A, B and C; bits set in their
/// significands; distance of their exponents from that of one; scale factors other than one; minus signs.
pub type Simplicity = (usize, u32, u32, usize, usize);

/// How simple a case of this model is.
pub fn simplicity(model: &Model, case: &Case) -> Simplicity {
    let mut total = (0, 0, 0, 0, 0);
    let elements = case.a.iter().map(|code| (&model.a, *code));
    let elements = elements.chain(case.b.iter().map(|code| (&model.b, *code))).chain([(&model.c, case.c)]);
    for (format, code) in elements {
        let unpacked = decode(format, code);
        if format.sign_bit() & code != 0 {
            total.4 += 1;
        }
        if unpacked.is_finite() && unpacked.significand == 0 {
            continue;
        }
        total.0 += 1;
        total.1 += unpacked.significand.count_ones();
        total.2 += leading(format, code).unsigned_abs();
    }
    if let Some(scale) = model.scale {
        let one = scale.format.one_code();
        total.3 = case.scale_a.iter().chain(&case.scale_b).filter(|code| **code != one).count();
    }
    total
}

/// Exponent of the leading bit; 0 for zero and what is not finite.
pub(crate) fn leading(format: &Format, code: u64) -> i32 {
    let unpacked = decode(format, code);
    if !unpacked.is_finite() || unpacked.significand == 0 {
        return 0;
    }
    unpacked.exponent - format.fraction_bits as i32 + 63 - unpacked.significand.leading_zeros() as i32
}

/// The simplest case that single changes of `case` lead to and that `shows` still holds for.
pub(crate) fn shrink(model: &Model, case: &Case, mut shows: impl FnMut(&Case) -> bool) -> Case {
    let mut best = case.clone();
    let mut simple = simplicity(model, &best);
    loop {
        let before = simple;
        for candidate in simpler(model, &best) {
            let its = simplicity(model, &candidate);
            if its < simple && shows(&candidate) {
                (best, simple) = (candidate, its);
            }
        }
        if simple == before {
            return best;
        }
    }
}

/// Cases one change away, drastic ones first.
fn simpler(model: &Model, case: &Case) -> Vec<Case> {
    let mut all = Vec::new();
    let mut push = |change: &dyn Fn(&mut Case)| {
        let mut next = case.clone();
        change(&mut next);
        all.push(next);
    };
    let k = case.a.len();
    // halves, quarters, … of the elements, then single ones
    let mut size = k;
    while size > 0 {
        for first in (0..k).step_by(size) {
            push(&|next: &mut Case| {
                for index in first..(first + size).min(k) {
                    (next.a[index], next.b[index]) = (0, 0);
                }
            });
        }
        size /= 2;
    }
    push(&|next| next.c = 0);
    if let Some(BlockScale { format, .. }) = model.scale {
        let one = format.one_code();
        for block in 0..case.scale_a.len() {
            push(&|next| next.scale_a[block] = one);
            push(&|next| next.scale_b[block] = one);
        }
    }
    for code in simpler_codes(&model.c, case.c) {
        push(&|next| next.c = code);
    }
    for index in 0..k {
        for code in simpler_codes(&model.a, case.a[index]) {
            push(&|next| next.a[index] = code);
        }
        for code in simpler_codes(&model.b, case.b[index]) {
            push(&|next| next.b[index] = code);
        }
        // one factor's exponent for the other's
        let (low_a, low_b) = (step(&model.a), step(&model.b));
        push(&|next| {
            next.a[index] = next.a[index].wrapping_add(low_a) & model.a.max_code();
            next.b[index] = next.b[index].wrapping_sub(low_b) & model.b.max_code();
        });
        push(&|next| {
            next.a[index] = next.a[index].wrapping_sub(low_a) & model.a.max_code();
            next.b[index] = next.b[index].wrapping_add(low_b) & model.b.max_code();
        });
    }
    // all exponents of B, or of A, and C's by one
    for (a, b) in [(1, 0), (-1, 0), (0, 1), (0, -1)] {
        push(&|next| {
            let moved = |format: &Format, code: u64, by: i64| {
                let finite = decode(format, code).is_finite() && code & !format.sign_bit() != 0;
                if finite {
                    (code as i64).wrapping_add(by * step(format) as i64) as u64 & format.max_code()
                } else {
                    code
                }
            };
            next.a.iter_mut().for_each(|code| *code = moved(&model.a, *code, a));
            next.b.iter_mut().for_each(|code| *code = moved(&model.b, *code, b));
            next.c = moved(&model.c, next.c, a + b);
        });
    }
    all
}

/// One step of the exponent field.
fn step(format: &Format) -> u64 {
    1 << (format.fraction_bits + format.padding_bits)
}

/// One, powers of two, fewer bits, a nearer exponent, no sign.
fn simpler_codes(format: &Format, code: u64) -> Vec<u64> {
    let mut codes = Vec::new();
    let magnitude = code & !format.sign_bit();
    if magnitude == 0 {
        return if code == 0 { codes } else { vec![0] };
    }
    let sign = code & format.sign_bit();
    codes.extend([0, format.one_code(), format.one_code() | sign, magnitude]);
    let fraction = ((1u64 << format.fraction_bits) - 1) << format.padding_bits;
    codes.push(code & !fraction);
    for bit in 0..format.fraction_bits + format.padding_bits {
        if code >> bit & 1 == 1 {
            codes.push(code ^ (1 << bit));
        }
    }
    for by in [8, 4, 2, 1] {
        let shift = by * step(format);
        codes.extend([
            magnitude.saturating_sub(shift) | sign,
            (magnitude + shift).min(format.max_finite_code()) | sign,
        ]);
    }
    codes
}
