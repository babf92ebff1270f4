//! What the code says of products that it scales by a power of two.

use super::super::scaled::{POWERS, Scaled, may_be};
use super::sass::{Listing, Sass};
use crate::error::Doubt;
use crate::text::Function;

/// By which power of two an instruction scales its product.
pub(super) fn power(code: &Sass<'_>) -> Option<u32> {
    let found = POWERS.iter().find(|(word, _)| code.name() == "FMUL" && code.has(word));
    found.map(|(_, power)| *power)
}

/// The products that are scaled. The code has one for several that are alike. Doubts about what is no product in the text.
pub(super) fn scaled(
    function: &Function,
    alike: &[usize],
    listing: &Listing<'_>,
) -> (Vec<Scaled>, Vec<Doubt>) {
    let (mut found, mut doubts) = (vec![], vec![]);
    for (number, instruction) in function.instructions.iter().enumerate() {
        for code in listing.of(number).iter().map(|at| &listing.code[*at]) {
            let Some(power) = power(code) else { continue };
            let same = (0..alike.len()).filter(|other| alike[*other] == alike[number]);
            let before = found.len();
            found.extend(same.filter(|at| may_be(&function.instructions[*at])).map(|product| Scaled {
                product,
                power,
                flush: code.has("FTZ"),
                saturate: code.has("SAT"),
            }));
            if found.len() == before {
                let why = "ptxas scales what it computes by a power of two in the same instruction";
                let (line, form) = (instruction.line, instruction.form.clone());
                doubts.push(Doubt { line, form, why: why.to_owned() });
            }
        }
    }
    (found, doubts)
}
