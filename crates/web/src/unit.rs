//! What computes: an instruction of a chip, or one that does not exist, made of it by editing its parameters.

use std::collections::{BTreeMap, HashMap};
use std::sync::{LazyLock, Mutex, PoisonError};

use bitmma_analysis::describe::{lowering, model_parameters};
use bitmma_engine::arithmetic::parameter::{Parameter, Range, Value};
use bitmma_engine::arithmetic::{Conversion, InputFlush, Lowering, Model, Prepared};
use bitmma_engine::catalogue::{Found, Options, find_with_options};
use bitmma_engine::formats::{Format, Rounding};
use bitmma_engine::{Architecture, Revision, model_of};
use serde::{Deserialize, Serialize};

use crate::error::{Error, LONGEST_NAME, at_most};

/// Units of one question, at most.
pub(crate) const MOST: usize = 4;
/// Words that the name of a chip may have: `rtx pro 6000 blackwell`.
const CHIP_WORDS: usize = 4;
/// Elements along K of one dot product, at most.
pub(crate) const LONGEST: usize = 512;

/// A unit as it is asked for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    /// A chip and words that name its instruction, as the command takes them: `h100 wgmma f16 f32`.
    pub(crate) unit: String,
    /// Parameters that are other than the instruction's, by their symbols.
    #[serde(default)]
    pub(crate) edit: BTreeMap<String, String>,
}

/// A unit.
#[derive(Clone)]
pub(crate) struct Unit {
    pub(crate) found: Found,
    words: String,
    pub(crate) model: Model,
    /// Elements along K of one instruction.
    pub(crate) step: usize,
    /// What was edited: symbol, before, after.
    pub(crate) edits: Vec<(String, String, String)>,
    remarks: Vec<String>,
}

/// A unit in words, for the page.
#[derive(Serialize)]
pub(crate) struct About {
    /// `hopper wgmma.m64n8k16.f32.f16.f16`, and `(edited)`.
    name: String,
    architecture: &'static str,
    chip: &'static str,
    instruction: String,
    /// What it computes in one line.
    precision: String,
    family: &'static str,
    /// K of one instruction.
    step: usize,
    a: &'static str,
    b: &'static str,
    c: &'static str,
    d: &'static str,
    /// Format of scale factors, and elements that share one.
    scale: Option<(&'static str, usize)>,
    parameters: Vec<Edit>,
    /// What a compiler puts around the operation.
    lowering: Vec<String>,
    edits: Vec<(String, String, String)>,
    remarks: Vec<String>,
    /// The model as a file that the command takes, where it was edited.
    toml: Option<String>,
}

/// A parameter that can be edited.
#[derive(Serialize)]
struct Edit {
    symbol: &'static str,
    meaning: String,
    value: String,
    /// Words to choose from; empty for a number.
    choices: Vec<String>,
    /// Smallest and largest number.
    range: Option<(i64, i64)>,
}

/// The rules for subnormal operands.
const FLUSHES: [(InputFlush, &str); 3] =
    [(InputFlush::Never, "never"), (InputFlush::Positive, "positive"), (InputFlush::Signed, "signed")];

impl Unit {
    /// Reads a unit.
    pub(crate) fn read(asked: &Asked) -> Result<Unit, Error> {
        at_most("the unit", &asked.unit, LONGEST_NAME)?;
        for (symbol, text) in &asked.edit {
            at_most("a parameter's symbol", symbol, LONGEST_NAME)?;
            at_most(symbol, text, LONGEST_NAME)?;
        }
        let Meant { found, options, words } = meant(asked.unit.trim())?;
        let mut model = model_of(&found, Revision::Hardware)?;
        let mut step = found.instruction.products();
        if let Some(every) = options.promote_every {
            model.lowering.add_accumulator_last = Some(Conversion::RNE_FP32);
            step = every;
        }
        let (mut remarks, alike) = (options.remarks.clone(), options.alike.len());
        if alike > 0 {
            remarks.push(format!("{} instructions with this model have these bits", alike + 1));
        }
        let words = if options.promote_every.is_some() { words } else { found.name() };
        let mut unit = Unit { found, words, model, step, edits: vec![], remarks };
        for (symbol, text) in &asked.edit {
            unit.edit(symbol, text.trim())?;
        }
        Prepared::new(&unit.model, unit.step)?;
        Ok(unit)
    }

    /// What can be edited of a unit whose edits cannot be read.
    pub(crate) fn unedited(asked: &Asked) -> Option<About> {
        let plain = Asked { unit: asked.unit.clone(), edit: BTreeMap::new() };
        Some(Unit::read(&plain).ok()?.about())
    }

    /// Reads some units; one that cannot be read is an error of its own.
    pub(crate) fn read_all(asked: &[Asked]) -> Result<Vec<Result<Unit, Error>>, Error> {
        match asked.len() {
            1..=MOST => Ok(asked.iter().map(Unit::read).collect()),
            given => Err(Error::new(format!("{given} units were asked for; 1 to {MOST} are compared"))),
        }
    }

    /// Its chip and instruction, and whether it was edited.
    pub(crate) fn name(&self) -> String {
        let edited = if self.edits.is_empty() { "" } else { " (edited)" };
        format!("{} {}{edited}", self.found.instruction.architecture, self.found.name())
    }

    /// What names its instruction, as it was asked for: that may say more than the instruction's name.
    pub(crate) fn asked(&self) -> &str {
        &self.words
    }

    /// The model for `k` elements: that of several instructions in a row, where one has fewer.
    pub(crate) fn for_length(&self, k: usize) -> Model {
        let mut model = self.model.clone();
        if k > self.step {
            model.operation = model.operation.with_length(model.length(self.step));
        }
        model
    }

    /// K of a dot product of `given` elements: whole instructions, each of which starts from the result of the one before it.
    pub(crate) fn length(&self, given: usize) -> Result<usize, Error> {
        if given <= self.step {
            return Ok(self.step);
        }
        let model = &self.model;
        if model.lowering != Lowering::NONE || model.c != model.d {
            return Err(Error::new(format!(
                "{given} values were given; {} takes K = {}, and its result cannot be the C of the next one",
                self.name(),
                self.step
            )));
        }
        let k = given.next_multiple_of(self.step);
        if k > LONGEST {
            return Err(Error::new(format!("{given} values were given; at most K = {LONGEST} is shown")));
        }
        Ok(k)
    }

    /// Everything that the page says of it.
    pub(crate) fn about(&self) -> About {
        let (row, model) = (self.found.instruction, &self.model);
        About {
            name: self.name(),
            architecture: row.architecture.name(),
            chip: row.architecture.papers_chip().unwrap_or(row.architecture.name()),
            instruction: self.found.name(),
            precision: if self.edits.is_empty() {
                row.precision_line(Revision::Hardware)
            } else {
                let parameters = model_parameters(model, Some(self.step));
                let words: Vec<String> =
                    parameters.iter().map(|one| format!("{} = {}", one.symbol, one.text())).collect();
                words.join(", ")
            },
            family: model.operation.name(),
            step: self.step,
            a: model.a.name,
            b: model.b.name,
            c: model.c.name,
            d: model.d.name,
            scale: model.scale.map(|scale| (scale.format.name, scale.size)),
            parameters: self.parameters(),
            lowering: lowering(&model.lowering),
            edits: self.edits.clone(),
            remarks: self.remarks.clone(),
            toml: (!self.edits.is_empty()).then(|| self.model.to_toml()),
        }
    }

    /// Its parameters, each as it can be edited.
    fn parameters(&self) -> Vec<Edit> {
        let operation = &self.model.operation;
        let of_operation = operation.parameters().map(|(parameter, value)| {
            let row = parameter.row();
            let (choices, range) = match row.range {
                Range::Rounding => (roundings(), None),
                Range::Flag => (vec!["yes".to_owned(), "no".to_owned()], None),
                Range::Bits => (vec![], Some((0, i64::from(MOST_BITS)))),
                Range::Length | Range::PowerOfTwo | Range::Divisor => (vec![], Some((1, 1 << 16))),
                Range::Exponent | Range::Limit => (vec![], Some((-65536, 65536))),
            };
            let (symbol, meaning) = (parameter.key(), row.meaning.to_owned());
            Edit { symbol, meaning, value: value.to_string(), choices, range }
        });
        let mut all: Vec<Edit> = of_operation.collect();
        if !self.model.is_integer() {
            all.push(Edit {
                symbol: "rho",
                meaning: "how each sum becomes a number: ROUNDING-FORMAT".to_owned(),
                value: self.model.conversion.to_string(),
                choices: conversions(&self.model.conversion),
                range: None,
            });
            for (symbol, value, meaning) in [
                ("flush_operands", self.model.flush_operands, "subnormal numbers of A and B read as zero"),
                ("flush_accumulator", self.model.flush_accumulator, "subnormal numbers of C read as zero"),
            ] {
                all.push(Edit {
                    symbol,
                    meaning: meaning.to_owned(),
                    value: flush_name(value).to_owned(),
                    choices: FLUSHES.map(|(_, name)| name.to_owned()).to_vec(),
                    range: None,
                });
            }
        }
        all
    }

    fn edit(&mut self, symbol: &str, text: &str) -> Result<(), Error> {
        let before = self.parameters().into_iter().find(|one| one.symbol == symbol);
        let Some(before) = before else {
            let known: Vec<&str> = self.parameters().iter().map(|one| one.symbol).collect();
            let family = self.model.operation.name();
            return Err(Error::new(format!(
                "{family} has no parameter '{symbol}' to edit; it has {}",
                known.join(", ")
            )));
        };
        if before.value == text {
            return Ok(());
        }
        match symbol {
            "rho" => {
                let conversion: Conversion =
                    text.parse().map_err(|error| Error::new(format!("rho: {error}")))?;
                self.model.conversion = conversion;
                if self.model.lowering.narrow_output.is_none() {
                    self.result_in(conversion.container());
                }
            }
            "flush_operands" => self.model.flush_operands = flush(symbol, text)?,
            "flush_accumulator" => self.model.flush_accumulator = flush(symbol, text)?,
            _ => self.set(symbol, text)?,
        }
        self.model.validate()?;
        self.edits.push((symbol.to_owned(), before.value, text.to_owned()));
        Ok(())
    }

    /// Gives results in a format; the code of NaN is that of another one no more.
    fn result_in(&mut self, format: Format) {
        if self.model.d != format {
            (self.model.d, self.model.nan_code) = (format, None);
        }
    }

    fn set(&mut self, symbol: &str, text: &str) -> Result<(), Error> {
        let parameter = Parameter::ALL.into_iter().find(|parameter| parameter.key() == symbol);
        let Some(parameter) = parameter else { return Ok(()) }; // `edit` asked whether the model has it
        let wrong = |wanted: &str| Error::new(format!("{symbol} is '{text}'; {wanted} is expected"));
        let value = match parameter.row().range {
            Range::Rounding => {
                Value::Rounding(text.parse::<Rounding>().map_err(|error| Error::new(error.to_string()))?)
            }
            Range::Flag => match text {
                "yes" => Value::Flag(true),
                "no" => Value::Flag(false),
                _ => return Err(wrong("yes or no")),
            },
            _ if text == "none" => Value::None,
            _ => Value::Number(text.parse::<i32>().map_err(|_| wrong("an integer"))?.into()),
        };
        // a parameter that cannot be none, or not that number, stays as it is: that is refused by name
        let is_length = matches!(parameter.row().range, Range::Length | Range::PowerOfTwo | Range::Divisor);
        let allowed = match value {
            Value::None => {
                matches!(parameter, Parameter::ZeroExponent | Parameter::ZeroAccumulator)
                    || matches!(parameter, Parameter::AccumulatorBits | Parameter::ProductOverflow)
            }
            Value::Number(number) => match parameter.row().range {
                Range::Exponent | Range::Limit => true,
                _ => number >= i64::from(is_length).into(),
            },
            _ => true,
        };
        if !allowed {
            return Err(wrong(if is_length {
                "an integer of at least 1"
            } else {
                "an integer of at least 0"
            }));
        }
        let edited = self.model.operation.with(parameter, value);
        if let Some((_, given, allowed)) = edited.out_of_range() {
            return Err(Error::new(format!("{symbol} is {given}; {allowed}")));
        }
        self.model.operation = edited;
        Ok(())
    }
}

/// What the name of a unit means.
#[derive(Clone)]
struct Meant {
    found: Found,
    options: Options,
    /// The words after the chip.
    words: String,
}

/// Names that are kept.
const KEPT: usize = 64;

/// What the name of a unit means. The search looks at every chip and instruction, and a page asks for the same ones at every
/// key: they are kept.
fn meant(text: &str) -> Result<Meant, Error> {
    static KNOWN: LazyLock<Mutex<HashMap<String, Meant>>> = LazyLock::new(Mutex::default);
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(meant) = known().get(text) {
        return Ok(meant.clone());
    }
    let (architecture, words) = split(text)?;
    if words.is_empty() {
        return Err(Error::new(format!(
            "'{text}' names a chip; add words that name its instruction, as in '{text} f16 f32'"
        )));
    }
    let (found, options) = find_with_options(architecture, &words)?;
    let meant = Meant { found, options, words };
    let mut known = known();
    if known.len() >= KEPT {
        known.clear();
    }
    known.insert(text.to_owned(), meant.clone());
    Ok(meant)
}

/// Largest F that the page offers.
const MOST_BITS: u32 = bitmma_engine::arithmetic::parameter::MAX_FRACTION_BITS;

fn roundings() -> Vec<String> {
    Rounding::ALL.iter().map(|(_, symbol)| (*symbol).to_owned()).collect()
}

/// The conversions that are offered: each rounding that hardware has into the format there is, and E8M13 and FP16.
fn conversions(now: &Conversion) -> Vec<String> {
    let mut all = vec![now.to_string()];
    for format in [now.format.name, "f32", "e8m13", "f16"] {
        for rounding in ["RNE", "RZ", "RD", "RU", "RA", "RO"] {
            let name = match format.strip_prefix('f') {
                Some(width) => format!("{rounding}-FP{width}"),
                None => format!("{rounding}-{}", format.to_ascii_uppercase()),
            };
            if !all.contains(&name) {
                all.push(name);
            }
        }
    }
    all
}

fn flush_name(flush: InputFlush) -> &'static str {
    FLUSHES.iter().find(|(one, _)| *one == flush).map_or("never", |(_, name)| name)
}

fn flush(symbol: &str, text: &str) -> Result<InputFlush, Error> {
    let found = FLUSHES.iter().find(|(_, name)| *name == text);
    found.map(|(flush, _)| *flush).ok_or_else(|| {
        Error::new(format!("{symbol} is '{text}'; one of never, positive, signed is expected"))
    })
}

/// The chip that a text begins with, and the words after it.
pub(crate) fn split(text: &str) -> Result<(Architecture, String), Error> {
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.is_empty() {
        return Err(Error::new(
            "no unit is named; write a chip and words of its instruction: h100 wgmma f16 f32",
        ));
    }
    for count in (1..=words.len().min(CHIP_WORDS)).rev() {
        if let Ok(architecture) = words[..count].join(" ").parse::<Architecture>() {
            return Ok((architecture, words[count..].join(" ")));
        }
    }
    Err(words[0].parse::<Architecture>().err().map_or_else(|| Error::new("no chip is named"), Error::from))
}
