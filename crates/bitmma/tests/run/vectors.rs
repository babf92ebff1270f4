//! Lines of the reference vectors, and matrices that hold them.

use crate::files::{hex, placed};

/// One line of the reference vectors, its codes in hex.
pub(crate) struct Vector {
    pub(crate) a: &'static str,
    pub(crate) b: &'static str,
    pub(crate) c: &'static str,
    pub(crate) d: &'static str,
}

/// Where vector `index` is put in D: away from the diagonal, so that a transposition shows.
pub(crate) fn place(index: usize) -> (usize, usize) {
    (3 + 2 * index, 6 - 3 * index)
}

/// A, B and C, row-major, with each vector at its place and zeros elsewhere.
pub(crate) fn operands(vectors: &[Vector], (m, n, k): (usize, usize, usize)) -> [Vec<u64>; 3] {
    let rows: Vec<_> = vectors.iter().enumerate().map(|(i, v)| (place(i).0, hex(v.a))).collect();
    let columns: Vec<_> = vectors.iter().enumerate().map(|(i, v)| (place(i).1, hex(v.b))).collect();
    let mut c = vec![0; m * n];
    for (index, vector) in vectors.iter().enumerate() {
        let (row, column) = place(index);
        c[row * n + column] = hex(vector.c)[0];
    }
    [placed(m, k, &rows, true), placed(k, n, &columns, false), c]
}

/// D holds every vector's answer at its place.
pub(crate) fn check(d: &[u64], vectors: &[Vector], n: usize) {
    for (index, vector) in vectors.iter().enumerate() {
        let (row, column) = place(index);
        let actual = d[row * n + column];
        assert_eq!(actual, hex(vector.d)[0], "d[{row}, {column}] is {actual:x}, {} was recorded", vector.d);
    }
}

// hopper,mma.m16n8k16.f32.f16.f16.f32
#[rustfmt::skip]
pub(crate) const HOPPER_F16: [Vector; 2] = [
    Vector {
        a: "bd59 374b b8c8 b9f0 b167 b634 3982 3b5a 3899 2c7b bdcf b90a b773 3c41 a4ac 361f",
        b: "a7e7 3f0e 37a6 bc39 b640 bee9 372f 3c86 b304 3c7a b8a1 be93 3d4d ba62 bc1e 3d18",
        c: "3d86067d", d: "408b8b32",
    },
    Vector {
        a: "ae73 40c8 bd43 b938 afe2 3a56 3ac1 b515 bc26 3aca 369e adc0 a816 3560 3d4f be7f",
        b: "bce9 3e68 a852 bd11 ba85 3c50 b06d bbb3 ba22 b052 b3b5 2d0a 3e85 bdb6 3848 391a",
        c: "bf22a6a7", d: "40a1863e",
    },
];
// hopper,mma.m16n8k16.f32.bf16.bf16.f32
#[rustfmt::skip]
pub(crate) const HOPPER_BF16: [Vector; 2] = [
    Vector {
        a: "beed bf02 3e30 be65 3f19 3fd8 bf65 3fcc c01d 3ed5 be06 be82 3f40 3f86 3f07 bece",
        b: "bf79 3fdb bd5a 3ed6 3fff bd9f 3f9e 3f3a bf04 bf93 3c27 bf6c bffc 4001 be14 3e33",
        c: "3e4e5cb4", d: "40133c70",
    },
    Vector {
        a: "3f81 3f28 bef8 4014 3f85 bede 3ef8 3f87 3f22 beb4 3e5a 3d68 be03 bf98 3f92 be70",
        b: "3fb2 bf80 bfad 3eab 3f2a ba28 bf3c 3fc4 3f27 4001 4017 3f1a c002 bf99 3e99 3ee0",
        c: "bfbc18b4", d: "4099ef39",
    },
];
// hopper,wgmma.m64n8k16.f32.f16.f16
#[rustfmt::skip]
pub(crate) const WGMMA: [Vector; 1] = [Vector {
    a: "3fc0 b283 328e 2e87 39e0 3f61 3e61 b795 3b47 bb61 3faf b720 b8ae b76d b87d 39c4",
    b: "b4e8 bc07 3f75 b88d 2db2 3c71 38d9 3b33 bd10 b5d2 ac87 bcdb b98f c1dc bb60 ac4f",
    c: "3f86a1ad", d: "40aed688",
}];
// turing,mma.m16n8k8.f16.f16.f16.f16
#[rustfmt::skip]
pub(crate) const TURING_F16: [Vector; 1] = [Vector {
    a: "0040 0000 0400 0000 8200 0000 0000 0000", b: "1000 0000 0200 0000 a000 0000 0000 0000",
    c: "8000", d: "0004",
}];
// ampere,mma.m16n8k8.f32.tf32.tf32.f32
#[rustfmt::skip]
pub(crate) const AMPERE_TF32: [Vector; 1] = [Vector {
    a: "3f8ab6d0 bf049374 3f180575 3f9b8ffc c026b7e0 be94363f 3f809f31 bf4e04d9",
    b: "3f7364a3 3f3de1a5 3eac6a03 be8d5747 4007b31a bf38401b 3f468dcf bfb0210a",
    c: "3f35d102", d: "c00cf875",
}];
// ampere,mma.m8n8k4.f64.f64.f64.f64
#[rustfmt::skip]
pub(crate) const AMPERE_F64: [Vector; 1] = [Vector {
    a: "3ff5b950bd2b33eb bfe8793dcf5ae1ab bfe3cb0bf9239161 bfe5c16a7bebdcd8",
    b: "4003aba2b383fdd0 3fbfcf4d4576fcad 3ff65ac555348f65 bff19738c378256f",
    c: "3f9eb16710da2f4b", d: "400940c569ad1353",
}];
// ada,mma.m16n8k16.f32.e4m3.e5m2.f32
#[rustfmt::skip]
pub(crate) const ADA_FP8: [Vector; 1] = [Vector {
    a: "22 47 63 0d 1c e3 0e 78 d6 09 4a 1a 87 e0 d0 72", b: "c1 14 cd 2f 1c 9a e4 ba f7 16 aa e0 4c f9 d3 21",
    c: "3a385b0b", d: "49d0f000",
}];
// cdna3,v_mfma_f32_16x16x32_bf8_fp8
#[rustfmt::skip]
pub(crate) const CDNA3_FP8: [Vector; 1] = [Vector {
    a: "3c 01 2f 4d 27 ec 6d b2 ae 6c b8 3d 03 fc 99 f5 92 ed 28 3b ac ae 9d cc f2 6a 88 d1 f5 63 ce 82",
    b: "2c 43 8d d4 c2 06 d2 c1 08 3f c1 48 db 5c 72 dd e0 9b 52 fe 92 e6 1b b2 19 3c e7 e1 72 58 38 fb",
    c: "390dd46a", d: "c9847d64",
}];
// cdna3,v_mfma_f32_16x16x8_xf32
#[rustfmt::skip]
pub(crate) const CDNA3_XF32: [Vector; 1] = [Vector {
    a: "be5ba065 bf1a0a42 3ebf0eb1 3eb17051 3f168d33 bf05c82c 3f017d2a bec2105f",
    b: "3ecae0f8 be385c40 be7b1227 bf537715 3e0ad887 3edc1689 bf9c9202 3e8e9e01",
    c: "bf04e8c5", d: "bfdeeca6",
}];
// cdna3,v_mfma_f32_32x32x4_2b_bf16
#[rustfmt::skip]
pub(crate) const CDNA3_TWO_BLOCKS: [Vector; 2] = [
    Vector { a: "bf62 3f7e bf90 c01f", b: "c025 bf94 bf01 3f22", c: "3ded2bf6", d: "3e7515f8" },
    Vector { a: "bc88 3de2 3f21 3f76", b: "bfe0 3ebf bf83 bf30", c: "beb17efd", d: "bfca55cf" },
];
// rtx-blackwell,mma.m16n8k32.kind::mxf8f6f4.block32.f32.e3m2.e2m3.f32.ue8m0; scale factors 83 and 7a
#[rustfmt::skip]
pub(crate) const MX_FP6: [Vector; 1] = [Vector {
    a: "2d 28 2b 0d 2d 25 10 2d 00 0b 2d 24 07 08 21 25 29 05 2c 25 09 0c 08 26 05 00 2c 29 2a 22 26 05",
    b: "25 04 23 01 07 01 05 2b 0f 07 26 05 09 00 2b 2d 25 07 0c 02 22 08 03 24 2d 08 2a 09 24 21 0a 24",
    c: "bff59fd4", d: "3f60c058",
}];
// rtx-blackwell,mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3; scale factors
// 26 32 3c 2f and 2d 3a 32 37
#[rustfmt::skip]
pub(crate) const NVFP4: [Vector; 1] = [Vector {
    a: "a 1 1 3 9 9 1 9 1 2 a 0 9 9 9 a 9 3 a 1 2 2 1 2 b 2 3 1 4 b 1 9 b 8 a 0 a 9 3 4 a 8 9 2 3 2 8 1 b 0 3 a 1 2 1 0 8 1 8 2 b 2 4 8",
    b: "b 1 0 8 b 2 b 1 2 2 0 b 1 4 c a 1 1 0 1 0 8 3 0 3 4 2 2 2 2 9 1 4 a 1 1 9 3 9 0 a a 9 2 0 2 0 0 1 0 2 9 0 9 2 a 9 1 9 1 9 1 9 1",
    c: "3ed3033c", d: "4043a467",
}];
