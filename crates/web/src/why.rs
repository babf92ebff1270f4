//! Why a unit's result is what it is, in one sentence.

use bitmma_analysis::Dyadic;
use bitmma_analysis::account::Loss;
use bitmma_analysis::number;
use bitmma_engine::arithmetic::Step;
use bitmma_engine::arithmetic::trace::Why;
use bitmma_engine::formats::text::display;
use bitmma_engine::formats::{Format, decode};

use crate::explain::Computed;
use crate::input::word_format;

/// Something that was given and is not in D: bits of operands that are not read, or the loss of a step.
struct Change {
    term: String,
    exact: Dyadic,
    kept: Dyadic,
    /// Where and how.
    words: String,
}

impl Change {
    fn magnitude(&self) -> Dyadic {
        (&self.kept - &self.exact).magnitude()
    }

    /// Whether both take the same away from the same number, wherever they do.
    fn is_like(&self, other: &Change) -> bool {
        (&self.term, &self.exact, &self.kept) == (&other.term, &other.exact, &other.kept)
    }
}

/// The largest of some.
fn largest<'c>(changes: impl IntoIterator<Item = &'c Change>) -> Option<&'c Change> {
    // the first of equal ones
    changes.into_iter().reduce(|one, next| if next.magnitude() > one.magnitude() { next } else { one })
}

/// Why a result is not exact, or not that of the first unit.
pub(crate) fn sentence(one: &Computed, first: Option<&Computed>) -> String {
    if one.model.is_integer() {
        return of_integers(one);
    }
    if !decode(&one.model.d, one.d).is_finite() {
        return not_finite(one);
    }
    let changes = changes(one);
    match first {
        Some(other) if other.answer != one.answer => {
            parting(one, other).unwrap_or_else(|| alone(one, &changes))
        }
        Some(other) if !changes.is_empty() => {
            let (own, its) = unshared(changes, self::changes(other));
            match own.is_empty() && its.is_empty() {
                true => "The same result as the first unit, by the same losses.".to_owned(),
                false => format!("The same result as the first unit. {}", alone(one, &self::changes(one))),
            }
        }
        _ => alone(one, &changes),
    }
}

/// All that one lost, in order.
fn changes(one: &Computed) -> Vec<Change> {
    let ignored = one.steps.iter().filter_map(|step| {
        let Step::Read { why: Why::Ignored, term, operands, exact: Some(exact), .. } = step else {
            return None;
        };
        let used = operands.iter().map(|operand| Dyadic::of_code(&operand.format, operand.used));
        let kept = used.reduce(|x, y| Some(&x? * &y?))??;
        let exact = Dyadic::from(*exact);
        let term = term.map_or_else(|| operands[0].operand.to_string(), |term| term.to_string());
        let lost = &exact - &kept;
        let words =
            format!("bits that the unit does not read: {term} = {exact} becomes {kept}, losing {lost}");
        (!lost.is_zero()).then_some(Change { term, exact, kept, words })
    });
    let losses = one.account.iter().flat_map(|account| &account.losses).map(|loss| {
        let Loss { term, exact, kept, .. } = loss;
        let words = loss.in_words_at(&|operation| one.place(operation), &str::to_owned);
        Change { term: term.clone(), exact: exact.clone(), kept: kept.clone(), words }
    });
    ignored.chain(losses).collect()
}

/// What only one of two lost.
fn unshared(changes: Vec<Change>, mut others: Vec<Change>) -> (Vec<Change>, Vec<Change>) {
    let mut own = vec![];
    for change in changes {
        match others.iter().position(|other| change.is_like(other)) {
            Some(place) => drop(others.remove(place)),
            None => own.push(change),
        }
    }
    (own, others)
}

/// What it lost, the largest loss first.
fn alone(one: &Computed, changes: &[Change]) -> String {
    let Some(most) = largest(changes) else {
        return match (one.is_exact, one.inputs.rounded) {
            (true, 0) => "Nothing is lost: the result is the exact one.".to_owned(),
            (true, _) => "The unit loses nothing: the result is exact for its inputs, which were rounded to its formats."
                .to_owned(),
            _ => "Only bits of operands are lost that are not read.".to_owned(),
        };
    };
    let count = match changes.len() {
        1 => String::new(),
        many => format!(": the largest of {many} losses"),
    };
    let cancel = if one.is_exact { "; together they cancel, and the result is exact" } else { "" };
    format!("{}{count}{cancel}.", capital(&most.words))
}

/// What makes most of the difference: other inputs, or the largest loss that only one of the two has.
fn parting(one: &Computed, other: &Computed) -> Option<String> {
    let given = one.given.as_ref()? - other.given.as_ref()?;
    let in_all = &one.value()? - &other.value()?;
    let own = &in_all - &given;
    if given.magnitude() > own.magnitude() {
        return Some(other_inputs(one, other));
    }
    let (own, its) = unshared(changes(one), changes(other));
    let most = largest(own.iter().chain(&its))?;
    let same = |change: &&Change| change.term == most.term && change.exact == most.exact;
    Some(match (own.iter().find(same), its.iter().find(same)) {
        (Some(own), Some(its)) => {
            format!("{}; the first unit keeps {} of it.", capital(&own.words), its.kept)
        }
        (Some(own), None) => format!("{}; the first unit does not lose this.", capital(&own.words)),
        (None, Some(its)) => format!("It does not lose what the first unit does: {}.", its.words),
        (None, None) => return None,
    })
}

/// The first operand that is another number in the formats of another unit.
fn other_inputs(one: &Computed, other: &Computed) -> String {
    let (x, y) = ((&one.model, &one.inputs.case), (&other.model, &other.inputs.case));
    let lists = [
        ("a", (x.0.a, &x.1.a[..]), (y.0.a, &y.1.a[..])),
        ("b", (x.0.b, &x.1.b[..]), (y.0.b, &y.1.b[..])),
        ("c", (x.0.c, std::slice::from_ref(&x.1.c)), (y.0.c, std::slice::from_ref(&y.1.c))),
    ];
    for (name, (own, codes), (its, others)) in lists {
        let value = |format: &Format, code: u64| Dyadic::of_code(&word_format(format), code);
        let differs = |(x, y): (&u64, &u64)| value(&own, *x) != value(&its, *y);
        if let Some(place) = codes.iter().zip(others).position(differs) {
            let text = |format: &Format, code: u64| display(&word_format(format), code);
            let index = if name == "c" { String::new() } else { place.to_string() };
            return format!(
                "Its input is another number: {name}{index} is {} in {own}, and {} in {its} of the first unit.",
                text(&own, codes[place]),
                text(&its, others[place]),
            );
        }
    }
    "Its scale factors are others than those of the first unit.".to_owned()
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// The first sum of integers that is beyond the range, and what becomes of it.
fn of_integers(one: &Computed) -> String {
    let mut operation = 0;
    for step in &one.steps {
        match step {
            Step::Begin { .. } => operation += 1,
            Step::Converted { value, conversion, code, format } => {
                let Some(sum) = number::exact(*value).map(Dyadic::from) else { continue };
                let Some(kept) = Dyadic::of_code(format, *code).filter(|kept| *kept != sum) else { continue };
                let place = capital(&one.place(operation - 1));
                let which = if value.negative { "smallest" } else { "largest" };
                return match conversion.saturate {
                    true => {
                        format!(
                            "{place}: the sum {sum} is beyond the {which} number of {format} and saturates to {kept}."
                        )
                    }
                    false => format!(
                        "{place}: the sum {sum} is beyond the numbers of {format} and wraps to {kept}."
                    ),
                };
            }
            _ => {}
        }
    }
    format!("Nothing is lost: sums of integers are exact, and none is beyond the numbers of {}.", one.model.d)
}

/// Operands and sums that are named, at most.
const NAMED: usize = 2;

/// Which operands make the result infinite or NaN, or which sum does.
fn not_finite(one: &Computed) -> String {
    let mut reasons = operands_not_finite(one);
    let is_early = !reasons.is_empty() && reasons.iter().all(|(operation, _)| *operation == 0);
    if !is_early {
        reasons.extend(overflows(one));
        reasons.sort_by_key(|(operation, _)| *operation);
    }
    let more = reasons.len().saturating_sub(NAMED);
    let mut texts: Vec<String> = reasons.into_iter().take(NAMED).map(|(_, text)| text).collect();
    if more > 0 {
        texts.push(format!("{more} more"));
    }
    let result = display(&one.model.d, one.d);
    let before = if is_early { " before anything is summed" } else { "" };
    match texts.is_empty() {
        true => format!("The result is {result}."),
        false => format!("The result is {result}{before}: {}.", texts.join(", ")),
    }
}

/// Operands that are not finite, each with the operation that takes it.
fn operands_not_finite(one: &Computed) -> Vec<(usize, String)> {
    let (model, case) = (&one.model, &one.inputs.case);
    let mut reasons = vec![];
    let mut count = 0;
    if !decode(&model.c, case.c).is_finite() {
        reasons.push((0, format!("c = {}", display(&model.c, case.c))));
    }
    for step in &one.steps {
        let Step::Begin { elements, .. } = step else { continue };
        let place = if count == 0 { String::new() } else { format!("{} takes ", one.place(count)) };
        for &k in elements {
            let (a, b) = (case.a[k], case.b[k]);
            if !decode(&model.a, a).is_finite() || !decode(&model.b, b).is_finite() {
                let (a, b) = (display(&model.a, a), display(&model.b, b));
                reasons.push((count, format!("{place}a{k}*b{k} = {a} * {b}")));
            }
            let Some(scale) = model.scale.filter(|scale| k % scale.size == 0) else { continue };
            let block = k / scale.size;
            for (name, code) in [("scale_a", case.scale_a[block]), ("scale_b", case.scale_b[block])] {
                if !decode(&scale.format, code).is_finite() {
                    reasons.push((count, format!("{place}{name}{block} = {}", display(&scale.format, code))));
                }
            }
        }
        count += 1;
    }
    reasons
}

/// Finite numbers of which the result is not, each with the operation in which it happens.
fn overflows(one: &Computed) -> Vec<(usize, String)> {
    let mut all = vec![];
    let mut count = 0;
    let mut is_finite = true; // whether the operation under way begins with a finite accumulator
    let beyond = |format: &Format| {
        format!("beyond the largest number of {format}, {}", display(format, format.max_finite_code()))
    };
    for step in &one.steps {
        let place = if count > 0 { one.place(count - 1) } else { String::new() };
        let operation = count.max(1) - 1;
        match step {
            Step::Begin { accumulator, format, .. } => {
                count += 1;
                is_finite = decode(format, *accumulator).is_finite();
            }
            Step::Converted { value, conversion, code, format } if !decode(format, *code).is_finite() => {
                let sum = number::text(value.to_owned());
                all.push((operation, format!("{place}: the sum {sum} is {}", beyond(&conversion.format))));
            }
            Step::Binary { operation: name, left, left_format, right, right_format, result, format }
                if !decode(format, *result).is_finite()
                    && decode(left_format, *left).is_finite()
                    && decode(right_format, *right).is_finite() =>
            {
                let (what, sign) = if *name == "FTZ-Mul" { ("product", "*") } else { ("sum", "+") };
                let (left, right) = (display(left_format, *left), display(right_format, *right));
                all.push((
                    operation,
                    format!("{place}: the {what} {left} {sign} {right} is {}", beyond(format)),
                ));
            }
            Step::Changed { from, from_format, to, to_format, .. }
                if !decode(to_format, *to).is_finite() && decode(from_format, *from).is_finite() =>
            {
                let sum = display(from_format, *from);
                all.push((operation, format!("the sum {sum} is {}", beyond(to_format))));
            }
            Step::Special(_) if is_finite => {
                let taken = operands_not_finite(one).iter().any(|(taken, _)| *taken == operation);
                if !taken {
                    all.push((operation, format!("{place}: a product is too large for the unit")));
                }
            }
            _ => {}
        }
    }
    all
}
