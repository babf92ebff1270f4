//! All rows, by their names.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::row::{Made, Row, has_modifiers, is_type};
use super::{bulk, compare, convert, float, integer, matrix, memory, tcgen05, warp};
use crate::decode::decoder::Decoder;
use crate::decode::form::Form;
use crate::error::Error;
use crate::program::Op;
use crate::text::{Instruction, Operand};

const FAMILIES: &[&[Row]] = &[
    integer::ROWS,
    float::ROWS,
    compare::ROWS,
    convert::ROWS,
    memory::ROWS,
    bulk::ROWS,
    warp::ROWS,
    matrix::ROWS,
    tcgen05::ROWS,
];

static BY_NAME: LazyLock<HashMap<&'static str, Vec<&'static Row>>> = LazyLock::new(|| {
    let mut names: HashMap<&str, Vec<&Row>> = HashMap::new();
    FAMILIES
        .iter()
        .flat_map(|family| family.iter())
        .for_each(|row| names.entry(row.name).or_default().push(row));
    names
});

/// The row of a form. An error says why there is none.
pub(crate) fn find(instruction: &Instruction) -> Result<&'static Row, Error> {
    let unsupported = |why: &str| Err(Error::unsupported(instruction.line, &instruction.form, why));
    let mut words = instruction.form.split('.');
    let Some(all) = words.next().and_then(|name| BY_NAME.get(name)) else { return unsupported("") };
    let words: Vec<&str> = words.collect();
    let types: Vec<&str> = words.iter().copied().filter(|word| is_type(word)).collect();
    let mut rows = all.iter().filter(|row| row.has_types(&types)).peekable();
    let has_types = rows.peek().is_some();
    let row = rows.find(|row| has_modifiers(row.modifiers, &words));
    if let Some(row) = row.or_else(|| all.iter().find(|row| matches!(row.made, Made::Free(_)))) {
        return Ok(row);
    }
    if !has_types {
        return unsupported("PTX does not have these types");
    }
    let known = |word: &str| {
        all.iter().any(|row| row.modifiers.split([' ', '|', '&', '?', '=']).any(|one| one == word))
    };
    match words.iter().find(|word| !is_type(word) && !known(word)) {
        Some(word) => unsupported(&format!("'.{word}' is not known here")),
        None => unsupported("PTX does not have these modifiers for this type"),
    }
}

/// How many of the first operands of an instruction are results.
pub(crate) fn results(instruction: &Instruction) -> usize {
    match instruction.name() {
        "bar" | "barrier" if !instruction.has("red") => 0,
        "wgmma" if !instruction.has("mma_async") => 0,
        "tcgen05" if instruction.has("ld") => 1,
        "wmma" if instruction.has("store") => 0,
        "call" if !matches!(instruction.operands.first(), Some(Operand::Vector(_))) => 0,
        "mbarrier"
            if !["arrive", "arrive_drop", "test_wait", "try_wait", "pending_count"]
                .iter()
                .any(|word| instruction.has(word)) =>
        {
            0
        }
        name => BY_NAME.get(name).map_or(1, |rows| rows[0].results),
    }
}

/// Whether all that an instruction does is to compute its results.
pub(crate) fn is_pure(instruction: &Instruction) -> bool {
    BY_NAME.get(instruction.name()).is_some_and(|rows| rows[0].is_pure)
}

impl Decoder<'_> {
    /// What an instruction becomes.
    pub(crate) fn operation(&mut self, instruction: &Instruction) -> Result<Op, Error> {
        let row = find(instruction)?;
        row.check(instruction, self.architecture)?;
        self.check_results(instruction)?;
        match row.made {
            Made::Computed(computation) => self.computed(computation(instruction), instruction),
            Made::Refused(why) => Err(Error::unsupported(instruction.line, &instruction.form, why)),
            Made::Decoded(decode) => decode(self, instruction),
            Made::Free(decode) => {
                let mut form = Form::of(instruction);
                let op = decode(self, &mut form, instruction)?;
                form.finish()?;
                Ok(op)
            }
        }
    }

    /// An error if a result goes into a constant, which it would change for all that read it.
    fn check_results(&self, at: &Instruction) -> Result<(), Error> {
        let mut results: Vec<&Operand> = at.operands.iter().take(results(at)).collect();
        while let Some(operand) = results.pop() {
            match operand {
                Operand::Vector(all) => results.extend(all),
                Operand::Pair(a, b) => results.extend([a.as_ref(), b.as_ref()]),
                Operand::Register(_) | Operand::Address(..) | Operand::Sink => {}
                _ => return Err(self.wrong(operand, "a register for its result", at)),
            }
        }
        Ok(())
    }
}
