//! The fields of a plan.

use bitmma_engine::Architecture;
use bitmma_engine::arithmetic::Model;
use bitmma_engine::gemm::schedule::{Merge, Multiply, Simt};
use bitmma_engine::gemm::{ScaleBlocks, ScaleOrder};
use serde::{Deserialize, Serialize};

/// What has one value yet, which is written so that a file says it, and so that any other is refused.
macro_rules! only {
    ($($(#[$doc:meta])* $name:ident = $value:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub enum $name {
            /// The only one there is.
            #[default]
            #[serde(rename = $value)]
            Only,
        }
    )*};
}

only! {
    /// The version of the record.
    FormatTag = "bitmma-plan/1";
    /// Where a sum starts.
    Zero = "+0";
    /// Whether a bias is added; nobody has recorded one (rule 26).
    Bias = "none";
    /// Codes of NaN results: all bits set but the sign, 7fffffff, 7fff, 7f (rule 24).
    NanCode = "canonical";
}

/// How well a plan is proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Evidence {
    /// Recorded calls agree in every bit, and the tests replay them.
    Recorded,
    /// Others measured it and published that it holds.
    Measured,
    /// It follows from published source code or from neighbouring cases; nobody has recorded it.
    Derived,
}

impl Evidence {
    /// In one word, as plans write it.
    pub const fn name(self) -> &'static str {
        match self {
            Evidence::Recorded => "recorded",
            Evidence::Measured => "measured",
            Evidence::Derived => "derived",
        }
    }
}

/// A library's call as data; see [the module](super).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The version of the record, `bitmma-plan/1`.
    pub format: FormatTag,
    /// The architecture whose instruction it is; any spelling that the catalogue reads.
    #[serde(with = "architecture")]
    pub arch: Architecture,
    /// A row of the catalogue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instruction: Option<String>,
    /// A model file instead of an instruction, relative to the plan's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How well it is proven.
    pub evidence: Evidence,
    /// Who found it, on what, with which version. Free text.
    pub source: String,
    /// How K is dealt to parts.
    #[serde(default)]
    pub deal: Deal,
    /// When a part's accumulator is moved to an FP32 sum.
    #[serde(default)]
    pub promote: Promote,
    /// How the parts become one number.
    #[serde(default)]
    pub merge: Merge,
    /// What happens to that number.
    #[serde(default)]
    pub epilogue: Epilogue,
    /// Block scales along K, instead of promotion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<Blocks>,
    /// FP32 sums of ordinary threads instead of instruction, deal, promotion and merge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simt: Option<Simt>,
    /// The model that `model` names, once read.
    #[serde(skip)]
    pub loaded: Option<Model>,
}

mod architecture {
    use super::Architecture;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(arch: &Architecture, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(arch.name())
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Architecture, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

/// How K is dealt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DealKind {
    /// One part with all of K.
    #[default]
    None,
    /// Each part has neighbouring tiles (rule 11), or a chunk of elements (rule 13).
    Contiguous,
    /// Tile t goes to part t mod S (rule 10).
    Interleaved,
}

/// What happens to the last elements of K (rule 12).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tail {
    /// Every element enters a part.
    #[default]
    Kept,
    /// With b the grain, q = K div b, r = K mod b: if r ≠ 0, q mod S = 0 and S > r, the last r elements enter no
    /// part. A defect of cuBLAS.
    Lost,
}

/// How K is dealt to parts (rules 10 to 14).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Deal {
    /// Which part has which tiles.
    pub kind: DealKind,
    /// G: elements of K in a tile; a multiple of the instruction's K unless `dot` is set. 0 without a deal.
    pub grain: usize,
    /// S: parts, 1 or more. Empty parts are +0.
    pub parts: usize,
    /// Whether the last elements of K may be lost.
    pub tail: Tail,
    /// Contiguous only: elements in a part; 0: from grain and parts.
    pub chunk: usize,
    /// Elements in one dot product of the instruction, the remaining lanes +0; 0: the instruction's K.
    pub dot: usize,
    /// block_k of a residue that comes first; 0: none. Needs `dot`.
    pub residue_block: usize,
    /// Chains inside a part that take `slice` elements each in turn and are added in FP32, 1 or more (rule 14).
    pub slices: usize,
    /// Elements that a chain takes in turn; 0 with one chain.
    pub slice: usize,
    /// Elements by which K is turned before it is dealt: element `rotate` comes first, element 0 after the last
    /// (AMD's StaggerU). A multiple of the instruction's K.
    pub rotate: usize,
}

impl Default for Deal {
    fn default() -> Deal {
        Deal {
            kind: DealKind::None,
            grain: 0,
            parts: 1,
            tail: Tail::Kept,
            chunk: 0,
            dot: 0,
            residue_block: 0,
            slices: 1,
            slice: 0,
            rotate: 0,
        }
    }
}

/// When a part's accumulator is moved to an FP32 sum (rule 9).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Promote {
    /// Elements of the part's own K after which it is; 0: never.
    pub every: usize,
    /// Where the FP32 sum starts.
    pub start: Zero,
}

/// Where the factor comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Alpha {
    /// The product of both scales, rounded to FP32 (rule 20).
    #[default]
    #[serde(rename = "scale_a*scale_b")]
    Scales,
    /// A factor from the host, which is 1 here (rule 26).
    #[serde(rename = "host")]
    Host,
}

/// Where scale_result is applied (rule 23).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScaleResult {
    /// By a second FP32 product where D is FP8, and nowhere else.
    #[default]
    Fp8Only,
    /// Never.
    Never,
}

/// The type a result is rounded to before D's (rule 22).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Through {
    /// FP32, so that a narrower D is rounded twice.
    #[default]
    F32,
    /// None: the exact product is rounded to D once.
    None,
}

/// What happens to the merged number (rules 20 to 26).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Epilogue {
    /// The factor.
    pub alpha: Alpha,
    /// How it is applied.
    pub multiply: Multiply,
    /// What is added.
    pub bias: Bias,
    /// The second factor.
    pub scale_result: ScaleResult,
    /// The type on the way to D.
    pub through: Through,
    /// Whether an FP8 D takes its largest number for what is beyond it, infinities included.
    pub saturate: bool,
    /// The codes of NaN.
    pub nan: NanCode,
}

impl Default for Epilogue {
    fn default() -> Epilogue {
        Epilogue {
            alpha: Alpha::Scales,
            multiply: Multiply::FmaZero,
            bias: Bias::Only,
            scale_result: ScaleResult::Fp8Only,
            through: Through::F32,
            saturate: true,
            nan: NanCode::Only,
        }
    }
}

/// The order of the two products with an accumulator's result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlockOrder {
    /// Result · (scale of A · scale of B).
    #[default]
    Product,
    /// (Result · scale of A) · scale of B.
    AFirst,
    /// (Result · scale of B) · scale of A.
    BFirst,
}

/// FP32 scales of blocks along K: after each block the accumulator's result is multiplied by both scales and added to
/// an FP32 sum that starts from +0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blocks {
    /// Elements of K in a block, a multiple of the instruction's K; 128 in DeepGEMM. 0: all of K, for scales of whole
    /// rows and columns, which are applied once, after promotion.
    pub k: usize,
    /// Rows of A that share a scale; 1 or 128.
    pub rows: usize,
    /// Columns of B that share a scale; 1 or 128.
    pub columns: usize,
    /// The order of the products; `product` by default.
    #[serde(default)]
    pub order: BlockOrder,
    /// Whether the last product and the sum are one FMA (true), or two roundings.
    pub fma: bool,
}

impl Blocks {
    /// The same for [`bitmma_engine::gemm()`].
    pub fn sizes(&self) -> ScaleBlocks {
        let order = match self.order {
            BlockOrder::Product => ScaleOrder::Product,
            BlockOrder::AFirst => ScaleOrder::AFirst,
            BlockOrder::BFirst => ScaleOrder::BFirst,
        };
        ScaleBlocks { k: self.k, rows: self.rows, columns: self.columns, order, fma: self.fma }
    }
}
