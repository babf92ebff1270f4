//! Claims of `docs/semantics.md`: by a unit that is right all that can be told are confirmed, and one that is wrong
//! in one thing on purpose contradicts that claim by name.

use std::collections::BTreeMap;

use bitmma_engine::arithmetic::{Conversion, Model, Operation};
use bitmma_engine::catalogue::of;
use bitmma_engine::formats::{Class, decode};
use bitmma_engine::{Architecture, Error, Matrix, MmaUnit, Operands, Revision, Signature, Simulator};
use bitmma_verify::campaign::{Finding, settle};

/// FP16 in place of BF16 reaches neither the cut by zeros nor overflow.
const FP32: &str = "mma.m16n8k16.f32.bf16.bf16.f32";
const FP16: &str = "mma.m16n8k16.f16.f16.f16.f16";

fn right(name: &str) -> Simulator {
    Simulator::instruction(Architecture::Hopper, name, Revision::Hardware).expect("known")
}

fn findings(unit: &dyn MmaUnit, model: &Model) -> BTreeMap<String, Finding> {
    let settled = settle(unit, model).expect("answers");
    settled.into_iter().map(|one| (format!("{} {}", one.rule, one.claim), one.finding())).collect()
}

#[test]
fn a_right_unit_confirms_all_that_can_be_told() {
    for row in of(Architecture::Hopper).filter(|row| row.is_native()) {
        let name = row.name_for(row.m.first, row.n.first);
        let unit = right(&name);
        for (claim, finding) in findings(&unit, unit.own_model()) {
            match finding {
                Finding::Confirmed => {}
                Finding::Open => println!("{name}: open: {claim}"),
                other => panic!("{name}: {claim}: {other:?}"),
            }
        }
    }
    // what the directed cases must tell, for FP32 and FP16 results and for FP64 in every rounding
    for name in [FP32, FP16] {
        let open = findings(&right(name), right(name).own_model());
        assert!(open.values().all(|finding| *finding == Finding::Confirmed), "{name}: {open:?}");
    }
    for rounding in ["", "rz.", "rm.", "rp."] {
        let name = format!("mma.m8n8k4.{rounding}f64.f64.f64.f64");
        let found = findings(&right(&name), right(&name).own_model());
        for (claim, finding) in &found {
            let told = ["5 ", "7 ", "9 ", "- results"].iter().any(|start| claim.starts_with(start));
            assert!(!told || *finding == Finding::Confirmed, "{name}: {claim}: {finding:?}");
        }
    }
}

/// A unit that gives the model's answers, changed.
struct Changed<F> {
    unit: Simulator,
    change: F,
}

impl<F: Fn(u64) -> u64> MmaUnit for Changed<F> {
    fn signature(&self) -> &Signature {
        self.unit.signature()
    }

    fn multiply(&self, operands: &Operands<'_>) -> Result<Matrix, Error> {
        let answer = self.unit.multiply(operands)?;
        let codes: Vec<u64> = answer.iter().map(&self.change).collect();
        Matrix::new(answer.format(), answer.shape(), codes)
    }
}

/// The claims that are contradicted, by their rules and first words.
fn contradicted(unit: &dyn MmaUnit, model: &Model) -> Vec<String> {
    let mut found: Vec<String> = findings(unit, model)
        .into_iter()
        .filter(|(_, finding)| *finding == Finding::Contradicted)
        .map(|(claim, _)| claim.split_whitespace().take(3).collect::<Vec<_>>().join(" "))
        .collect();
    found.sort();
    found
}

#[test]
fn a_unit_that_is_wrong_in_one_thing_contradicts_that_claim() {
    for name in [FP32, FP16] {
        let model = right(name).own_model().clone();
        let shape = (16, 8, 16);
        let by = |model: Model| Simulator::model(model, shape).expect("a model");
        for zero_exponent in [None, Some(-132), Some(-20)] {
            let mut wrong = model.clone();
            if let Operation::TFdpa(sum) = &mut wrong.operation {
                if zero_exponent
                    .is_some_and(|other| sum.zero_exponent.is_some_and(|own| own.abs_diff(other) > 1))
                {
                    continue; // that of the other output
                }
                sum.zero_exponent = zero_exponent;
            }
            assert_eq!(contradicted(&by(wrong), &model), ["2 a zero"], "{name}, {zero_exponent:?}");
        }
        let d = model.d;
        let is = move |class: Class| move |code: u64| decode(&d, code).class == class;
        let (zero, nan, infinite) = (is(Class::Zero), is(Class::Nan), is(Class::Infinity));
        let sign = d.sign_bit();
        let change =
            |change: Box<dyn Fn(u64) -> u64>| contradicted(&Changed { unit: right(name), change }, &model);
        assert_eq!(
            change(Box::new(move |code| if zero(code) { sign } else { code })),
            ["5 a zero"],
            "{name}"
        );
        let quiet = d.nan_code().expect("a NaN");
        assert_eq!(
            change(Box::new(move |code| if nan(code) { quiet } else { code })),
            ["9 NaN is"],
            "{name}"
        );
        let largest = d.max_finite_code();
        let saturated =
            change(Box::new(move |code| if infinite(code) { code & sign | largest } else { code }));
        assert_eq!(saturated, ["6 overflow gives"], "{name}");
        let other =
            if model.conversion == Conversion::RZ_FP32 { Conversion::RNE_FP32 } else { Conversion::RNE_FP16 };
        let conversion = if other == model.conversion {
            Conversion { rounding: bitmma_engine::formats::Rounding::TowardZero, ..other }
        } else {
            other
        };
        let rounded = contradicted(&by(Model { conversion, ..model.clone() }), &model);
        assert!(rounded.contains(&"- results are".to_owned()), "{name}: {rounded:?}");
        assert!(!rounded.iter().any(|claim| claim.starts_with('9')), "{name}: {rounded:?}");
    }
}
