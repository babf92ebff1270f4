//! What makes two files parts of one campaign.

use bitmma_engine::Signature;
use bitmma_engine::arithmetic::Model;
use serde::{Deserialize, Serialize};

use super::bounds::Bounds;
use super::cut::Cut;
use super::plan::Plan;

/// What two files must have in common to be of one campaign.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The version of these files.
    pub campaign: u32,
    /// The unit.
    pub unit: String,
    /// Shape and formats.
    pub takes: String,
    /// The model, as a file.
    pub model: String,
    /// Random instructions.
    pub instructions: u64,
    /// Directed cases.
    pub directed: u64,
    /// Blocks.
    pub blocks: u64,
    /// The seed.
    pub seed: u64,
    /// Whether NaNs of different codes differ.
    pub strict_nan: bool,
}

impl Identity {
    /// Of a campaign.
    pub fn of(plan: &Plan, model: &Model, strict_nan: bool) -> Identity {
        Identity {
            campaign: 1,
            unit: plan.signature.name.clone(),
            takes: takes(&plan.signature),
            model: model.to_toml(),
            instructions: plan.random,
            directed: plan.directed.len() as u64,
            blocks: plan.blocks(),
            seed: plan.seed,
            strict_nan,
        }
    }

    /// The first difference, in words.
    pub(super) fn differs(&self, other: &Identity) -> Option<String> {
        let fields = |identity: &Identity| {
            let Identity { campaign, unit, takes, model, instructions, directed, blocks, seed, strict_nan } =
                identity.clone();
            [
                ("version", campaign.to_string()),
                ("unit", unit),
                ("shape and formats", takes),
                ("model", model.replace('\n', "; ")),
                ("random instructions", instructions.to_string()),
                ("directed cases", directed.to_string()),
                ("blocks", blocks.to_string()),
                ("seed", seed.to_string()),
                ("strict_nan", strict_nan.to_string()),
            ]
        };
        let pairs = fields(self).into_iter().zip(fields(other));
        let ((name, own), (_, other)) = pairs.into_iter().find(|((_, own), (_, other))| own != other)?;
        Some(format!("its {name} is {other}, here it is {own}"))
    }

    /// What its blocks can be; an error where its fields contradict each other.
    pub fn bounds(&self) -> Result<Bounds, String> {
        let Identity { campaign, unit, takes: text, model, instructions, directed, blocks, .. } = self;
        if *campaign != 1 {
            return Err(format!("its version is {campaign}; this bitmma reads version 1"));
        }
        let model = Model::from_toml(model).map_err(|error| format!("its model: {error}"))?;
        let wrong = || format!("'{text}' is not a shape with the formats of the model");
        let shape = shape(text).ok_or_else(wrong)?;
        let (m, n, k, products) = shape;
        let signature =
            Signature { blocks: products, ..Signature::of_model(unit.clone(), &model, (m, n, k)) };
        if takes(&signature) != *text {
            return Err(wrong());
        }
        let cut = Cut::new(shape, *directed, *instructions).ok_or_else(wrong)?;
        if cut.blocks() != *blocks {
            return Err(format!(
                "it has {blocks} blocks; {instructions} random instructions and {directed} directed cases make {}",
                cut.blocks()
            ));
        }
        Ok(Bounds { signature, cut })
    }
}

/// Shape and formats, as in `16×8×16 ×1 f16 f16 f32 f32`.
fn takes(signature: &Signature) -> String {
    let Signature { m, n, k, blocks, a, b, c, d, scale, .. } = signature;
    let scale = scale.map_or(String::new(), |scale| format!(" {}/{}", scale.format, scale.size));
    format!("{m}×{n}×{k} ×{blocks} {a} {b} {c} {d}{scale}")
}

/// M, N, K and the blocks of what [`takes`] writes.
fn shape(takes: &str) -> Option<(usize, usize, usize, usize)> {
    let mut words = takes.split(' ');
    let sizes: Option<Vec<usize>> = words.next()?.split('×').map(|size| size.parse().ok()).collect();
    let blocks = words.next()?.strip_prefix('×')?.parse().ok()?;
    match sizes?[..] {
        [m, n, k] => Some((m, n, k, blocks)),
        _ => None,
    }
}
