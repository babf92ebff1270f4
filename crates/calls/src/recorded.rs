//! Recorded library calls: `bitmma-calls/1`, a JSON index and an `.npz` archive of operands and results.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bitmma_engine::Matrix;
use bitmma_engine::formats::{F32, Format};
use bitmma_files::content::unexpected;
use bitmma_files::npz::{Archive, Array};
use serde::Deserialize;

use crate::call::{Call, Scales};
use crate::cublaslt::{Capability, Config, Query};
use crate::error::{Error, text_of};
use crate::scaled::Recipe;
use crate::torch::{Layout, Request, Scaling, format_of};

/// A file of recorded calls.
#[derive(Debug)]
pub struct Recording {
    /// The index.
    pub index: Index,
    arrays: Archive,
    /// The GPU's compute capability.
    pub capability: Capability,
    /// The library's version.
    pub version: String,
}

/// The JSON index.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Index {
    /// `bitmma-calls/1`.
    pub format: String,
    /// GPU, driver, library and caller, in words.
    pub device: String,
    /// Compute capability, as in `sm_89`.
    pub capability: String,
    /// Version of cuBLASLt.
    pub cublaslt: String,
    /// Multiprocessors.
    pub sm_count: Option<usize>,
    /// The archive beside the index; `calls.npz` where it is left out.
    pub arrays: Option<String>,
    /// Who recorded it, and where it was published.
    #[serde(default)]
    pub source: String,
    /// Its license.
    #[serde(default)]
    pub licence: String,
    /// Explanations of the fields, for readers.
    #[serde(default)]
    pub fields: BTreeMap<String, String>,
    /// The calls.
    pub cases: Vec<Case>,
}

/// One recorded call.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Its name.
    pub id: String,
    /// Calls that were recorded together.
    #[serde(default)]
    pub group: String,
    /// How it was called.
    pub call: CallFields,
    /// How the library split K, as its log said.
    pub plan: Option<Split>,
    /// The library's configuration, instead of `plan`.
    pub config: Option<Config>,
    /// Codes of A, M×K; none where all are zero.
    pub a: Option<String>,
    /// Codes of B transposed, N×K.
    pub b: Option<String>,
    /// FP32 codes of the scales of A and of B, where there are several of each: of rows and columns, or of blocks.
    pub scales: Option<[String; 2]>,
    /// The array of D's codes, or `rejected`, or `ran`.
    pub expect: String,
}

/// How K was split.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Split {
    /// Parts.
    pub parts: usize,
    /// none, serial or pairwise.
    pub order: crate::plan::MergeOrder,
    /// The deal, as the source names it.
    pub deal: String,
    /// Elements in a tile.
    pub grain: usize,
}

/// The arguments of a call.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // the index explains them
pub struct CallFields {
    #[serde(rename = "M")]
    pub m: usize,
    #[serde(rename = "N")]
    pub n: usize,
    #[serde(rename = "K")]
    pub k: usize,
    pub a: String,
    pub b: String,
    pub out: String,
    pub out_torch: Option<String>,
    #[serde(default)]
    pub fast: bool,
    #[serde(default)]
    pub function: Function,
    pub scale_a: Option<u32>,
    pub scale_b: Option<u32>,
    pub scale_result: Option<u32>,
    pub bias: Option<BiasFields>,
    #[serde(default)]
    pub slice: bool,
    pub select: Option<String>,
    pub scaling: Option<String>,
    pub layout_a: Option<String>,
    pub layout_b: Option<String>,
    #[serde(default)]
    pub misaligned: bool,
    #[serde(default)]
    pub ld_bad: bool,
    pub out_buffer: Option<BufferFields>,
    pub grad: Option<String>,
    #[serde(default)]
    pub out_default: bool,
}

/// The function of torch that was called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Function {
    /// `torch._scaled_mm`, of FP8.
    #[default]
    #[serde(rename = "_scaled_mm")]
    ScaledMm,
    /// `torch.mm`, of FP16 and BF16.
    #[serde(rename = "mm")]
    Mm,
}

/// A bias.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct BiasFields {
    pub dtype: String,
    pub len: usize,
}

/// What was given as `out=`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct BufferFields {
    pub shape: Vec<usize>,
    pub contiguous: bool,
    pub dtype: String,
}

/// What a call returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// These codes, row-major; of the diagonal alone where the case says so.
    Bits(Vec<u64>),
    /// It was rejected.
    Rejected,
    /// It ran; the result was not kept.
    Ran,
}

/// Operands and result of a case.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// M×K.
    pub a: Matrix,
    /// K×N.
    pub b: Matrix,
    /// D's format.
    pub out: Format,
    /// Factors.
    pub scales: Scales,
    /// Scales of A and of B where there are several of each.
    pub blocks: Option<(Matrix, Matrix)>,
    /// The result.
    pub expected: Vec<u64>,
}

impl Loaded {
    /// The call.
    pub fn call(&self) -> Call<'_> {
        let blocks = self.blocks.as_ref().map(|(a, b)| (a, b));
        Call { scales: self.scales, blocks, ..Call::new(&self.a, &self.b, self.out) }
    }
}

/// Codes of an operand that is zero and so is not in the archive, at most.
const MOST_ZEROS: usize = 1 << 24;

/// What is read here, for messages.
const RECORDING: &str = "a recording of calls (index.json, .npz) or planner fixtures (CSV)";

impl Recording {
    /// Reads a recording: its index, its folder (`index.json` in it), or its archive (`index.json` beside it).
    pub fn read(path: &Path) -> Result<Recording, Error> {
        let folder = path.parent().unwrap_or(Path::new("."));
        let index_path: PathBuf = if path.is_dir() {
            path.join("index.json")
        } else if path.extension().is_some_and(|extension| extension == "npz") {
            let own = path.with_extension("json");
            if own.exists() { own } else { folder.join("index.json") }
        } else {
            path.to_owned()
        };
        let text = text_of(&index_path, RECORDING)?;
        if !text.trim_start().starts_with('{') {
            return Err(Error::file(&index_path, unexpected(text.as_bytes(), RECORDING)));
        }
        let index: Index = serde_json::from_str(&text).map_err(|error| Error::file(&index_path, error))?;
        if index.format != "bitmma-calls/1" {
            return Err(Error::file(
                &index_path,
                format!("format is {}; bitmma-calls/1 is read", index.format),
            ));
        }
        let folder = index_path.parent().unwrap_or(Path::new("."));
        let arrays = Archive::open(&folder.join(index.arrays.as_deref().unwrap_or("calls.npz")))?;
        let capability = Capability::parse(&index.capability)?;
        let version = index.cublaslt.clone();
        Ok(Recording { index, arrays, capability, version })
    }

    /// What a case returned; for bits see [`Recording::load`].
    pub fn expects_bits(case: &Case) -> bool {
        !matches!(case.expect.as_str(), "rejected" | "ran")
    }

    /// What the library was asked for.
    pub fn query(&self, case: &Case) -> Result<Query, Error> {
        let call = &case.call;
        let format = |name: &str| {
            format_of(name).ok_or_else(|| Error::Operands(format!("{}: unknown format {name}", case.id)))
        };
        Ok(Query {
            capability: self.capability,
            version: self.version.clone(),
            multiprocessors: self.index.sm_count,
            shape: (call.m, call.n, call.k),
            a: format(&call.a)?,
            b: format(&call.b)?,
            out: format(&call.out)?,
            fast: call.fast,
        })
    }

    /// Operands and result of a case that has bits.
    pub fn load(&self, case: &Case) -> Result<Loaded, Error> {
        let query = self.query(case)?;
        let (m, n, k) = query.shape;
        let wrong = |problem: String| Error::Operands(format!("{}: {problem}", case.id));
        // before anything is held for the sizes that the index states
        let answer = self.arrays.array(&case.expect)?;
        let elements = match case.call.select.as_deref() {
            Some("diagonal") => Some(m.min(n)),
            None => m.checked_mul(n),
            Some(other) => return Err(wrong(format!("unknown selection {other}"))),
        };
        if elements != Some(answer.len()) {
            let selected = if case.call.select.is_some() { "the diagonal of " } else { "" };
            return Err(wrong(format!("{} results for {selected}a D of {m}×{n}", answer.len())));
        }
        let codes = |key: &Option<String>, rows: usize, name: &str| -> Result<Option<Array>, Error> {
            let codes = rows.checked_mul(k);
            let Some(key) = key else {
                return match codes.filter(|&codes| codes <= MOST_ZEROS) {
                    Some(_) => Ok(None),
                    None => Err(wrong(format!("{name} is {rows}×{k} zeros; at most {MOST_ZEROS} are made"))),
                };
            };
            let array = self.arrays.array(key)?;
            if codes != Some(array.len()) {
                return Err(wrong(format!("{name} has {} codes; it is {rows}×{k}", array.len())));
            }
            Ok(Some(array))
        };
        let (a, b) = (codes(&case.a, m, "A")?, codes(&case.b, n, "B")?);
        let get = |array: &Option<Array>, index: usize| array.as_ref().map_or(0, |array| array.get(index));
        let a = Matrix::single(query.a, m, k, (0..m * k).map(|index| get(&a, index)))?;
        let of_b = |index: usize| (index % n.max(1)) * k + index / n.max(1);
        let b = Matrix::single(query.b, k, n, (0..k * n).map(|index| get(&b, of_b(index))))?;
        let one = Scales::ONE.a;
        Ok(Loaded {
            a,
            b,
            out: query.out,
            scales: Scales {
                a: case.call.scale_a.unwrap_or(one),
                b: case.call.scale_b.unwrap_or(one),
                result: case.call.scale_result,
            },
            blocks: match &case.scales {
                None => None,
                Some([a, b]) => Some((self.scales(case, a)?, self.scales(case, b)?)),
            },
            expected: (0..answer.len()).map(|index| answer.get(index)).collect(),
        })
    }

    /// Scales of rows, columns or blocks.
    fn scales(&self, case: &Case, key: &str) -> Result<Matrix, Error> {
        let array = self.arrays.array(key)?;
        let &[rows, columns] = array.shape.as_slice() else {
            return Err(Error::Operands(format!(
                "{}: scales have {} dimensions; they have two",
                case.id,
                array.shape.len()
            )));
        };
        Ok(Matrix::single(F32, rows, columns, (0..array.len()).map(|index| array.get(index)))?)
    }

    /// What the shapes of the scales mean; `None` where torch rejects them.
    pub fn recipe(&self, case: &Case) -> Result<Option<Recipe>, Error> {
        let Some([a, b]) = &case.scales else { return Ok(Some(Recipe::Tensor)) };
        let shape = |key| self.scales(case, key).map(|scales| (scales.rows(), scales.columns()));
        Ok(Recipe::of((case.call.m, case.call.n, case.call.k), shape(a)?, shape(b)?))
    }

    /// The call as far as it decides whether it is rejected.
    pub fn request(&self, case: &Case) -> Result<Request, Error> {
        let call = &case.call;
        let layout = |text: &Option<String>, plain| match text.as_deref() {
            None => Ok(plain),
            Some("row") => Ok(Layout::Row),
            Some("column" | "col") => Ok(Layout::Column),
            Some("both") => Ok(Layout::Both),
            Some(other) => Err(Error::Operands(format!("{}: unknown layout {other}", case.id))),
        };
        let scaling = match call.scaling.as_deref() {
            None if case.scales.is_some() => {
                Recipe::scaling(self.recipe(case)?, self.capability, &self.version)
            }
            None | Some("tensor") => Scaling::Tensor,
            Some("row") => Recipe::scaling(Some(Recipe::Row), self.capability, &self.version),
            Some("invalid") => Scaling::Invalid,
            Some(other) => return Err(Error::Operands(format!("{}: unknown scaling {other}", case.id))),
        };
        Ok(Request {
            dimensions: (2, 2),
            m: call.m,
            // rows and columns of a larger call say nothing about its N
            n: if call.slice || call.select.is_some() { call.n.next_multiple_of(16) } else { call.n },
            k: call.k,
            inner: call.k,
            a: format_of(&call.a),
            b: format_of(&call.b),
            out: format_of(call.out_torch.as_deref().unwrap_or(&call.out)),
            scaling,
            scale_result_fits: true,
            bias: call.bias.as_ref().map(|bias| (format_of(&bias.dtype), bias.len)),
            buffer: call.out_buffer.as_ref().map(|buffer| format_of(&buffer.dtype)),
            layout_a: layout(&call.layout_a, Layout::Row)?,
            layout_b: layout(&call.layout_b, Layout::Column)?,
            aligned: !call.misaligned && !call.ld_bad,
        })
    }
}
