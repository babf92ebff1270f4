//! What several test files of the engine share: numbers by their text, instructions by their name, exact
//! rationals.

/// Random operands, from the source of the crate that asks units, which builds on this one.
#[path = "../../../../verify/src/inputs.rs"]
#[allow(dead_code, unreachable_pub)]
pub(crate) mod inputs;

use bitmma_engine::arithmetic::run::Operands;
use bitmma_engine::catalogue::{Architecture, Instruction, Revision, find};
use bitmma_engine::formats::text::digits_of as hex;
use bitmma_engine::formats::{Class, Format, Overflow, Rounding, decode, text};
use bitmma_engine::{Case, Model};
use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;

/// The code of a number that the format has exactly; hex floats, decimals, `0x` codes, `inf`, `nan`.
pub(crate) fn code(format: &Format, number: &str) -> u64 {
    let parsed = text::parse(format, number, Rounding::TowardZero, Overflow::Infinity)
        .unwrap_or_else(|error| panic!("{number} in {format}: {error}"));
    assert!(parsed.exact, "{number} is not in {format}");
    parsed.code
}

/// Whether the format has the number exactly.
pub(crate) fn has(format: &Format, number: &str) -> bool {
    text::parse(format, number, Rounding::TowardZero, Overflow::Infinity).is_ok_and(|parsed| parsed.exact)
}

/// The row of that name.
pub(crate) fn row(architecture: Architecture, name: &str) -> &'static Instruction {
    find(architecture, name).unwrap_or_else(|error| panic!("{error}")).instruction
}

/// A model and the K of the instruction it belongs to.
pub(crate) struct Unit {
    /// Architecture, instruction, revision.
    pub(crate) name: String,
    /// The model.
    pub(crate) model: Model,
    /// Elements along K.
    pub(crate) k: usize,
}

/// The instruction of that name.
pub(crate) fn unit(architecture: Architecture, name: &str, revision: Revision) -> Unit {
    let row = row(architecture, name);
    let model = row.model(revision).unwrap_or_else(|| panic!("{architecture} {name} has no model"));
    Unit { name: format!("{architecture} {name} ({revision})"), model, k: row.products() }
}

/// The instruction of that name, revision `hardware`.
pub(crate) fn hardware(architecture: Architecture, name: &str) -> Unit {
    unit(architecture, name, Revision::Hardware)
}

impl Unit {
    /// Operands from texts, index and number; what is not named is +0, scale factors are one.
    pub(crate) fn case(&self, a: &[(usize, &str)], b: &[(usize, &str)], c: &str) -> Case {
        let vector = |format: &Format, numbers: &[(usize, &str)]| {
            let mut codes = vec![0; self.k];
            for (index, number) in numbers {
                codes[*index] = code(format, number);
            }
            codes
        };
        let ones =
            self.model.scale.map_or(Vec::new(), |scale| vec![scale.format.one_code(); self.k / scale.size]);
        Case {
            a: vector(&self.model.a, a),
            b: vector(&self.model.b, b),
            c: code(&self.model.c, c),
            scale_a: ones.clone(),
            scale_b: ones,
        }
    }

    /// D of a case.
    pub(crate) fn d(&self, case: &Case) -> u64 {
        let Case { a, b, c, scale_a, scale_b } = case;
        self.model
            .dot(&Operands { a, b, c: *c, scale_a, scale_b })
            .unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    /// D of products (index, a, b) and an accumulator.
    pub(crate) fn answer(&self, products: &[(usize, &str, &str)], c: &str) -> u64 {
        let a: Vec<_> = products.iter().map(|(index, a, _)| (*index, *a)).collect();
        let b: Vec<_> = products.iter().map(|(index, _, b)| (*index, *b)).collect();
        self.d(&self.case(&a, &b, c))
    }

    /// Fails, with all that a replay needs, unless D of these products and accumulator is `expected`.
    pub(crate) fn expect(&self, products: &[(usize, &str, &str)], c: &str, expected: u64, why: &str) {
        let actual = self.answer(products, c);
        assert!(
            actual == expected,
            "{}: {why}\n products {products:?}, c {c}\n expected {} = {}\n actual   {} = {}",
            self.name,
            hex(&self.model.d, &[expected]),
            text::display(&self.model.d, expected),
            hex(&self.model.d, &[actual]),
            text::display(&self.model.d, actual),
        );
    }

    /// A case as text that can be replayed.
    pub(crate) fn shown(&self, case: &Case) -> String {
        let scale = self.model.scale.map_or(self.model.a, |scale| scale.format);
        format!(
            "{}\n a {}\n b {}\n c {}\n scale_a {}\n scale_b {}",
            self.name,
            hex(&self.model.a, &case.a),
            hex(&self.model.b, &case.b),
            hex(&self.model.c, &[case.c]),
            hex(&scale, &case.scale_a),
            hex(&scale, &case.scale_b)
        )
    }
}

/// 2^power.
pub(crate) fn power(power: i64) -> RBig {
    let magnitude = UBig::ONE << power.unsigned_abs() as usize;
    if power < 0 { RBig::from_parts(IBig::ONE, magnitude) } else { RBig::from(magnitude) }
}

/// The exact value of a code that is a finite number.
pub(crate) fn exact(format: &Format, code: u64) -> Option<RBig> {
    let unpacked = decode(format, code);
    unpacked.is_finite().then(|| {
        RBig::from(IBig::from(unpacked.signed_significand()))
            * power(i64::from(unpacked.exponent) - i64::from(format.fraction_bits))
    })
}

/// The paper's Exp(x) of a number; `None` for zero, which has none of its own.
pub(crate) fn exponent(format: &Format, code: u64) -> Option<i64> {
    let unpacked = decode(format, code);
    (unpacked.class == Class::Finite).then_some(i64::from(unpacked.exponent))
}

/// The exact dot product, scale factors included; `None` if something is not finite.
pub(crate) fn exact_dot(model: &Model, case: &Case) -> Option<RBig> {
    let mut sum = exact(&model.c, case.c)?;
    for index in 0..case.a.len() {
        let mut product = exact(&model.a, case.a[index])? * exact(&model.b, case.b[index])?;
        if let Some(scale) = model.scale {
            product *= exact(&scale.format, case.scale_a[index / scale.size])?;
            product *= exact(&scale.format, case.scale_b[index / scale.size])?;
        }
        sum += product;
    }
    Some(sum)
}

/// One unit in the last place of a result: 2^(e_result - fraction bits), e_result not below the format's
/// smallest exponent.
pub(crate) fn ulp(format: &Format, container: &Format, code: u64) -> RBig {
    let exponent = exponent(container, code).unwrap_or(i64::from(format.min_exponent()));
    power(exponent - i64::from(format.fraction_bits))
}

/// |x|
pub(crate) fn magnitude(x: RBig) -> RBig {
    if x < RBig::ZERO { -x } else { x }
}
