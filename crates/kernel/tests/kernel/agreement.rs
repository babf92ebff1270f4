//! Every kernel against the reference path, element by element, on every instruction set of this processor: all models of the
//! catalogue, a few small products each. `crates/engine/tests/engine/kernel.rs` has larger ones, drawn from more distributions.

use std::collections::{BTreeMap, BTreeSet};

use bitmma_arithmetic::line::chain;
use bitmma_arithmetic::{Model, Prepared};
use bitmma_catalogue::{Revision, catalogue};
use bitmma_formats::cases::notable_codes;
use bitmma_formats::{F16, F32, Format};
use bitmma_kernel::{Codes, Level, Operands, Plan, View};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// What codes are drawn from.
#[derive(Clone, Copy, Debug)]
enum Draw {
    /// Zeros, limits, infinities, NaNs.
    Notable,
    /// Any codes.
    Any,
    /// Codes within two binades of one, of both signs: sums that cancel.
    NearOne,
}

impl Draw {
    const ALL: [Draw; 3] = [Draw::Notable, Draw::Any, Draw::NearOne];

    fn codes(self, format: &Format, count: usize, random: &mut ChaCha8Rng) -> Codes {
        let notable = notable_codes(format);
        let binade = 1 << (format.fraction_bits + format.padding_bits);
        let mut codes = Codes::with_capacity(format, count).unwrap();
        for _ in 0..count {
            let word = random.next_u64();
            codes.push(match self {
                Draw::Notable => notable[(word % notable.len() as u64) as usize],
                Draw::Any => word & format.max_code(),
                Draw::NearOne if format.is_integer() => word & format.max_code(),
                Draw::NearOne => {
                    let code = format.one_code() - binade + word % (4 * binade);
                    if word >> 63 == 1 { code | format.sign_bit() } else { code }
                }
            });
        }
        codes
    }
}

/// Every distinct model of the catalogue with its K, under the name of an instruction.
fn models() -> BTreeMap<String, (String, Model, usize)> {
    let mut distinct = BTreeMap::new();
    for (row, revision) in catalogue().iter().flat_map(|row| Revision::ALL.map(|revision| (row, revision))) {
        if let Some(model) = row.model(revision) {
            let key = format!("{model:?} {}", row.products());
            let name = format!("{} {} ({revision})", row.architecture, row.name());
            distinct.entry(key).or_insert((name, model, row.products()));
        }
    }
    distinct
}

/// Elements that were compared, and whether there is a kernel.
fn compare(name: &str, model: &Model, step: usize, level: Level, draw: Draw, seed: u64) -> Option<usize> {
    let prepared = Prepared::new(model, step).unwrap();
    let plan = Plan::of(&prepared, level)?;
    let shapes = [(5, 33, 2), (1, 1, 1), (7, 17, 3)];
    let (m, n, steps) = shapes[(seed % 3) as usize];
    let (k, mut random) = (steps * step, ChaCha8Rng::seed_from_u64(seed));
    let a = draw.codes(&model.a, m * k, &mut random);
    let b = draw.codes(&model.b, k * n, &mut random);
    let c = draw.codes(&model.c, m * n, &mut random);
    let factors = model.scale.map(|scale| {
        let count = k / scale.size;
        let of = |lines| draw.codes(&scale.format, lines * count, &mut random);
        (count, [m, n].map(of))
    });
    let operands = Operands {
        a: View::new(a.slice(), (1, m, k)),
        b: View::new(b.slice(), (1, k, n)),
        c: Some(View::new(c.slice(), (1, m, n))),
        scale_a: factors.as_ref().map(|(count, [a, _])| View::new(a.slice(), (1, m, *count))),
        scale_b: factors.as_ref().map(|(count, [_, b])| View::new(b.slice(), (1, *count, n))),
    };
    let d = plan.multiply(&prepared, &operands, None).unwrap();
    let rows: Vec<_> = (0..m).map(|row| operands.row(&prepared, (0, row), 0..k)).collect();
    for column in 0..n {
        let line = operands.column(&prepared, (0, column), 0..k);
        for (row, of_a) in rows.iter().enumerate() {
            let (got, want) =
                (d.get(row * n + column), chain(&prepared, of_a, &line, c.get(row * n + column)));
            assert!(
                got == want,
                "{name}, {level:?}, {draw:?}, seed {seed}, {m}×{n}×{k}: element {row},{column} is {got:#x}, by the reference path {want:#x}"
            );
        }
    }
    Some(m * n)
}

#[test]
fn kernels_compute_as_the_reference_path() {
    let models = models();
    let (mut elements, mut with, mut families) = (0, BTreeSet::new(), BTreeSet::new());
    for (number, (name, model, step)) in models.values().enumerate() {
        for level in Level::available() {
            for (index, draw) in Draw::ALL.into_iter().enumerate() {
                let seed = (number * 3 + index * 7) as u64;
                let Some(compared) = compare(name, model, *step, level, draw, seed) else { continue };
                elements += compared;
                with.insert(number);
                families.insert(model.operation.name());
            }
        }
    }
    println!("{elements} elements of {} of {} models, {families:?}", with.len(), models.len());
    assert!(with.len() >= 80 && families.len() >= 8, "{} models of {families:?} have a kernel", with.len());
}

/// A wrong element is noticed: the models of two instructions, compared as if they were one.
#[test]
fn another_model_differs() {
    let of = |architecture: &str, name: &str| {
        let found = bitmma_catalogue::find(architecture.parse().unwrap(), name).unwrap();
        found.instruction.model(Revision::Hardware).unwrap()
    };
    let (hopper, cdna3) = (of("hopper", "HMMA.16816.F32"), of("cdna3", "v_mfma_f32_16x16x16_f16"));
    assert_eq!((hopper.a, hopper.c, cdna3.a, cdna3.c), (F16, F32, F16, F32));
    let (one, other) = (Prepared::new(&hopper, 16).unwrap(), Prepared::new(&cdna3, 16).unwrap());
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let (a, b) =
        (Draw::NearOne.codes(&F16, 64 * 16, &mut random), Draw::NearOne.codes(&F16, 16 * 64, &mut random));
    let operands = Operands {
        a: View::new(a.slice(), (1, 64, 16)),
        b: View::new(b.slice(), (1, 16, 64)),
        c: None,
        scale_a: None,
        scale_b: None,
    };
    let d =
        |prepared| Plan::of(prepared, Level::best()).unwrap().multiply(prepared, &operands, None).unwrap();
    assert!(d(&one) != d(&other));
}
