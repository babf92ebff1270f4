//! Products of a B that was prepared, beside those of B itself and the reference path.
//!
//! A slice runs each time; `BITMMA_TESTS=all` computes more than ten million elements of D.

use bitmma_engine::gemm::{Prepared, ScaleBlocks, Target};
use bitmma_engine::kernel::{Level, has_kernel_at};
use bitmma_engine::{Architecture, Revision};
use bitmma_engine::{Error, GemmOptions, Matrix, Model, gemm, simulate_steps};

use crate::common::inputs::Family;
use crate::kernel::{Inputs, models, rounds};

/// What a model makes of inputs whose B was prepared, on an instruction set.
fn by_prepared(model: &Model, step: usize, inputs: &Inputs, level: Level) -> (Prepared, Matrix) {
    let target = Target::of_model(model.clone(), Some(step)).expect("a target");
    let scales = inputs.scales.as_ref();
    let prepared = Prepared::new(&target, &inputs.b, scales.map(|scales| &scales.1), (None, Some(level)));
    let prepared = prepared.expect("a prepared operand");
    let options = GemmOptions { scale_a: scales.map(|scales| &scales.0), ..GemmOptions::default() };
    let d = prepared.multiply(&inputs.a, Some(&inputs.c), &options).expect("a product");
    (prepared, d)
}

#[test]
fn prepared_operands_answer_as_the_reference_path() {
    let all = std::env::var("BITMMA_TESTS").is_ok_and(|value| value == "all");
    let mut outputs = 0;
    for (number, (name, model, step)) in models().iter().enumerate() {
        for (index, family) in Family::ALL.into_iter().enumerate() {
            for round in rounds(if all { 0..6 } else { 0..1 }) {
                let turn = number * 7 + index + round as usize;
                let rows = if all { 1 + turn * 11 % 70 } else { [1, 2, 1, 5][turn % 4] };
                let columns = if all { [131, 65, 200, 64][turn % 4] } else { [1, 33, 67][turn % 3] };
                // a block of K and some of the next
                let steps = if all { 160 / step + 1 } else { [1, 2, 128 / step + 1][turn % 3] };
                let seed = (number * 1000 + index * 100) as u64 + round;
                let inputs = Inputs::new(model, (rows, columns, steps * step), family, seed);
                let expected =
                    simulate_steps(model, *step, &inputs.operands()).expect("a matrix of the model");
                for level in Level::available() {
                    let (prepared, d) = by_prepared(model, *step, &inputs, level);
                    let kernel = has_kernel_at(model, *step, level) && !model.is_integer();
                    assert_eq!(prepared.is_streamed(), kernel, "{name}, {level:?}");
                    assert!(
                        d == expected,
                        "{name}: {family:?}, {rows}×{columns}×{}, {level:?}",
                        steps * step
                    );
                    outputs += rows * columns;
                }
            }
        }
    }
    assert!(outputs > if all { 10_000_000 } else { 20_000 }, "{outputs} elements of D");
}

/// Normal numbers are widened as they are streamed, in no more memory than was promised.
#[test]
fn weights_are_streamed_in_little_memory() {
    for (name, model, step) in models().into_iter().filter(|(_, model, _)| !model.is_integer()) {
        let k = 512usize.next_multiple_of(step);
        let inputs = Inputs::new(&model, (1, 128, k), Family::Normal, 7);
        let (prepared, _) = by_prepared(&model, step, &inputs, Level::best());
        let (plain, all) = prepared.plain();
        assert_eq!(plain, all, "{name}: {plain} of {all} blocks");
        let most = match model.b.bits() {
            ..=4 => 0.7,
            5..=8 => 1.2,
            9..=16 => 2.2,
            17..=32 => 4.4,
            _ => 8.8,
        };
        let bytes = prepared.bytes() as f64 / (128 * k) as f64;
        assert!(bytes <= most, "{name}: {bytes} bytes an element");
    }
}

/// What a schedule asks for that blocks do not fit is computed from the codes.
#[test]
fn every_option_gives_what_it_gives_without() -> Result<(), Error> {
    for (architecture, name) in [
        (Architecture::Hopper, "wgmma.m64n64k16.f32.f16.f16"),
        (Architecture::Hopper, "wgmma.m64n64k32.f32.e4m3.e4m3"),
        (Architecture::Cdna3, "v_mfma_f32_32x32x8_bf16"),
        (Architecture::Cdna3, "v_mfma_f32_16x16x4_f32"),
        (Architecture::Cdna2, "v_mfma_f32_32x32x8f16"),
    ] {
        let target = Target::instruction(architecture, name, Revision::Hardware)?;
        for (family, k, n) in [(Family::Normal, 1000, 70), (Family::Bits, 300, 65), (Family::Outliers, 77, 3)]
        {
            let inputs = Inputs::new(target.model(), (5, n, k), family, 3);
            let (a, b, c) = (&inputs.a, &inputs.b, Some(&inputs.c));
            let prepared = Prepared::new(&target, b, None, (Some(1), None))?;
            let base = GemmOptions::default();
            let half = Some(target.factor("alpha", 0.5f64.to_bits())?);
            let blocks = Some(ScaleBlocks::new(1, 128, 128));
            let one = |rows, columns| {
                Matrix::from_fn(bitmma_engine::formats::F32, (1, rows, columns), |_, i, j| {
                    0x3f80_0000 + (i + 3 * j) as u64
                })
            };
            let (scale_a, scale_b) = (one(5, k.div_ceil(128))?, one(k.div_ceil(128), n.div_ceil(128))?);
            for options in [
                base,
                GemmOptions { split_k: Some(3), ..base },
                GemmOptions { promote_every: Some(128), ..base },
                GemmOptions { promote_every: Some(96), split_k: Some(2), ..base },
                GemmOptions { alpha: half, beta: half, ..base },
                GemmOptions { c_last: true, threads: Some(2), ..base },
                GemmOptions {
                    scale_blocks: blocks,
                    scale_a: Some(&scale_a),
                    scale_b: Some(&scale_b),
                    ..base
                },
            ] {
                let (found, expected) =
                    (prepared.multiply(a, c, &options)?, gemm(&target, a, b, c, &options)?);
                assert!(
                    found == expected,
                    "{name}, {family:?}, K = {k}: {:?} {:?}",
                    options.split_k,
                    options.promote_every
                );
            }
        }
    }
    Ok(())
}
