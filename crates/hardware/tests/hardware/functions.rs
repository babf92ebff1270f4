//! Approximate functions through a driver and back, by a machine that runs the kernels' PTX.

use bitmma_engine::Architecture;
use bitmma_engine::functions::digest;
use bitmma_engine::functions::ptx::Form;

use crate::common::fake::gpu;

/// Codes of all kinds: zeros, subnormal numbers, infinities, NaN, both signs.
fn codes(count: u32) -> Vec<u32> {
    (0..count)
        .map(|index| index.wrapping_mul(0x9e37_79b9) ^ (index & 7))
        .chain([0, 1 << 31, 0x7f80_0000, 1])
        .collect()
}

#[test]
fn values_and_digests() {
    let Some((fake, device)) = gpu(Architecture::Hopper) else { return };
    for form in Form::all() {
        let unit = device.function(&form.to_string()).expect("opens");
        let x = codes(9000); // more than one tile, and no whole one
        let y = unit.values(&x).expect("runs");
        assert_eq!(y, x.iter().map(|&x| form.evaluate(x)).collect::<Vec<_>>());
        for first in [0, 0x3f00_2000, 0xffff_e000] {
            let tiles = if first == 0 { 2 } else { 1 };
            let x = first..=first + (tiles * (1 << 13) - 1);
            let expected = x.fold(0, |sum: u64, x| sum.wrapping_add(digest::term(x, form.evaluate(x))));
            assert_eq!(unit.digest(first, tiles).expect("runs"), expected, "{form} {first:08x}");
        }
    }
    drop(device);
    assert_eq!(fake.live(), 0);
}

/// A kernel that the compiler refuses says which.
#[test]
fn what_the_compiler_refuses() {
    let Some((fake, device)) = gpu(Architecture::Turing) else { return };
    fake.log("ptxas error: tanh.approx.bf16x2 requires sm_90");
    fake.fails("cuModuleLoadDataEx", 218);
    let error = device.function("tanh.approx.bf16x2").err().expect("refused");
    assert!(error.to_string().contains("tanh.approx.bf16x2"), "{error}");
}
