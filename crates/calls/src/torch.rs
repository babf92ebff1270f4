//! Which calls of `torch._scaled_mm` are rejected, and by whom (rules 27 and 28).
//!
//! Recorded with torch 2.7.1 and cuBLASLt 12.8.3.14 on an RTX 4060: 9,508 rejected calls agree.

use std::fmt;

use bitmma_engine::formats::{BF16, E4M3, E4M3FNUZ, E5M2, E5M2FNUZ, F16, F32, Format, alias};

/// The format of a dtype, by torch's name or any other that [`alias`] knows.
pub fn format_of(name: &str) -> Option<Format> {
    alias::find(name.strip_prefix("torch.").unwrap_or(name)).ok()
}

/// In which order an operand lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Rows are contiguous.
    Row,
    /// Columns are contiguous.
    Column,
    /// Both: one row or one column.
    Both,
}

/// How scales are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scaling {
    /// One FP32 scale for each of A and B.
    Tensor,
    /// [M, 1] and [1, N] FP32 scales, contiguous.
    Row {
        /// Whether cuBLASLt takes them, and not a kernel of torch's own.
        by_library: bool,
    },
    /// FP32 scales of blocks of 128 elements of K.
    Blocks {
        /// Whether cuBLASLt takes them on this GPU.
        supported: bool,
    },
    /// Anything else.
    Invalid,
}

/// A call of `torch._scaled_mm`, as far as it decides whether the call is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Dimensions of mat1 and of mat2.
    pub dimensions: (usize, usize),
    /// Rows of mat1.
    pub m: usize,
    /// Columns of mat2.
    pub n: usize,
    /// Columns of mat1.
    pub k: usize,
    /// Rows of mat2.
    pub inner: usize,
    /// dtype of mat1; `None` for one that this project does not know.
    pub a: Option<Format>,
    /// dtype of mat2.
    pub b: Option<Format>,
    /// out_dtype; torch's default is mat1's.
    pub out: Option<Format>,
    /// Scales of A and B.
    pub scaling: Scaling,
    /// Whether scale_result, if given, is one FP32 number.
    pub scale_result_fits: bool,
    /// dtype and length of the bias.
    pub bias: Option<(Option<Format>, usize)>,
    /// dtype of `out=`, where one is given.
    pub buffer: Option<Option<Format>>,
    /// How mat1 lies in memory.
    pub layout_a: Layout,
    /// How mat2 lies in memory.
    pub layout_b: Layout,
    /// Whether every pointer and every leading dimension is a multiple of 16 bytes.
    pub aligned: bool,
}

impl Request {
    /// A plain call: tensor-wise scales, mat1 row-major, mat2 column-major, all aligned.
    pub fn new((m, n, k): (usize, usize, usize), a: Format, b: Format, out: Format) -> Request {
        Request {
            dimensions: (2, 2),
            m,
            n,
            k,
            inner: k,
            a: Some(a),
            b: Some(b),
            out: Some(out),
            scaling: Scaling::Tensor,
            scale_result_fits: true,
            bias: None,
            buffer: None,
            layout_a: Layout::Row,
            layout_b: Layout::Column,
            aligned: true,
        }
    }

    /// Whether the call returns before cuBLASLt is asked: D has no element, or K = 0.
    pub fn is_empty(&self) -> bool {
        self.m == 0 || self.n == 0 || self.k == 0
    }

    /// The first reason for which the call is rejected, in the order in which torch and cuBLASLt look.
    pub fn rejection(&self) -> Option<Rejection> {
        let fp8 = |format: Option<Format>| {
            format.is_some_and(|format| [E4M3, E5M2, E4M3FNUZ, E5M2FNUZ].contains(&format))
        };
        let is = |format: Option<Format>, which: Format| format == Some(which);
        let bias_type = match self.out {
            Some(BF16 | F16) => vec![self.out],
            Some(F32) => vec![],
            _ => vec![Some(BF16), Some(F16)],
        };
        let of_torch = [
            (self.dimensions != (2, 2), Rejection::Dimensions(self.dimensions.0, self.dimensions.1)),
            (self.k != self.inner, Rejection::Inner(self.k, self.inner)),
            (self.scaling == Scaling::Invalid, Rejection::Scales),
            (!self.scale_result_fits, Rejection::ScaleResult),
            (
                self.bias.is_some_and(|(_, length)| length != self.n),
                Rejection::BiasLength(self.bias.map_or(0, |(_, length)| length), self.n),
            ),
            (!self.k.is_multiple_of(16) || !self.n.is_multiple_of(16), Rejection::Sizes(self.k, self.n)),
            (self.buffer.is_some_and(|buffer| buffer != self.out), Rejection::Buffer),
            (!fp8(self.a) || !fp8(self.b), Rejection::NotFp8),
            (is(self.a, E5M2) && is(self.b, E5M2), Rejection::BothE5m2),
            (self.bias.is_some_and(|(bias, _)| !bias_type.contains(&bias)), Rejection::BiasType),
        ];
        if let Some((_, rejection)) = of_torch.into_iter().find(|(rejected, _)| *rejected) {
            return Some(rejection);
        }
        if self.is_empty() {
            return None;
        }
        let fnuz = |format: Option<Format>| is(format, E4M3FNUZ) || is(format, E5M2FNUZ);
        let known = [F32, BF16, F16, E4M3, E5M2];
        let of_cublas = [
            (self.scaling == Scaling::Row { by_library: false } && !is(self.out, BF16), Rejection::RowWise),
            (self.scaling == Scaling::Blocks { supported: false }, Rejection::BlockScales),
            (self.layout_a == Layout::Column, Rejection::LayoutA),
            (self.layout_b == Layout::Row, Rejection::LayoutB),
            (fnuz(self.a) || fnuz(self.b), Rejection::Fnuz),
            (!self.out.is_some_and(|out| known.contains(&out)), Rejection::Out),
            (!self.aligned, Rejection::Alignment),
            (is(self.a, E4M3) && is(self.b, E4M3) && is(self.out, E5M2), Rejection::E5m2Out),
        ];
        of_cublas.into_iter().find(|(rejected, _)| *rejected).map(|(_, rejection)| rejection)
    }
}

/// Why a call is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rejection {
    /// An operand has not two dimensions.
    Dimensions(usize, usize),
    /// Inner sizes differ.
    Inner(usize, usize),
    /// Scales are not FP32, or neither both single nor [M, 1] and [1, N].
    Scales,
    /// scale_result is not one FP32 number.
    ScaleResult,
    /// The bias has not N elements.
    BiasLength(usize, usize),
    /// K or N is not a multiple of 16.
    Sizes(usize, usize),
    /// out= has another dtype than out_dtype.
    Buffer,
    /// An operand is not FP8.
    NotFp8,
    /// Both operands are E5M2.
    BothE5m2,
    /// A bias with FP32 out, or of a dtype that is not D's.
    BiasType,
    /// Row-wise scales and a D that is not BF16.
    RowWise,
    /// Block scales with use_fast_accum.
    FastBlocks,
    /// Scales of single rows of A for a number of rows that is not a multiple of 4.
    BlockRows(usize),
    /// Block scales on a GPU that is not of sm_90.
    BlockScales,
    /// mat1 is column-major.
    LayoutA,
    /// mat2 is row-major.
    LayoutB,
    /// An operand is of a FNUZ format.
    Fnuz,
    /// D is of none of the five types.
    Out,
    /// A pointer or a leading dimension is not a multiple of 16 bytes.
    Alignment,
    /// E4M3 times E4M3 into E5M2.
    E5m2Out,
}

impl Rejection {
    /// The rule that says so, 27 for torch and 28 for cuBLASLt; the reason without its numbers; the reason, {0} and {1} in
    /// the place of [`Rejection::numbers`].
    fn row(self) -> (u32, &'static str, &'static str) {
        match self {
            Rejection::Dimensions(..) => {
                (27, "dimensions", "mat1 has {0} dimensions and mat2 {1}; both have 2")
            }
            Rejection::Inner(..) => (27, "inner sizes", "mat1 has {0} columns and mat2 {1} rows"),
            Rejection::BiasLength(..) => (27, "bias length", "the bias has {0} elements, D {1} columns"),
            Rejection::Sizes(..) => {
                (27, "sizes not multiples of 16", "K is {0} and N is {1}; both are multiples of 16")
            }
            Rejection::BlockRows(_) => (
                28,
                "block scales of single rows, M not a multiple of 4",
                "M is {0}; with block scales of single rows it is a multiple of 4",
            ),
            Rejection::Scales => (
                27,
                "scales",
                "scales are FP32 and contiguous, both of one element or [M, 1] and [1, N]; with cuBLASLt 12.9 or later \
                 also one for each 128 elements of K, and for each row or 128 rows of A and each column or 128 columns \
                 of B, not 128 of both; those of one row or column lie along M or N in memory, the others along K",
            ),
            Rejection::ScaleResult => (27, "scale_result", "scale_result is one FP32 number"),
            Rejection::Buffer => (27, "dtype of out=", "out= has another dtype than out_dtype"),
            Rejection::NotFp8 => (27, "operand not FP8", "both operands are FP8"),
            Rejection::BothE5m2 => (27, "both E5M2", "E5M2 times E5M2 is not supported"),
            Rejection::BiasType => (
                27,
                "dtype of bias",
                "a bias is BF16 or FP16 like D, either of both where D is FP8, and none where D is FP32",
            ),
            Rejection::FastBlocks => (27, "block scales, fast", "block scales go with use_fast_accum=False"),
            Rejection::RowWise => {
                (28, "row-wise, not BF16", "row-wise scales need a BF16 D before cuBLASLt 12.9")
            }
            Rejection::BlockScales => {
                (28, "block scales, not sm_90", "block scales are supported on sm_90 alone")
            }
            Rejection::LayoutA => (28, "mat1 column-major", "mat1 must be row-major"),
            Rejection::LayoutB => (28, "mat2 row-major", "mat2 must be column-major"),
            Rejection::Fnuz => (28, "FNUZ operand", "cuBLASLt does not take FNUZ operands"),
            Rejection::Out => (28, "type of D", "D is f32, bf16, f16, e4m3 or e5m2"),
            Rejection::Alignment => {
                (28, "alignment", "pointers and leading dimensions are multiples of 16 bytes")
            }
            Rejection::E5m2Out => (28, "E4M3 x E4M3 into E5M2", "E4M3 times E4M3 into E5M2 is not supported"),
        }
    }

    fn numbers(self) -> [usize; 2] {
        match self {
            Rejection::Dimensions(first, second)
            | Rejection::Inner(first, second)
            | Rejection::BiasLength(first, second)
            | Rejection::Sizes(first, second) => [first, second],
            Rejection::BlockRows(m) => [m, 0],
            _ => [0, 0],
        }
    }

    /// The rule that says so: 27 for torch, 28 for cuBLASLt.
    pub fn rule(self) -> u32 {
        self.row().0
    }

    /// The reason without its numbers, to count calls by.
    pub fn kind(self) -> &'static str {
        self.row().1
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((rule, _, text), [first, second]) = (self.row(), self.numbers());
        let text = text.replace("{0}", &first.to_string()).replace("{1}", &second.to_string());
        write!(f, "{text} (rule {rule})")
    }
}
