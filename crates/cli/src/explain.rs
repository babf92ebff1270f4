//! `bitmma explain`: every step of one dot product.

mod element;
mod json;
mod tables;

use std::collections::BTreeSet;

use bitmma_analysis::number;
use bitmma_document::{Table, style};
use bitmma_engine::arithmetic::special::Special;
use bitmma_engine::arithmetic::trace::{TermName, Why};
use bitmma_engine::arithmetic::{Step, Term};
use bitmma_engine::explain::{Explanation, explain};
use bitmma_engine::formats::text::display;
use bitmma_engine::formats::{Class, Format, decode};

use self::tables::{aligned, binaries, cell, chain_loss, converted, exact_sum};
use crate::failure::{Failure, Outcome};
use crate::files::Source;
use crate::target::Target;
use crate::values::Inputs;
use crate::{describe, explore, output, target, values};

const EXAMPLE: &str = "\
Examples:
  bitmma explain hopper mma.m16n8k16.f32.f16.f16.f32 \\
         -a '-8192 -0.5 -0.25 -0.125' -b '1024 1 1 1' -c 0x1p23
  bitmma explain mi300x v_mfma_f32_16x16x32_fp8_fp8 \\
         -a '10 0x1p-7' -b '1 1' -c 0x1.fffff8p24
  bitmma explain --model mine.toml -a '1 0x1p-24' -b '1 1'
  bitmma explain h100 wgmma f16 f32 -a A.npy -b B.npy --element 3,5 -d D.npy

The output begins with operands that are not used as given: subnormal numbers that are flushed, bits that are \
not read. Each significand is written in binary, bit under bit in units of 2^e_max; what is right of the bar \
is discarded. A value after ≈ is not exact; … leaves out digits that --json has.

--element shows one element of a whole product from files: every step along K that loses something, and with -d the step at which \
that D departs: where a model computes all of it (as `bitmma which` finds it), the first step at which the two differ, otherwise \
the first whose result, moved to the next number, leads to it. Exit code 1: it departs.

JSON: schema, target, architecture, instruction, revision, model_file, model {family, parameters, lowering}, \
options {promote_every, remarks}, a, b, c, scale_a, scale_b, steps [{step (flushed, ignored, begin, aligned, exact, special, converted, binary or changed), …}], \
d {value, code, format}. With --element: split_k, promote_every, c_last, element, k, k_step, events [{event (step or addition), part, first, last, accumulator, operands [{k, a, b}], \
scale_a, scale_b, flushed, exact, result, error, total_error, losses [{source, term, exact, kept}], trace, what, left, right, result}], \
exact, error, departure {observed, agrees, step, instead, steps_alike, complete}, computed_by {target, chips, order, step, here, there}. Exact numbers are {value, significand, exponent, exact}.";

/// Shows every step of one dot product: which bits of each term are discarded
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = EXAMPLE)]
pub(crate) struct Arguments {
    #[command(flatten)]
    target: target::Arguments,
    #[command(flatten)]
    values: values::Arguments,
    #[command(flatten)]
    of_element: element::ElementArguments,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    if !arguments.of_element.element.is_empty() {
        return element::run(arguments);
    }
    let file =
        [&arguments.values.a, &arguments.values.b].into_iter().find(|text| text.parse::<Source>().is_ok());
    if let Some(file) = file {
        bail!("{file} is a file; say which element of D: --element 0,0");
    }
    let target = arguments.target.resolve_with_options()?.of_one_dot();
    let inputs = arguments.values.read(&target)?;
    let explanation = explain(&target.model, &inputs.operands())?;
    let revision = target.found.map(|_| arguments.target.revision.revision.name());
    if arguments.json {
        crate::json::print(&json::page(&target, &arguments.target, &inputs, &explanation))?;
    } else {
        let text = Page { target: &target, inputs: &inputs }.text(&explanation, revision);
        output::print(&(text + &arguments.in_browser(&target, &inputs)))?;
    }
    Ok(Outcome::Agrees)
}

impl Arguments {
    /// How to look at it in the explorer. What a name asks for besides the instruction is in the words that were typed alone.
    fn in_browser(&self, target: &Target, inputs: &Inputs) -> String {
        let unit = match (self.target.architecture, self.target.spelling(), target.options.promote_every) {
            (Some(architecture), Some(words), Some(_)) => format!("{architecture} {words}"),
            (Some(_), ..) => target.name.clone(),
            (None, ..) => return String::new(),
        };
        explore::hint(&[&unit], self.target.revision.revision, &inputs.case)
    }
}

/// Every step of one dot product, as text.
pub(crate) fn picture(target: &Target, inputs: &Inputs) -> Result<String, Failure> {
    let explanation = explain(&target.model, &inputs.operands())?;
    Ok(Page { target, inputs }.text(&explanation, None))
}

/// What every section knows.
struct Page<'a> {
    target: &'a Target,
    inputs: &'a Inputs,
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

/// `-0.75 (0xbf400000)`.
fn value_and_code(format: &Format, code: u64) -> String {
    format!("{} ({})", display(format, code), describe::code(format, code))
}

impl Page<'_> {
    fn text(&self, explanation: &Explanation, revision: Option<&str>) -> String {
        let model = &self.target.model;
        let revision = revision.map_or(String::new(), |revision| format!(", revision {revision}"));
        let mut text = format!(
            "{}\n{} with {}{revision}\n",
            style::strong(&self.target.name),
            model.operation.name(),
            describe::short(model, self.inputs.k())
        );
        for note in &self.inputs.notes {
            text += &(style::dim(note) + "\n");
        }
        let steps = &explanation.steps;
        let readings: Vec<&Step> = steps.iter().filter(|step| matches!(step, Step::Read { .. })).collect();
        text += &tables::readings(&readings);
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
        text += &match model.operation.name() {
            "FMA" => self.fma_chain(&sections),
            _ => self.sections(&sections, &flushed(&readings)),
        };
        for step in after {
            text += "\n";
            text += &self.step(step, None);
        }
        let d = explanation.d;
        text + &format!(
            "\nd = {}  {}  {}\n",
            style::strong(&display(&model.d, d)),
            describe::code(&model.d, d),
            model.d
        )
    }

    /// One section for each elementary operation, one for several in a row that are idle.
    fn sections(&self, sections: &[Section<'_>], flushed: &BTreeSet<usize>) -> String {
        let mut text = String::new();
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
            text += &format!(
                "\n{}, accumulator {}\n",
                style::strong(&heading),
                value_and_code(&section.format, section.accumulator)
            );
            if idle > 0 {
                let by_flushing = match elements.iter().filter(|k| flushed.contains(k)).count() {
                    0 => String::new(),
                    count => format!(" ({} by flushing, above)", style::lost(&format!("{count} of them"))),
                };
                text += &format!("every product is zero{by_flushing}, and the accumulator stays as it is\n");
            } else {
                text += &self.steps(section);
            }
            index += together.len();
        }
        text
    }

    fn steps(&self, section: &Section<'_>) -> String {
        let binary: Vec<&Step> =
            section.steps.iter().filter(|step| matches!(step, Step::Binary { .. })).collect();
        if !binary.is_empty() {
            return binaries(&binary);
        }
        let text: String = section.steps.iter().map(|step| self.step(step, Some(section))).collect();
        text.trim_start().to_owned()
    }

    fn step(&self, step: &Step, section: Option<&Section<'_>>) -> String {
        match step {
            Step::Special(special) => self.special(*special, section),
            Step::Aligned { maximum, exponent, terms, fraction_bits, rounding, sum } => {
                aligned(maximum, *exponent, terms, *fraction_bits, *rounding, *sum)
            }
            Step::Exact { terms, sum } => exact_sum(terms, *sum),
            Step::Converted { value, conversion, code, format } => {
                converted(*value, *conversion, *code, format)
            }
            Step::Binary { .. } => binaries(&[step]),
            Step::Changed { what, from, from_format, to, to_format } => format!(
                "{what} changes its format: {} {from_format} → {} {to_format}{}\n",
                value_and_code(from_format, *from),
                value_and_code(to_format, *to),
                tables::change_loss((from_format, *from), (to_format, *to))
            ),
            _ => String::new(),
        }
    }

    /// Which operands make a result that is not finite.
    fn special(&self, special: Special, section: Option<&Section<'_>>) -> String {
        let (model, inputs) = (&self.target.model, self.inputs);
        let mut reasons = Vec::new();
        for &k in section.map_or(&[][..], |section| section.elements) {
            let (a, b) = (decode(&model.a, inputs.case.a[k]), decode(&model.b, inputs.case.b[k]));
            let scale = model.scale.map(|scale| (k / scale.size, scale.format));
            if !a.is_finite() || !b.is_finite() {
                reasons.push(format!(
                    "a{k}*b{k} = {} * {}",
                    number::short(&display(&model.a, inputs.case.a[k])),
                    number::short(&display(&model.b, inputs.case.b[k]))
                ));
            }
            if let Some((block, format)) = scale
                && k % model.scale.map_or(1, |scale| scale.size) == 0
            {
                for (name, codes) in [("A", &inputs.case.scale_a), ("B", &inputs.case.scale_b)] {
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
    fn fma_chain(&self, sections: &[Section<'_>]) -> String {
        let mut table = Table::new(&[">k", ">a*b", ">accumulator", ">exact", ">rounded", "code", ">lost"]);
        let mut idle = 0;
        let mut text = String::new();
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
                        describe::code(format, *code),
                        style::lost(&number::short(&chain_loss(terms, *code, format))),
                    ]);
                }
                steps => {
                    let steps: String = steps.iter().map(|step| self.step(step, Some(section))).collect();
                    text += &format!("k = {k}, accumulator {accumulator}: {steps}");
                }
            }
        }
        let idle = match idle {
            0 => String::new(),
            1 => style::dim("1 zero product leaves the accumulator as it is") + "\n",
            count => style::dim(&format!("{count} zero products leave the accumulator as it is")) + "\n",
        };
        let heading = style::strong("FMA along K");
        let table = if table.is_empty() { String::new() } else { table.render(crate::layout::width()) };
        format!("\n{heading}, {}\n{table}{text}{idle}", self.target.model.conversion)
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
