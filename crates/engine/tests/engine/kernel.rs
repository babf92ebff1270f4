//! Every kernel against the reference path, bit for bit, on every instruction set this processor has.
//!
//! A slice runs each time; `BITMMA_TESTS=all` computes more than ten million elements of D, and with
//! `BITMMA_SEEDS=0..24` more than a hundred million.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::common::inputs::{Family, case};
use bitmma_engine::arithmetic::Operation;
use bitmma_engine::catalogue::{Architecture, Revision, catalogue, find};
use bitmma_engine::formats::{F16, F32, Rounding, text::to_f64_bits};
use bitmma_engine::kernel::{Level, has_kernel, multiply};
use bitmma_engine::{Matrix, Model, Operands, simulate_steps};

/// Every distinct model and K of the catalogue that has a kernel, with one instruction that has it.
pub(crate) fn models() -> Vec<(String, Model, usize)> {
    let mut distinct = BTreeMap::new();
    for row in catalogue() {
        for revision in Revision::ALL {
            if let Some(model) = row.model(revision)
                && has_kernel(&model, row.products())
            {
                let name = format!("{} {} ({revision})", row.architecture, row.name());
                distinct.entry(format!("{model:?} {}", row.products())).or_insert((
                    name,
                    model,
                    row.products(),
                ));
            }
        }
    }
    distinct.into_values().collect()
}

/// Operands of one shape whose rows and columns are cases of one family.
pub(crate) struct Inputs {
    pub(crate) a: Matrix,
    pub(crate) b: Matrix,
    pub(crate) c: Matrix,
    pub(crate) scales: Option<(Matrix, Matrix)>,
}

impl Inputs {
    pub(crate) fn new(model: &Model, (m, n, k): (usize, usize, usize), family: Family, seed: u64) -> Inputs {
        let rows: Vec<_> = (0..m).map(|row| case(model, k, family, seed, row as u64)).collect();
        let columns: Vec<_> = (0..n).map(|column| case(model, k, family, seed + 1, column as u64)).collect();
        let c = (0..m * n).map(|index| case(model, 1, family, seed + 2, index as u64).c);
        let transposed = |count: usize, of: &dyn Fn(usize, usize) -> u64| -> Vec<u64> {
            (0..count)
                .flat_map(|row| (0..n).map(move |column| (row, column)))
                .map(|(r, c)| of(c, r))
                .collect()
        };
        let a = Matrix::single(model.a, m, k, rows.iter().flat_map(|case| case.a.clone()))
            .expect("a matrix of the model");
        let b = transposed(k, &|column, row| columns[column].b[row]);
        let b = Matrix::single(model.b, k, n, b).expect("a matrix of the model");
        let c = Matrix::single(model.c, m, n, c).expect("a matrix of the model");
        let scales = model.scale.map(|scale| {
            let count = k / scale.size;
            let left = rows.iter().flat_map(|case| case.scale_a.clone());
            let right = transposed(count, &|column, row| columns[column].scale_b[row]);
            (
                Matrix::single(scale.format, m, count, left).expect("a matrix of the model"),
                Matrix::single(scale.format, count, n, right).expect("a matrix of the model"),
            )
        });
        Inputs { a, b, c, scales }
    }

    /// Some rows of A and columns of B.
    fn few(&self, rows: &[usize], columns: &[usize]) -> Inputs {
        let every = |count: usize| -> Vec<usize> { (0..count).collect() };
        let along = every(self.a.columns());
        Inputs {
            a: chosen(&self.a, rows, &along),
            b: chosen(&self.b, &along, columns),
            c: chosen(&self.c, rows, columns),
            scales: self.scales.as_ref().map(|(a, b)| {
                let factors = every(a.columns());
                (chosen(a, rows, &factors), chosen(b, &factors, columns))
            }),
        }
    }

    pub(crate) fn operands(&self) -> Operands<'_> {
        Operands {
            a: &self.a,
            b: &self.b,
            c: Some(&self.c),
            scale_a: self.scales.as_ref().map(|scales| &scales.0),
            scale_b: self.scales.as_ref().map(|scales| &scales.1),
        }
    }
}

/// The rounds of `BITMMA_SEEDS` (`4..8`), else `usual`.
pub(crate) fn rounds(usual: Range<u64>) -> Range<u64> {
    let Ok(chosen) = std::env::var("BITMMA_SEEDS") else { return usual };
    let (first, last) = chosen.split_once("..").expect("BITMMA_SEEDS=4..8");
    first.parse().expect("a number")..last.parse().expect("a number")
}

#[test]
fn kernels_answer_as_the_reference_path() {
    let all = std::env::var("BITMMA_TESTS").is_ok_and(|value| value == "all");
    let (models, levels) = (models(), Level::available());
    let rounds = rounds(if all { 0..4 } else { 0..1 });
    let mut outputs = 0;
    for (number, (name, model, step)) in models.iter().enumerate() {
        for (index, family) in Family::ALL.into_iter().enumerate() {
            let small = [(5, 33, 2), (1, 1, 1), (7, 17, 5)];
            for round in rounds.clone() {
                let seed = (number * 1000 + index * 100) as u64 + round;
                let (m, n, steps) = if all { (37, 67, 3) } else { small[(number + index) % small.len()] };
                let inputs = Inputs::new(model, (m, n, steps * step), family, seed);
                let expected =
                    simulate_steps(model, *step, &inputs.operands()).expect("a matrix of the model");
                // a corner of it alone, as small as an instruction
                let (rows, columns): (Vec<_>, Vec<_>) =
                    ((0..m.min(10)).collect(), (0..n.min(if index % 3 == 0 { 13 } else { 8 })).collect());
                let (corner, of_corner) = (inputs.few(&rows, &columns), chosen(&expected, &rows, &columns));
                for &level in &levels {
                    let options = Some(level);
                    let d =
                        multiply(model, *step, &corner.operands(), options).expect("a matrix of the model");
                    assert_eq!(d, of_corner, "{name}, {level:?}, {family:?}, seed {seed}: the corner");
                    let actual =
                        multiply(model, *step, &inputs.operands(), options).expect("a matrix of the model");
                    for row in 0..m {
                        for column in 0..n {
                            let (want, got) = (expected.get(0, row, column), actual.get(0, row, column));
                            assert!(
                                want == got,
                                "{name}, {level:?}, {family:?}, seed {seed}, {m}×{n}×{}: element {row},{column} is {got:#x}, the reference path says {want:#x}\n a {}\n b {}\n c {:#x}",
                                steps * step,
                                bitmma_engine::formats::text::digits_of(
                                    &model.a,
                                    &inputs.a.row(0, row).collect::<Vec<_>>()
                                ),
                                bitmma_engine::formats::text::digits_of(
                                    &model.b,
                                    &inputs.b.column(0, column).collect::<Vec<_>>()
                                ),
                                inputs.c.get(0, row, column),
                            );
                        }
                    }
                    outputs += m * n;
                }
            }
        }
    }
    println!("{outputs} elements of D, {} models, {levels:?}", models.len());
    assert!(!models.is_empty());
}

/// Whatever the catalogue has a model for has a kernel, directed roundings where an instruction names its own.
#[test]
fn every_model_of_the_catalogue_has_one() {
    let (mut with, mut directed) = (0, 0);
    for row in catalogue() {
        for model in Revision::ALL.into_iter().filter_map(|revision| row.model(revision)) {
            let is_fma = model.operation == Operation::Fma;
            let names_rounding = is_fma && model.conversion.rounding != Rounding::NearestEven;
            let expected = !names_rounding || Level::best() >= Level::Avx512;
            let name = format!("{} {}", row.architecture, row.name());
            assert_eq!(has_kernel(&model, row.products()), expected, "{name}");
            with += 1;
            directed += usize::from(names_rounding);
        }
    }
    println!("{with} models of instructions, {directed} of them with directed roundings");
    assert!(directed > 0 && with > directed);
}

/// A subnormal number of an FP16 C takes part in e_max with the smallest exponent of FP16, where it begins a chain; results
/// in FP32 do not, and an FP32 C of the same value does not.
#[test]
fn a_subnormal_c_of_fp16_begins_an_fp32_chain() {
    let row = find(Architecture::Volta, "mma.m8n8k4.f32.f16.f16.f16").expect("a row of the catalogue");
    let model = row.instruction.model(Revision::Hardware).expect("a model");
    let (m, n, k) = (37, 70, 8);
    let mut inputs = Inputs::new(&model, (m, n, k), Family::Moderate, 9);
    // products from 2^-48 to 2^-30, whose last bits the exponent -14 cuts; C from 0 to 1023 units of 2^-24
    let small = |code: u64| code & 0x83ff | (code >> 3 & 7) << 10;
    let codes = |matrix: &Matrix| matrix.iter().map(small).collect::<Vec<_>>();
    inputs.a = Matrix::single(F16, m, k, codes(&inputs.a)).expect("codes of A");
    inputs.b = Matrix::single(F16, k, n, codes(&inputs.b)).expect("codes of B");
    let c = (0..(m * n) as u64).map(|index| (index * 37 % 1024) >> (index % 11) | (index & 1) << 15);
    inputs.c = Matrix::single(F16, m, n, c.collect::<Vec<_>>()).expect("codes of C");
    let expected = simulate_steps(&model, 4, &inputs.operands()).expect("a matrix of the model");
    for level in Level::available() {
        let d = multiply(&model, 4, &inputs.operands(), Some(level)).expect("a matrix of the model");
        assert_eq!(d, expected, "{level:?}");
    }
    let wide = Model { c: F32, ..model };
    let c = inputs.c.iter().map(f32_code).collect::<Vec<_>>();
    inputs.c = Matrix::single(F32, m, n, c).expect("codes of C");
    let d = multiply(&wide, 4, &inputs.operands(), None).expect("a matrix of the model");
    assert!(d != expected, "the exponent of C makes no difference to these operands");
}

/// The FP32 code of an FP16 number that is finite.
fn f32_code(code: u64) -> u64 {
    let value = f64::from_bits(to_f64_bits(&F16, code)) as f32;
    value.to_bits().into()
}

/// Among accumulators of every kind those that are not finite, in whole panels and beside ragged ones, where all
/// products are: what one lane has must not reach another, nor be lost.
#[test]
fn accumulators_of_every_kind() {
    for (name, model, step) in models() {
        let inputs = Inputs::new(&model, (3, 130, 2 * step), Family::Moderate, 5);
        accumulators((&name, &model, step), inputs, 0);
        // two kinds at a time in small products; the first column holds zeros only
        for first in 0..14 {
            let mut inputs = Inputs::new(&model, (2, 3, 2 * step), Family::Moderate, 6);
            let b = (0..inputs.b.rows()).flat_map(|row| [0, 1, 2].map(|column| (row, column)));
            let b = b.map(|(row, column)| if column == 0 { 0 } else { inputs.b.get(0, row, column) });
            inputs.b =
                Matrix::single(model.b, inputs.b.rows(), 3, b.collect::<Vec<_>>()).expect("codes of B");
            accumulators((&name, &model, step), inputs, first);
        }
    }
}

/// The same for one model: every fifth element of C is of a kind, from the `first` kind on.
fn accumulators((name, model, step): (&str, &Model, usize), mut inputs: Inputs, first: usize) {
    let (m, n) = (inputs.a.rows(), inputs.b.columns());
    let (format, sign) = (&model.c, model.c.sign_bit());
    let positive = match format.is_integer() {
        true => vec![0, 1, 2, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff],
        false => vec![
            0,
            format.min_positive_code(),
            format.min_normal_code(),
            format.max_finite_code(),
            format.infinity_code().expect("infinity"),
            format.nan_code().expect("NaN"),
            format.infinity_code().expect("infinity") + 1,
        ],
    };
    let kinds: Vec<u64> = positive.iter().flat_map(|&code| [code, code | sign]).collect();
    let c = (0..m * n).map(|index| match index % 5 {
        0 => kinds[(first + index / 5) % kinds.len()],
        _ => inputs.c.get(0, index / n, index % n),
    });
    inputs.c = Matrix::single(model.c, m, n, c.collect::<Vec<_>>()).expect("a matrix of the model");
    let expected = simulate_steps(model, step, &inputs.operands()).expect("a matrix of the model");
    for level in Level::available() {
        let options = Some(level);
        let d = multiply(model, step, &inputs.operands(), options).expect("a matrix of the model");
        let wrong = (0..m * n).map(|index| (index / n, index % n)).find_map(|(row, column)| {
            let (got, want) = (d.get(0, row, column), expected.get(0, row, column));
            (got != want).then(|| (row, column, inputs.c.get(0, row, column), got, want))
        });
        assert!(wrong.is_none(), "{name}, {level:?}: row, column, C, D, and what it should be: {wrong:x?}");
    }
}

/// A matrix of some rows and columns of another.
fn chosen(matrix: &Matrix, rows: &[usize], columns: &[usize]) -> Matrix {
    let codes = rows.iter().flat_map(|&row| columns.iter().map(move |&column| matrix.get(0, row, column)));
    Matrix::single(matrix.format(), rows.len(), columns.len(), codes).expect("codes of the format")
}

/// Products of several blocks of rows, of columns and of K, ragged at every edge: each of the kernels that packs its
/// operands, elements at the edges of blocks against the reference path.
#[test]
fn edges_of_blocks() {
    let (m, n, least_k) = (150, 4200, 300_usize);
    let rows = [0, 1, 31, 32, 63, 64, 126, 127, 128, 129, 148, 149];
    let columns = [0, 15, 16, 63, 64, 100, 4095, 4096, 4097, 4160, 4199];
    for (architecture, name, family) in [
        (Architecture::Hopper, "wgmma.m64n64k16.f32.f16.f16", Family::Bits),
        (Architecture::Hopper, "wgmma.m64n64k16.f32.bf16.bf16", Family::Outliers),
        (Architecture::Hopper, "wgmma.m64n64k32.f32.e4m3.e4m3", Family::Outliers),
        (Architecture::Blackwell, "tcgen05.mma.m128n64k32.kind::f8f6f4.f32.e5m2.e5m2", Family::Bits),
        (
            Architecture::RtxBlackwell,
            "mma.m16n8k32.kind::mxf8f6f4.block32.f32.e4m3.e4m3.f32.ue8m0",
            Family::Outliers,
        ),
        (
            Architecture::RtxBlackwell,
            "mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3",
            Family::Bits,
        ),
        (Architecture::Cdna3, "v_mfma_f32_32x32x8_bf16", Family::Outliers),
        (Architecture::Cdna3, "v_mfma_f32_32x32x16_fp8_fp8", Family::Bits),
        (Architecture::Cdna1, "v_mfma_f32_32x32x8f16", Family::Bits),
    ] {
        let row = find(architecture, name).expect("a row of the catalogue").instruction;
        let model = row.model(Revision::Hardware).expect("a model");
        let k = least_k.next_multiple_of(row.products()) + row.products();
        let inputs = Inputs::new(&model, (m, n, k), family, 77);
        let few = inputs.few(&rows, &columns);
        let expected =
            simulate_steps(&model, row.products(), &few.operands()).expect("a matrix of the model");
        for level in Level::available() {
            let options = Some(level);
            let d =
                multiply(&model, row.products(), &inputs.operands(), options).expect("a matrix of the model");
            assert_eq!(chosen(&d, &rows, &columns), expected, "{name}, {level:?}, {family:?}");
        }
    }
}
