//! PTX text as a tree: registers resolved, scopes and labels gone, nothing decoded yet.

mod expand;
mod fragments;
mod inline;
mod lexer;
mod parser;
mod passed;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crate::error::Error;
pub(crate) use expand::expanded;
pub(crate) use inline::inlined;

/// A whole file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Module {
    /// As in `sm_90a`; empty where the file names none.
    pub(crate) target: String,
    /// As in `8.4`.
    pub(crate) version: String,
    /// Variables outside of functions.
    pub(crate) variables: Vec<Variable>,
    /// `.entry` functions, in the order of the text.
    pub(crate) entries: Vec<Function>,
    /// Entries that are not understood: the name, the line, and why.
    pub(crate) refused: Vec<(String, u32, String)>,
    /// The text itself.
    pub(crate) text: Arc<str>,
    /// Bytes of the text that ptxas is not asked about: `.file`, `.loc` and debug sections, and entries that are not understood.
    pub(crate) remarks: Vec<Range<usize>>,
    /// Bytes of the text of device functions.
    pub(crate) helpers: Vec<Range<usize>>,
    /// Device functions, by their names; an error where one is not understood, which matters only if it is called.
    pub(crate) functions: HashMap<String, Read>,
}

/// A device function, or the line that is not understood, and why.
pub(crate) type Read = Result<Function, (u32, String)>;

/// Where a variable lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Space {
    Global,
    Constant,
    Shared,
    Local,
    Parameter,
}

impl Space {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Space::Global => "global",
            Space::Constant => "constant",
            Space::Shared => "shared",
            Space::Local => "local",
            Space::Parameter => "parameter",
        }
    }
}

/// A variable of memory.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) space: Space,
    pub(crate) align: u64,
    /// None: as large as the launch says (`.extern .shared … []`).
    pub(crate) bytes: Option<u64>,
    /// An error where the initial values are not understood.
    pub(crate) initial: Result<Vec<u8>, (u32, String)>,
}

/// A parameter of an entry.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    /// As in `u64`, without the point.
    pub(crate) kind: String,
    pub(crate) bytes: u64,
    pub(crate) align: u64,
    /// Whether it says that it is a pointer.
    pub(crate) pointer: bool,
}

/// A register of a function.
#[derive(Clone, Debug)]
pub(crate) struct Register {
    pub(crate) name: String,
    pub(crate) width: Width,
}

/// How a register is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Width {
    Predicate,
    /// 8, 16 or 32 bits.
    Word(u32),
    Wide,
}

/// What the name of the upper half of a register of 128 bits ends with.
pub(crate) const UPPER_HALF: &str = "[127:64]";

/// The number of a register in its function.
pub(crate) type RegisterId = u32;

/// What an entry says of the clusters that its blocks are in.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cluster {
    /// Blocks of one (`.reqnctapercluster`).
    pub(crate) required: Option<[u32; 3]>,
    /// How many at most (`.maxclusterrank`).
    pub(crate) most: Option<u32>,
    /// Whether the launch must say them where the entry does not (`.explicitcluster`).
    pub(crate) explicit: bool,
}

/// What a device function takes or returns.
#[derive(Clone, Debug)]
pub(crate) enum Formal {
    Register(RegisterId),
    /// By its name among [`Function::passed`].
    Passed(String),
}

/// A variable that holds what is passed to a device function or returned by one.
#[derive(Clone, Debug)]
pub(crate) struct Passed {
    /// With a number behind `#`, so that no two have the same.
    pub(crate) name: String,
    pub(crate) bytes: u64,
    pub(crate) align: u64,
}

/// An entry or a device function.
#[derive(Clone, Debug, Default)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) line: u32,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) required_block: Option<[u32; 3]>,
    pub(crate) largest_block: Option<[u32; 3]>,
    pub(crate) cluster: Cluster,
    pub(crate) registers: Vec<Register>,
    /// Variables of its own.
    pub(crate) variables: Vec<Variable>,
    pub(crate) instructions: Vec<Instruction>,
    /// Instructions that follow `.pragma "nounroll"`: a loop that starts with one is not unrolled.
    pub(crate) rolled: Vec<usize>,
    /// Its bytes of the text.
    pub(crate) bytes: Range<usize>,
    /// What a device function returns and takes.
    pub(crate) formals: [Vec<Formal>; 2],
    pub(crate) passed: Vec<Passed>,
    /// The first and the last line of each device function whose instructions stand here for its calls.
    pub(crate) inlined: Vec<(u32, u32)>,
}

/// One instruction.
#[derive(Clone, Debug)]
pub(crate) struct Instruction {
    /// From 1.
    pub(crate) line: u32,
    /// The predicate, and whether it is negated.
    pub(crate) guard: Option<(RegisterId, bool)>,
    /// With its modifiers: `ld.global.v4.b32`.
    pub(crate) form: String,
    /// The form that the text has, where a call made another one of it.
    pub(crate) written: Option<String>,
    pub(crate) operands: Vec<Operand>,
    /// Of what contraction made: whether the product is negated, whether the addend is.
    pub(crate) negate: [bool; 2],
    /// File and line that it was compiled from, as `.loc` says; zeros where none does.
    pub(crate) source: [u32; 2],
    /// Its first byte of the text.
    pub(crate) first_byte: usize,
}

/// An operand.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand {
    Register(RegisterId),
    /// `!%p`
    Not(RegisterId),
    /// An integer, two's complement of 64 bits.
    Integer(u64),
    /// The bits of an FP32 number.
    Single(u32),
    /// The bits of an FP64 number.
    Double(u64),
    /// `%tid.x`
    Special(String),
    /// A variable's address, with an offset.
    Symbol(String, i64),
    /// `[…]`
    Address(Base, i64),
    /// `{…}`
    Vector(Vec<Operand>),
    /// `a|b`
    Pair(Box<Operand>, Box<Operand>),
    /// The instruction to go to.
    Label(usize),
    /// `_`
    Sink,
}

/// What an address starts from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Base {
    None,
    Register(RegisterId),
    Symbol(String),
}

impl Function {
    /// Puts others in the place of each instruction, which may need more registers.
    fn replace(
        &mut self,
        mut by: impl FnMut(Instruction, &mut Vec<Register>) -> Result<Vec<Instruction>, Error>,
    ) -> Result<(), Error> {
        let (mut places, mut all) = (vec![], vec![]);
        for instruction in &self.instructions {
            places.push(all.len());
            all.extend(by(instruction.clone(), &mut self.registers)?);
        }
        places.push(all.len());
        for instruction in &mut all {
            instruction.operands.iter_mut().for_each(|operand| operand.retarget(&|target| places[target]));
        }
        self.rolled.iter_mut().for_each(|at| *at = places[*at]);
        self.instructions = all;
        Ok(())
    }
}

impl Operand {
    /// The variable that it names.
    pub(crate) fn symbols(&self) -> Vec<&str> {
        match self {
            Operand::Symbol(name, _) | Operand::Address(Base::Symbol(name), _) => vec![name],
            Operand::Vector(all) => all.iter().flat_map(Operand::symbols).collect(),
            Operand::Pair(one, other) => [one.symbols(), other.symbols()].concat(),
            _ => vec![],
        }
    }

    /// The instructions to go to.
    pub(crate) fn labels(&self) -> Vec<usize> {
        match self {
            Operand::Label(target) => vec![*target],
            Operand::Vector(all) => all.iter().flat_map(Operand::labels).collect(),
            _ => vec![],
        }
    }

    /// Goes elsewhere.
    pub(crate) fn retarget(&mut self, to: &impl Fn(usize) -> usize) {
        match self {
            Operand::Label(target) => *target = to(*target),
            Operand::Vector(all) => all.iter_mut().for_each(|operand| operand.retarget(to)),
            _ => {}
        }
    }
}

impl Module {
    /// Reads a file.
    pub(crate) fn parse(text: &str) -> Result<Module, Error> {
        let mut module = parser::Parser::new(lexer::tokens(text)?).module()?;
        module.text = text.into();
        Ok(module)
    }
}

impl Instruction {
    /// Whether it reads or writes what is passed to a function.
    pub(crate) fn is_passing(&self) -> bool {
        let of = |operand: &Operand| match operand {
            Operand::Address(Base::Symbol(name), _) => name.contains('#'),
            _ => false,
        };
        self.operands.iter().any(of)
    }

    /// What it becomes where a call makes another one of it.
    fn made(&self, form: &str, operands: Vec<Operand>) -> Instruction {
        let written = Some(self.written().to_owned());
        Instruction { form: form.to_owned(), written, operands, ..self.clone() }
    }

    /// The form as the text has it.
    pub(crate) fn written(&self) -> &str {
        self.written.as_deref().unwrap_or(&self.form)
    }

    /// The form's first word.
    pub(crate) fn name(&self) -> &str {
        self.form.split('.').next().unwrap_or("")
    }

    /// Whether one of the form's words after the first is this.
    pub(crate) fn has(&self, modifier: &str) -> bool {
        self.form.split('.').skip(1).any(|word| word == modifier)
    }
}
