//! Many inputs at once; `crates/kernel/src/functions.rs` compares all codes.

use bitmma_functions::{Function, lanes};

#[test]
fn any_number_of_inputs() {
    let codes = [0x3f80_0000, 0x0000_0001, 0xc2fc_0001, 0x7f80_0001, 0x7f7f_ffff, 0x4049_0fdb, 0x8000_0000];
    let x: Vec<u32> = (0..200).map(|i| codes[i % codes.len()] + (i as u32 / 7)).collect();
    for (function, _) in Function::ALL {
        for count in [0, 1, 63, 64, 65, 127, 128, 200] {
            let mut y = vec![0; count];
            lanes::fill(function, &x[..count], &mut y);
            let expected: Vec<u32> = x[..count].iter().map(|&x| function.evaluate(x)).collect();
            assert_eq!(y, expected, "{function}, {count} inputs");
        }
    }
}
