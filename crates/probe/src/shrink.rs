//! A failing case made small: elements to zero, then bits cleared.

use bitmma::Signature;
use bitmma::formats::Format;
use bitmma::inputs::Case;

use crate::error::Error;
use crate::numbers::zero;

/// Rounds of questions at most.
const ROUNDS: usize = 400;

/// The smallest case found that still fails; `fails` says of each of some cases whether it does.
pub(crate) fn shrink(
    signature: &Signature,
    case: &Case,
    mut fails: impl FnMut(&[Case]) -> Result<Vec<bool>, Error>,
) -> Result<Case, Error> {
    let mut smallest = case.clone();
    let mut rounds = 0;
    let mut first = |smallest: &mut Case, smaller: &dyn Fn(&Case) -> Vec<Case>| -> Result<bool, Error> {
        rounds += 1;
        let tried = smaller(smallest);
        if tried.is_empty() || rounds > ROUNDS {
            return Ok(false);
        }
        let failing = fails(&tried)?.iter().position(|&fails| fails);
        if let Some(index) = failing {
            smallest.clone_from(&tried[index]);
        }
        Ok(failing.is_some())
    };
    // elements, in ever smaller chunks
    let mut chunk = signature.k;
    while chunk > 0 {
        while first(&mut smallest, &|case| without_chunks(signature, case, chunk))? {}
        chunk /= 2;
    }
    while first(&mut smallest, &|case| with_simple_parts(signature, case))? {}
    while first(&mut smallest, &|case| with_fewer_bits(signature, case))? {}
    Ok(smallest)
}

/// The case with each chunk of products set to zero, and with C and the scale factors made simple.
fn without_chunks(signature: &Signature, case: &Case, chunk: usize) -> Vec<Case> {
    let (zero_a, zero_b) = (zero(&signature.a), zero(&signature.b));
    let mut tried = Vec::new();
    for start in (0..signature.k).step_by(chunk) {
        let mut smaller = case.clone();
        smaller.a[start..(start + chunk).min(signature.k)].fill(zero_a);
        smaller.b[start..(start + chunk).min(signature.k)].fill(zero_b);
        tried.push(smaller);
    }
    tried.retain(|smaller| smaller != case);
    tried
}

/// The case with one of its parts zero or one.
fn with_simple_parts(signature: &Signature, case: &Case) -> Vec<Case> {
    let mut tried = vec![Case { c: zero(&signature.c), ..case.clone() }];
    for index in 0..signature.k {
        let mut smaller = case.clone();
        smaller.a[index] = zero(&signature.a);
        tried.push(smaller);
        let mut smaller = case.clone();
        smaller.b[index] = zero(&signature.b);
        tried.push(smaller);
    }
    if let Some(scale) = signature.scale {
        let one = scale.format.one_code();
        for index in 0..case.scale_a.len() {
            let mut smaller = case.clone();
            smaller.scale_a[index] = one;
            tried.push(smaller);
            let mut smaller = case.clone();
            smaller.scale_b[index] = one;
            tried.push(smaller);
        }
    }
    tried.retain(|smaller| smaller != case);
    tried
}

/// The case with one set bit cleared, for each bit of each element; bits of one lie in few elements by now.
fn with_fewer_bits(signature: &Signature, case: &Case) -> Vec<Case> {
    fn bits(format: &Format, code: u64) -> impl Iterator<Item = u64> + use<> {
        (0..format.bits()).map(move |bit| code & !(1 << bit)).filter(move |&smaller| smaller != code)
    }
    let mut tried = Vec::new();
    for index in 0..signature.k {
        for smaller in bits(&signature.a, case.a[index]) {
            let mut changed = case.clone();
            changed.a[index] = smaller;
            tried.push(changed);
        }
        for smaller in bits(&signature.b, case.b[index]) {
            let mut changed = case.clone();
            changed.b[index] = smaller;
            tried.push(changed);
        }
    }
    tried.extend(bits(&signature.c, case.c).map(|c| Case { c, ..case.clone() }));
    tried
}
