//! The least of a case that still shows what it showed.

use bitmma_engine::Case;
use bitmma_engine::formats::Format;

use crate::inputs::{Formats, zero};

/// Questions a shrinking may take; what is reached by then is the result.
const ROUNDS: usize = 400;

/// The smallest case that was found on which `fails` holds, from one on which it does: elements to zero,
/// C to zero, scale factors to one, then bits cleared one by one. `fails` answers for many cases at once.
pub fn shrink<E>(
    formats: impl Into<Formats>,
    case: &Case,
    mut fails: impl FnMut(&[Case]) -> Result<Vec<bool>, E>,
) -> Result<Case, E> {
    let formats = formats.into();
    let mut least = case.clone();
    let mut rounds = ROUNDS;
    // continue with the first simpler case that fails, until none does
    let mut settle = |least: &mut Case, simpler: &dyn Fn(&Case) -> Vec<Case>| -> Result<(), E> {
        while rounds > 0 {
            rounds -= 1;
            let candidates = simpler(least);
            if candidates.is_empty() {
                break;
            }
            match fails(&candidates)?.iter().position(|fails| *fails) {
                Some(index) => *least = candidates[index].clone(),
                None => break,
            }
        }
        Ok(())
    };
    let mut run = case.a.len().div_ceil(2);
    while run > 0 {
        settle(&mut least, &|case| without_elements(&formats, case, run))?;
        run /= 2;
    }
    settle(&mut least, &|case| plain_factors(&formats, case))?;
    settle(&mut least, &|case| with_fewer_bits(&formats, case))?;
    Ok(least)
}

/// Runs of elements set to zero, one run at a time; then C.
fn without_elements(formats: &Formats, case: &Case, run: usize) -> Vec<Case> {
    let mut all = Vec::new();
    for first in (0..case.a.len()).step_by(run) {
        let range = first..(first + run).min(case.a.len());
        for (a, b) in [(true, true), (true, false), (false, true)] {
            let mut simpler = case.clone();
            if a {
                simpler.a[range.clone()].fill(zero(&formats.a));
            }
            if b {
                simpler.b[range.clone()].fill(zero(&formats.b));
            }
            if simpler != *case {
                all.push(simpler);
            }
        }
    }
    let simpler = Case { c: zero(&formats.c), ..case.clone() };
    if simpler != *case {
        all.push(simpler);
    }
    all
}

/// Scale factors set to one, one at a time.
fn plain_factors(formats: &Formats, case: &Case) -> Vec<Case> {
    let Some(scale) = formats.scale else { return Vec::new() };
    let one = scale.format.one_code();
    let mut all = Vec::new();
    for index in 0..case.scale_a.len() {
        let mut simpler = case.clone();
        simpler.scale_a[index] = one;
        all.push(simpler);
        let mut simpler = case.clone();
        simpler.scale_b[index] = one;
        all.push(simpler);
    }
    all.retain(|simpler| simpler != case);
    all
}

/// One bit cleared, the lowest of each code first; the sign last.
fn with_fewer_bits(formats: &Formats, case: &Case) -> Vec<Case> {
    let bits = |format: &Format, code: u64| (0..format.bits()).filter(move |bit| code >> bit & 1 == 1);
    let mut all = Vec::new();
    for index in 0..case.a.len() {
        for bit in bits(&formats.a, case.a[index]) {
            let mut simpler = case.clone();
            simpler.a[index] ^= 1 << bit;
            all.push(simpler);
        }
        for bit in bits(&formats.b, case.b[index]) {
            let mut simpler = case.clone();
            simpler.b[index] ^= 1 << bit;
            all.push(simpler);
        }
    }
    all.extend(bits(&formats.c, case.c).map(|bit| Case { c: case.c ^ 1 << bit, ..case.clone() }));
    all
}

#[cfg(test)]
mod tests {
    use bitmma_engine::formats::{F16, F32};

    use super::shrink;
    use crate::inputs::{Family, Formats, case};
    use bitmma_engine::Case;

    #[test]
    fn to_the_cause() {
        let formats = Formats { a: F16, b: F16, c: F32, scale: None };
        let start = case(formats, 16, Family::Bits, 1, 1);
        // what fails: one bit of one element, and the sign of C
        let mut start = Case { c: start.c | 1 << 31, ..start };
        start.a[5] |= 1 << 9;
        let fails = |case: &Case| case.a[5] >> 9 & 1 == 1 && case.c >> 31 == 1;
        let least = shrink(formats, &start, |cases| Ok::<_, ()>(cases.iter().map(fails).collect()));
        let least = least.expect("it fails");
        let mut expected = vec![0; 16];
        expected[5] = 1 << 9;
        assert_eq!((least.a, least.b, least.c), (expected, vec![0; 16], 1 << 31));
    }
}
