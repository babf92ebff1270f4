//! Pairs of models that differ, each a class of its own: [`separating`] finds an input that shows it.

use super::*;
use crate::hypotheses::answers;
use crate::hypotheses::refine::neighbourhood;
use crate::hypotheses::space::{Coordinate, Space};
use crate::numbers::same;
use bitmma_engine::Signature;
use bitmma_engine::arithmetic::{Conversion, FusedSum, Operation, RoundedSum};
use bitmma_engine::formats::{BF16, BlockScale, E4M3, E5M2, F16, F32, F64, Format, Rounding, UE8M0};
use bitmma_engine::threads::prelude::*;

#[path = "../../tests/probe/common/mod.rs"]
#[allow(dead_code)] // these tests use a part
mod common;

use common::edges::{disagreements, edge};

/// Constructed inputs of the two rounds in which a model is compared with all its rivals.
const TRIES: u64 = 1024;

fn signature(model: &Model, k: usize) -> Signature {
    Signature::of_model(String::new(), model, (1, 1, k))
}

/// Whether an input is found on which the models part; it is compared with their answers.
fn told_apart(models: [&Model; 2], k: usize, seed: u64) -> bool {
    let signature = signature(models[0], k);
    let Some(case) = separating(&Formats::from(&signature), k, models, (seed, TRIES)) else { return false };
    let [one, other] = models.map(|model| answers(model, k, std::slice::from_ref(&case)).unwrap()[0]);
    assert!(!same(&signature.d, one, other), "{case:x?}");
    true
}

fn t(format: Format, fraction_bits: u32, zero: Option<i32>, rounding: Rounding) -> Model {
    let sum = FusedSum { zero_exponent: zero, ..FusedSum::new(8, fraction_bits) };
    Model::new(format, format, F32, Operation::TFdpa(sum), Conversion::new(rounding, F32))
}

fn tr(format: Format, bits: (u32, u32), zero: Option<i32>, rounding: Rounding) -> Model {
    let sum = RoundedSum {
        max_length: 8,
        fraction_bits: bits.0,
        sum_fraction_bits: bits.1,
        term_rounding: Rounding::TowardZero,
        sum_rounding: Rounding::Down,
        renormalize: false,
        zero_accumulator_exponent: zero,
        product_overflow: None,
    };
    Model::new(format, format, F32, Operation::TrFdpa(sum), Conversion::new(rounding, F32))
}

/// The model with another sum.
fn with(model: &Model, change: impl Fn(&mut RoundedSum)) -> Model {
    let mut model = model.clone();
    change(model.operation.rounded_mut().unwrap());
    model
}

fn widened(model: &Model, operands: Option<Format>, accumulator: Option<Format>) -> Model {
    let lowering = bitmma_engine::arithmetic::Lowering {
        widen_operands: operands,
        widen_accumulator: accumulator,
        ..model.lowering
    };
    Model { lowering, ..model.clone() }
}

/// Differences that random inputs, and terms drawn at landmarks alone, met in fewer than one input of ten thousand.
#[test]
fn rare_differences_are_found() {
    use Rounding::{
        Down, NearestAway, NearestDown, NearestEven, NearestOdd, NearestUp, NearestZero, ToOdd, TowardZero,
        Up,
    };
    let renormalized = |model: &Model| with(model, |sum| sum.renormalize = true);
    let rounded = |model: &Model, rounding| with(model, |sum| sum.sum_rounding = rounding);
    let terms = |model: &Model, rounding| with(model, |sum| sum.term_rounding = rounding);
    let grouped = |model: &Model| match model.operation {
        Operation::TrFdpa(sum) => Model { operation: Operation::GtrFdpa(sum), ..model.clone() },
        _ => model.clone(),
    };
    let scaled = |rounding| Model {
        scale: Some(BlockScale { format: UE8M0, size: 16 }),
        operation: Operation::StFdpa(FusedSum { zero_exponent: Some(-128), ..FusedSum::new(8, 21) }),
        ..t(E4M3, 21, None, rounding)
    };
    let fp8 = renormalized(&rounded(&tr(E4M3, (30, 34), Some(-127), NearestDown), NearestAway));
    let small =
        terms(&renormalized(&rounded(&grouped(&tr(E5M2, (18, 31), Some(-138), Down)), NearestZero)), Down);
    let half = terms(&tr(BF16, (27, 30), Some(-119), NearestZero), NearestOdd);
    let falling = renormalized(&tr(BF16, (17, 34), None, TowardZero));
    let odd = |zero, rounding| {
        let sum = FusedSum { term_rounding: NearestOdd, zero_exponent: zero, ..FusedSum::new(2, 21) };
        Model { operation: Operation::TFdpa(sum), ..t(F16, 21, zero, rounding) }
    };
    let single = |sum_bits, zero, renormalize, rounding| {
        with(&tr(E4M3, (11, sum_bits), zero, NearestZero), |sum| {
            (sum.max_length, sum.renormalize, sum.term_rounding) = (1, renormalize, rounding);
        })
    };
    let subnormal = t(E4M3, 29, None, TowardZero);
    let rows = [
        (
            "a tie of FP32's smallest numbers, and a tail that e_zero cuts",
            8,
            t(BF16, 24, Some(-133), NearestEven),
            t(BF16, 24, None, NearestEven),
        ),
        (
            "the same, between two exponents",
            8,
            t(BF16, 25, Some(-133), NearestEven),
            t(BF16, 25, Some(-132), NearestEven),
        ),
        (
            "a negative tail that a cut down carries into the last place",
            4,
            falling.clone(),
            with(&falling, |sum| sum.zero_accumulator_exponent = Some(-124)),
        ),
        (
            "a tie of products far below C, and a tail of products",
            32,
            fp8.clone(),
            with(&fp8, |sum| sum.sum_fraction_bits = 58),
        ),
        ("a subnormal C alone, cut twice", 32, small.clone(), widened(&small, None, Some(F64))),
        (
            "one bit more below a sum that has cancelled",
            8,
            half.clone(),
            with(&renormalized(&half), |sum| sum.zero_accumulator_exponent = Some(-118)),
        ),
        (
            "a subnormal C alone, cut and rounded",
            16,
            odd(Some(-145), NearestUp),
            widened(&odd(None, Up), None, Some(F64)),
        ),
        (
            "a tie of sums narrower than FP32 but where they carry",
            16,
            t(F16, 20, None, NearestEven),
            t(F16, 20, None, NearestAway),
        ),
        ("the same under block scales", 32, scaled(ToOdd), scaled(NearestZero)),
        (
            "a tie and its tail in one product",
            16,
            single(29, None, false, Rounding::Up),
            single(28, None, true, Rounding::AwayFromZero),
        ),
        (
            "C cut below products of subnormal numbers",
            32,
            subnormal.clone(),
            widened(&subnormal, Some(F16), None),
        ),
    ];
    for (name, k, one, other) in rows {
        for seed in 0..8 {
            assert!(
                told_apart([&one, &other], k, seed),
                "{name}, seed {seed}\n{}{}",
                one.to_toml(),
                other.to_toml()
            );
        }
    }
}

/// Every rounding of a cut with every rounding of rho, and of each such model every neighbor: one bit more or less,
/// an exponent of zeros one higher or lower, every other rounding.
#[test]
fn every_neighbour_under_every_pair_of_roundings() {
    let fused = [(24, Some(-133)), (20, Some(-128)), (28, None)];
    let rounded = [((24, 31), Some(-126)), ((20, 27), Some(-130)), ((18, 22), None)];
    let mut pairs: Vec<(Model, Model)> = Vec::new();
    let space = Space::new(&signature(&t(BF16, 24, None, Rounding::TowardZero), 8));
    for (cut, _) in Rounding::ALL {
        for (rho, _) in Rounding::ALL {
            let mut models: Vec<Model> = Vec::new();
            for (bits, zero) in fused {
                let sum = FusedSum { term_rounding: cut, zero_exponent: zero, ..FusedSum::new(8, bits) };
                models.push(Model { operation: Operation::TFdpa(sum), ..t(BF16, bits, zero, rho) });
            }
            for (bits, zero) in rounded {
                for renormalize in [false, true] {
                    models.push(with(&tr(BF16, bits, zero, rho), |sum| {
                        (sum.sum_rounding, sum.renormalize) = (cut, renormalize);
                    }));
                }
            }
            for model in models {
                pairs.extend(neighbours(&space, &model).into_iter().map(|rival| (model.clone(), rival)));
            }
        }
    }
    let chosen: Vec<&(Model, Model)> = pairs.iter().step_by(if common::all() { 1 } else { 97 }).collect();
    let missed: Vec<&&(Model, Model)> =
        chosen.par_iter().filter(|(model, rival)| !told_apart([model, rival], 8, 1)).collect();
    // some pairs are alike, without a proof
    let differs = |(model, rival): &(Model, Model)| {
        let (wrong, first) = disagreements(model, rival, &signature(model, 8), (200_000, 1));
        eprintln!(
            "not told apart, {wrong} of 200,000 differ {first:x?}\n{}{}",
            model.to_toml(),
            rival.to_toml()
        );
        wrong > 0
    };
    let wrong = missed.iter().filter(|pair| differs(pair)).count();
    eprintln!(
        "{} pairs of {}, {} not told apart, of which {wrong} differ",
        chosen.len(),
        pairs.len(),
        missed.len()
    );
    assert!(wrong == 0 && missed.len() * 50 <= chosen.len(), "{wrong} of {}", missed.len());
}

/// Models next to a model, of another canonical form.
fn neighbours(space: &Space, model: &Model) -> Vec<Model> {
    use Coordinate as P;
    let canonical = space.canonical(model);
    let near = |number: u32, other: u32| number.abs_diff(other) <= 1;
    let mut found = Vec::new();
    for parameter in
        [P::F, P::F2, P::E_ZERO, P::E_ZERO_C, P::TERM_ROUNDING, P::SUM_ROUNDING, P::ConversionRounding]
    {
        for rival in space.vary(model, &[parameter]) {
            let numbers = |model: &Model| match (model.operation.fused(), model.operation.rounded()) {
                (Some(sum), _) => {
                    [sum.fraction_bits, 0, sum.zero_exponent.map_or(0, |zero| (zero + 1000) as u32)]
                }
                (_, Some(sum)) => [
                    sum.fraction_bits,
                    sum.sum_fraction_bits,
                    sum.zero_accumulator_exponent.map_or(0, |zero| (zero + 1000) as u32),
                ],
                _ => [0; 3],
            };
            let (one, other) = (numbers(model), numbers(&rival));
            let close = (0..3).all(|at| near(one[at], other[at]));
            if close && space.canonical(&rival) != canonical {
                found.push(rival);
            }
        }
    }
    found
}

/// Models drawn with rivals near and far: what a hundred thousand drawn inputs tell apart, few constructed ones do.
#[test]
fn what_many_inputs_tell_apart_few_constructed_ones_do() {
    let seeds = common::seeds(&[0, 1, 2, 3], 0..600);
    let drawn: Vec<[usize; 3]> = seeds
        .into_iter()
        .collect::<Vec<_>>()
        .into_par_iter()
        .map(|seed| {
            let (model, k) = edge(seed);
            let signature = signature(&model, k);
            let space = Space::new(&signature);
            let model = space.canonical(&model);
            let mut random = Random::new(0x5a1, seed);
            let groups = neighbourhood();
            let mut counted = [0; 3];
            for _ in 0..60 {
                let mut rivals = space.vary(&model, &groups[random.below(groups.len())]);
                rivals.retain(|rival| rival.operation.name() == model.operation.name());
                let Some(rival) = rivals.get(random.below(rivals.len().max(1))) else { continue };
                let rival = space.canonical(rival);
                let compared = |count| disagreements(&model, &rival, &signature, (count, seed));
                if rival == model || compared(2000).0 > 0 {
                    continue;
                }
                if told_apart([&model, &rival], k, seed) {
                    counted[0] += 1;
                    continue;
                }
                let (wrong, first) = compared(100_000);
                counted[if wrong == 0 { 1 } else { 2 }] += 1;
                if wrong > 0 {
                    eprintln!(
                        "seed {seed}: {wrong} of 100000, {:x?}\n{}{}",
                        first.unwrap(),
                        model.to_toml(),
                        rival.to_toml()
                    );
                }
            }
            counted
        })
        .collect();
    let [told, alike, missed] =
        drawn.iter().fold([0; 3], |sum, one| std::array::from_fn(|at| sum[at] + one[at]));
    eprintln!(
        "{told} told apart that 2,000 inputs did not, {alike} not, by 100,000 neither, {missed} missed"
    );
    assert!(missed == 0 && told > 0, "{missed} missed");
}
