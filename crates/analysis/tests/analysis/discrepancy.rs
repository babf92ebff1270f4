//! Smallest inputs, proofs over small spaces, and the matrix of all against all.

use bitmma_analysis::data::{Distribution, Draw};
use bitmma_analysis::describe::input;
use bitmma_analysis::design_space::{Design, fused, measure};
use bitmma_analysis::discrepancy::{Difference, matrix, parting, smallest, smallest_of};
use bitmma_analysis::subject::subjects;
use bitmma_analysis::workaround::attempts;
use bitmma_engine::arithmetic::parameter::{Parameter, Value};
use bitmma_engine::arithmetic::{Conversion, InputFlush, Operation};
use bitmma_engine::catalogue::find;
use bitmma_engine::formats::text::parse;
use bitmma_engine::formats::{E2M1, E5M2, F16, F32, Overflow, Rounding};
use bitmma_engine::{Architecture, Case, Model, Revision};

fn model(architecture: Architecture, name: &str) -> Model {
    find(architecture, name).unwrap().instruction.model(Revision::Hardware).unwrap()
}

#[test]
fn the_smallest_input_has_one_product_and_an_accumulator() {
    let name = "mma.m16n8k16.f32.f16.f16.f32";
    let (ampere, hopper) = (model(Architecture::Ampere, name), model(Architecture::Hopper, name));
    let Difference::Found { case, simplicity, smallest, tried } =
        self::smallest(&ampere, &hopper, 16, 1_000_000, 1).unwrap()
    else {
        panic!("none found")
    };
    println!("{} after {tried} cases, {simplicity:?}", input(&ampere, &case));
    assert!(smallest, "every simpler input was tried");
    // one product and C, one bit each: 1·1 - 2^-25, of which F = 24 keeps nothing and F = 25 all
    assert_eq!((simplicity.0, simplicity.1), (3, 3));
    let parting = parting(&ampere, &hopper, &case).unwrap();
    let differing =
        |loss: &Option<bitmma_analysis::account::Loss>| loss.as_ref().map(|loss| loss.source.name());
    assert_eq!(differing(&parting.first.0), Some("fused summation"));
    let (x, y) = parting.accounts;
    let difference = &x.value.clone().unwrap() - &y.value.clone().unwrap();
    assert_eq!(difference, &x.explained() - &y.explained(), "the difference is that of the losses");
}

#[test]
fn what_both_lose_parts_no_results() {
    let wide = model(Architecture::Hopper, "mma.m16n8k16.f32.f16.f16.f32");
    let narrow =
        Model { operation: wide.operation.with(Parameter::FractionBits, Value::Number(12)), ..wide.clone() };
    let code = |text: &str| parse(&F16, text, Rounding::NearestEven, Overflow::Ieee).unwrap().code;
    let row = |words: [&str; 3]| words.iter().map(|word| code(word)).chain([0; 13]).collect();
    // both lose a2*b2, which is 2^-28; only F = 12 loses a1*b1, too
    let (a, b) = (row(["1", "0x1p-13", "0x1p-14"]), row(["1", "1", "0x1p-14"]));
    let case = Case { a, b, c: 0, scale_a: vec![], scale_b: vec![] };
    let (of_wide, of_narrow) = parting(&wide, &narrow, &case).unwrap().first;
    assert_eq!((of_wide, of_narrow.unwrap().term.as_str()), (None, "a1*b1"));
}

#[test]
fn the_smallest_input_of_several_models_is_the_smallest_of_their_pairs() {
    let wide = model(Architecture::Hopper, "mma.m16n8k16.f32.f16.f16.f32");
    let flushing = Model { flush_accumulator: InputFlush::Signed, ..wide.clone() };
    let ampere = model(Architecture::Ampere, "mma.m16n8k16.f32.f16.f16.f32");
    let of_pair = smallest(&wide, &flushing, 16, 1_000, 1).unwrap();
    let of_three = smallest_of(&wide, &[&ampere, &flushing], 16, 1_000, 1).unwrap();
    let (Difference::Found { case: pair, .. }, Difference::Found { case: three, .. }) = (of_pair, of_three)
    else {
        panic!("a subnormal C tells them apart")
    };
    assert_eq!((&three, three.a[0]), (&pair, 0));
}

#[test]
fn equal_models_never_differ_and_small_spaces_are_proven() {
    let name = "mma.m16n8k16.f32.f16.f16.f32";
    let (ampere, ada) = (model(Architecture::Ampere, name), model(Architecture::Ada, name));
    assert!(matches!(smallest(&ampere, &ada, 16, 10, 1).unwrap(), Difference::Never { tried: 0 }));
    // an exact sum of one product is a fused multiply-add: all 2^16 inputs
    let rho = Conversion::new(Rounding::NearestEven, E5M2);
    let fma = Model::new(E2M1, E2M1, E5M2, Operation::Fma, rho);
    let exact = Model::new(E2M1, E2M1, E5M2, Operation::EFdpa { max_length: 1 }, rho);
    assert!(matches!(smallest(&fma, &exact, 1, 10, 1).unwrap(), Difference::Never { tried: 65_536 }));
    let cut = fused(E2M1, 1, 2, Rounding::TowardZero, rho);
    let cut = Model { c: E5M2, ..cut };
    let Difference::Found { simplicity, smallest: true, tried: 65_536, .. } =
        smallest(&fma, &cut, 1, 10, 1).unwrap()
    else {
        panic!("F = 2 loses something")
    };
    assert!(simplicity.0 <= 3, "{simplicity:?}");
    assert!(smallest(&fma, &ampere, 1, 10, 1).is_err(), "other formats");
}

#[test]
fn the_matrix_is_symmetric_and_tells_every_model_apart() {
    let wanted = |row: &bitmma_engine::Instruction| {
        row.is_native() && (row.a, row.b, row.c, row.d) == (F16, F16, F32, F32) && row.scale.is_none()
    };
    let found = matrix(subjects(Revision::Hardware, wanted), 300, 1).unwrap();
    let count = found.subjects.len();
    println!("{count} models at K = {}", found.k);
    assert!(count >= 8);
    for row in 0..count {
        assert_eq!(found.differing[row][row], (0, 0));
        for column in 0..count {
            assert_eq!(found.differing[row][column], found.differing[column][row]);
            let apart = found.differing[row][column].0 > 0;
            assert_eq!(
                apart,
                row != column,
                "{} and {}",
                found.subjects[row].name,
                found.subjects[column].name
            );
        }
    }
}

#[test]
fn workarounds_help() {
    let run = |architecture, name, factors| {
        let target =
            bitmma_engine::gemm::Target::instruction(architecture, name, Revision::Hardware).unwrap();
        let model = target.model();
        let draw = Draw { factors, accumulator: None, size: (32, 32, 1024) };
        let product = draw.product([model.a, model.b, model.c], 1, 0).unwrap();
        let found = attempts(&target, Some(architecture), &product, Revision::Hardware).unwrap();
        for attempt in &found {
            println!(
                "{:60} {:40} rms {:.3e} mean {:.2e}",
                attempt.name,
                attempt.instruction,
                attempt.errors.root_mean_square(),
                attempt.errors.mean
            );
        }
        let of = |start: &str| {
            let found = found.iter().find(|attempt| attempt.name.starts_with(start));
            found.unwrap_or_else(|| panic!("{start}")).errors.root_mean_square()
        };
        let first = found[0].errors.root_mean_square();
        ["promotion", "C = 0", "FP16 instruction", "FP32 output", "scaling", "the same on"].map(|start| {
            found.iter().any(|attempt| attempt.name.starts_with(start)).then(|| first / of(start))
        })
    };
    let [promotion, outside, wide, ..] =
        run(Architecture::Hopper, "wgmma.m64n8k32.f32.e4m3.e4m3", Distribution::STANDARD);
    assert!(promotion.unwrap() > 2.0 && outside.unwrap() > 2.0 && wide.unwrap() > 100.0);
    let [_, _, _, output, ..] =
        run(Architecture::RtxBlackwell, "mma.m16n8k16.f16.f16.f16.f16", Distribution::STANDARD);
    assert!(output.unwrap() > 100.0);
    let [.., scaling, _] = run(Architecture::Cdna2, "v_mfma_f32_32x32x8f16", Distribution::normal(3e-5));
    assert!(scaling.unwrap() > 100.0);
}

#[test]
fn more_bits_are_never_worse_by_much() {
    let designs: Vec<Design> = [8, 12, 16, 20, 24]
        .map(|bits| Design {
            name: bits.to_string(),
            model: fused(F16, 16, bits, Rounding::TowardZero, Conversion::RZ_FP32),
        })
        .to_vec();
    let draw = Draw { factors: Distribution::STANDARD, accumulator: None, size: (8, 8, 1024) };
    let found = measure(&designs, &draw.product([F16, F16, F32], 1, 0).unwrap()).unwrap();
    assert!(found.windows(2).all(|pair| pair[1].relative < 0.5 * pair[0].relative), "{found:#?}");
    // L = 16, F = 24: 16 additions of sign, two integer bits, F, and five bits of carries
    assert_eq!(found[4].adder_bits, Some(16 * (1 + 2 + 24 + 5)));
}
