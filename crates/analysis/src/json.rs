//! What the faces print as JSON: the same words for the same things.

use bitmma_engine::explain::json::Number;
use bitmma_engine::formats::{Format, text::hex};
use bitmma_engine::{Case, Signature};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::describe;

/// Codes with all their digits.
fn codes(format: &Format, codes: &[u64]) -> Vec<String> {
    codes.iter().map(|one| hex(format, *one)).collect()
}

/// A number that may be infinite or NaN, as [`Number`].
pub(crate) fn number<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    Number::from(*value).serialize(serializer)
}

/// How something computes.
#[derive(Clone, Debug, Serialize)]
pub struct Model {
    /// The family's name.
    pub family: &'static str,
    /// By the paper's symbols.
    pub parameters: Map<String, Value>,
    /// What a compiler puts around the operation, in words.
    pub lowering: Vec<String>,
}

impl Model {
    /// `k` adds L, the products in one sum for that K.
    pub fn new(model: &bitmma_engine::Model, k: Option<usize>) -> Model {
        let parameters = describe::model_parameters(model, k);
        Model {
            family: model.operation.name(),
            parameters: parameters.into_iter().map(|one| (one.symbol.to_owned(), one.value)).collect(),
            lowering: describe::lowering(&model.lowering),
        }
    }
}

/// The operands of one dot product, as codes.
#[derive(Clone, Debug, Serialize)]
pub struct Operands {
    a: Vec<String>,
    b: Vec<String>,
    c: String,
    scale_a: Option<Vec<String>>,
    scale_b: Option<Vec<String>>,
}

impl Operands {
    /// The operands of a dot product in a unit's formats.
    pub fn new(case: &Case, signature: &Signature) -> Operands {
        let Signature { a, b, c, scale, .. } = signature;
        let scales = |given: &[u64]| scale.map(|scale| codes(&scale.format, given));
        Operands {
            a: codes(a, &case.a),
            b: codes(b, &case.b),
            c: hex(c, case.c),
            scale_a: scales(&case.scale_a),
            scale_b: scales(&case.scale_b),
        }
    }
}
