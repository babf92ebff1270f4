//! Whether a kernel handles addresses as data: it stores them, compares them with what memory holds, or goes where memory leads.
//!
//! Such a kernel sees the addresses that its caller sees, where the launch says them. Every other one cannot tell which addresses
//! its buffers have, and theirs have gaps between them. Registers are followed without regard to the order of instructions.

use crate::text::{Base, Function, Instruction, Operand, RegisterId, Width};

/// What a kernel does with addresses besides accessing memory there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Addresses {
    /// Bits of the parameters whose values are stored or compared with what memory holds; from the 64th on all have one bit.
    stored: u64,
    /// Whether it accesses memory where a value leads that it has loaded.
    loaded: bool,
}

impl Addresses {
    pub(crate) fn of(function: &Function) -> Addresses {
        let mut found = Found {
            function,
            pointers: pointers(function),
            derived: vec![0; function.registers.len() + 1],
            loaded: vec![false; function.registers.len() + 1],
        };
        // the second depends on all of the first
        while function.instructions.iter().fold(false, |new, one| found.derive(one) | new) {}
        while function.instructions.iter().fold(false, |new, one| found.load(one) | new) {}
        let all = function.instructions.iter();
        Addresses {
            stored: all.clone().fold(0, |stored, one| stored | found.stored(one)),
            loaded: all.clone().any(|one| found.follows(one)),
        }
    }

    /// Whether addresses are data if these parameters are pointers.
    pub(crate) fn are_data(self, mut pointers: impl Iterator<Item = usize>) -> bool {
        self.loaded || pointers.any(|at| self.stored & bit(at) != 0)
    }
}

fn bit(parameter: usize) -> u64 {
    1 << parameter.min(63)
}

/// Bits of the parameters that may be pointers: those that say so, and where none does all that have room for one.
fn pointers(function: &Function) -> u64 {
    let says = function.parameters.iter().any(|one| one.pointer);
    let all = function.parameters.iter().enumerate();
    let may_be = all.filter(|(_, one)| one.bytes > 8 || one.bytes == 8 && (one.pointer || !says));
    may_be.fold(0, |all, (at, _)| all | bit(at))
}

/// What is known of registers; the last place is that of local memory.
struct Found<'f> {
    function: &'f Function,
    /// Bits of the parameters that may be pointers.
    pointers: u64,
    /// Bits of the parameters that a value was computed from.
    derived: Vec<u64>,
    /// Whether a value may be an address that was loaded.
    loaded: Vec<bool>,
}

/// Whether the form of an access names a space, as `.shared`, `.shared::cta` do that of shared memory.
fn is_space(at: &Instruction, space: &str) -> bool {
    at.form.split('.').skip(1).any(|word| word.split("::").next() == Some(space))
}

/// Calls `each` with every register of an operand that is not an address.
fn values(operand: &Operand, each: &mut impl FnMut(RegisterId)) {
    match operand {
        Operand::Register(id) => each(*id),
        Operand::Vector(all) => all.iter().for_each(|one| values(one, each)),
        Operand::Pair(a, b) => [a, b].into_iter().for_each(|one| values(one, each)),
        _ => {}
    }
}

impl Found<'_> {
    fn local(&self) -> usize {
        self.derived.len() - 1
    }

    fn derived(&self, operand: &Operand) -> u64 {
        let mut all = 0;
        values(operand, &mut |id| all |= self.derived[id as usize]);
        all
    }

    fn loaded(&self, operand: &Operand) -> bool {
        let mut any = false;
        values(operand, &mut |id| any |= self.loaded[id as usize]);
        any
    }

    /// The parameters that an instruction reads by their names, or all if it reads them by an address.
    fn parameters(&self, at: &Instruction) -> u64 {
        let named = |name: &str| self.function.parameters.iter().position(|one| one.name == name);
        at.operands.iter().fold(0, |all, operand| match operand {
            Operand::Address(Base::Symbol(name), _) => all | named(name).map_or(0, bit),
            Operand::Address(..) if is_space(at, "param") => u64::MAX,
            _ => all,
        })
    }

    /// Notes what the results of an instruction are computed from; whether that is new.
    fn derive(&mut self, at: &Instruction) -> bool {
        let all = |operands: &[Operand]| operands.iter().fold(0, |all, one| all | self.derived(one));
        let (results, rest) = at.operands.split_at(1.min(at.operands.len()));
        let value = match at.name() {
            "st" if is_space(at, "local") => {
                let value = all(rest) & !self.derived[self.local()];
                let local = self.local();
                self.derived[local] |= value;
                return value != 0;
            }
            "st" | "red" | "atom" | "setp" | "set" => 0,
            "ld" if is_space(at, "local") => self.derived[self.local()],
            "ld" => self.parameters(at),
            _ => all(rest),
        };
        let mut is_new = false;
        let derived = &mut self.derived;
        results.iter().for_each(|operand| {
            values(operand, &mut |id| {
                is_new |= derived[id as usize] | value != derived[id as usize];
                derived[id as usize] |= value;
            });
        });
        is_new
    }

    /// Notes whether the results of an instruction may be addresses that were loaded; whether that is new.
    fn load(&mut self, at: &Instruction) -> bool {
        let (results, rest) = at.operands.split_at(1.min(at.operands.len()));
        let is_wide = |operand: &Operand| match operand {
            Operand::Register(id) => self.function.registers[*id as usize].width == Width::Wide,
            _ => true,
        };
        // what is added to a pointer that was passed is none
        let is_offset = |operand: &Operand| self.derived(operand) & self.pointers == 0;
        let value = match (at.name(), rest) {
            ("st", _) if is_space(at, "local") => {
                let local = self.local();
                let is_new = !self.loaded[local] && rest.iter().any(|one| self.loaded(one));
                self.loaded[local] |= is_new;
                return is_new;
            }
            ("ld", _) if is_space(at, "local") => self.loaded[self.local()],
            ("ld", _) => self.parameters(at) == 0 && !is_space(at, "param"),
            ("ldu" | "atom", _) => true,
            ("st" | "red" | "setp" | "set" | "mul" | "shl" | "shr", _) => false,
            ("mad", [a, b, c]) => self.loaded(c) && is_offset(a) && is_offset(b),
            ("sub", [a, b]) => self.loaded(a) && is_offset(b),
            ("add", [a, b]) => self.loaded(a) && is_offset(b) || self.loaded(b) && is_offset(a),
            ("cvt", [a]) => is_wide(a) && self.loaded(a),
            _ => rest.iter().any(|one| self.loaded(one)),
        };
        let mut is_new = false;
        let loaded = &mut self.loaded;
        if value {
            results.iter().for_each(|operand| {
                values(operand, &mut |id| is_new |= !std::mem::replace(&mut loaded[id as usize], true));
            });
        }
        is_new
    }

    /// The parameters whose values an instruction stores or prints, or compares with what was loaded.
    fn stored(&self, at: &Instruction) -> u64 {
        let rest = at.operands.get(1..).unwrap_or_default();
        match (at.name(), rest) {
            ("st", _) if is_space(at, "local") => 0,
            ("st" | "red" | "atom" | "stmatrix", _) => {
                rest.iter().fold(0, |all, one| all | self.derived(one))
            }
            ("call", _) => self.derived[self.local()],
            // a tensor map holds an address
            ("tensormap", _) => u64::MAX,
            ("setp" | "set" | "sub", [a, b, ..]) => {
                let of = |a: &Operand, b: &Operand| if self.loaded(a) { self.derived(b) } else { 0 };
                of(a, b) | of(b, a)
            }
            _ => 0,
        }
    }

    /// Whether an instruction accesses memory where a loaded address leads.
    fn follows(&self, at: &Instruction) -> bool {
        let is_global = !["shared", "local", "param"].into_iter().any(|space| is_space(at, space));
        let leads = |operand: &Operand| match operand {
            Operand::Address(Base::Register(id), _) => {
                let is_wide = self.function.registers[*id as usize].width == Width::Wide;
                is_wide && self.loaded[*id as usize]
            }
            _ => false,
        };
        let mut all = at.operands.iter().flat_map(|operand| match operand {
            Operand::Vector(all) => all.as_slice(),
            one => std::slice::from_ref(one),
        });
        let copies = at.name() == "cp";
        at.name() != "mbarrier" && (is_global || copies) && all.any(leads)
    }
}
