//! Products fused with additions.
//!
//! A *product* is an unguarded `mul` without rounding modifier and without `.sat`, or the last multiplication of
//! `div.full`, `div.approx` and `rcp.approx`. Through copies, `neg`, packing and unpacking it is fused if all its uses are
//! additions or subtractions without rounding modifier, of the same type and the same `.ftz`, in the same stretch of the function
//! ([`parts`]). A product one of whose factors is a constant may be anywhere: ptxas computes it again at each addition. Which of
//! two products an addition is fused with, [`choose`] says. On sm_8x a `shfl`, `vote` or `bar.warp` between a division, or a
//! product of halves, and the addition prevents it.
//!
//! All this is decided on the function as ptxas has it by then ([`normal`](super::normal)). ptxas unrolls a loop with a counter in
//! part, and then a product that is carried around the loop, or out of it, is fused in some turns only: that is doubtful. With
//! another use in its own stretch it is not: every copy of the product has that use, too.

use super::choose::choose;
use super::constants::{half, value};
use super::copies::goes_around;
use super::dead::is_nothing;
use super::evaluate::kind;
use super::fuse::Place;
use super::loops::Loop;
use super::normal::Normal;
use super::parts::{At, places};
use super::unroll::Fate;
use crate::instruction::row::types;
use crate::program::Type;
use crate::text::{Base, Instruction, Operand, RegisterId};

/// Uses in other stretches from which on it is not known whether a product is fused in its own.
const MANY_ELSEWHERE: usize = 2;
const ROUNDINGS: [&str; 4] = ["rn", "rz", "rm", "rp"];

/// The type of a form, if it is one that is fused.
fn float(instruction: &Instruction) -> Option<Type> {
    kind(instruction).filter(|kind| kind.float().is_some())
}

/// Whether an instruction is never fused: it names its rounding, or is a sum of two formats.
pub(super) fn rounds(instruction: &Instruction) -> bool {
    ROUNDINGS.iter().any(|rounding| instruction.has(rounding)) || types(instruction).count() > 1
}

pub(super) fn is_product(instruction: &Instruction) -> bool {
    instruction.guard.is_none() && multiplies(instruction)
}

/// Whether an instruction is a product where its guard, if it has one, is known to be true.
pub(super) fn multiplies(instruction: &Instruction) -> bool {
    if float(instruction).is_none() || rounds(instruction) {
        return false;
    }
    match instruction.name() {
        "mul" => !instruction.has("sat"),
        "div" => instruction.has("full") || instruction.has("approx"),
        // with .ftz there is no scaling
        "rcp" => instruction.has("approx") && !instruction.has("ftz") && kind(instruction) == Some(Type::F32),
        _ => false,
    }
}

fn is_addition(instruction: &Instruction, product: &Instruction) -> bool {
    matches!(instruction.name(), "add" | "sub")
        && !rounds(instruction)
        && kind(instruction) == kind(product)
        && instruction.has("ftz") == product.has("ftz")
}

/// Whether ptxas negates by an instruction: packed BF16 by a product with -1, FP16 with `.ftz` by a sum with -0.
fn is_computed(negation: &Instruction) -> bool {
    match kind(negation) {
        Some(Type::BF16x2) => true,
        Some(Type::F16 | Type::F16x2) => negation.has("ftz"),
        _ => false,
    }
}

/// Whether on sm_8x an exchange of lanes comes between a product and its additions: of divisions, and of halves.
fn is_parted_by_exchanges(product: &Instruction) -> bool {
    product.name() != "mul" || half(product)
}

/// A product that may be fused or not: the two instructions.
pub(super) type Doubtful = (usize, usize);

/// What is decided: instructions are those of the normal function.
#[derive(Default)]
pub(super) struct Decisions {
    pub(super) fused: Vec<Place>,
    /// Products that are fused, and needed as they are as well.
    pub(super) kept: Vec<usize>,
    pub(super) doubtful: Vec<Doubtful>,
}

/// Where the result of a product, or a copy of it, is.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Held {
    definition: usize,
    register: RegisterId,
    negated: bool,
    /// Which of how many elements of a packed register.
    element: Option<(usize, usize)>,
    /// Whether it is sure to be there wherever it is used.
    alone: bool,
    position: usize,
}

/// What becomes of a product.
struct Fortune {
    uses: Vec<Place>,
    only_added: bool,
    doubtful: Option<usize>,
}

struct Search<'s> {
    normal: &'s Normal,
    places: Vec<At>,
    sm_8x: bool,
}

impl Search<'_> {
    fn instruction(&self, at: usize) -> &Instruction {
        &self.normal.function.instructions[at]
    }

    /// Whether a product has a factor that ptxas knows when it compiles, or finds in constant memory. From sm_90 on a load from
    /// there is one for some uses: `loaded` says whether to count it.
    fn has_constant_factor(&self, product: usize, loaded: bool) -> bool {
        let Normal { function, uses, .. } = self.normal;
        let instruction = self.instruction(product);
        instruction.name() == "mul"
            && instruction.operands[1..].iter().any(|operand| {
                if value(function, uses, product, operand).is_some() {
                    return true;
                }
                let Operand::Register(id) = operand else { return false };
                let Some([definition]) = uses.reaching.get(&(product, *id)).map(Vec::as_slice) else {
                    return false;
                };
                let load = self.instruction(*definition);
                let pairs = kind(instruction) == Some(Type::F32x2);
                let constant = load.has("param") || load.has("const") && (loaded || self.sm_8x || pairs);
                load.name() == "ld"
                    && constant
                    && load.guard.is_none()
                    && matches!(load.operands.as_slice(), [_, Operand::Address(Base::Symbol(_), _)])
            })
    }

    /// Where a copy of a product is held; `None` if an instruction makes something else of it. `Err` if that is not known.
    fn copied(&self, product: usize, held: Held, at: usize) -> Result<Option<Vec<Held>>, ()> {
        let (original, instruction) = (self.instruction(product), self.instruction(at));
        if instruction.guard.is_some() {
            return Ok(None);
        }
        let next = |register: RegisterId| Held {
            definition: at,
            register,
            position: self.places[at].position,
            ..held
        };
        Ok(match (instruction.name(), instruction.operands.as_slice()) {
            ("mov", [Operand::Register(d), Operand::Register(_)]) => Some(vec![next(*d)]),
            ("neg", [Operand::Register(d), _])
                if held.element.is_none()
                    && kind(instruction) == kind(original)
                    && instruction.has("ftz") == original.has("ftz")
                    && !is_computed(instruction) =>
            {
                // with .ftz it is computed for uses that are no additions, or are subtracted, and fused with some others
                let twice = |one: &super::uses::Use| {
                    let reads = |operand: &&Operand| **operand == Operand::Register(one.register);
                    let user = self.instruction(one.at);
                    user.operands.iter().filter(reads).count() > 1
                        || user.name() == "sub"
                            && user.operands.get(2) == Some(&Operand::Register(one.register))
                };
                let uses = &self.normal.uses.of[at];
                if instruction.has("ftz") && (uses.len() > 1 || uses.iter().any(twice)) {
                    return Err(());
                }
                Some(vec![Held { negated: !held.negated, ..next(*d) }])
            }
            ("mov", [Operand::Register(d), Operand::Vector(elements)]) if held.element.is_none() => {
                let count = elements.len();
                let of = |(index, operand): (usize, &Operand)| {
                    (*operand == Operand::Register(held.register))
                        .then_some(Held { element: Some((index, count)), ..next(*d) })
                };
                Some(elements.iter().enumerate().filter_map(of).collect())
            }
            ("mov", [Operand::Vector(elements), Operand::Register(_)]) => match held.element {
                Some((index, count)) if count == elements.len() => match &elements[index] {
                    Operand::Register(d) => Some(vec![Held { element: None, ..next(*d) }]),
                    _ => Some(vec![]),
                },
                // packed again it may be the product
                _ => return Err(()),
            },
            // with .ftz a product by one is computed for some uses and looked through for others
            ("mul", [_, factors @ ..])
                if instruction.has("ftz")
                    && kind(instruction) == Some(Type::F32)
                    && factors.iter().any(|factor| {
                        let known = value(&self.normal.function, &self.normal.uses, at, factor);
                        known == Some(0x3f80_0000)
                    }) =>
            {
                return Err(());
            }
            // of halves it is looked through sometimes
            ("min" | "max", [_, a, b]) if a == b && half(instruction) => return Err(()),
            // ptxas may see that it turns the sign
            ("xor", [_, _, _]) if float(original).is_some() => {
                let signs = [0x8000, 1 << 31, 1 << 63, 0x8000_8000, 0xffff_ffff_8000_0000];
                let function = &self.normal.function;
                let of = |operand: &Operand| value(function, &self.normal.uses, at, operand);
                if instruction.operands[1..].iter().filter_map(of).any(|value| signs.contains(&value)) {
                    return Err(());
                }
                None
            }
            _ => None,
        })
    }

    fn fortune(&self, product: usize) -> Fortune {
        let original = self.instruction(product);
        let anywhere = self.has_constant_factor(product, false);
        let perhaps = !anywhere && self.has_constant_factor(product, true);
        let mut fortune = Fortune { uses: vec![], only_added: true, doubtful: None };
        let mut used_as_it_is = false;
        let (mut elsewhere, mut added_elsewhere) = (0, 0);
        let Some(Operand::Register(register)) = original.operands.first() else {
            return Fortune { only_added: false, ..fortune };
        };
        let mut pending = vec![Held {
            definition: product,
            register: *register,
            negated: false,
            element: None,
            alone: true,
            position: self.places[product].position,
        }];
        let mut seen = vec![];
        while let Some(held) = pending.pop() {
            if seen.contains(&held) {
                continue;
            }
            seen.push(held);
            let uses = &self.normal.uses.of[held.definition];
            for one in uses.iter().filter(|one| one.register == held.register) {
                let instruction = self.instruction(one.at);
                let alone = held.alone && one.sole && self.follows(product, held, one.at);
                let beside = self.places[one.at].part == self.places[product].part
                    && self.places[one.at].position > held.position
                    && alone;
                elsewhere += usize::from(self.places[one.at].part != self.places[product].part);
                match self.copied(product, held, one.at) {
                    Ok(Some(copies)) => {
                        pending.extend(copies.into_iter().map(|copy| Held { alone, ..copy }));
                        continue;
                    }
                    Ok(None) => {}
                    Err(()) => {
                        fortune.only_added = false;
                        fortune.doubtful.get_or_insert(one.at);
                        continue;
                    }
                }
                if held.element.is_some() || !is_addition(instruction, original) {
                    fortune.only_added = false;
                    used_as_it_is |= beside;
                    continue;
                }
                added_elsewhere += usize::from(!beside);
                if !(beside || anywhere && alone) {
                    fortune.only_added = false;
                    if perhaps || self.differs(held, one.at, product) {
                        fortune.doubtful.get_or_insert(one.at);
                    }
                    continue;
                }
                for operand in [1, 2] {
                    if instruction.operands.get(operand) == Some(&Operand::Register(one.register)) {
                        let negated = held.negated;
                        fortune.uses.push(Place { product, addition: one.at, operand, negated });
                    }
                }
            }
        }
        fortune.doubtful = fortune.doubtful.filter(|_| !used_as_it_is);
        // ptxas sometimes computes a product again that is used in several places
        if let Some(first) = fortune.uses.first()
            && !fortune.only_added
            && (elsewhere >= MANY_ELSEWHERE || added_elsewhere > 0 && !anywhere)
        {
            fortune.doubtful.get_or_insert(first.addition);
        }
        fortune.only_added &= !fortune.uses.is_empty();
        if let Some(first) = self.may_be_needed(product, &fortune, added_elsewhere > 0) {
            fortune.doubtful.get_or_insert(first);
        }
        fortune
    }

    /// The first addition of a product that would be fused but for uses of which nothing comes, which ptxas sees too late: under a
    /// guard that is never true, behind a branch that leads nowhere else, added to itself in another place or behind an exchange.
    fn may_be_needed(&self, product: usize, fortune: &Fortune, elsewhere: bool) -> Option<usize> {
        let first = fortune.uses.first().filter(|_| fortune.only_added)?.addition;
        let Normal { shadows, merges, origin, .. } = self.normal;
        let text = |at: usize| origin[at];
        let between = |one: &Place| {
            let range = text(product).min(text(one.addition))..text(product).max(text(one.addition));
            merges.iter().any(|at| range.contains(at))
        };
        let twice =
            |one: &Place| fortune.uses.iter().filter(|other| other.addition == one.addition).count() > 1;
        let exchanged = |one: &Place| self.sm_8x && self.exchanges(one);
        let doubtful = shadows.contains(&text(product))
            || fortune.uses.len() > 1 && fortune.uses.iter().any(between)
            || fortune.uses.iter().any(twice) && (elsewhere || fortune.uses.iter().any(exchanged));
        doubtful.then_some(first)
    }

    /// Whether a use of a copy sees what the product gave last.
    fn follows(&self, product: usize, held: Held, at: usize) -> bool {
        held.definition == product || !goes_around(&self.normal.flow, product, at, &[held.definition])
    }

    /// Whether in some turns of a loop, as ptxas unrolls it, an addition may follow a product directly.
    fn differs(&self, held: Held, addition: usize, product: usize) -> bool {
        let flow = &self.normal.flow;
        self.normal.loops.iter().any(|(one, fate)| {
            let within = [product, addition].map(|at| one.has(flow.block(at)));
            match within {
                [true, true] => self.carried(held, addition, one),
                [true, false] => true,
                [false, true] => *fate == Fate::Unknown,
                [false, false] => false,
            }
        })
    }

    /// Whether a value goes through the start of a loop to a use.
    fn carried(&self, held: Held, to: usize, one: &Loop) -> bool {
        let flow = &self.normal.flow;
        let header = flow.range(one.header).start;
        let writes = |at: &usize| {
            let instruction = self.instruction(*at);
            instruction.guard.is_none() && crate::flow::effects(instruction).0.contains(&held.register)
        };
        let all = one.blocks.iter().flat_map(|block| flow.range(*block));
        let writers: Vec<usize> = all.filter(writes).collect();
        let from_header =
            header == to || !writers.contains(&header) && goes_around(flow, header, to, &writers);
        goes_around(flow, held.definition, header, &writers) && from_header
    }

    /// Whether lanes exchange between a division and an addition.
    fn exchanges(&self, one: &Place) -> bool {
        let [from, to] = [one.product, one.addition].map(|at| self.places[at].position);
        (0..self.places.len()).any(|at| {
            let between = self.instruction(at);
            (from..to).contains(&self.places[at].position)
                && (matches!(between.name(), "shfl" | "vote")
                    || between.name() == "bar" && between.has("warp"))
        })
    }

    /// Whether an addition adds two products of the same factors: ptxas then doubles one.
    fn same(&self, one: &Place, other: &Place) -> bool {
        let [first, second] = [one, other].map(|one| self.instruction(one.product));
        let mut turned = second.operands[1..].to_vec();
        if second.name() == "mul" {
            turned.reverse();
        }
        self.instruction(one.addition).name() == "add"
            && one.negated == other.negated
            && first.form == second.form
            && (first.operands[1..] == second.operands[1..] || first.operands[1..] == turned)
    }
}

/// Decides on the products of a function.
pub(super) fn contract(normal: &Normal, sm_8x: bool) -> Decisions {
    let places = places(&normal.function, &normal.flow);
    let search = Search { normal, places, sm_8x };
    let mut decisions = Decisions::default();
    let mut uses = vec![];
    for product in 0..normal.function.instructions.len() {
        let instruction = search.instruction(product);
        if is_nothing(instruction) || !is_product(instruction) {
            continue;
        }
        let fortune = search.fortune(product);
        if let Some(addition) = fortune.doubtful {
            decisions.doubtful.push((product, addition));
        }
        // one with a single use is moved to it
        let several = fortune.uses.len() > 1 && !search.has_constant_factor(product, false);
        let parted = sm_8x && (several || is_parted_by_exchanges(instruction));
        if fortune.only_added && !(parted && fortune.uses.iter().any(|one| search.exchanges(one))) {
            uses.extend(fortune.uses);
        }
    }
    uses.sort_unstable_by_key(|one: &Place| (search.places[one.addition].position, one.operand));
    let once = |one: &Place| {
        matches!(kind(search.instruction(one.addition)), Some(Type::F16x2 | Type::BF16x2 | Type::F32x2))
    };
    decisions.fused = choose(&uses, |one, other| search.same(one, other), once);
    let count = |all: &[Place], product: usize| all.iter().filter(|one| one.product == product).count();
    let mut products: Vec<usize> = decisions.fused.iter().map(|one| one.product).collect();
    products.dedup();
    decisions.kept = products
        .into_iter()
        .filter(|product| count(&decisions.fused, *product) < count(&uses, *product))
        .collect();
    decisions
}
