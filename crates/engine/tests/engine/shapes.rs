//! Matrices and shapes: what does not fit is an error with the numbers in it; what fits gives the dot
//! products, element by element, on any number of threads.

use crate::common::inputs::{Family, case};
use bitmma_engine::arithmetic::{ModelError, oracle};
use bitmma_engine::catalogue::{Revision, catalogue, find};
use bitmma_engine::explain::explain_element;
use bitmma_engine::formats::{BF16, E4M3, F16, F32, Format, UE8M0};
use bitmma_engine::{Architecture, Case, Error, Matrix, MmaUnit, Model, Operands, Simulator, simulate};

use Architecture::{Ampere, Cdna1, Cdna2, Cdna3, Hopper, RtxBlackwell, Volta};

const MX: &str = "mma.m16n8k32.kind::mxf8f6f4.block32.f32.e4m3.e4m3.f32.ue8m0";

/// One instruction of each family.
const EACH_FAMILY: [(Architecture, &str); 12] = [
    (Cdna2, "v_mfma_f32_32x32x4bf16_1k"),
    (Cdna1, "v_mfma_f32_16x16x4f32"),
    (Ampere, "mma.m8n8k4.f64.f64.f64.f64"),
    (Cdna1, "v_mfma_f32_16x16x16f16"),
    (Volta, "mma.m8n8k4.f32.f16.f16.f32"),
    (Hopper, "wgmma.m64n16k32.f16.e5m2.e4m3"),
    (Hopper, "mma.m16n8k32.f32.e4m3.e5m2.f32"),
    (RtxBlackwell, MX),
    (RtxBlackwell, "mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3"),
    (Cdna3, "v_mfma_f32_16x16x8_xf32"),
    (Cdna3, "v_mfma_f32_4x4x4_16b_f16"),
    (Cdna3, "v_mfma_f32_16x16x32_fp8_bf8"),
];

fn simulator(architecture: Architecture, name: &str) -> Simulator {
    Simulator::instruction(architecture, name, Revision::Hardware).unwrap_or_else(|error| panic!("{error}"))
}

fn model(architecture: Architecture, name: &str) -> Model {
    let row = find(architecture, name).unwrap_or_else(|error| panic!("{error}")).instruction;
    row.model(Revision::Hardware).expect("known")
}

/// Operands of a size, owned.
struct Owned {
    a: Matrix,
    b: Matrix,
    c: Matrix,
    scale_a: Option<Matrix>,
    scale_b: Option<Matrix>,
}

impl Owned {
    fn lent(&self) -> Operands<'_> {
        Operands {
            a: &self.a,
            b: &self.b,
            c: Some(&self.c),
            scale_a: self.scale_a.as_ref(),
            scale_b: self.scale_b.as_ref(),
        }
    }
}

/// Row i of A comes from case i, column j of B from case 1000 + j, element (i, j) of C from a third.
fn random(model: &Model, (blocks, m, n): (usize, usize, usize), k: usize, seed: u64) -> Owned {
    let one = |index: usize| {
        let family = Family::ALL[index % Family::ALL.len()];
        case(model, k, family, seed, index as u64)
    };
    let rows: Vec<Case> = (0..blocks * m).map(one).collect();
    let columns: Vec<Case> = (0..blocks * n).map(|index| one(1000 + index)).collect();
    let by_row = |codes: &dyn Fn(&Case) -> Vec<u64>, format, columns_of_a| {
        let codes = rows.iter().flat_map(codes).collect::<Vec<_>>();
        Matrix::new(format, (blocks, m, columns_of_a), codes).expect("fits")
    };
    let by_column = |codes: &dyn Fn(&Case) -> Vec<u64>, format, rows_of_b: usize| {
        let columns: Vec<Vec<u64>> = columns.iter().map(codes).collect();
        let columns = &columns;
        let codes = (0..blocks)
            .flat_map(|block| (0..rows_of_b).map(move |row| (block, row)))
            .flat_map(|(block, row)| (0..n).map(move |column| columns[block * n + column][row]))
            .collect::<Vec<_>>();
        Matrix::new(format, (blocks, rows_of_b, n), codes).expect("fits")
    };
    let c = (0..blocks * m * n).map(|index| one(2000 + index % 97).c).collect::<Vec<_>>();
    Owned {
        a: by_row(&|case| case.a.clone(), model.a, k),
        b: by_column(&|case| case.b.clone(), model.b, k),
        c: Matrix::new(model.c, (blocks, m, n), c).expect("fits"),
        scale_a: model.scale.map(|scale| by_row(&|case| case.scale_a.clone(), scale.format, k / scale.size)),
        scale_b: model
            .scale
            .map(|scale| by_column(&|case| case.scale_b.clone(), scale.format, k / scale.size)),
    }
}

/// Every element of D against the second implementation.
fn hold(name: &str, model: &Model, operands: &Owned, d: &Matrix) {
    let (blocks, m, n) = operands.c.shape();
    assert_eq!(d.shape(), (blocks, m, n), "{name}");
    assert_eq!(d.format(), model.d, "{name}");
    for block in 0..blocks {
        for row in 0..m {
            for column in 0..n {
                let a: Vec<u64> = operands.a.row(block, row).collect();
                let b: Vec<u64> = operands.b.column(block, column).collect();
                let c = operands.c.get(block, row, column);
                let scale_a: Vec<u64> =
                    operands.scale_a.as_ref().map_or(vec![], |scale| scale.row(block, row).collect());
                let scale_b: Vec<u64> =
                    operands.scale_b.as_ref().map_or(vec![], |scale| scale.column(block, column).collect());
                let expected = oracle::dot(model, &a, &b, c, &scale_a, &scale_b);
                let actual = d.get(block, row, column);
                assert!(
                    expected == actual,
                    "{name}, block {block}, row {row}, column {column}: {actual:#x}, oracle {expected:#x}\n a {a:x?}\n b {b:x?}\n c {c:x}\n scales {scale_a:x?} {scale_b:x?}"
                );
            }
        }
    }
}

#[test]
fn every_element_is_the_dot_product_of_its_row_and_column() {
    for (architecture, name) in EACH_FAMILY {
        let simulator = simulator(architecture, name);
        let signature = simulator.signature();
        let model = model(architecture, name);
        let size = (signature.blocks, signature.m, signature.n);
        let operands = random(&model, size, signature.k, 1);
        let d = simulator.multiply(&operands.lent()).unwrap_or_else(|error| panic!("{name}: {error}"));
        hold(name, &model, &operands, &d);
        // and a size no instruction has: 3 blocks of 5×7
        let operands = random(&model, (3, 5, 7), signature.k, 2);
        let d = simulate(&model, &operands.lent()).unwrap_or_else(|error| panic!("{name}: {error}"));
        hold(name, &model, &operands, &d);
        let error = simulator.multiply(&operands.lent()).expect_err("not the instruction's size");
        assert!(matches!(error, Error::Shape { .. }), "{name}: {error}");
    }
}

/// A multi-block instruction is that many independent products; the vendor's block counts.
#[test]
fn blocks_are_independent() {
    for (architecture, name, blocks) in [
        (Cdna1, "v_mfma_f32_32x32x4f16", 2),
        (Cdna3, "v_mfma_f32_32x32x4_2b_f16", 2),
        (Cdna3, "v_mfma_f32_16x16x4_4b_bf16", 4),
        (Cdna2, "v_mfma_f32_4x4x4f16", 16),
        (Cdna2, "v_mfma_f64_4x4x4f64", 4),
        (Volta, "mma.m8n8k4.f16.f16.f16.f16", 4),
    ] {
        let simulator = simulator(architecture, name);
        let signature = simulator.signature().clone();
        assert_eq!(signature.blocks, blocks, "{name}");
        let model = model(architecture, name);
        let operands = random(&model, (blocks, signature.m, signature.n), signature.k, 3);
        let d = simulator.multiply(&operands.lent()).expect("fits");
        for block in 0..blocks {
            let part = |matrix: &Matrix| {
                let (_, rows, columns) = matrix.shape();
                let codes: Vec<u64> = (0..rows).flat_map(|row| matrix.row(block, row)).collect();
                Matrix::single(matrix.format(), rows, columns, codes).expect("fits")
            };
            let (a, b, c) = (part(&operands.a), part(&operands.b), part(&operands.c));
            let alone = Operands { a: &a, b: &b, c: Some(&c), scale_a: None, scale_b: None };
            assert!(simulate(&model, &alone).expect("fits") == part(&d), "{name}, block {block}");
        }
    }
}

#[test]
fn every_n_of_a_range() {
    let row = find(Hopper, "wgmma.m64n8k16.f32.f16.f16").expect("is there").instruction;
    let model = row.model(Revision::Hardware).expect("known");
    let widest = random(&model, (1, 64, 256), 16, 4);
    let whole = simulate(&model, &widest.lent()).expect("fits");
    for n in (8..=256).step_by(8) {
        let simulator = simulator(Hopper, &format!("wgmma.m64n{n}k16.f32.f16.f16"));
        assert_eq!((simulator.signature().m, simulator.signature().n), (64, n));
        let left = |matrix: &Matrix| {
            let codes: Vec<u64> =
                (0..matrix.rows()).flat_map(|row| matrix.row(0, row).take(n).collect::<Vec<_>>()).collect();
            Matrix::single(matrix.format(), matrix.rows(), n, codes).expect("fits")
        };
        let (b, c) = (left(&widest.b), left(&widest.c));
        let operands = Operands { a: &widest.a, b: &b, c: Some(&c), scale_a: None, scale_b: None };
        assert!(simulator.multiply(&operands).expect("fits") == left(&whole), "N = {n}");
    }
    for n in [0, 4, 12, 257, 264] {
        let error = find(Hopper, &format!("wgmma.m64n{n}k16.f32.f16.f16")).expect_err("no such N");
        assert!(error.to_string().contains(&n.to_string()), "{error}");
    }
}

#[test]
fn threads_do_not_matter() {
    let pool = |threads| bitmma_engine::threads::pool(threads).expect("a pool");
    let (one, two, five) = (pool(1), pool(2), pool(5));
    for (architecture, name) in EACH_FAMILY {
        let (simulator, model) = (simulator(architecture, name), model(architecture, name));
        let signature = simulator.signature();
        let operands = random(&model, (signature.blocks, signature.m, signature.n), signature.k, 5);
        let run = || simulator.multiply(&operands.lent()).expect("fits");
        let d = one.install(run);
        assert!(d == two.install(run) && d == five.install(run), "{name}");
    }
}

#[test]
fn wrong_operands_are_errors_with_the_numbers() {
    let name = "mma.m16n8k16.f32.f16.f16.f32";
    let unit = simulator(Ampere, name);
    let zeros = |format: Format, shape| Matrix::zeros(format, shape).expect("fits");
    let (a, b, c) = (zeros(F16, (1, 16, 16)), zeros(F16, (1, 16, 8)), zeros(F32, (1, 16, 8)));
    let right = Operands { a: &a, b: &b, c: Some(&c), scale_a: None, scale_b: None };
    assert_eq!(unit.multiply(&right).expect("fits"), c);
    let says = |operands: Operands<'_>, expected: &str| {
        let error = unit.multiply(&operands).expect_err(expected);
        assert_eq!(error.to_string(), expected);
    };
    let wrong = zeros(F16, (1, 16, 8));
    says(Operands { a: &wrong, ..right }, &format!("A is 16×8, {name} takes 16×16"));
    let wrong = zeros(F16, (1, 8, 16));
    says(Operands { b: &wrong, ..right }, &format!("B is 8×16, {name} takes 16×8"));
    let wrong = zeros(F32, (4, 16, 8));
    says(Operands { c: Some(&wrong), ..right }, &format!("C is 4×16×8, {name} takes 16×8"));
    let wrong = zeros(F16, (0, 16, 16));
    says(Operands { a: &wrong, ..right }, &format!("A is 0×16×16, {name} takes 16×16"));
    let wrong = zeros(BF16, (1, 16, 16));
    says(Operands { a: &wrong, ..right }, &format!("A is bf16, {name} takes f16"));
    let wrong = zeros(F16, (1, 16, 8));
    says(Operands { c: Some(&wrong), ..right }, &format!("C is f16, {name} takes f32"));
    let scale = zeros(UE8M0, (1, 16, 1));
    says(Operands { scale_a: Some(&scale), ..right }, &format!("{name} takes no scale factors for scale A"));
    says(Operands { scale_b: Some(&scale), ..right }, &format!("{name} takes no scale factors for scale B"));
}

#[test]
fn wrong_scale_factors_are_errors_with_the_numbers() {
    let unit = simulator(RtxBlackwell, MX);
    let zeros = |format: Format, shape| Matrix::zeros(format, shape).expect("fits");
    let (a, b, c) = (zeros(E4M3, (1, 16, 32)), zeros(E4M3, (1, 32, 8)), zeros(F32, (1, 16, 8)));
    let (scale_a, scale_b) = (zeros(UE8M0, (1, 16, 1)), zeros(UE8M0, (1, 1, 8)));
    let right = Operands { a: &a, b: &b, c: Some(&c), scale_a: Some(&scale_a), scale_b: Some(&scale_b) };
    assert_eq!(unit.multiply(&right).expect("fits"), c);
    let says = |operands: Operands<'_>, expected: String| {
        let error = unit.multiply(&operands).expect_err(&expected);
        assert_eq!(error.to_string(), expected);
    };
    says(Operands { scale_a: None, ..right }, format!("{MX} takes 16×1 ue8m0 factors for scale A"));
    says(Operands { scale_b: None, ..right }, format!("{MX} takes 1×8 ue8m0 factors for scale B"));
    says(Operands { scale_a: Some(&scale_b), ..right }, format!("scale A is 1×8, {MX} takes 16×1"));
    let wrong = zeros(UE8M0, (1, 2, 8));
    says(Operands { scale_b: Some(&wrong), ..right }, format!("scale B is 2×8, {MX} takes 1×8"));
    let wrong = zeros(E4M3, (1, 16, 1));
    says(Operands { scale_a: Some(&wrong), ..right }, format!("scale A is e4m3, {MX} takes ue8m0"));
}

#[test]
fn matrices_of_the_wrong_size_and_codes_too_wide() {
    let text = |result: Result<Matrix, Error>| result.expect_err("wrong").to_string();
    assert_eq!(text(Matrix::single(F16, 2, 3, [0; 5])), "5 codes; 1 × 2 × 3 takes 6");
    assert_eq!(text(Matrix::single(F16, 2, 3, [0; 7])), "7 codes; 1 × 2 × 3 takes 6");
    assert_eq!(text(Matrix::new(F16, (2, 2, 0), [1])), "1 codes; 2 × 2 × 0 takes 0");
    assert_eq!(
        text(Matrix::single(F16, 1, 2, [0xffff, 0x1_0000])),
        "code 1 is 0x10000; f16 codes have 16 bits"
    );
    let wide = bitmma_engine::formats::E3M2;
    assert_eq!(text(Matrix::single(wide, 1, 1, [0x40])), "code 0 is 0x40; e3m2 codes have 6 bits");
    let most = usize::MAX;
    assert_eq!(Matrix::new(F32, (most, 2, 0), []).expect("no elements").shape(), (most, 2, 0));
    for shape in [(most, most, 1), (1, most, 1), (1, most / 4, 2)] {
        assert!(matches!(Matrix::new(F32, shape, []), Err(Error::TooLarge { .. })), "{shape:?}");
        assert!(matches!(Matrix::zeros(F32, shape), Err(Error::TooLarge { .. })), "{shape:?}");
    }
}

#[test]
fn nothing_times_nothing_is_nothing() {
    let model = model(Ampere, "mma.m16n8k16.f32.f16.f16.f32");
    let multiply = |blocks, m, n, k| {
        let zeros = |format: Format, shape| Matrix::zeros(format, shape).expect("fits");
        let (a, b, c) = (zeros(F16, (blocks, m, k)), zeros(F16, (blocks, k, n)), zeros(F32, (blocks, m, n)));
        simulate(&model, &Operands { a: &a, b: &b, c: Some(&c), scale_a: None, scale_b: None })
    };
    for (blocks, m, n) in [(0, 4, 4), (1, 0, 4), (1, 4, 0), (0, 0, 0)] {
        let d = multiply(blocks, m, n, 16).expect("nothing to do");
        assert_eq!((d.shape(), d.format()), ((blocks, m, n), F32));
    }
    // K = 0 is no K the model takes
    let error = multiply(1, 2, 2, 0).expect_err("no K");
    assert_eq!(error.to_string(), "K is 0; T-FDPA takes multiples of 1, at least one");
    let error = multiply(1, 2, 2, 12).expect_err("no multiple");
    assert_eq!(error.to_string(), "K is 12; T-FDPA takes multiples of 8");
    assert!(multiply(1, 2, 2, 4).is_ok(), "a shorter K is one sum");
    assert!(matches!(
        Simulator::model(model.clone(), (2, 2, 12)),
        Err(Error::Model(ModelError::Length { k: 12, multiple: 8, .. }))
    ));
}

/// A model that nobody checked: an error, not a division by its block size of zero.
#[test]
fn a_model_that_makes_no_sense_is_an_error() {
    let mut model = model(RtxBlackwell, MX);
    let operands = random(&model, (1, 2, 2), 32, 6);
    model.scale = model.scale.map(|scale| bitmma_engine::formats::BlockScale { size: 0, ..scale });
    let error = simulate(&model, &operands.lent()).expect_err("blocks of nothing");
    assert!(error.to_string().contains("ue8m0 in blocks of 0"), "{error}");
}

/// An element that is not there, and operands that do not fit one another.
#[test]
fn explaining_what_is_not_there_is_an_error() {
    let model = model(Ampere, "mma.m16n8k16.f32.f16.f16.f32");
    let operands = random(&model, (1, 3, 4), 16, 7);
    let d = simulate(&model, &operands.lent()).expect("fits");
    for row in 0..3 {
        for column in 0..4 {
            let explained = explain_element(&model, &operands.lent(), (0, row, column)).expect("is there");
            assert_eq!(explained.d, d.get(0, row, column));
            assert!(!explained.steps.is_empty());
        }
    }
    for element in [(1, 0, 0), (0, 3, 0), (0, 0, 4)] {
        let error = explain_element(&model, &operands.lent(), element).expect_err("not there");
        assert!(error.to_string().contains("3×4"), "{error}");
    }
    let small = Matrix::zeros(F16, (1, 1, 16)).expect("fits");
    let ragged = Operands { a: &small, ..operands.lent() };
    let error = explain_element(&model, &ragged, (0, 2, 0)).expect_err("A has one row");
    assert!(matches!(error, Error::Shape { .. }), "{error}");
}

#[test]
fn rows_without_a_model() {
    let mut without = 0;
    for row in catalogue().iter().filter(|row| row.model(Revision::Hardware).is_none()) {
        let error =
            Simulator::instruction(row.architecture, &row.name(), Revision::Hardware).expect_err("no model");
        let Error::NoModel { instruction, architecture, reason } = &error else { panic!("{error}") };
        let name = row.name_for(row.m.first, row.n.first);
        assert_eq!((instruction.as_str(), *architecture), (name.as_str(), row.architecture.name()));
        assert_eq!(Some(reason.as_str()), row.unknown);
        without += 1;
    }
    assert!(without > 0);
    let error = Simulator::instruction(Volta, "mma.m8n8k5.f32.f16.f16.f32", Revision::Hardware);
    assert!(matches!(error, Err(Error::Lookup(_))));
}
