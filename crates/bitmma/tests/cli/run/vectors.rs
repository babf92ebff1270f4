//! Lines of the reference vectors, and matrices that hold them.

use std::path::Path;
use std::sync::LazyLock;

use super::files::{hex, placed};

/// One line of the reference vectors, its codes in hex.
pub(crate) struct Vector {
    pub(crate) a: String,
    pub(crate) b: String,
    pub(crate) c: String,
    pub(crate) d: String,
}

/// Lines of `recordings/vectors`, read when a test first asks for them.
pub(crate) type Vectors = LazyLock<Vec<Vector>>;

/// `count` lines of an instruction from one on, the first being 0.
fn read(architecture: &str, instruction: &str, first: usize, count: usize) -> Vec<Vector> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings/vectors");
    let text = std::fs::read_to_string(folder.join(format!("{architecture}.csv"))).unwrap();
    let own = format!("{architecture},{instruction},");
    let lines = text.lines().filter_map(|line| line.strip_prefix(&own));
    let vectors: Vec<Vector> = lines
        .skip(first)
        .take(count)
        .map(|line| {
            let fields: Vec<String> = line.split(',').map(str::to_owned).collect();
            let [a, b, c, _, _, d] = fields.try_into().unwrap();
            Vector { a, b, c, d }
        })
        .collect();
    assert_eq!(vectors.len(), count, "{architecture} {instruction}");
    vectors
}

/// Where vector `index` is put in D: away from the diagonal, so that a transposition shows.
pub(crate) fn place(index: usize) -> (usize, usize) {
    (3 + 2 * index, 6 - 3 * index)
}

/// A, B and C, row-major, with each vector at its place and zeros elsewhere.
pub(crate) fn operands(vectors: &[Vector], (m, n, k): (usize, usize, usize)) -> [Vec<u64>; 3] {
    let rows: Vec<_> = vectors.iter().enumerate().map(|(i, v)| (place(i).0, hex(&v.a))).collect();
    let columns: Vec<_> = vectors.iter().enumerate().map(|(i, v)| (place(i).1, hex(&v.b))).collect();
    let mut c = vec![0; m * n];
    for (index, vector) in vectors.iter().enumerate() {
        let (row, column) = place(index);
        c[row * n + column] = hex(&vector.c)[0];
    }
    [placed(m, k, &rows, true), placed(k, n, &columns, false), c]
}

/// D holds every vector's answer at its place.
pub(crate) fn check(d: &[u64], vectors: &[Vector], n: usize) {
    for (index, vector) in vectors.iter().enumerate() {
        let (row, column) = place(index);
        let actual = d[row * n + column];
        assert_eq!(actual, hex(&vector.d)[0], "d[{row}, {column}] is {actual:x}, {} was recorded", vector.d);
    }
}

pub(crate) static HOPPER_F16: Vectors =
    LazyLock::new(|| read("hopper", "mma.m16n8k16.f32.f16.f16.f32", 4, 2));
pub(crate) static HOPPER_BF16: Vectors =
    LazyLock::new(|| read("hopper", "mma.m16n8k16.f32.bf16.bf16.f32", 4, 2));
pub(crate) static WGMMA: Vectors = LazyLock::new(|| read("hopper", "wgmma.m64n8k16.f32.f16.f16", 4, 1));
pub(crate) static TURING_F16: Vectors =
    LazyLock::new(|| read("turing", "mma.m16n8k8.f16.f16.f16.f16", 51, 1));
pub(crate) static AMPERE_TF32: Vectors =
    LazyLock::new(|| read("ampere", "mma.m16n8k8.f32.tf32.tf32.f32", 4, 1));
pub(crate) static AMPERE_F64: Vectors = LazyLock::new(|| read("ampere", "mma.m8n8k4.f64.f64.f64.f64", 4, 1));
pub(crate) static ADA_FP8: Vectors = LazyLock::new(|| read("ada", "mma.m16n8k16.f32.e4m3.e5m2.f32", 1, 1));
pub(crate) static CDNA3_FP8: Vectors = LazyLock::new(|| read("cdna3", "v_mfma_f32_16x16x32_bf8_fp8", 3, 1));
pub(crate) static CDNA3_XF32: Vectors = LazyLock::new(|| read("cdna3", "v_mfma_f32_16x16x8_xf32", 4, 1));
pub(crate) static CDNA3_TWO_BLOCKS: Vectors =
    LazyLock::new(|| read("cdna3", "v_mfma_f32_32x32x4_2b_bf16", 4, 2));
/// Scale factors 83 and 7a.
pub(crate) static MX_FP6: Vectors = LazyLock::new(|| {
    read("rtx-blackwell", "mma.m16n8k32.kind::mxf8f6f4.block32.f32.e3m2.e2m3.f32.ue8m0", 5, 1)
});
/// Scale factors 26 32 3c 2f and 2d 3a 32 37.
pub(crate) static NVFP4: Vectors = LazyLock::new(|| {
    read("rtx-blackwell", "mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3", 4, 1)
});
