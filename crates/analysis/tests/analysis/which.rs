//! Who computed a product: the truth is always in the answer, and what is said of the others is right.

use std::time::Instant;

use bitmma_analysis::which::{Match, Observed, Order, PROMOTIONS, Row, Which, which};
use bitmma_engine::catalogue::catalogue;
use bitmma_engine::explain::json::Coded;
use bitmma_engine::formats::{BF16, F16, F32, table};
use bitmma_engine::gemm::{LibraryCall, OutputConversion, Target};
use bitmma_engine::kernel::has_kernel;
use bitmma_engine::{
    Architecture, GemmOptions, Instruction, Matrices, Matrix, Model, Revision, Signature, gemm,
};
use bitmma_probe::differ::RULES;
use bitmma_verify::inputs::{Family, matrices};

fn all() -> bool {
    std::env::var("BITMMA_TESTS").is_ok_and(|value| value == "all")
}

/// Numbers that follow from a seed.
struct Draw(u64);

impl Draw {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % count
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// Rows whose models have a kernel, each with its model.
fn with_kernel() -> Vec<(&'static Instruction, Model)> {
    let of = |row: &'static Instruction| {
        let model = row.model(Revision::Hardware)?;
        has_kernel(&model, row.products()).then_some((row, model))
    };
    catalogue().iter().filter_map(of).collect()
}

/// One row of every architecture and formats.
fn every_architecture_and_format() -> Vec<(&'static Instruction, Model)> {
    let mut seen: Vec<(Architecture, Model)> = vec![];
    let mut rows = with_kernel();
    rows.retain(|(row, model)| {
        let mut key = model.clone();
        key.nan_code = None;
        let key = (row.architecture, key);
        let is_new = !seen.contains(&key) && !row.d.is_integer(); // sums of integers have no order
        seen.push(key);
        is_new
    });
    rows
}

/// A product with the D of a hidden order.
struct Hidden {
    given: Matrices,
    c: Option<Matrix>,
    d: Matrix,
    order: Order,
}

impl Hidden {
    fn new(
        (row, model): (&'static Instruction, &Model),
        (m, n, k): (usize, usize, usize),
        family: Family,
        (order, with_c): (Order, bool),
        seed: u64,
    ) -> Hidden {
        let given = matrices(&Signature::of_model(String::new(), model, (m, n, k)), family, seed, 0).unwrap();
        let target = Target::of_model(model.clone(), Some(row.products())).unwrap();
        let c = with_c.then(|| given.c.clone());
        let options = GemmOptions {
            scale_a: given.scales.as_ref().map(|(a, _)| a),
            scale_b: given.scales.as_ref().map(|(_, b)| b),
            split_k: order.split_k,
            promote_every: order.promote_every,
            c_last: order.c_last == Some(true),
            output: order.output.map(|name| OutputConversion::nearest(table::by_name(name).unwrap())),
            ..GemmOptions::default()
        };
        let d = gemm(&target, &given.a, &given.b, c.as_ref(), &options).unwrap();
        Hidden { given, c, d, order }
    }

    fn asked(&self, calls: Vec<LibraryCall>) -> Which {
        let Matrices { a, b, scales, .. } = &self.given;
        let (scale_a, scale_b) = scales.as_ref().map(|(a, b)| (a, b)).unzip();
        let c = self.c.as_ref();
        let observed = Observed { a, b, c, scale_a, scale_b, d: &self.d };
        which(&observed, calls, Revision::Hardware, &RULES).unwrap()
    }
}

/// One chain along K.
fn plain(k_step: usize) -> Order {
    along(k_step, 1, None)
}

fn along(k_step: usize, split_k: usize, promote_every: Option<usize>) -> Order {
    Order {
        k_step: Some(k_step),
        split_k: Some(split_k),
        promote_every,
        c_last: Some(false),
        saturate: Some(false),
        ..Order::default()
    }
}

/// The row of an instruction.
fn row_of<'w>(found: &'w Which, row: &Instruction) -> &'w Row {
    let has = |one: &&Row| one.instructions.iter().any(|own| std::ptr::eq(*own, row));
    found.rows.iter().find(has).unwrap_or_else(|| panic!("{} is not among the rows", row.target()))
}

/// Where parts of whole steps begin.
fn cuts(k: usize, step: usize, parts: usize) -> Vec<usize> {
    let steps = k.div_ceil(step);
    let (each, more) = (steps / parts, steps % parts);
    (0..parts).map(|part| (part * each + part.min(more)) * step).collect()
}

/// Whether an order is among those that match: with this step, or with another that cuts K at the same places.
fn has(row: &Row, wanted: &Order, k: usize) -> bool {
    let key = |one: &Order| Some((cuts(k, one.k_step?, one.split_k?), Order { k_step: None, ..one.clone() }));
    row.matching.iter().any(|one| key(one) == key(wanted))
}

/// Every two that match are told apart by a test, or stand together.
fn check(found: &Which) {
    let places: Vec<Match> = found
        .rows
        .iter()
        .enumerate()
        .flat_map(|(row, one)| {
            one.matching.iter().map(move |order| Match { row, configuration: order.clone() })
        })
        .collect();
    if places.len() > 64 {
        return; // of so many not all are told apart
    }
    for (index, one) in places.iter().enumerate() {
        for other in &places[index + 1..] {
            let apart = found.tests.iter().any(|test| {
                test.results
                    .iter()
                    .filter(|one_of| one_of.of.contains(one) || one_of.of.contains(other))
                    .count()
                    == 2
            });
            let together = found.together.iter().any(|together| {
                let all: Vec<_> = together.groups.iter().flatten().collect();
                all.contains(&one) && all.contains(&other)
            });
            assert!(apart != together, "{one:?} and {other:?}: apart {apart}, together {together}");
        }
    }
}

/// Models that stand together and are said to be the same.
fn proven_alike(found: &Which, row: usize) -> usize {
    let groups = found.together.iter().flat_map(|together| &together.groups);
    groups.filter(|group| group.iter().any(|one| one.row == row)).map(Vec::len).max().unwrap_or(1)
}

#[test]
fn the_truth_is_found_for_every_architecture_and_format() {
    let mut rows = every_architecture_and_format();
    let count = rows.len();
    if !all() {
        let mut draw = Draw(44);
        rows = (0..6).map(|_| rows[draw.below(count)].clone()).collect();
    }
    let start = Instant::now();
    let (mut alone, mut proven) = (0, 0);
    for (row, model) in &rows {
        let hidden =
            Hidden::new((row, model), (64, 64, 256), Family::Normal, (plain(row.products()), false), 7);
        let found = hidden.asked(vec![]);
        let own = row_of(&found, row);
        assert!(has(own, &plain(row.products()), 256), "{}: {:?}", row.target(), own);
        check(&found);
        let place = found.rows.iter().position(|one| std::ptr::eq(one, own)).unwrap();
        match found.rows.iter().map(|row| row.matching.len()).sum::<usize>() {
            1 => alone += 1,
            all if proven_alike(&found, place) == all => proven += 1,
            _ => {}
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{} of {count} models: {alone} alone, {proven} with others that are the same for every input; {seconds:.1} s",
        rows.len()
    );
}

#[test]
fn the_truth_is_in_the_answer_whatever_the_order() {
    let rows = every_architecture_and_format();
    let runs = if all() { rows.len() } else { 10 };
    let mut draw = Draw(4_400);
    let mut slowest = (0.0, String::new());
    let (mut models, mut orders) = (0, 0);
    for run in 0..runs {
        let (row, model) = &rows[if all() { run } else { draw.below(rows.len()) }];
        let step = row.products();
        let k: usize =
            if all() { draw.one(&[64, 96, 256, 1024, 4096]) } else { draw.one(&[64, 96, 256, 512]) };
        let family = draw.one(&[Family::Normal, Family::Outliers, Family::Uniform, Family::Moderate]);
        let parts: Vec<usize> = (1..=16).filter(|parts| *parts <= k.div_ceil(step)).collect();
        let split_k = if draw.below(2) == 0 { 1 } else { draw.one(&parts) };
        let longest = k.div_ceil(step).div_ceil(split_k) * step;
        let promotions: Vec<usize> =
            PROMOTIONS.into_iter().filter(|every| *every < longest && every.is_multiple_of(step)).collect();
        let promote_every = (draw.below(2) == 0 && !promotions.is_empty()).then(|| draw.one(&promotions));
        let with_c = draw.below(3) == 0;
        let c_last = with_c && split_k == 1 && draw.below(2) == 0;
        let output = (model.d == F32 && draw.below(4) == 0).then(|| draw.one(&[F16, BF16]));
        let output = output.map(|format| format.name);
        let order = Order { c_last: Some(c_last), output, ..along(step, split_k, promote_every) };
        let shape = if all() { (64, 64, k) } else { (24, 40, k) };
        let hidden = Hidden::new((row, model), shape, family, (order, with_c), run as u64);
        let start = Instant::now();
        let found = hidden.asked(vec![]);
        let seconds = start.elapsed().as_secs_f64();
        if seconds > slowest.0 {
            slowest = (seconds, format!("{} {shape:?} {family:?}", row.target()));
        }
        let own = row_of(&found, row);
        let what = format!("{} {shape:?} {family:?} {:?}", row.target(), hidden.order);
        assert!(has(own, &hidden.order, k), "{what}: {own:?}");
        assert_eq!((own.agreeing, own.compared), (shape.0 * shape.1, shape.0 * shape.1), "{what}");
        check(&found);
        let matching: Vec<usize> = found.rows.iter().map(|row| row.matching.len()).collect();
        models += usize::from(matching.iter().filter(|count| **count > 0).count() == 1);
        orders += usize::from(matching.iter().sum::<usize>() == 1);
    }
    println!("{runs} products: one model in {models}, one order in {orders}; slowest {slowest:?}");
}

/// The instruction of an architecture with these words in its name.
fn instruction(architecture: Architecture, name: &str) -> (&'static Instruction, Model) {
    let row = bitmma_engine::catalogue::find(architecture, name).unwrap().instruction;
    (row, row.model(Revision::Hardware).unwrap())
}

#[test]
fn a_d_that_nothing_computes_has_a_nearest() {
    let (row, model) = instruction(Architecture::Hopper, "wgmma.m64n64k16.f32.f16.f16");
    let mut hidden =
        Hidden::new((row, &model), (64, 64, 256), Family::Normal, (plain(row.products()), false), 3);
    // the last bit of one element
    let codes: Vec<u64> =
        hidden.d.iter().enumerate().map(|(at, code)| if at == 130 { code ^ 1 } else { code }).collect();
    hidden.d = Matrix::new(hidden.d.format(), (1, 64, 64), codes).unwrap();
    let found = hidden.asked(vec![]);
    assert!(!found.is_found());
    let nearest = &found.rows[0];
    assert!(nearest.architectures.contains(&Architecture::Hopper));
    assert_eq!((nearest.agreeing, nearest.compared), (4095, 4096));
    let first = nearest.first.as_ref().unwrap();
    assert_eq!(first.element, [0, 2, 2]);
    let code =
        |of: &Coded| u64::from_str_radix(of.code.as_ref().unwrap().trim_start_matches("0x"), 16).unwrap();
    assert_eq!(code(&first.observed) ^ code(&first.computed), 1);
    assert_eq!(nearest.nearest, plain(16));
}

#[test]
fn data_that_tells_nothing_comes_with_inputs_that_do() {
    // sums of ones are exact: every model computes them
    let (row, model) = instruction(Architecture::Ampere, "mma.m16n8k16.f32.f16.f16.f32");
    let one = |shape| Matrix::from_fn(F16, shape, |_, _, _| F16.one_code()).unwrap();
    let (a, b) = (one((1, 8, 64)), one((1, 64, 8)));
    let target = Target::of_model(model, Some(row.products())).unwrap();
    let d = gemm(&target, &a, &b, None, &GemmOptions::default()).unwrap();
    let observed = Observed { a: &a, b: &b, c: None, scale_a: None, scale_b: None, d: &d };
    let found = which(&observed, vec![], Revision::Hardware, &RULES).unwrap();
    assert!(found.rows.iter().filter(|row| !row.matching.is_empty()).count() > 4);
    assert!(!found.tests.is_empty());
    for test in &found.tests {
        assert_eq!(test.case.c, 0);
        assert!(test.results.len() > 1);
        // the numbers are those of the models
        for given in &test.results {
            let Match { row, configuration: order } = &given.of[0];
            let one = &found.rows[*row];
            let k_step = &order.k_step.unwrap();
            let Some(row) = one.instructions.iter().find(|row| row.products() == *k_step) else { continue };
            let target =
                Target::of_model(row.model(Revision::Hardware).unwrap(), Some(row.products())).unwrap();
            let a = Matrix::single(F16, 1, 64, test.case.a.iter().copied()).unwrap();
            let b = Matrix::single(F16, 64, 1, test.case.b.iter().copied()).unwrap();
            let output = (target.model().d != F32).then_some(OutputConversion::nearest(F32));
            let options = GemmOptions {
                split_k: order.split_k,
                promote_every: order.promote_every,
                output,
                ..GemmOptions::default()
            };
            let computed = gemm(&target, &a, &b, None, &options).unwrap();
            let computed = Coded::new(&computed.format(), computed.get(0, 0, 0));
            assert_eq!(computed.to_string(), given.result.to_string(), "{}", row.target());
        }
    }
}

#[test]
fn wrong_shapes_are_said() {
    let ones = |shape| Matrix::from_fn(F16, shape, |_, _, _| F16.one_code()).unwrap();
    let wide = |shape| Matrix::from_fn(F32, shape, |_, _, _| 0).unwrap();
    let ask = |a: &Matrix, b: &Matrix, d: &Matrix| {
        let observed = Observed { a, b, c: None, scale_a: None, scale_b: None, d };
        which(&observed, vec![], Revision::Hardware, &RULES).map(|_| ()).unwrap_err().to_string()
    };
    let (a, b) = (ones((1, 4, 32)), ones((1, 32, 8)));
    assert_eq!(ask(&a, &b, &wide((1, 8, 4))), "D is 8×4, this product takes 4×8");
    assert_eq!(ask(&a, &ones((1, 16, 8)), &wide((1, 4, 8))), "B is 16×8, this product takes 32×8");
    let none = ask(&ones((1, 0, 32)), &b, &wide((1, 0, 8)));
    assert_eq!(none, "D is 0×8; a product with elements, and K of 1 or more, is needed");
}
