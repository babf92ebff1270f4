//! What every instruction returned, in words.

use std::collections::BTreeMap;

use bitmma_document::{Document, Table, counted, style};
use bitmma_engine::catalogue::Evidence;
use bitmma_engine::formats::text::{display, hex, to_f64_bits};
use bitmma_engine::{Architecture, Instruction};

use super::class::Class;
use super::{Answer, Comparison, Input, OwnAnswer, Reason};
use crate::account::Loss;

/// Instructions that are named, of those with the same result.
const NAMED: usize = 3;

impl Answer {
    /// The value as the paper writes it: `-0.5`, `0.0`.
    fn decimal(&self) -> String {
        let text = display(&self.row.d, self.d);
        let whole = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        if whole { format!("{text}.0") } else { text }
    }

    /// A key by which answers stand in ascending order, NaN last.
    fn ascending(&self) -> u64 {
        let bits = to_f64_bits(&self.row.d, self.d);
        let sign = 1 << 63;
        if bits & sign == 0 { bits | sign } else { !bits }
    }
}

/// Results in ascending order, each with those that gave it.
type ByValue<'a> = BTreeMap<u64, Vec<&'a Answer>>;

fn by_value<'a>(answers: impl Iterator<Item = &'a Answer>) -> ByValue<'a> {
    let mut groups = ByValue::new();
    for answer in answers {
        groups.entry(answer.ascending()).or_default().push(answer);
    }
    groups
}

/// The results that go into a cell: those of models that were printed or recorded; all where there are none of these.
fn shown(groups: &ByValue<'_>) -> Vec<u64> {
    let known = |one: &&Answer| !matches!(one.row.evidence, Evidence::Inferred { .. });
    let shown: Vec<u64> =
        groups.iter().filter(|(_, answers)| answers.iter().any(known)).map(|(key, _)| *key).collect();
    if shown.is_empty() { groups.keys().copied().collect() } else { shown }
}

/// Names of instructions, the first few of them.
fn names(answers: &[&Answer], most: usize) -> String {
    let mut text: Vec<&str> = answers.iter().take(most).map(|one| &*one.named.instruction).collect();
    let more = format!("{} more", answers.len().saturating_sub(most));
    if answers.len() > most {
        text.push(&more);
    }
    text.join(", ")
}

impl OwnAnswer {
    /// `mine.toml: -0.75 (0xbf400000); also returned by hopper … and 11 more`.
    fn words(&self) -> String {
        let first = self.same.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
        let who = match self.same.len() {
            0 => "no other instruction returns this".to_owned(),
            all if all > NAMED => format!("also returned by {first} and {} more", all - NAMED),
            _ => format!("also returned by {first}"),
        };
        format!("{}: {}; {who}", self.file, style::strong(&self.answer.to_string()))
    }
}

impl Comparison<'_> {
    /// Every result, with who gave it; and, if `why`, what each lost, where that was asked for.
    pub fn document(&self, why: bool) -> Document {
        let own = self.model.as_ref().map_or(String::new(), OwnAnswer::words);
        let document = Document::default().text(own).text(self.answer());
        let document = match self.input == Input::equation_1() {
            true => self.as_in_the_paper(document),
            false => document.table(self.by_answer()),
        };
        document.table(self.not_taken()).text(if why { self.parting() } else { String::new() })
    }

    /// The first sentence.
    fn answer(&self) -> String {
        let different = by_value(self.answers.iter()).len();
        let all = self.answers.len() + self.left_out.len();
        let results = style::strong(&counted(different, "different result"));
        format!("{results}; {} of {all} instructions computed it", self.answers.len())
    }

    /// The paper's table of divergent results, and what has to be said about it.
    fn as_in_the_paper(&self, document: Document) -> Document {
        let any = |class: Class| self.answers.iter().any(|answer| Class::of(answer.row) == class);
        let columns: Vec<Class> =
            Class::ALL.into_iter().filter(|class| *class <= Class::Fp8 || any(*class)).collect();
        let headings = std::iter::once("architecture").chain(columns.iter().map(|class| class.name()));
        let mut table = Table::new(&headings.collect::<Vec<_>>());
        let mut several = vec![];
        for architecture in &self.architectures {
            for composed in [false, true].into_iter().take(1 + usize::from(self.composed)) {
                let cells = self.cells(*architecture, composed, &columns, &mut several);
                if !composed || cells[1..].iter().any(|(_, computed)| *computed) {
                    table.row(cells.into_iter().map(|(cell, _)| cell));
                }
            }
        }
        let preamble = format!(
            "{}\n{}",
            style::strong(
                "Paper, Equation 1: a = (-2^13, -0.5, -0.25, -0.125, 0, …), b = (2^10, 1, 1, 1, 0, …), c = 2^23"
            ),
            style::dim(&format!(
                "d = c + a·b is exactly -0.875. Each cell: results of the architecture's native instructions, revision {}.",
                self.revision
            ))
        );
        several.into_iter().fold(document.table(table).text(preamble), Document::text)
    }

    /// A row of that table, each cell with whether there are results in it; where there are several, who gave them.
    fn cells(
        &self,
        architecture: Architecture,
        composed: bool,
        columns: &[Class],
        several: &mut Vec<String>,
    ) -> Vec<(String, bool)> {
        let label = format!("{architecture}{}", if composed { ", composed" } else { "" });
        let mut cells = vec![(label.clone(), false)];
        for class in columns {
            let mine = |row: &Instruction| {
                row.architecture == architecture
                    && row.composed_of.is_some() == composed
                    && Class::of(row) == *class
            };
            let groups = by_value(self.answers.iter().filter(|answer| mine(answer.row)));
            let shown = shown(&groups);
            let is_left_out = self.left_out.iter().any(|one| mine(one.row) && one.row.unknown.is_none());
            let results: Vec<String> = shown.iter().map(|key| groups[key][0].decimal()).collect();
            cells.push(match (results.is_empty(), is_left_out) {
                (false, _) => (results.join(" or "), true),
                (true, true) => (style::dim("left out"), false),
                (true, false) => (style::dim("N/A"), false),
            });
            if groups.len() > 1 {
                let lines = groups.iter().map(|(key, answers)| {
                    let why = match answers[0].row.evidence {
                        Evidence::Inferred { why } if !shown.contains(key) => {
                            format!(
                                "\n          {}",
                                style::dim(&format!("(not in the table; inferred: {why})"))
                            )
                        }
                        _ => String::new(),
                    };
                    format!("\n  {:>6}  {}{why}", answers[0].decimal(), names(answers, NAMED))
                });
                several.push(format!("{label}, {}:{}", class.name(), lines.collect::<String>()));
            }
        }
        cells
    }

    /// Every result for the user's input, with who gave it.
    fn by_answer(&self) -> Table {
        let mut groups: BTreeMap<(u64, &str, u64, Architecture), Vec<&Answer>> = BTreeMap::new();
        for answer in &self.answers {
            let Answer { row, d, .. } = answer;
            let key = (answer.ascending(), row.d.name, *d, row.architecture);
            groups.entry(key).or_default().push(answer);
        }
        let mut table = Table::new(&[">answer", "code", "architecture", "instructions (by A and B)"]);
        let mut last: Option<(u64, u64, &str)> = None;
        for ((order, format, d, architecture), answers) in &groups {
            let row = answers[0].row;
            let first = last.is_none_or(|(before, ..)| before != *order);
            let same_code = last == Some((*order, *d, *format));
            last = Some((*order, *d, *format));
            table.row([
                if first { style::strong(&display(&row.d, *d)) } else { String::new() },
                if same_code { String::new() } else { format!("{} {format}", hex(&row.d, *d)) },
                architecture.name().to_owned(),
                self.who(answers),
            ]);
        }
        table
    }

    /// Who gave a result, on one architecture and in one format: by name where others of the same class
    /// answered otherwise or where it is one alone, else by class and number.
    fn who(&self, answers: &[&Answer]) -> String {
        let mut parts = Vec::new();
        for class in Class::ALL {
            for composed in [false, true] {
                let alike = |answer: &&Answer| {
                    let (row, first) = (answer.row, answers[0].row);
                    let kin = (row.architecture, row.d) == (first.architecture, first.d);
                    kin && Class::of(row) == class && row.composed_of.is_some() == composed
                };
                let mine: Vec<&Answer> = answers.iter().copied().filter(alike).collect();
                let all = self.answers.iter().filter(alike).count();
                let who = match mine.len() {
                    0 => continue,
                    count if count == all && count > 1 => format!("all {count}"),
                    _ => names(&mine, NAMED),
                };
                parts.push(format!("{}{}: {who}", class.name(), if composed { ", composed" } else { "" }));
            }
        }
        parts.join("\n")
    }

    /// How many instructions did not take the input, and why.
    fn not_taken(&self) -> Table {
        let mut table = Table::new(&[">left out", "why"]);
        let mut add = |count: usize, why: &str| {
            if count > 0 {
                table.row([count.to_string(), why.to_owned()]);
            }
        };
        for (operands, named) in [("ab", "A or B"), ("c", "C")] {
            let mut formats: BTreeMap<&str, usize> = BTreeMap::new();
            for one in &self.left_out {
                if let Reason::Value { operand, format, .. } = &one.reason
                    && operands.contains(*operand)
                {
                    *formats.entry(format).or_default() += 1;
                }
            }
            let each: Vec<String> =
                formats.iter().map(|(format, count)| format!("{format} {count}")).collect();
            add(formats.values().sum(), &format!("{named} cannot hold the input ({})", each.join(", ")));
        }
        let count = |is: fn(&Reason) -> bool| self.left_out.iter().filter(|one| is(&one.reason)).count();
        let short = format!("K is less than {}", self.input.given());
        add(count(|reason| matches!(reason, Reason::Short { .. })), &short);
        let composed = "the compiler composes them of others (--composed takes them in)";
        add(count(|reason| *reason == Reason::Composed), composed);
        add(count(|reason| *reason == Reason::Unknown), "it is not known how they compute");
        table
    }

    /// Every different way to a result, in ascending order of the results: who takes it, and what is lost on it.
    fn parting(&self) -> String {
        let mut text = style::strong("Where they part: what each loses, step by step");
        for answers in by_value(self.answers.iter()).values() {
            // instructions that lose the same, and what that is
            let mut ways: Vec<(&[Loss], Vec<&Answer>)> = vec![];
            for answer in answers {
                let Some(losses) = answer.losses.as_deref() else { continue };
                match ways.iter_mut().find(|(known, _)| *known == losses) {
                    Some((_, alike)) => alike.push(answer),
                    None => ways.push((losses, vec![answer])),
                }
            }
            for (losses, alike) in ways {
                let mut architectures: Vec<&str> =
                    alike.iter().map(|answer| answer.named.architecture).collect();
                architectures.dedup();
                let who = format!("{}: {}", architectures.join(", "), names(&alike, 2));
                text += &format!("\n{}  {}", style::strong(&alike[0].decimal()), style::dim(&who));
                if losses.is_empty() {
                    text += "\n    nothing is lost";
                }
                for loss in losses {
                    text += &format!("\n    {}", loss.in_words(&|lost| style::lost(lost)));
                }
            }
        }
        text
    }
}
