//! Step 3: a feature line says what was measured, and names a rounding only where the measurements show it.

use std::sync::atomic::{AtomicU64, Ordering};

use bitmma_engine::catalogue::catalogue;
use bitmma_engine::formats::{Class, F16, F32, Format, Overflow, Real, Rounding, decode, encode};
use bitmma_engine::{Case, Error, FastSimulator, Matrix, MmaUnit, Operands, Revision, Signature, Simulator};
use bitmma_probe::{Feature, single_features};

/// Questions that the features of one unit may take.
const QUESTIONS: u64 = 600;

/// A unit that answers one dot product after the other, and counts them.
struct Dots<F> {
    signature: Signature,
    dot: F,
    asked: AtomicU64,
}

impl<F: Fn(&Case) -> u64> Dots<F> {
    /// FP16 to FP32, K = 16.
    fn new(dot: F) -> Dots<F> {
        let [a, b, c, d] = [F16, F16, F32, F32];
        let name = "test".to_owned();
        let signature = Signature { name, m: 1, n: 1, k: 16, blocks: 1, a, b, c, d, scale: None };
        Dots { signature, dot, asked: AtomicU64::new(0) }
    }
}

impl<F: Fn(&Case) -> u64> MmaUnit for Dots<F> {
    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn multiply(&self, operands: &Operands<'_>) -> Result<Matrix, Error> {
        let (blocks, m, n) = operands.shape();
        self.asked.fetch_add((blocks * m * n) as u64, Ordering::Relaxed);
        Matrix::from_fn(self.signature.d, (blocks, m, n), |block, row, column| {
            (self.dot)(&operands.case(block, row, column))
        })
    }
}

/// Numbers are whole multiples of 2^UNIT here, as far as the features ask for them.
const UNIT: i32 = -70;

/// A code in units of 2^[`UNIT`]; `None` for what no i128 holds.
fn units(format: &Format, code: u64) -> Option<i128> {
    let value = decode(format, code);
    let exponent = value.exponent - format.fraction_bits as i32 - UNIT;
    match value.class {
        Class::Zero => Some(0),
        Class::Finite if exponent < 95 => {
            let significand = i128::from(value.significand);
            let number =
                if exponent < 0 { significand >> (-exponent).min(127) } else { significand << exponent };
            Some(if value.negative { -number } else { number })
        }
        _ => None,
    }
}

/// The exact sum of C and the products, `weight` being applied to each product; `None` where it has no place.
fn sum(case: &Case, weight: impl Fn(usize, i128) -> i128) -> Option<i128> {
    let mut sum = units(&F32, case.c)?;
    for (index, (a, b)) in case.a.iter().zip(&case.b).enumerate() {
        let (a, b) = (decode(&F16, *a), decode(&F16, *b));
        if [a.class, b.class].iter().any(|class| !matches!(class, Class::Zero | Class::Finite)) {
            return None;
        }
        let exponent = a.exponent + b.exponent - 20 - UNIT;
        let product = i128::from(a.significand * b.significand) << exponent;
        sum += weight(index, if a.negative != b.negative { -product } else { product });
    }
    Some(sum)
}

/// Toward zero, in FP32; infinity where there is no sum.
fn truncated(sum: Option<i128>) -> u64 {
    match sum {
        Some(sum) => encode(&F32, Real::exact(sum, UNIT), Rounding::TowardZero, Overflow::Infinity),
        None => 0x7f80_0000,
    }
}

fn value<'f>(features: &'f [Feature], name: &str) -> &'f str {
    &features.iter().find(|feature| feature.name == name).unwrap_or_else(|| panic!("no {name}")).value
}

/// Whether a line names a rounding.
fn named(text: &str) -> Vec<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words.filter(|word| Rounding::ALL.iter().any(|(_, symbol)| symbol == word)).collect()
}

#[test]
fn a_threshold_that_is_no_half_is_measured() {
    // adds 3/8 of a last place and truncates
    let unit = Dots::new(|case: &Case| {
        truncated(sum(case, |_, product| product).map(|sum| {
            let last = sum.unsigned_abs().checked_ilog2().map_or(0, |leading| leading.saturating_sub(23));
            let more = 3i128 << last >> 3;
            if sum < 0 { sum - more } else { sum + more }
        }))
    });
    let features = single_features(&unit).unwrap();
    let rounding = value(&features, "rounding of the result");
    for start in ["U", "U + 1", "-(U)", "-(U + 1)"] {
        let measured = format!("{start} between 1279/2048 and 5/8 of a last place");
        assert!(rounding.contains(&measured), "'{measured}' is not in '{rounding}'");
    }
    assert_eq!(named(rounding), Vec::<&str>::new(), "{rounding}");
    assert_eq!(value(&features, "precision of the result"), "23 fractional bits of f32 are kept");
    assert!(unit.asked.into_inner() < QUESTIONS);
}

#[test]
fn unequal_weights_are_no_number_of_bits() {
    // products at odd places weigh 1 + 2^-12
    let unit = Dots::new(|case: &Case| {
        truncated(sum(
            case,
            |index, product| if index % 2 == 1 { product + (product >> 12) } else { product },
        ))
    });
    let features = single_features(&unit).unwrap();
    for feature in &features {
        println!("{}: {}", feature.name, feature.value);
        assert!(!feature.value.contains("nothing is kept"), "{}: {}", feature.name, feature.value);
        assert!(!feature.value.starts_with("0 fractional bits"), "{}: {}", feature.name, feature.value);
    }
    for name in ["precision of products", "precision of products across the sum"] {
        let text = value(&features, name);
        assert!(text.starts_with("no number of bits explains it: p0 = U, p"), "{name}: {text}");
    }
    assert!(unit.asked.into_inner() < QUESTIONS);
}

/// Every model of the catalogue: a rounding that is named is the model's, and most are.
#[test]
fn named_roundings_are_the_models() {
    let (mut known, mut all, mut right) = (Vec::new(), 0, 0);
    for row in catalogue().iter().filter(|row| row.is_native() && row.k <= 64 && !row.d.is_integer()) {
        let Some(model) = row.model(Revision::Hardware) else { continue };
        if known.contains(&model) {
            continue;
        }
        let shape = (1, 1, row.products());
        let unit = FastSimulator::new(Simulator::model(model.clone(), shape).unwrap());
        known.push(model.clone());
        let features = single_features(&unit).unwrap();
        let Some(line) = features.iter().find(|feature| feature.name == "rounding of the result") else {
            continue;
        };
        all += 1;
        let own = Rounding::ALL.iter().find(|(rule, _)| *rule == model.conversion.rounding).unwrap().1;
        let names = named(&line.value);
        let told = || format!("{}: {} for {}", row.target(), line.value, model.conversion);
        assert!(names.is_empty() || names == [own], "{}", told());
        if names.is_empty() {
            println!("{}", told());
        }
        right += usize::from(names == [own]);
    }
    println!("{right} of {all} models have a rounding that is named");
    assert!(all > 40 && 3 * right > 2 * all, "{right} of {all}");
}
