//! An element in words: the answer, the steps that lose most, and the rest on request.

use bitmma_document::{Document, Table, counted, style};
use bitmma_engine::explain::json::Number;
use bitmma_engine::shape_text;

use super::{Addition, Departure, Element, Event, Other, Step};
use crate::describe;
use crate::dot::Dot;
use crate::dyadic::Dyadic;
use crate::error::Error;
use crate::number::{self, rounded};

/// Steps that are shown first: those that lose most.
const WORST: usize = 3;
/// Rows of the table of all steps, at most.
const SHOWN: usize = 256;
/// Terms of a step that are named.
const NAMED: usize = 2;
/// Elements of a step that is drawn, at most.
const LONGEST: usize = 1 << 12;
/// Digits of an error.
const DIGITS: usize = 4;
/// Digits of a result, at least.
const LEAST: usize = 7;
/// And at most: those that tell numbers of FP64 apart.
const MOST: usize = 17;

/// An error, or nothing.
fn error(error: Option<&Dyadic>) -> String {
    error.filter(|error| !error.is_zero()).map_or(String::new(), |error| error.rounded(DIGITS))
}

/// The steps with the largest errors, the first of equals first.
fn worst(steps: &[&Step]) -> Vec<usize> {
    let size = |index: usize| steps[index].error.as_ref().map_or(Dyadic::ZERO, Dyadic::magnitude);
    let mut left: Vec<usize> = (0..steps.len()).filter(|index| !size(*index).is_zero()).collect();
    let mut worst = vec![];
    while worst.len() < WORST {
        let largest =
            left.iter().copied().reduce(|best, one| if size(one) > size(best) { one } else { best });
        let Some(largest) = largest else { break };
        left.retain(|one| *one != largest);
        worst.push(largest);
    }
    worst
}

impl Step {
    fn row(&self, index: usize) -> [String; 6] {
        let more = self.losses.len().saturating_sub(NAMED);
        let more = (more > 0).then(|| format!("{more} more"));
        let names = self.losses.iter().take(NAMED).map(|loss| loss.term.clone()).chain(more);
        let what = if self.error.is_none() { vec!["not finite".to_owned()] } else { names.collect() };
        [
            (index + 1).to_string(),
            self.elements(),
            number::short(&self.result.value.to_string()),
            style::lost(&error(self.error.as_ref())),
            error(self.total_error.as_ref()),
            what.join(", "),
        ]
    }

    fn elements(&self) -> String {
        format!("{}..{}", self.first, self.last)
    }

    fn is_lossy(&self) -> bool {
        !self.losses.is_empty() || self.error.is_none()
    }
}

impl Addition {
    fn row(&self) -> [String; 6] {
        let Addition { what, left, right, result, error: lost } = self;
        let [left, right, result] = [left, right, result].map(|one| number::short(&one.value.to_string()));
        let lost = style::lost(&error(lost.as_ref()));
        [String::new(), what.to_string(), result, lost, String::new(), format!("{left} + {right}")]
    }
}

fn table() -> Table {
    Table::new(&[">step", "elements", ">result", ">error", ">error so far", "what lost"])
}

impl Element {
    /// The element and its error, the steps that lose most, and on request all steps. `name` is that of what computes it,
    /// `given` that of the D it is compared with.
    pub fn document(&self, name: &str, given: &str) -> Result<Document, Error> {
        let steps: Vec<&Step> = self.steps().collect();
        let lossy = steps.iter().filter(|step| step.is_lossy()).count();
        let worst = worst(&steps);
        let mut first = table();
        worst.iter().for_each(|index| first.row(steps[*index].row(*index)));
        let along = format!(
            "{}, {} with {}\nD is {}, K = {} in {} of {}; {}",
            style::strong(name),
            self.model.operation.name(),
            describe::short(&self.model, self.k_step),
            shape_text(self.shape),
            self.k,
            counted(steps.len(), "step"),
            self.k_step,
            match (lossy, worst.is_empty()) {
                (0, _) => "no step loses anything".to_owned(),
                (1, _) => "1 step loses something".to_owned(),
                (_, false) if lossy > WORST => format!("{lossy} steps lose something, most of all:"),
                _ => format!("{lossy} steps lose something"),
            }
        );
        let departs = self.departure.as_ref().filter(|departure| !departure.agrees).map(|departure| {
            let how = match &self.computed_by {
                Some(other) => other.words(&steps),
                None => departure.words(&steps),
            };
            format!("{given} has {}. {how}", departure.observed)
        });
        let page =
            Document::new(self.answer(given)).text(departs.unwrap_or_default()).text(along).table(first);
        let Some((index, step)) = worst.first().map(|index| (*index, steps[*index])) else {
            return Ok(page);
        };
        let mut all = Document::default().table(self.all());
        if (self.model.c == self.model.d || step.first == 0) && self.k_step <= LONGEST {
            let (one, of, elements) = (index + 1, steps.len(), step.elements());
            let heading =
                format!("The step that loses most, {one} of {of}: elements {elements}, here from 0");
            let dot = Dot { name, model: &self.model, case: &step.case };
            all = all.text(style::strong(&heading)).with(dot.document()?);
        }
        Ok(page.fold("every step that loses something, and the worst one bit by bit", "--steps", all))
    }

    /// `D[0,0] 185.8281  exact 185.8866  error -0.0584 (-3.1e-4)  agrees with D.npy`.
    fn answer(&self, given: &str) -> String {
        let [block, row, column] = self.element;
        let block = if self.shape.0 > 1 { format!("{block},") } else { String::new() };
        let relative = match (&self.error, &self.exact) {
            (Some(error), Some(exact)) if !exact.is_zero() => Some(error.ratio(exact)),
            _ => None,
        };
        // so many that the error is seen
        let digits =
            relative.filter(|one| *one != 0.0).map_or(LEAST, |one| (2.0 - one.abs().log10()) as usize);
        let digits = digits.clamp(LEAST, MOST);
        let d = match self.d.value {
            Number::Finite(value) => rounded(value, digits),
            Number::Other(_) => self.d.value.to_string(),
        };
        let exact = self.exact.as_ref().map_or("not finite".to_owned(), |exact| exact.rounded(digits));
        let error = match (&self.error, relative) {
            (Some(error), _) if error.is_zero() => "  no error".to_owned(),
            (Some(error), Some(relative)) => {
                format!("  error {} ({})", style::lost(&error.rounded(2)), rounded(relative, 2))
            }
            (Some(error), None) => format!("  error {}", style::lost(&error.rounded(2))),
            (None, _) => String::new(),
        };
        let departure = match &self.departure {
            None => String::new(),
            Some(one) if one.agrees => format!("  {} with {given}", style::good("agrees")),
            Some(_) => format!("  {}", style::lost(&format!("{given} differs"))),
        };
        let place = style::strong(&format!("D[{block}{row},{column}] {d}"));
        format!("{place}  exact {exact}{error}{departure}")
    }

    /// Every step that loses something and every sum around them.
    fn all(&self) -> Table {
        let (mut table, mut index, mut left) = (table(), 0, 0);
        let mut rows = 0;
        for event in &self.events {
            let row = match event {
                Event::Step(step) => {
                    index += 1;
                    step.is_lossy().then(|| step.row(index - 1))
                }
                Event::Addition(addition) => Some(addition.row()),
            };
            rows += usize::from(row.is_some());
            match row {
                Some(row) if rows <= SHOWN => table.row(row),
                Some(_) => left += 1,
                None => {}
            }
        }
        let note = format!("{left} more (--json has all)");
        if left > 0 { table.note(&note) } else { table }
    }
}

impl Departure {
    /// The step that leads to the D that was given.
    fn words(&self, steps: &[&Step]) -> String {
        match (self.step, &self.instead) {
            (Some(index), Some(instead)) => {
                let (step, all) = (steps[index], steps.len());
                let alike = match self.steps_alike {
                    0 | 1 => String::new(),
                    alike => format!("; so does a last bit in {alike} of {all} steps"),
                };
                let (number, elements, result) = (index + 1, step.elements(), &step.result.value);
                format!(
                    "It departs at step {number} (elements {elements}) or later: that step gave {result}, and {} leads to it{alike}.",
                    instead.value
                )
            }
            _ => format!(
                "No single step leads to it by a change of its last bit: more than one step differs, or the order does{}.\n\
                 `bitmma which` with all of A, B and D says what computes it.",
                if self.complete { "" } else { " (the first steps were tried)" }
            ),
        }
    }
}

impl Other {
    /// What computes all of the D that was given.
    fn words(&self, steps: &[&Step]) -> String {
        let Other { target, chips, order, step, here, there } = self;
        let target = style::strong(target);
        let text = format!("It is what {target} ({}) computes, {order}.", chips.join(", "));
        match (step, here, there) {
            (Some(step), Some(here), Some(there)) => format!(
                "{text}\nThey part at step {} (elements {}): {} here, {} there.",
                step + 1,
                steps[*step].elements(),
                here.value,
                style::lost(&there.value.to_string())
            ),
            _ => text,
        }
    }
}
