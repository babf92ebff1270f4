//! Every way through the kernels is taken, and ends with the reference path's answers.

use std::collections::BTreeSet;

use crate::common::inputs::{Family, case};
use bitmma_arithmetic::Operation;
use bitmma_engine::catalogue::{Architecture, Revision, find};
use bitmma_engine::kernel::routes::{Route, counted};
use bitmma_engine::kernel::{Level, multiply};
use bitmma_engine::{Matrix, Model, Operands, simulate_steps};

/// Instructions that take all of them between them.
const INSTRUCTIONS: [(Architecture, &str); 13] = [
    (Architecture::Hopper, "wgmma.m64nNk16.f32.f16.f16"),
    (Architecture::Hopper, "wgmma.m64nNk16.f16.f16.f16"),
    (Architecture::Hopper, "wgmma.m64nNk32.f32.e4m3.e4m3"),
    (Architecture::Hopper, "wgmma.m64nNk16.f32.bf16.bf16"),
    (Architecture::Blackwell, "tcgen05.mma.m128nNk32.kind::f8f6f4.f32.e2m1.e2m1"),
    (Architecture::RtxBlackwell, "mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3"),
    (Architecture::Cdna3, "v_mfma_f32_32x32x8_f16"),
    (Architecture::Cdna3, "v_mfma_f32_32x32x4_xf32"),
    (Architecture::Cdna1, "v_mfma_f32_32x32x8f16"),
    (Architecture::Cdna2, "v_mfma_f32_32x32x8f16"),
    (Architecture::Cdna2, "v_mfma_f32_32x32x8bf16_1k"),
    (Architecture::Cdna3, "v_mfma_f32_32x32x2_f32"),
    (Architecture::Hopper, "mma.m16n8k32.s32.s8.s8.s32"),
];

/// M and N of what tiles take, and of what they do not.
const SHAPES: [(usize, usize); 2] = [(5, 70), (5, 9)];

/// The routes that products of cases of a family take, with C and without; their bits are those of the reference path.
fn taken(
    model: &Model,
    step: usize,
    (m, n): (usize, usize),
    family: Family,
    level: Level,
) -> BTreeSet<&'static str> {
    let k = 2 * step;
    let rows: Vec<_> = (0..m).map(|row| case(model, k, family, 7, row as u64)).collect();
    let columns: Vec<_> = (0..n).map(|column| case(model, k, family, 8, column as u64)).collect();
    let of_columns = |count: usize, of: &dyn Fn(usize, usize) -> u64| -> Vec<u64> {
        (0..count * n).map(|index| of(index % n, index / n)).collect()
    };
    let a = Matrix::single(model.a, m, k, rows.iter().flat_map(|case| case.a.clone())).unwrap();
    let b = Matrix::single(model.b, k, n, of_columns(k, &|column, at| columns[column].b[at])).unwrap();
    let c = (0..m * n).map(|index| case(model, step, family, 9, index as u64).c);
    let c = Matrix::single(model.c, m, n, c).unwrap();
    let scales = model.scale.map(|scale| {
        let count = k / scale.size;
        let of_a = rows.iter().flat_map(|case| case.scale_a.clone());
        let of_b = of_columns(count, &|column, at| columns[column].scale_b[at]);
        let b = Matrix::single(scale.format, count, n, of_b).unwrap();
        (Matrix::single(scale.format, m, count, of_a).unwrap(), b)
    });
    let (scale_a, scale_b) = (scales.as_ref().map(|of| &of.0), scales.as_ref().map(|of| &of.1));
    let mut taken = BTreeSet::new();
    for c in [Some(&c), None] {
        let operands = Operands { a: &a, b: &b, c, scale_a, scale_b };
        let (d, routes) = counted(|| multiply(model, step, &operands, Some(level)).unwrap());
        assert_eq!(d, simulate_steps(model, step, &operands).unwrap(), "{family:?}, {level:?}");
        taken.extend(routes.into_iter().map(|(name, _)| name));
    }
    taken
}

#[test]
fn every_route_is_taken() {
    let best = Level::best();
    if matches!(best, Level::Portable | Level::Avx2) {
        println!("skipped: {best:?} has no two rows side by side");
        return;
    }
    let mut seen = BTreeSet::new();
    for (architecture, name) in INSTRUCTIONS {
        let row = find(architecture, name).unwrap().instruction;
        let mut model = row.model(Revision::Hardware).unwrap();
        for (family, shape) in Family::ALL.into_iter().flat_map(|family| SHAPES.map(|shape| (family, shape)))
        {
            seen.extend(taken(&model, row.products(), shape, family, best));
        }
        // pairs of products whose results are not flushed, and whose products are not exact
        if let Operation::FtzAddMul { .. } = model.operation
            && model.a == bitmma_engine::formats::BF16
        {
            model.a = bitmma_engine::formats::F32;
            seen.extend(taken(&model, row.products(), SHAPES[0], Family::Moderate, best));
        }
    }
    let floor = if best < Level::Avx512 { Some("floor") } else { None };
    let all: BTreeSet<_> =
        Route::ALL.into_iter().map(|(_, name)| name).filter(|name| floor != Some(name)).collect();
    let missing: Vec<_> = all.difference(&seen).collect();
    assert!(missing.is_empty(), "not taken: {missing:?}; taken: {seen:?}");
}
