//! Numbers as they are typed: lists of decimals, hexadecimal floats and codes, read into formats.

use bitmma_analysis::dot::Dot;
use bitmma_engine::Case;
use bitmma_engine::arithmetic::{ModelError, Operands, Prepared};
use bitmma_engine::formats::Format;
use bitmma_engine::formats::word::{self, Unread};

use crate::count::count;
use crate::failure::{Failure, Within};
use crate::target::Target;

/// What one dot product takes.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
pub(crate) struct Arguments {
    /// Elements of A along K: "-0.5 0x1p-3 0x3c00 inf"
    ///
    /// Decimal numbers, hexadecimal floats or codes. Missing elements are zero.
    #[arg(short, long, value_name = "VALUES", allow_hyphen_values = true)]
    pub(crate) a: String,
    /// Elements of B along K
    #[arg(short, long, value_name = "VALUES", allow_hyphen_values = true)]
    pub(crate) b: String,
    /// The element of C
    #[arg(short, long, value_name = "VALUE", default_value = "0", allow_hyphen_values = true)]
    pub(crate) c: String,
    /// Scale factors of A, one a block of K [default: 1]
    #[arg(long, value_name = "VALUES", allow_hyphen_values = true)]
    pub(crate) scale_a: Option<String>,
    /// Scale factors of B, one a block of K [default: 1]
    #[arg(long, value_name = "VALUES", allow_hyphen_values = true)]
    pub(crate) scale_b: Option<String>,
    /// Elements along K, for --model [default: those given]
    #[arg(short, long, hide_short_help = true, value_parser = count::<usize>(1..=65536))]
    pub(crate) k: Option<usize>,
    /// Round values that the format lacks, ties to even
    #[arg(long)]
    pub(crate) round: bool,
}

/// The operands of one dot product.
#[derive(Clone, Debug)]
pub(crate) struct Inputs {
    /// As codes.
    pub(crate) case: Case,
    /// What was filled in.
    pub(crate) notes: Vec<String>,
}

impl Inputs {
    /// What is computed of them.
    pub(crate) fn dot<'a>(&'a self, target: &'a Target) -> Dot<'a> {
        Dot { name: &target.name, model: &target.model, case: &self.case }
    }

    /// The same, lent to a model.
    pub(crate) fn operands(&self) -> Operands<'_> {
        let Case { a, b, c, scale_a, scale_b } = &self.case;
        Operands { a, b, c: *c, scale_a, scale_b }
    }

    /// Elements along K.
    pub(crate) fn k(&self) -> usize {
        self.case.a.len()
    }
}

/// The words of a list; commas count as blanks.
pub(crate) fn words(list: &str) -> Vec<&str> {
    list.split(|character: char| character.is_whitespace() || character == ',')
        .filter(|word| !word.is_empty())
        .collect()
}

/// One number in `format`; refused if the format does not have it, unless it may be rounded.
pub(crate) fn read(format: &Format, word: &str, round: bool) -> Result<u64, Failure> {
    advised(format, word, round, ": write that, or add --round")
}

/// One number in `format`, refused if the format does not have it, of a command that has no `--round`.
pub(crate) fn exactly(format: &Format, word: &str) -> Result<u64, Failure> {
    advised(format, word, false, ": write that")
}

fn advised(format: &Format, word: &str, round: bool, inexact: &str) -> Result<u64, Failure> {
    word::read(format, word, round).map_err(|why| {
        let advice = if matches!(why, Unread::Inexact { .. }) { inexact } else { "" };
        Failure::new(format!("{why}{advice}"))
    })
}

/// A list of numbers, each named in a failure by its place.
pub(crate) fn read_list(name: &str, format: &Format, list: &str, round: bool) -> Result<Vec<u64>, Failure> {
    words(list)
        .iter()
        .enumerate()
        .map(|(index, word)| read(format, word, round).within(format!("{name}[{index}]")))
        .collect()
}

/// Which numbers of a list the format does not have, and what they are rounded to; the first few.
fn rounded(name: &str, format: &Format, list: &str) -> Vec<String> {
    let words = words(list);
    let changed =
        words.iter().enumerate().filter_map(|(index, word)| match word::read(format, word, false) {
            Err(Unread::Inexact { nearest, .. }) => {
                Some(format!("{name}[{index}]: {word} is rounded to {nearest}"))
            }
            _ => None,
        });
    let mut notes: Vec<String> = changed.collect();
    let more = notes.len().saturating_sub(SHOWN);
    notes.truncate(SHOWN);
    if more > 0 {
        notes.push(format!("{name}: {more} more are rounded"));
    }
    notes
}

/// Numbers that are shown as rounded, of one operand.
const SHOWN: usize = 4;

/// A zero; for a format without one (UE8M0), one.
pub(crate) fn zero(format: &Format) -> u64 {
    if format.subnormals { 0 } else { format.one_code() }
}

impl Arguments {
    /// Reads everything into the target's formats and fills A and B up with zeros.
    pub(crate) fn read(&self, target: &Target) -> Result<Inputs, Failure> {
        let model = &target.model;
        let mut a = read_list("A", &model.a, &self.a, self.round)?;
        let mut b = read_list("B", &model.b, &self.b, self.round)?;
        let c = match words(&self.c)[..] {
            [word] => read(&model.c, word, self.round).within("C")?,
            ref several => {
                bail!("C has {} values; it takes one", several.len());
            }
        };
        let longest = a.len().max(b.len()).max(1);
        let k = match (target.k, self.k) {
            (Some(k), Some(given)) if given != k => bail!("K is {given}; {} takes K = {k}", target.name),
            (Some(k), _) | (None, Some(k)) => k,
            (None, None) => fitting(target, longest)?,
        };
        let mut notes = target.options.remarks.clone();
        if self.round {
            for (name, format, list) in
                [("A", &model.a, &self.a), ("B", &model.b, &self.b), ("C", &model.c, &self.c)]
            {
                notes.extend(rounded(name, format, list));
            }
        }
        for (name, codes) in [("A", &a), ("B", &b)] {
            if codes.len() > k {
                let given = codes.len();
                bail!("{name} has {given} values; {} takes K = {k}", target.name);
            }
        }
        match (a.len(), b.len()) {
            (x, y) if x == k && y == k => {}
            (x, y) if x == y => {
                notes.push(format!("A and B have {x} of K = {k} values; the other {} are zero", k - x));
            }
            (x, y) => notes.push(format!("A has {x} and B has {y} of K = {k} values; the others are zero")),
        }
        a.resize(k, zero(&model.a));
        b.resize(k, zero(&model.b));
        let scale_a = self.scales("A", self.scale_a.as_deref(), target, k, &mut notes)?;
        let scale_b = self.scales("B", self.scale_b.as_deref(), target, k, &mut notes)?;
        Ok(Inputs { case: Case { a, b, c, scale_a, scale_b }, notes })
    }

    fn scales(
        &self,
        operand: &str,
        given: Option<&str>,
        target: &Target,
        k: usize,
        notes: &mut Vec<String>,
    ) -> Result<Vec<u64>, Failure> {
        let Some(scale) = target.model.scale else {
            return match given {
                None => Ok(Vec::new()),
                Some(_) => Err(Failure::new(format!("{} takes no scale factors", target.name))),
            };
        };
        let count = k / scale.size;
        let Some(list) = given else {
            notes.push(format!("the scale factors of {operand} ({count} {}) are one", scale.format));
            return Ok(vec![scale.format.one_code(); count]);
        };
        let codes = read_list(&format!("scale {operand}"), &scale.format, list, self.round)?;
        if codes.len() != count {
            bail!(
                "{operand} has {} scale factors; K = {k} in blocks of {} takes {count}",
                codes.len(),
                scale.size
            );
        }
        Ok(codes)
    }
}

/// The smallest K of at least `longest` that the model takes.
fn fitting(target: &Target, longest: usize) -> Result<usize, Failure> {
    let mut k = longest;
    loop {
        match Prepared::new(&target.model, k) {
            Err(ModelError::Length { multiple, .. }) if !k.is_multiple_of(multiple) => {
                k = k.next_multiple_of(multiple);
            }
            other => return Ok(other.map(|_| k)?),
        }
    }
}
