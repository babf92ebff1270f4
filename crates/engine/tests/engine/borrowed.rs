//! Operands in memory of any layout: the same bits as from matrices of their own.

use crate::common::inputs::Family;
use crate::gemm::plain::Inputs;
use bitmma_engine::catalogue::find;
use bitmma_engine::formats::{E2M1, F16};
use bitmma_engine::gemm::Target;
use bitmma_engine::{Architecture, Codes, Error, GemmOptions, Matrix, MatrixRef, Revision, Slice, gemm};

/// Codes of matrices laid out with these strides, others in the gaps.
fn spread(matrix: &Matrix, strides: [usize; 3]) -> Codes {
    let (blocks, rows, columns) = matrix.shape();
    let [apart, stride, across] = strides;
    let place = |block, row, column| block * apart + row * stride + column * across;
    let mut codes = vec![matrix.format().max_code(); place(blocks - 1, rows - 1, columns - 1) + 1];
    for block in 0..blocks {
        for row in 0..rows {
            for column in 0..columns {
                codes[place(block, row, column)] = matrix.get(block, row, column);
            }
        }
    }
    match matrix.format().bytes() {
        1 => Codes::U8(codes.iter().map(|&code| code as u8).collect()),
        2 => Codes::U16(codes.iter().map(|&code| code as u16).collect()),
        4 => Codes::U32(codes.iter().map(|&code| code as u32).collect()),
        _ => Codes::U64(codes),
    }
}

/// Row by row and column by column, without gaps and with some.
fn layouts(matrix: &Matrix) -> [[usize; 3]; 4] {
    let (_, rows, columns) = matrix.shape();
    let all = rows * columns;
    [
        [all, columns, 1],
        [all, 1, rows],
        [all + 3 * rows + 7, columns + 3, 1],
        [all + 5 * columns, 1, rows + 5],
    ]
}

fn lent<'m>(matrix: &Matrix, strides: [usize; 3], codes: &'m Codes) -> MatrixRef<'m> {
    MatrixRef::new(matrix.format(), matrix.shape(), strides, codes.slice()).unwrap()
}

const INSTRUCTIONS: [(Architecture, &str); 8] = [
    (Architecture::Hopper, "wgmma.m64n8k16.f32.f16.f16"),
    (Architecture::Hopper, "mma.m16n8k16.f16.e4m3.e5m2.f16"), // composed, interleaved
    (Architecture::RtxBlackwell, "mma.m16n8k32.kind::mxf8f6f4.block32.f32.e4m3.e2m3.f32.ue8m0"),
    (Architecture::RtxBlackwell, "mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3"),
    (Architecture::Cdna3, "v_mfma_f32_16x16x32_bf8_fp8"),
    (Architecture::Cdna1, "v_mfma_f32_16x16x16f16"),
    (Architecture::Cdna3, "v_mfma_f32_16x16x4_f32"),
    (Architecture::Ampere, "mma.m8n8k4.f64.f64.f64.f64"),
];

/// Shapes with one block of rows and with several, one tile of D and several, K padded and not.
#[test]
fn any_layout_gives_the_same_bits() {
    let mut products = 0;
    for (number, (architecture, name)) in INSTRUCTIONS.into_iter().enumerate() {
        let target = Target::instruction(architecture, name, Revision::Hardware).unwrap();
        for (index, shape) in
            [(1, 1, 1), (1, 70, 64), (5, 2100, 65), (70, 131, 320), (2, 16, 16)].into_iter().enumerate()
        {
            let family = Family::ALL[(number + index) % Family::ALL.len()];
            let inputs = Inputs::new(target.model(), shape, family, (number * 10 + index) as u64);
            let (a, b) = (&inputs.a, &inputs.b);
            for options in
                [inputs.options(), GemmOptions { promote_every: Some(2 * target.step()), ..inputs.options() }]
            {
                let expected = gemm(&target, a, b, Some(&inputs.c), &options).unwrap();
                for (of_a, of_b) in layouts(a).into_iter().zip(layouts(b).into_iter().rev()) {
                    let (codes_a, codes_b) = (spread(a, of_a), spread(b, of_b));
                    let lent = (lent(a, of_a, &codes_a), lent(b, of_b, &codes_b));
                    let d = gemm(&target, lent.0, lent.1, Some(&inputs.c), &options).unwrap();
                    assert!(d == expected, "{name}, {shape:?}, {of_a:?}, {of_b:?}, {family:?}");
                    products += 1;
                }
            }
        }
    }
    assert_eq!(products, 8 * 5 * 2 * 4);
}

#[test]
fn batches_lie_as_far_apart_as_they_like() {
    let target =
        Target::instruction(Architecture::Hopper, "wgmma.m64n8k16.f32.f16.f16", Revision::Hardware).unwrap();
    let code = |seed: usize| {
        move |block: usize, row: usize, column: usize| {
            ((block * 7919 + row * 104_729 + column * 1299 + seed) % 0x7bff) as u64
        }
    };
    let a = Matrix::from_fn(F16, (3, 20, 48), code(1)).unwrap();
    let b = Matrix::from_fn(F16, (3, 48, 33), code(2)).unwrap();
    let expected = gemm(&target, &a, &b, None, &GemmOptions::default()).unwrap();
    for (of_a, of_b) in layouts(&a).into_iter().zip(layouts(&b).into_iter().rev()) {
        let (codes_a, codes_b) = (spread(&a, of_a), spread(&b, of_b));
        let (a, b) = (lent(&a, of_a, &codes_a), lent(&b, of_b, &codes_b));
        assert!(
            gemm(&target, a, b, None, &GemmOptions::default()).unwrap() == expected,
            "{of_a:?}, {of_b:?}"
        );
    }
}

#[test]
fn what_kernels_cannot_read_is_not_lent() {
    let codes = [0u16; 100];
    let lent = |shape, strides| MatrixRef::new(F16, shape, strides, Slice::U16(&codes));
    assert!(lent((1, 10, 10), [0, 10, 1]).is_some() && lent((2, 5, 10), [50, 1, 5]).is_some());
    assert!(lent((1, 10, 10), [0, 11, 1]).is_none(), "beyond the codes");
    assert!(lent((1, usize::MAX, 10), [0, 10, 1]).is_none(), "beyond any memory");
    assert!(lent((1, 5, 5), [0, 20, 2]).is_none(), "neither rows nor columns side by side");
    assert!(lent((1, 0, 10), [0, 10, 1]).is_none(), "no elements");
    assert!(MatrixRef::new(F16, (1, 1, 1), [0, 1, 1], Slice::U8(&[0])).is_none(), "too narrow");
}

/// The first wrong code by rows, however they lie; what lies between the codes does not count.
#[test]
fn codes_with_too_many_bits_are_errors_with_their_place() {
    let found = find(Architecture::RtxBlackwell, "mma.m16n8k32.kind::f8f6f4.f32.e2m1.e2m1.f32").unwrap();
    let target = Target::found(&found, Revision::Hardware).unwrap();
    let good = Matrix::from_fn(E2M1, (1, 40, 40), |_, row, column| ((row + column) % 16) as u64).unwrap();
    for strides in layouts(&good) {
        let Codes::U8(mut codes) = spread(&good, strides) else { panic!("codes of E2M1 take a byte") };
        if let Some(gap) = (strides[1] > 40).then_some(41) {
            codes[gap] = 0xff;
        }
        let product = |codes: &[u8]| {
            let b = MatrixRef::new(E2M1, good.shape(), strides, Slice::U8(codes)).unwrap();
            gemm(&target, &good, b, None, &GemmOptions::default())
        };
        assert!(product(&codes).is_ok(), "{strides:?}");
        for (row, column) in [(30, 2), (7, 35)] {
            codes[row * strides[1] + column * strides[2]] = 0x10 + row as u8;
        }
        let error = product(&codes).unwrap_err();
        let is_first = matches!(error, Error::Code { index: 315, code: 0x17, .. });
        assert!(is_first, "{strides:?}: {error}");
    }
}
