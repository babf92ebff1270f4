//! Products fused with additions.
//!
//! A *product* is an unguarded `mul` without rounding modifier and without `.sat`, or the last multiplication of
//! `div.full`, `div.approx` and `rcp.approx`. Through `mov` and `neg`, it is fused if all its uses are additions or
//! subtractions without rounding modifier, of the same type and the same `.ftz`, in the same basic block and in the same part
//! of it ([`parts`]); then it is fused into each. A use whose result nothing needs does not count. Where both operands of an
//! addition are products, the first is fused; the other is computed, and then fused nowhere. A product added to itself, or to
//! one of the same operands, is not fused. On sm_8x a `shfl`, `vote` or `bar.warp` between a division and the addition
//! prevents it. A product that is carried around a loop, or joined by a branch, into an addition is doubtful: ptxas unrolls,
//! and fuses in some turns. With another use in its own block it is not: every copy of the product has that use, too.

use std::collections::HashMap;

use super::fuse::{Place, fuse};
use super::parts::{live, parts};
use super::uses::Uses;
use super::{Rewrites, too_large};
use crate::error::Doubt;
use crate::flow::Flow;
use crate::text::{Function, Instruction, Operand, RegisterId};

const ROUNDINGS: [&str; 4] = ["rn", "rz", "rm", "rp"];
const TYPES: [&str; 7] = ["f32", "f32x2", "f64", "f16", "f16x2", "bf16", "bf16x2"];

/// The type of a form, which is its last word, if it is one that is fused.
fn kind(instruction: &Instruction) -> Option<&str> {
    let last = instruction.form.rsplit('.').next()?;
    TYPES.contains(&last).then_some(last)
}

fn rounds(instruction: &Instruction) -> bool {
    ROUNDINGS.iter().any(|rounding| instruction.has(rounding))
}

fn is_product(instruction: &Instruction) -> bool {
    if instruction.guard.is_some() || kind(instruction).is_none() || rounds(instruction) {
        return false;
    }
    match instruction.name() {
        "mul" => !instruction.has("sat"),
        "div" => instruction.has("full") || instruction.has("approx"),
        // with .ftz there is no scaling
        "rcp" => instruction.has("approx") && !instruction.has("ftz") && kind(instruction) == Some("f32"),
        _ => false,
    }
}

fn is_addition(instruction: &Instruction, product: &Instruction) -> bool {
    matches!(instruction.name(), "add" | "sub")
        && !rounds(instruction)
        && kind(instruction) == kind(product)
        && instruction.has("ftz") == product.has("ftz")
}

struct Search<'s> {
    function: &'s Function,
    flow: &'s Flow,
    uses: &'s Uses,
    /// As [`parts`] counts them.
    parts: Vec<usize>,
    live: Vec<bool>,
}

impl Search<'_> {
    /// Every addition that a product goes into; none if it goes anywhere else. A line where it is joined with something else.
    fn places(&self, product: usize) -> (Option<Vec<Place>>, Option<usize>) {
        let mut places = Some(vec![]);
        let mut doubtful = None;
        let mut used_as_it_is = false;
        let mut pending = vec![(product, false, product, true)];
        let mut seen = vec![];
        let original = &self.function.instructions[product];
        while let Some((definition, negated, last, straight)) = pending.pop() {
            if seen.contains(&(definition, negated)) {
                continue;
            }
            seen.push((definition, negated));
            if self.uses.of[definition].is_empty() {
                places = None;
            }
            for one in &self.uses.of[definition] {
                let instruction = &self.function.instructions[one.at];
                if !self.live[one.at] {
                    continue;
                }
                let here = self.flow.block(one.at) == self.flow.block(product)
                    && self.parts[one.at] == self.parts[product]
                    && one.at > last
                    && one.sole
                    && straight;
                let looks_through = instruction.guard.is_none()
                    && (instruction.name() == "mov"
                        && instruction.operands.len() == 2
                        && matches!(instruction.operands[1], Operand::Register(_))
                        || instruction.name() == "neg"
                            && kind(instruction) == kind(original)
                            && instruction.has("ftz") == original.has("ftz"));
                if looks_through {
                    let turned = negated != (instruction.name() == "neg");
                    pending.push((one.at, turned, one.at, here));
                    continue;
                }
                if !is_addition(instruction, original) {
                    places = None;
                    used_as_it_is |= here;
                    continue;
                }
                if !here {
                    if !one.sole || !straight && self.joined(one.at, one.register) {
                        doubtful.get_or_insert(one.at);
                    }
                    places = None;
                    continue;
                }
                for operand in [1, 2] {
                    if instruction.operands.get(operand) == Some(&Operand::Register(one.register))
                        && let Some(places) = &mut places
                    {
                        places.push(Place { product, addition: one.at, operand, negated });
                    }
                }
            }
        }
        // a use beside the product that is no addition is beside every copy of it
        (places, doubtful.filter(|_| !used_as_it_is))
    }

    /// Whether a register may hold several values at a use.
    fn joined(&self, at: usize, register: RegisterId) -> bool {
        let mut pending = vec![(at, register)];
        let mut seen = vec![];
        while let Some((at, register)) = pending.pop() {
            if seen.contains(&(at, register)) {
                continue;
            }
            seen.push((at, register));
            let Some(reaching) = self.uses.reaching.get(&(at, register)) else { continue };
            if reaching.len() > 1 {
                return true;
            }
            for definition in reaching {
                let instruction = &self.function.instructions[*definition];
                if matches!(instruction.name(), "mov" | "neg")
                    && let Some(Operand::Register(source)) = instruction.operands.get(1)
                {
                    pending.push((*definition, *source));
                }
            }
        }
        false
    }
}

pub(super) fn contract(function: &mut Function, sm_8x: bool, rewrites: &mut Rewrites) {
    let products: Vec<usize> =
        (0..function.instructions.len()).filter(|at| is_product(&function.instructions[*at])).collect();
    let Some(first) = products.first() else { return };
    let flow = Flow::of(&function.instructions);
    let Some(uses) = Uses::of(function, &flow) else {
        rewrites.doubts.push(too_large(&function.instructions[*first], "products ptxas fuses"));
        return;
    };
    let live = live(function, &uses);
    let parts = parts(function, &uses, &live);
    let search = Search { function, flow: &flow, uses: &uses, parts, live };
    let mut fusible: HashMap<usize, Vec<Place>> = HashMap::new();
    for product in products.into_iter().filter(|product| search.live[*product]) {
        let (places, doubtful) = search.places(product);
        if let Some(at) = doubtful {
            let instruction = &function.instructions[product];
            let why = format!(
                "its result reaches the addition of line {} around a loop or from a branch: whether ptxas fuses the two \
                 differs from turn to turn, unless the kernel is compiled without fusion (Triton: enable_fp_fusion=False, \
                 nvcc: -fmad=false)",
                function.instructions[at].line
            );
            rewrites.doubts.push(Doubt { line: instruction.line, form: instruction.form.clone(), why });
        }
        let Some(places) = places else { continue };
        let division = function.instructions[product].name() != "mul";
        let blocked = |place: &Place| {
            function.instructions[product..place.addition].iter().any(|between| {
                matches!(between.name(), "shfl" | "vote") || between.name() == "bar" && between.has("warp")
            })
        };
        if sm_8x && division && places.iter().any(blocked) {
            continue;
        }
        fusible.insert(product, places);
    }
    // where both operands of an addition are products
    let mut additions: HashMap<usize, Vec<Place>> = HashMap::new();
    for place in fusible.values().flatten() {
        additions.entry(place.addition).or_default().push(*place);
    }
    let mut order: Vec<usize> = additions.keys().copied().collect();
    order.sort_unstable();
    for addition in order {
        let places = &additions[&addition];
        let alive = |operand: usize| {
            places
                .iter()
                .find(|place| place.operand == operand && fusible.contains_key(&place.product))
                .copied()
        };
        let (Some(first), Some(second)) = (alive(1), alive(2)) else { continue };
        let same = first.product == second.product
            || function.instructions[first.product].form == function.instructions[second.product].form
                && function.instructions[first.product].operands[1..]
                    == function.instructions[second.product].operands[1..];
        fusible.remove(&second.product);
        if same {
            fusible.remove(&first.product);
        }
    }
    let mut chosen: Vec<(usize, Vec<Place>)> = fusible.into_iter().collect();
    chosen.sort_unstable_by_key(|(product, _)| *product);
    for (product, places) in chosen {
        fuse(function, product, &places, rewrites);
    }
}
