//! Every kernel against the reference path, bit for bit, on every instruction set this processor has.
//!
//! A slice runs each time; `BITMMA_TESTS=all` computes more than ten million elements of D.

use std::collections::BTreeMap;

use bitmma::catalogue::{Revision, catalogue};
use bitmma::inputs::{Family, case};
use bitmma::kernel::{Level, Options, has_kernel, multiply};
use bitmma::simulate::simulate_steps;
use bitmma::{Matrix, Model, Operands};

/// Every distinct model and K of the catalogue that has a kernel, with one instruction that has it.
fn models() -> Vec<(String, Model, usize)> {
    let mut distinct = BTreeMap::new();
    for row in catalogue() {
        for revision in Revision::ALL {
            if let Some(model) = row.model(revision)
                && has_kernel(&model, row.k)
            {
                let name = format!("{} {} ({revision})", row.architecture, row.name());
                distinct.entry(format!("{model:?} {}", row.k)).or_insert((name, model, row.k));
            }
        }
    }
    distinct.into_values().collect()
}

/// Operands of one shape whose rows and columns are cases of one family.
struct Inputs {
    a: Matrix,
    b: Matrix,
    c: Matrix,
    scales: Option<(Matrix, Matrix)>,
}

impl Inputs {
    fn new(model: &Model, (m, n, k): (usize, usize, usize), family: Family, seed: u64) -> Inputs {
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

    fn operands(&self) -> Operands<'_> {
        Operands {
            a: &self.a,
            b: &self.b,
            c: &self.c,
            scale_a: self.scales.as_ref().map(|scales| &scales.0),
            scale_b: self.scales.as_ref().map(|scales| &scales.1),
        }
    }
}

#[test]
fn kernels_answer_as_the_reference_path() {
    let all = std::env::var("BITMMA_TESTS").is_ok_and(|value| value == "all");
    let (models, levels) = (models(), Level::available());
    let mut outputs = 0;
    for (number, (name, model, step)) in models.iter().enumerate() {
        for (index, family) in Family::ALL.into_iter().enumerate() {
            let small = [(5, 33, 2), (1, 1, 1), (7, 17, 5)];
            let rounds = if all { 4 } else { 1 };
            for round in 0..rounds {
                let seed = (number * 1000 + index * 100 + round) as u64;
                let (m, n, steps) = if all { (37, 67, 3) } else { small[(number + index) % small.len()] };
                let inputs = Inputs::new(model, (m, n, steps * step), family, seed);
                let expected =
                    simulate_steps(model, *step, &inputs.operands()).expect("a matrix of the model");
                for &level in &levels {
                    let options = Options { level: Some(level) };
                    let actual =
                        multiply(model, *step, &inputs.operands(), options).expect("a matrix of the model");
                    for row in 0..m {
                        for column in 0..n {
                            let (want, got) = (expected.get(0, row, column), actual.get(0, row, column));
                            assert!(
                                want == got,
                                "{name}, {level:?}, {family:?}, seed {seed}, {m}×{n}×{}: element {row},{column} is {got:#x}, the reference path says {want:#x}\n a {}\n b {}\n c {:#x}",
                                steps * step,
                                bitmma::recording::hex(&model.a, &inputs.a.row(0, row).collect::<Vec<_>>()),
                                bitmma::recording::hex(
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
