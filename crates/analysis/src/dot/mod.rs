//! One dot product, every step of it, as people read it.

mod bits;
mod tables;

use std::collections::BTreeSet;

use bitmma_document::{Document, Table, style};
use bitmma_engine::arithmetic::special::Special;
use bitmma_engine::arithmetic::trace::{TermName, Why};
use bitmma_engine::arithmetic::{Step, Term};
use bitmma_engine::explain::{Explanation, explain};
use bitmma_engine::formats::text::{display, hex};
use bitmma_engine::formats::{Class, Format, decode};
use bitmma_engine::{Case, Model};

use self::tables::{aligned, binaries, cell, chain_loss, converted, exact_sum, value_and_code};
use crate::describe;
use crate::error::Error;
use crate::number;

/// A dot product that is shown.
#[derive(Clone, Copy, Debug)]
pub struct Dot<'a> {
    /// What computes it.
    pub name: &'a str,
    /// How it computes.
    pub model: &'a Model,
    /// The operands.
    pub case: &'a Case,
}

/// An elementary operation and its steps.
struct Section<'a> {
    operation: &'static str,
    elements: &'a [usize],
    accumulator: u64,
    format: Format,
    steps: &'a [Step],
}

impl Section<'_> {
    /// Whether it adds zeros only and gives back its accumulator.
    fn is_idle(&self) -> bool {
        let zero = |term: &Term| term.name == TermName::Accumulator || term.exact.significand == 0;
        let mut result = None;
        for step in self.steps {
            match step {
                Step::Aligned { maximum: "e'", .. } => {}
                Step::Aligned { terms, .. } | Step::Exact { terms, .. } if terms.iter().all(zero) => {}
                Step::Binary { operation: "FTZ-Mul", left, left_format, right, right_format, .. }
                    if [(left, left_format), (right, right_format)]
                        .iter()
                        .any(|(code, format)| decode(format, **code).class == Class::Zero) => {}
                Step::Binary { operation: "FTZ-Add", result: code, format, .. }
                | Step::Converted { code, format, .. } => result = Some((*code, *format)),
                _ => return false,
            }
        }
        result == Some((self.accumulator, self.format))
    }
}

/// `0..7`, `0..1, 4..5`.
fn ranges(elements: &[usize]) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &element in elements {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == element => *last = element,
            _ => runs.push((element, element)),
        }
    }
    let text = |(first, last): &(usize, usize)| {
        if first == last { first.to_string() } else { format!("{first}..{last}") }
    };
    let runs: Vec<String> = runs.iter().map(text).collect();
    match &runs[..] {
        [first, second, .., last] if runs.len() > 5 => format!("{first}, {second}, …, {last}"),
        _ => runs.join(", "),
    }
}

impl Dot<'_> {
    /// Every step.
    pub fn document(&self) -> Result<Document, Error> {
        Ok(self.explained(&explain(self.model, &self.case.operands())?, &[], None))
    }

    /// Every step of an explanation, below remarks on the operands and the revision of the model.
    pub fn explained(
        &self,
        explanation: &Explanation,
        remarks: &[String],
        revision: Option<&str>,
    ) -> Document {
        let model = self.model;
        let revision = revision.map_or(String::new(), |revision| format!(", revision {revision}"));
        let (name, family) = (style::strong(self.name), model.operation.name());
        let parameters = describe::short(model, self.case.a.len());
        let mut page = Document::new(format!("{name}\n{family} with {parameters}{revision}"));
        for remark in remarks {
            page = page.close().text(style::dim(remark));
        }
        let steps = &explanation.steps;
        let readings: Vec<&Step> = steps.iter().filter(|step| matches!(step, Step::Read { .. })).collect();
        page = tables::readings(page, &readings);
        let mut starts: Vec<usize> =
            (0..steps.len()).filter(|&index| matches!(steps[index], Step::Begin { .. })).collect();
        starts.push(steps.len());
        let mut sections = Vec::new();
        let mut after: &[Step] = &[];
        for pair in starts.windows(2) {
            let Step::Begin { operation, elements, accumulator, format } = &steps[pair[0]] else { continue };
            let mut own = &steps[pair[0] + 1..pair[1]];
            // what follows the last operation is not part of it
            let end = own.iter().position(is_afterwards).unwrap_or(own.len());
            (own, after) = own.split_at(end);
            let (accumulator, format) = (*accumulator, *format);
            sections.push(Section { operation, elements, accumulator, format, steps: own });
        }
        page = match model.operation.name() {
            "FMA" => self.fma_chain(page, &sections),
            _ => self.sections(page, &sections, &flushed(&readings)),
        };
        for step in after {
            page = self.step(page, step, None);
        }
        let (value, code) = (display(&model.d, explanation.d), hex(&model.d, explanation.d));
        page.text(format!("d = {}  {code}  {}", style::strong(&value), model.d))
    }

    /// One section for each elementary operation, one for several in a row that are idle.
    fn sections(&self, mut page: Document, sections: &[Section<'_>], flushed: &BTreeSet<usize>) -> Document {
        let mut index = 0;
        while let Some(section) = sections.get(index) {
            // neighbors that are idle are one paragraph
            let idle = match sections.len() {
                1 => 0,
                _ => {
                    let same =
                        |other: &&Section<'_>| other.accumulator == section.accumulator && other.is_idle();
                    sections[index..].iter().take_while(same).count()
                }
            };
            let together = &sections[index..index + idle.max(1)];
            let elements: Vec<usize> =
                together.iter().flat_map(|section| section.elements).copied().collect();
            let place = match (sections.len(), together.len()) {
                (1, _) => String::new(),
                (count, 1) => format!(" {} of {count}", index + 1),
                (count, more) => format!(" {} to {} of {count}", index + 1, index + more),
            };
            let heading = format!("{}{place}: elements {}", section.operation, ranges(&elements));
            let accumulator = value_and_code(&section.format, section.accumulator);
            page = page.text(format!("{}, accumulator {accumulator}", style::strong(&heading))).close();
            if idle > 0 {
                let by_flushing = match elements.iter().filter(|k| flushed.contains(k)).count() {
                    0 => String::new(),
                    count => format!(" ({} by flushing, above)", style::lost(&format!("{count} of them"))),
                };
                page = page
                    .text(format!("every product is zero{by_flushing}, and the accumulator stays as it is"));
            } else {
                page = self.steps(page, section);
            }
            index += together.len();
        }
        page
    }

    /// The steps of an operation; a sum that is not the first has a blank line in front.
    fn steps(&self, page: Document, section: &Section<'_>) -> Document {
        let binary: Vec<&Step> =
            section.steps.iter().filter(|step| matches!(step, Step::Binary { .. })).collect();
        if !binary.is_empty() {
            return binaries(page, &binary);
        }
        section.steps.iter().enumerate().fold(page, |page, (index, step)| {
            let apart = index > 0 && matches!(step, Step::Aligned { .. });
            self.step(if apart { page } else { page.close() }, step, Some(section))
        })
    }

    fn step(&self, page: Document, step: &Step, section: Option<&Section<'_>>) -> Document {
        match step {
            Step::Special(special) => page.text(self.special(*special, section)),
            Step::Aligned { maximum, exponent, terms, fraction_bits, rounding, sum } => {
                aligned(page, maximum, *exponent, terms, *fraction_bits, *rounding, *sum)
            }
            Step::Exact { terms, sum } => exact_sum(page, terms, *sum),
            Step::Converted { value, conversion, code, format } => {
                converted(page, *value, *conversion, *code, format)
            }
            Step::Binary { .. } => binaries(page, &[step]),
            Step::Changed { what, from, from_format, to, to_format } => page.text(format!(
                "{what} changes its format: {} {from_format} → {} {to_format}{}",
                value_and_code(from_format, *from),
                value_and_code(to_format, *to),
                tables::change_loss((from_format, *from), (to_format, *to))
            )),
            _ => page,
        }
    }

    /// Which operands make a result that is not finite.
    fn special(&self, special: Special, section: Option<&Section<'_>>) -> String {
        let Dot { model, case, .. } = *self;
        let mut reasons = Vec::new();
        for &k in section.map_or(&[][..], |section| section.elements) {
            let (a, b) = (decode(&model.a, case.a[k]), decode(&model.b, case.b[k]));
            let scale = model.scale.map(|scale| (k / scale.size, scale.format));
            if !a.is_finite() || !b.is_finite() {
                reasons.push(format!(
                    "a{k}*b{k} = {} * {}",
                    number::short(&display(&model.a, case.a[k])),
                    number::short(&display(&model.b, case.b[k]))
                ));
            }
            if let Some((block, format)) = scale
                && k % model.scale.map_or(1, |scale| scale.size) == 0
            {
                for (name, codes) in [("A", &case.scale_a), ("B", &case.scale_b)] {
                    if decode(&format, codes[block]).class == Class::Nan {
                        reasons.push(format!("scale factor {block} of {name} is nan"));
                    }
                }
            }
        }
        if let Some(section) = section
            && !decode(&section.format, section.accumulator).is_finite()
        {
            reasons.push(format!("the accumulator is {}", display(&section.format, section.accumulator)));
        }
        let result = match special {
            Special::Nan => "nan",
            Special::Infinity { negative: false } => "inf",
            Special::Infinity { negative: true } => "-inf",
        };
        let more = reasons.len().saturating_sub(3);
        reasons.truncate(3);
        if more > 0 {
            reasons.push(format!("{more} more"));
        }
        if reasons.is_empty() {
            reasons.push("a product is too large".to_owned());
        }
        let heading = style::lost(&format!("{result}, before anything is summed"));
        format!("{heading}:\n  {}\n", reasons.join("\n  "))
    }

    /// A chain of fused multiply-adds as one table.
    fn fma_chain(&self, page: Document, sections: &[Section<'_>]) -> Document {
        let mut table = Table::new(&[">k", ">a*b", ">accumulator", ">exact", ">rounded", "code", ">lost"]);
        let (mut idle, mut others) = (0, vec![]);
        for section in sections {
            let k = section.elements[0];
            let accumulator = display(&section.format, section.accumulator);
            match section.steps {
                [Step::Exact { terms, sum }, Step::Converted { code, format, .. }] => {
                    let unchanged = *code == section.accumulator && *format == section.format;
                    if terms[0].exact.significand == 0 && unchanged {
                        idle += 1;
                        continue;
                    }
                    table.row([
                        k.to_string(),
                        cell(terms[0].exact.real()),
                        number::short(&accumulator),
                        cell(*sum),
                        number::short(&display(format, *code)),
                        hex(format, *code),
                        style::lost(&number::short(&chain_loss(terms, *code, format))),
                    ]);
                }
                _ => others.push(section),
            }
        }
        let heading = style::strong("FMA along K");
        let mut page = page.text(format!("{heading}, {}", self.model.conversion)).close().table(table);
        for section in others {
            let accumulator = display(&section.format, section.accumulator);
            page = page.close().text(format!("k = {}, accumulator {accumulator}:", section.elements[0]));
            page = self.steps(page, section);
        }
        let idle = match idle {
            0 => String::new(),
            1 => style::dim("1 zero product leaves the accumulator as it is"),
            count => style::dim(&format!("{count} zero products leave the accumulator as it is")),
        };
        if idle.is_empty() { page } else { page.close().text(idle) }
    }
}

/// The products that are zero because a factor is flushed.
fn flushed(readings: &[&Step]) -> BTreeSet<usize> {
    let product = |step: &&Step| match step {
        Step::Read { why: Why::Flushed, term: Some(TermName::Product(k)), exact: Some(exact), .. } => {
            (exact.significand != 0).then_some(*k)
        }
        _ => None,
    };
    readings.iter().filter_map(product).collect()
}

/// Steps that belong to no elementary operation.
fn is_afterwards(step: &Step) -> bool {
    matches!(step, Step::Changed { .. } | Step::Binary { operation: "add C" | "add chains", .. })
}
