//! Instructions of the catalogue that compute as a model does: a name for what was found, after it was found.

use bitmma_engine::catalogue::{Revision, catalogue};
use bitmma_engine::{Model, Signature};
use bitmma_verify::inputs::{Formats, case};

use crate::hypotheses::answers;
use crate::hypotheses::space::Space;
use crate::inputs::{Kind, directed};
use crate::numbers::same;

/// Cases on which an instruction of the catalogue must agree to lend its name.
const CASES: u64 = 2000;

/// Rows of the same formats and K whose model is `model`, or agrees with it on some thousand cases.
pub(crate) fn known_as(signature: &Signature, model: &Model, k: usize) -> Vec<String> {
    let space = Space::new(signature);
    let ours = space.canonical(model);
    let formats = Formats::from(signature);
    let cases: Vec<_> = (0..CASES)
        .map(|index| match index % 2 {
            0 => directed(&formats, k, Kind::Any, 0xca7, index),
            _ => {
                case(formats, k, bitmma_verify::inputs::Family::ALL[(index / 2 % 10) as usize], 0xca7, index)
            }
        })
        .collect();
    let Some(expected) = answers(model, k, &cases) else { return Vec::new() };
    let mut known: Vec<(Model, bool)> = Vec::new();
    let mut names = Vec::new();
    for row in catalogue() {
        let fits = row.products() == k
            && [row.a, row.b, row.c, row.d] == [model.a, model.b, model.c, model.d]
            && row.scale == model.scale;
        let Some(other) = row.model_ref(Revision::Hardware).filter(|_| fits) else { continue };
        let other = Model { nan_code: None, ..space.canonical(other) };
        let agrees = match known.iter().find(|(model, _)| *model == other) {
            Some((_, agrees)) => *agrees,
            None => {
                let agrees = other == Model { nan_code: None, ..ours.clone() }
                    || answers(&other, k, &cases).is_some_and(|codes| {
                        codes.iter().zip(&expected).all(|(&one, &other)| same(&model.d, one, other))
                    });
                known.push((other, agrees));
                agrees
            }
        };
        if agrees {
            names.push(format!("{}/{}", row.architecture, row.name()));
        }
    }
    names
}
