//! One dot product through each of some units: their results side by side, every step, and why they differ.

use bitmma_analysis::Dyadic;
use bitmma_analysis::account::{Account, account, exact_dot, ulp};
use bitmma_analysis::discrepancy::{Answer, answer};
use bitmma_engine::arithmetic::{Model, Step};
use bitmma_engine::explain::explain as steps_of;
use bitmma_engine::formats::text::{display, hex};
use bitmma_engine::formats::{Class, Format, decode};
use serde::{Deserialize, Serialize};

use crate::copy::{Copies, copies};
use crate::error::Error;
use crate::input::{Bits, Inputs, Typed, word_format};
use crate::picture::{Answered, Part, parts, readings};
use crate::unit::{About, Asked, Unit};
use crate::why::sentence;

/// Units and what goes in.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    units: Vec<Asked>,
    #[serde(default)]
    input: Typed,
}

/// What each unit made of it.
#[derive(Serialize)]
pub(crate) struct Explained {
    units: Vec<One>,
    /// Whether all that answered agree.
    agree: bool,
}

/// A unit's answer, or why it has none.
#[derive(Serialize)]
#[serde(untagged)]
enum One {
    Answered(Box<Full>),
    Failed {
        error: String,
        /// The unit, where only its operands could not be read; without its edits, where these could not.
        unit: Option<Box<About>>,
    },
}

#[derive(Serialize)]
struct Full {
    unit: About,
    k: usize,
    notes: Vec<String>,
    operands: Operands,
    parts: Vec<Part>,
    d: Answered,
    /// Inputs that were rounded to the unit's formats.
    rounded: usize,
    /// The exact dot product of the operands as they were given, after that rounding.
    exact: Option<String>,
    /// D minus that.
    error: Option<String>,
    /// The same in units of D's last bit.
    ulps: Option<f64>,
    /// Which of the different results it is, from 0 in the order of the units.
    group: usize,
    /// Why it is not the exact one, or not that of the first unit.
    why: String,
    /// The same question to the command and to the Python package.
    copies: Copies,
}

/// The operands that can be clicked: those that are not filled up.
#[derive(Serialize)]
struct Operands {
    a: Vec<Operand>,
    b: Vec<Operand>,
    c: Operand,
    scale_a: Vec<Operand>,
    scale_b: Vec<Operand>,
}

#[derive(Serialize)]
struct Operand {
    value: String,
    code: String,
    bits: Bits,
}

impl Operand {
    fn new(format: &Format, code: u64) -> Operand {
        Operand {
            value: display(&word_format(format), code),
            code: hex(format, code),
            bits: Bits::of(format, code),
        }
    }
}

/// A unit that computed something.
pub(crate) struct Computed {
    pub(crate) model: Model,
    pub(crate) inputs: Inputs,
    pub(crate) d: u64,
    pub(crate) answer: Answer,
    /// What it lost; none for sums of integers.
    pub(crate) account: Option<Account>,
    pub(crate) steps: Vec<Step>,
    /// The exact dot product of the operands as they were given, bits that are not read included; none if one is not finite.
    pub(crate) given: Option<Dyadic>,
    /// Whether D is that.
    pub(crate) is_exact: bool,
    /// Instructions in a row, and operations of each.
    pub(crate) instructions: (usize, usize),
}

impl Computed {
    /// D as a number.
    pub(crate) fn value(&self) -> Option<Dyadic> {
        Dyadic::of_code(&self.model.d, self.d)
    }

    /// Where an operation is along K: `step 2`, or `instruction 3, step 1` where there are several.
    pub(crate) fn place(&self, operation: usize) -> String {
        match self.instructions {
            (1, _) => format!("step {}", operation + 1),
            (_, 1) => format!("instruction {}", operation + 1),
            (_, each) => format!("instruction {}, step {}", operation / each + 1, operation % each + 1),
        }
    }
}

/// Explains.
pub(crate) fn explain(question: &Question) -> Result<Explained, Error> {
    let units = Unit::read_all(&question.units)?;
    let mut groups: Vec<Answer> = vec![];
    let mut first: Option<Computed> = None;
    let mut all = vec![];
    for (unit, asked) in units.into_iter().zip(&question.units) {
        let one = match unit {
            Err(error) => One::Failed { error: error.to_string(), unit: Unit::unedited(asked).map(Box::new) },
            Ok(unit) => match full(&unit, &question.input, &mut groups, &mut first) {
                Ok(full) => One::Answered(Box::new(full)),
                Err(error) => One::Failed { error: error.to_string(), unit: Some(Box::new(unit.about())) },
            },
        };
        all.push(one);
    }
    Ok(Explained { units: all, agree: groups.len() <= 1 })
}

fn full(
    unit: &Unit,
    typed: &Typed,
    groups: &mut Vec<Answer>,
    first: &mut Option<Computed>,
) -> Result<Full, Error> {
    let inputs = typed.read(unit)?;
    let case = &inputs.case;
    let k = case.a.len();
    let model = unit.for_length(k);
    let explanation = steps_of(&model, &case.operands())?;
    let d = explanation.d;
    let answered = answer(&model.d, d);
    let group = groups.iter().position(|one| *one == answered).unwrap_or_else(|| {
        groups.push(answered);
        groups.len() - 1
    });
    let account = account(&model, case, true).ok();
    let mut notes = inputs.notes.clone();
    notes.extend(readings(&explanation.steps));
    let filled = |text: &str| crate::input::words(text).len();
    let typed_until = filled(&typed.a).max(filled(&typed.b));
    let of = |format: &Format, codes: &[u64], count: usize| -> Vec<Operand> {
        codes.iter().take(count).map(|code| Operand::new(format, *code)).collect()
    };
    let scales = |codes: &[u64]| model.scale.map_or(vec![], |scale| of(&scale.format, codes, codes.len()));
    let operands = Operands {
        a: of(&model.a, &case.a, typed_until),
        b: of(&model.b, &case.b, typed_until),
        c: Operand::new(&model.c, case.c),
        scale_a: scales(&case.scale_a),
        scale_b: scales(&case.scale_b),
    };
    // of the operands as they are given, bits that are not read included
    let given_model = Model { a: word_format(&model.a), b: word_format(&model.b), ..model.clone() };
    let exact = exact_dot(&given_model, case, &model.c);
    let error = exact.as_ref().and_then(|exact| Some(&Dyadic::of_code(&model.d, d)? - exact));
    let of_last_bit =
        error.as_ref().filter(|_| !model.is_integer() && decode(&model.d, d).class != Class::Nan);
    let ulps = of_last_bit.map(|error| {
        let format = if model.conversion.container() == model.d { model.conversion.format } else { model.d };
        error.scaled(-ulp(&format, &model.d, d)).to_f64()
    });
    let about = unit.about();
    let copies = copies(unit, &model, case, typed_until);
    let steps = explanation.steps;
    let instructions = (k / unit.step).max(1);
    let operations = steps.iter().filter(|step| matches!(step, Step::Begin { .. })).count();
    let instructions = (instructions, (operations / instructions).max(1));
    let parts = parts(&steps, instructions, (&model.d, d));
    let is_exact = error.as_ref().is_some_and(Dyadic::is_zero);
    let given = exact.clone();
    let computed =
        Computed { model, inputs, d, answer: answered, account, steps, given, is_exact, instructions };
    let why = sentence(&computed, first.as_ref());
    let full = Full {
        unit: about,
        k,
        notes,
        operands,
        parts,
        d: Answered::new(&computed.model.d, d),
        rounded: computed.inputs.rounded,
        exact: exact.map(|exact| exact.to_string()),
        error: error.map(|error| error.to_string()),
        ulps,
        group,
        why,
        copies,
    };
    first.get_or_insert(computed);
    Ok(full)
}
