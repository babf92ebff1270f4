//! All rows, by their names.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::row::{Made, Row, has_modifiers};
use super::{bulk, compare, convert, float, integer, matrix, memory, tcgen05, warp};
use crate::decode::decoder::Decoder;
use crate::decode::form::Form;
use crate::error::Error;
use crate::program::{Op, Type};
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
    if let [row] = all.as_slice()
        && matches!(row.made, Made::Free(_))
    {
        return Ok(row);
    }
    let (types, modifiers): (Vec<&str>, Vec<&str>) =
        words.partition(|word| *word == "b128" || Type::named(word).is_some());
    let mut rows = all.iter().filter(|row| row.has_types(&types)).peekable();
    if rows.peek().is_none() {
        return unsupported("PTX does not have these types");
    }
    match rows.find(|row| has_modifiers(row.modifiers, &modifiers)) {
        Some(row) => Ok(row),
        None => {
            let known = |word: &str| {
                all.iter().any(|row| row.modifiers.split([' ', '|', '&', '?']).any(|one| one == word))
            };
            match modifiers.iter().find(|word| !known(word)) {
                Some(word) => unsupported(&format!("'.{word}' is not known here")),
                None => unsupported("PTX does not have these modifiers for this type"),
            }
        }
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
}
