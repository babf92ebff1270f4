//! First guesses of compare-and-swap loops.
//!
//! `old = *p; do { assumed = old; old = atomicCAS(p, assumed, f(assumed)); } while (assumed != old);` reads `*p` by a plain load
//! while other threads change it. What it reads decides nothing: a wrong guess exchanges nothing and is replaced by what was found.
//! This is how the CUDA C++ Programming Guide and CUDA's headers write the atomic operations that a GPU lacks.
//!
//! From the load on all paths are followed. It is such a guess if, on each of them, nothing but a computation uses it before a
//! compare-and-swap at the same address compares with the guess itself; the path then branches on whether the guess was what was
//! found; where it was not, the path leads to a compare-and-swap that compares with what was found, or with another guess, before
//! anything has an effect; and nothing later uses what came of the wrong guess.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::rc::Rc;

use crate::flow::{Flow, effects};
use crate::instruction::table::is_pure;
use crate::instruction::warp::scope;
use crate::program::Scope;
use crate::rewrite::goes_around;
use crate::text::{Base, Function, Instruction, Operand, RegisterId, Width};

/// What a register has to do with a guess.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Value {
    Guess,
    /// Computed from the guess.
    Derived,
    /// What was in memory when it was compared with the guess.
    Found,
    /// A predicate, of this value if the guess is what was found.
    Right(bool),
    /// A guess that is not what was found.
    Missed,
    /// Came of a guess that was wrong.
    Wrong,
    /// What a turn has left to the next one, which follows a wrong guess.
    Left,
    /// The low or high half of a guess, or of what was found, by which of the two it is.
    Half {
        high: bool,
        found: bool,
    },
}

/// How far a path is.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Phase {
    /// Memory was not compared yet, or the guess is no longer needed.
    Open,
    /// The guess has decided a branch: a compare-and-swap is due.
    Bound,
    /// A compare-and-swap has had the guess.
    Asked,
    /// It was wrong: another compare-and-swap is due.
    Again,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    /// Registers that have to do with the guess.
    values: BTreeMap<RegisterId, Value>,
    phase: Phase,
    /// What has an effect, and what counts between a compare-and-swap and the branch on what it found, until a guess was wrong.
    passed: BTreeSet<usize>,
    /// Whether one was: it must not lead to what was passed again.
    missed: bool,
    /// Instructions that have written registers since the load, until the guess was wrong.
    written: BTreeSet<usize>,
    /// Of these, those since the compare-and-swap.
    late: BTreeSet<usize>,
    /// The branch on that.
    branch: Option<usize>,
    /// Where paths come together on which the guess was wrong and right; until then this one has no effect that the other lacks.
    apart: Option<usize>,
}

/// An address: the sum of registers, variables and an offset.
type Place = (Vec<Base>, i64);

/// What an address is a sum of, at most.
const MOST_TERMS: usize = 8;

/// Steps along all paths from a load, at most.
const MOST: usize = 100_000;

/// The plain loads that are first guesses, each with the scope of its compare-and-swap.
pub(crate) fn first_guesses(function: &Function, flow: &Flow) -> Vec<(usize, Scope)> {
    let all = &function.instructions;
    let swaps: Vec<usize> =
        (0..all.len()).filter(|at| all[*at].name() == "atom" && all[*at].has("cas")).collect();
    if swaps.is_empty() {
        return vec![];
    }
    let mut writers = vec![vec![]; function.registers.len()];
    for (at, instruction) in all.iter().enumerate() {
        effects(instruction).0.into_iter().for_each(|id| writers[id as usize].push(at));
    }
    let places = Places { function, flow, writers };
    let idle = decide_nothing_but_pauses(function);
    let graph = Graph::of(flow);
    let swaps: Vec<_> = swaps.into_iter().filter_map(|at| Some((at, places.of(at, 1)?))).collect();
    let guess = |load: usize| {
        let place = places.of(load, 1)?;
        let alike =
            |at: &usize| space(&all[*at]) == space(&all[load]) && bits(&all[*at]) == loaded(&all[load]);
        let swaps: Vec<usize> =
            swaps.iter().filter(|(_, other)| *other == place).map(|(at, _)| *at).filter(alike).collect();
        let scope = swaps.iter().map(|at| scope(|word| all[*at].has(word))).min().unwrap_or_default();
        let bases: Vec<RegisterId> = registers(&place.0).collect();
        let moves = bases.iter().any(|base| writes(&all[load], *base));
        if swaps.is_empty() || moves {
            return None;
        }
        let first = reached(&graph.after, &[load], |at| at == load || swaps.contains(&at));
        let leads = reached(&graph.before, &swaps, |at| at == load);
        let writers = &places.writers;
        let mut paths = Paths {
            graph: &graph,
            missed: RefCell::default(),
            function,
            flow,
            load,
            swaps,
            bases,
            writers,
            idle: &idle,
            first,
            leads,
            guessed: HashSet::new(),
        };
        paths.decide_nothing().then_some((load, scope))
    };
    (0..all.len()).filter(|at| is_plain_load(function, *at)).filter_map(guess).collect()
}

/// Whether each register decides at most how long `nanosleep` takes.
fn decide_nothing_but_pauses(function: &Function) -> Vec<bool> {
    let mut idle = vec![true; function.registers.len()];
    let effects: Vec<_> = function.instructions.iter().map(effects).collect();
    loop {
        let before = idle.clone();
        for (instruction, (writes, reads)) in function.instructions.iter().zip(&effects) {
            let is_idle = is_pure(instruction) && writes.iter().all(|id| idle[*id as usize]);
            if !is_idle && instruction.name() != "nanosleep" {
                reads.iter().for_each(|id| idle[*id as usize] = false);
            }
        }
        if idle == before {
            return idle;
        }
    }
}

/// Whether an instruction loads one register, or one in two halves, by a weak access.
fn is_plain_load(function: &Function, at: usize) -> bool {
    let instruction = &function.instructions[at];
    let strong = ["volatile", "relaxed", "acquire", "mmio", "nc", "const", "param", "local"];
    let fits = |operand: &Operand| matches!(operand, Operand::Register(id) if Some(width(function, *id)) == bits(instruction));
    instruction.name() == "ld"
        && !strong.iter().any(|word| instruction.has(word))
        && match instruction.operands.as_slice() {
            [Operand::Vector(parts), Operand::Address(..)] => parts.len() == 2 && parts.iter().all(fits),
            [one, Operand::Address(..)] => fits(one),
            _ => false,
        }
}

/// Bits that an instruction loads.
fn loaded(instruction: &Instruction) -> Option<u32> {
    let parts = if matches!(instruction.operands[0], Operand::Vector(_)) { 2 } else { 1 };
    Some(parts * bits(instruction)?)
}

fn registers(terms: &[Base]) -> impl Iterator<Item = RegisterId> {
    terms.iter().filter_map(|term| if let Base::Register(register) = term { Some(*register) } else { None })
}

fn writes(instruction: &Instruction, register: RegisterId) -> bool {
    effects(instruction).0.contains(&register)
}

fn width(function: &Function, register: RegisterId) -> u32 {
    match function.registers[register as usize].width {
        Width::Predicate => 1,
        Width::Word(bits) => bits,
        Width::Wide => 64,
    }
}

/// Bits of the type that an instruction's form ends with.
fn bits(instruction: &Instruction) -> Option<u32> {
    instruction.form.rsplit('.').next()?.get(1..)?.parse().ok()
}

/// The space of an access; generic addresses of global memory are its own.
fn space(instruction: &Instruction) -> &'static str {
    if instruction.form.contains(".shared") { "shared" } else { "global" }
}

/// Which instructions come after and before each.
struct Graph {
    after: Vec<Vec<usize>>,
    before: Vec<Vec<usize>>,
}

impl Graph {
    fn of(flow: &Flow) -> Graph {
        let mut after = vec![];
        for block in 0..flow.blocks() {
            let last = flow.range(block).end - 1;
            after.extend(flow.range(block).map(|at| match at == last {
                false => vec![at + 1],
                true => {
                    let next = flow.successors(block).filter(|next| *next < flow.blocks());
                    next.map(|next| flow.range(next).start).collect()
                }
            }));
        }
        let mut before = vec![vec![]; after.len()];
        for (at, all) in after.iter().enumerate() {
            all.iter().for_each(|next| before[*next].push(at));
        }
        Graph { after, before }
    }
}

/// What follows a branch on a wrong guess.
struct Missed {
    /// Instructions to which nothing else leads from the load, but for what follows where paths come together.
    only: Vec<bool>,
    /// Instructions that another turn runs.
    turn: Vec<bool>,
    /// Whether the load comes again before a compare-and-swap.
    reloads: bool,
}

/// What comes next to some instructions, and to those in turn, but to none that `stops`.
fn reached(next: &[Vec<usize>], from: &[usize], stops: impl Fn(usize) -> bool) -> Vec<bool> {
    let mut reached = vec![false; next.len()];
    let mut pending = from.to_vec();
    while let Some(at) = pending.pop() {
        for next in &next[at] {
            if !std::mem::replace(&mut reached[*next], true) && !stops(*next) {
                pending.push(*next);
            }
        }
    }
    reached
}

struct Places<'f> {
    function: &'f Function,
    flow: &'f Flow,
    /// Instructions that write each register.
    writers: Vec<Vec<usize>>,
}

impl Places<'_> {
    /// The address of an operand as a sum, as far as what its registers are sums of has the values that it had then.
    fn of(&self, at: usize, operand: usize) -> Option<Place> {
        let Operand::Address(base, offset) = self.function.instructions[at].operands.get(operand)? else {
            return None;
        };
        let (mut terms, mut offset) = (vec![], *offset);
        let mut open = vec![(base.clone(), at)];
        while let Some((term, reader)) = open.pop() {
            let definition = match term {
                Base::Register(register) => self.writers[register as usize].as_slice(),
                _ => &[],
            };
            let sum = match definition {
                [definition] if open.len() + terms.len() < MOST_TERMS => self.sum(*definition),
                _ => None,
            };
            // what the register was a sum of must be so still, here and where the next one reads it
            let stale = |from: RegisterId| {
                let around = |writer: &usize| {
                    [reader, at].iter().any(|to| goes_around(self.flow, *writer, *to, definition))
                };
                self.writers[from as usize].iter().any(around)
            };
            match sum {
                Some((parts, plus)) if !registers(&parts).any(stale) => {
                    offset = offset.wrapping_add(plus);
                    open.extend(parts.into_iter().map(|part| (part, definition[0])));
                }
                _ => terms.push(term),
            }
        }
        terms.sort();
        Some((terms, offset))
    }

    /// What an instruction adds, and the constant that it adds.
    fn sum(&self, at: usize) -> Option<Place> {
        let instruction = &self.function.instructions[at];
        let of_integers =
            || instruction.form.rsplit('.').next().is_some_and(|kind| kind.starts_with(['u', 's', 'b']));
        let integer =
            || bits(instruction).is_some_and(|bits| bits >= 32) && of_integers() && !instruction.has("sat");
        match (instruction.name(), &instruction.operands.as_slice()[1..]) {
            _ if instruction.guard.is_some() => None,
            ("mov", [Operand::Symbol(name, offset)]) => Some((vec![Base::Symbol(name.clone())], *offset)),
            ("mov", [Operand::Register(from)]) => Some((vec![Base::Register(*from)], 0)),
            ("cvta", [Operand::Register(from)]) if instruction.has("global") => {
                Some((vec![Base::Register(*from)], 0))
            }
            ("add", [Operand::Register(from), Operand::Integer(plus)]) if integer() => {
                Some((vec![Base::Register(*from)], *plus as i64))
            }
            ("add", [Operand::Register(a), Operand::Register(b)]) if integer() => {
                Some((vec![Base::Register(*a), Base::Register(*b)], 0))
            }
            _ => None,
        }
    }
}

/// The paths from a load.
struct Paths<'f> {
    graph: &'f Graph,
    /// What follows each branch on a wrong guess.
    missed: RefCell<BTreeMap<usize, Rc<Missed>>>,
    function: &'f Function,
    flow: &'f Flow,
    load: usize,
    /// Compare-and-swaps at its address.
    swaps: Vec<usize>,
    /// The registers that the address is a sum of.
    bases: Vec<RegisterId>,
    /// Instructions that write each register.
    writers: &'f [Vec<usize>],
    /// Registers that decide at most how long `nanosleep` takes.
    idle: &'f [bool],
    /// Which instructions between the load and a first compare-and-swap read what came of the guess, and in which registers.
    guessed: HashSet<(usize, RegisterId)>,
    /// Instructions between the load and a first compare-and-swap.
    first: Vec<bool>,
    /// Instructions that lead to a compare-and-swap without a load.
    leads: Vec<bool>,
}

impl Paths<'_> {
    /// Whether nothing depends on what the load reads.
    fn decide_nothing(&mut self) -> bool {
        // first until the guess is compared
        let asked = |state: &State| state.phase == Phase::Asked;
        self.follow(|paths, at, state| {
            let reads = effects(&paths.function.instructions[at]).1;
            let guessed = |id: &RegisterId| state.values.get(id).is_some_and(|value| value.is_guess());
            paths.guessed.extend(reads.into_iter().filter(guessed).map(|id| (at, id)));
            !asked(state)
        });
        self.follow(|_, _, _| true)
    }

    /// Follows all paths from the load, each as long as it is `wanted`; whether nothing depends on what the load reads.
    fn follow(&mut self, wanted: impl Fn(&mut Self, usize, &State) -> bool) -> bool {
        let values = self.guesses().into_iter().collect();
        let first = State {
            values,
            phase: Phase::Open,
            passed: BTreeSet::new(),
            missed: false,
            written: BTreeSet::new(),
            late: BTreeSet::new(),
            branch: None,
            apart: None,
        };
        let mut seen = HashSet::new();
        let mut pending = vec![(self.load + 1, first)];
        while let Some((at, state)) = pending.pop() {
            if state.phase == Phase::Open && state.values.is_empty() || !seen.insert((at, state.clone())) {
                continue;
            }
            if at < self.function.instructions.len() && !wanted(self, at, &state) {
                continue;
            }
            let Some(next) = self.step(at, state) else { return false };
            pending.extend(next);
            if seen.len() > MOST {
                return false;
            }
        }
        true
    }

    /// The registers that the load writes.
    fn guesses(&self) -> Vec<(RegisterId, Value)> {
        let half = |high| Value::Half { high, found: false };
        match &self.function.instructions[self.load].operands[0] {
            Operand::Register(id) => vec![(*id, Value::Guess)],
            Operand::Vector(parts) => match parts.as_slice() {
                [Operand::Register(low), Operand::Register(high)] => {
                    vec![(*low, half(false)), (*high, half(true))]
                }
                _ => vec![],
            },
            _ => vec![],
        }
    }

    /// What follows an instruction; none if something may depend on the guess.
    fn step(&self, at: usize, mut state: State) -> Option<Vec<(usize, State)>> {
        if state.apart == Some(at) {
            state.apart = None;
        }
        let is_open = state.phase == Phase::Open && state.apart.is_none();
        let Some(instruction) = self.function.instructions.get(at) else { return is_open.then(Vec::new) };
        if instruction.name() == "bra" {
            return self.branch(at, instruction, state);
        }
        let (writes, reads) = effects(instruction);
        let guard = instruction.guard.map(|(guard, _)| guard);
        if guard.is_some_and(|guard| state.depends(guard)) {
            return None;
        }
        let mut next = vec![];
        if guard.is_some() {
            next.push((at + 1, state.clone()));
        }
        let depends = reads.iter().any(|id| state.depends(*id));
        let counts = is_pure(instruction) && reads.iter().any(|id| writes.contains(id));
        let repeats = state.missed && state.passed.contains(&at);
        let mut value = None;
        match instruction.name() {
            "ret" | "exit" | "trap" => return is_open.then_some(next),
            "brx" => return None,
            _ if at == self.load => {
                if depends || matches!(state.phase, Phase::Asked | Phase::Bound) {
                    return None;
                }
                if state.phase == Phase::Open {
                    state.passed.clear();
                    state.missed = false;
                }
                if state.phase == Phase::Again {
                    self.leave(&mut state, |_| true);
                }
                state.forget();
                state.written.clear();
                state.late.clear();
                state.apart = None;
                state.values.extend(self.guesses());
                next.push((at + 1, state));
                return Some(next);
            }
            _ if self.swaps.contains(&at) => {
                let is_apart = state.apart.is_some() && !self.first[at];
                value = state.swap(instruction, is_apart)?;
                if !is_apart {
                    state.apart = None;
                }
            }
            _ if is_pure(instruction) => value = self.computed(instruction, &reads, &state),
            "nanosleep" => {}
            _ if depends => return None,
            "ld" | "fence" | "membar" => {}
            // between a compare-and-swap and the branch on what it found, as where two loops have had their guesses
            "atom" | "red" if state.phase == Phase::Asked => state.pass(at),
            _ if repeats => return None,
            _ if !is_open => return None,
            _ => state.pass(at),
        }
        if state.phase == Phase::Bound {
            value = value.or(Some(Value::Derived));
        }
        if counts && state.phase == Phase::Asked {
            state.pass(at);
        }
        let is_apart = state.phase == Phase::Again || state.apart.is_some();
        if is_apart && self.differs(at, &state, &writes, &reads) {
            value = Some(Value::Wrong);
        }
        if counts && repeats {
            value = Some(Value::Wrong);
        }
        for id in writes.iter().filter(|id| !self.idle[**id as usize]) {
            let part = match (&instruction.operands[0], value) {
                (Operand::Vector(parts), Some(value @ (Value::Guess | Value::Found))) => {
                    let high = !matches!(parts[0], Operand::Register(low) if low == *id);
                    Some(Value::Half { high, found: value == Value::Found })
                }
                _ => value,
            };
            if state.phase != Phase::Again {
                state.written.insert(at);
                if state.phase == Phase::Asked {
                    state.late.insert(at);
                }
            }
            match part {
                Some(value) => _ = state.values.insert(*id, value),
                None => _ = state.values.remove(id),
            }
        }
        if self.bases.iter().any(|base| writes.contains(base)) {
            // another address from here on
            if !is_open {
                return None;
            }
            state.forget();
        }
        next.push((at + 1, state));
        Some(next)
    }

    /// What follows a branch on a wrong guess.
    fn missed(&self, branch: usize, target: usize) -> Rc<Missed> {
        let mut known = self.missed.borrow_mut();
        let found = known.entry(branch).or_insert_with(|| {
            let mut only = reached(&self.graph.after, &[target], |at| at == self.load || self.first[at]);
            let again =
                reached(&self.graph.after, &[target], |at| at == self.load || self.swaps.contains(&at));
            let mut turn = reached(&self.graph.after, &[target], |at| at == self.load);
            if target < turn.len() {
                (only[target], turn[target]) = (true, true);
            }
            turn.iter_mut().zip(&self.leads).for_each(|(turn, leads)| *turn &= leads);
            Rc::new(Missed {
                only,
                turn,
                reloads: target == self.load || again.get(self.load) == Some(&true),
            })
        });
        found.clone()
    }

    /// What a turn has written is what it leaves to the next one, until that one writes it anew.
    fn leave(&self, state: &mut State, is_again: impl Fn(usize) -> bool) {
        for at in state.written.iter().filter(|at| is_again(**at)) {
            for id in effects(&self.function.instructions[*at]).0 {
                if !self.idle[id as usize] {
                    state.values.entry(id).or_insert(Value::Left);
                }
            }
        }
    }

    /// Whether an instruction that follows a wrong guess alone changes what is not to be computed anew from what was found.
    fn differs(&self, at: usize, state: &State, writes: &[RegisterId], reads: &[RegisterId]) -> bool {
        let Some(missed) = state.branch.and_then(|branch| self.missed.borrow().get(&branch).cloned()) else {
            return false;
        };
        let is_only_here = |at: &usize| missed.only[*at] && !self.first[*at];
        let found = |id: &RegisterId| state.values.get(id).is_some_and(|value| value.is_found());
        let anew = |id: &RegisterId| {
            reads.iter().any(found)
                && matches!(state.values.get(id), Some(Value::Wrong | Value::Missed | Value::Found))
        };
        let has_others = |id: &RegisterId| self.writers[*id as usize].iter().any(|at| !is_only_here(at));
        // where the first turn read something else than the guess
        let in_its_place = |id: &RegisterId| self.guessed.contains(&(at, *id));
        match self.first[at] {
            true => reads.iter().any(|id| found(id) && !in_its_place(id)),
            false => is_only_here(&at) && writes.iter().any(|id| has_others(id) && !anew(id)),
        }
    }

    fn branch(&self, at: usize, instruction: &Instruction, mut state: State) -> Option<Vec<(usize, State)>> {
        let [Operand::Label(target)] = instruction.operands.as_slice() else { return None };
        let Some((guard, negated)) = instruction.guard else { return Some(vec![(*target, state)]) };
        // where a path goes if the guess was wrong
        let wrong = |right: bool, state| (if right != negated { at + 1 } else { *target }, state);
        match (state.values.get(&guard).copied(), state.phase) {
            (Some(Value::Right(right)), Phase::Asked) => {
                // where the guess was right, all that came of it is as if the load had been atomic, but not what came of wrong ones
                let mut after = State { phase: Phase::Open, ..state.clone() };
                after.values.retain(|_, value| matches!(value, Value::Wrong | Value::Left));
                for value in state.values.values_mut() {
                    match value {
                        Value::Guess => *value = Value::Missed,
                        Value::Derived | Value::Half { found: false, .. } => *value = Value::Wrong,
                        _ => {}
                    }
                }
                state.phase = Phase::Again;
                state.missed = true;
                state.apart = Some(self.flow.reconverge(at) as usize);
                state.branch = Some(at);
                let missed = self.missed(at, if right != negated { at + 1 } else { *target });
                let late = std::mem::take(&mut state.late);
                self.leave(&mut state, |at| missed.turn[at] || late.contains(&at) && missed.reloads);
                Some(vec![wrong(!right, after), wrong(right, state)])
            }
            (Some(Value::Right(right)), Phase::Again) => Some(vec![wrong(right, state)]),
            (Some(Value::Guess | Value::Derived), Phase::Open | Phase::Bound) => {
                state.phase = Phase::Bound;
                Some(vec![(*target, state.clone()), (at + 1, state)])
            }
            _ if state.depends(guard) => None,
            _ => Some(vec![(*target, state.clone()), (at + 1, state)]),
        }
    }

    /// What a computation makes of the values of its operands.
    fn computed(&self, instruction: &Instruction, reads: &[RegisterId], state: &State) -> Option<Value> {
        let of = |id: &RegisterId| state.values.get(id).copied();
        match (instruction.name(), instruction.operands.as_slice()) {
            // each half is written by `step`
            ("mov", [Operand::Vector(parts), Operand::Register(a)])
                if parts.len() == 2 && matches!(of(a), Some(Value::Guess | Value::Found)) =>
            {
                return of(a);
            }
            ("mov", [Operand::Register(_), Operand::Vector(parts)]) => {
                if let [Operand::Register(low), Operand::Register(high)] = parts.as_slice()
                    && let (
                        Some(Value::Half { high: false, found }),
                        Some(Value::Half { high: true, found: other }),
                    ) = (of(low), of(high))
                    && found == other
                {
                    return Some(if found { Value::Found } else { Value::Guess });
                }
            }
            ("mov", [Operand::Register(d), Operand::Register(a)])
                if width(self.function, *d) == width(self.function, *a) =>
            {
                return of(a);
            }
            ("setp", [Operand::Register(_), Operand::Register(a), Operand::Register(b)])
                if (instruction.has("eq") || instruction.has("ne"))
                    && !instruction.form.contains(".f")
                    && bits(instruction) == Some(width(self.function, *a)) =>
            {
                if let (Some(Value::Guess | Value::Missed), Some(Value::Found))
                | (Some(Value::Found), Some(Value::Guess | Value::Missed)) = (of(a), of(b))
                {
                    return Some(Value::Right(instruction.has("eq")));
                }
            }
            _ => {}
        }
        match reads.iter().any(|id| matches!(of(id), Some(Value::Wrong | Value::Missed | Value::Left))) {
            true => Some(Value::Wrong),
            false => reads.iter().any(|id| state.depends(*id)).then_some(Value::Derived),
        }
    }
}

impl Value {
    /// Whether it is of what was found in memory.
    fn is_found(self) -> bool {
        matches!(self, Value::Found | Value::Half { found: true, .. })
    }

    /// Whether it came of a guess that may be right.
    fn is_guess(self) -> bool {
        matches!(self, Value::Guess | Value::Derived | Value::Half { found: false, .. })
    }
}

impl State {
    /// Whether a register depends on the guess.
    fn depends(&self, id: RegisterId) -> bool {
        self.values.get(&id).is_some_and(|value| !value.is_found())
    }

    /// An instruction runs that a wrong guess must not lead to again.
    fn pass(&mut self, at: usize) {
        if !self.missed {
            self.passed.insert(at);
        }
    }

    /// The guess is of no use any more.
    fn forget(&mut self) {
        self.values.retain(|_, value| !value.is_found());
        self.values.values_mut().for_each(|value| *value = Value::Wrong);
    }

    /// What a compare-and-swap at the address returns; `is_apart`: only a wrong guess leads to it.
    fn swap(&mut self, instruction: &Instruction, is_apart: bool) -> Option<Option<Value>> {
        let [_, _, compare, new] = instruction.operands.as_slice() else { return None };
        let of = |operand: &Operand| match operand {
            Operand::Register(id) => self.values.get(id).copied(),
            _ => None,
        };
        match (self.phase, of(compare), of(new)) {
            (Phase::Asked, ..)
            | (_, _, Some(Value::Missed | Value::Wrong | Value::Left | Value::Right(_))) => None,
            (_, Some(Value::Guess), _) => {
                self.values.retain(|_, value| *value != Value::Found);
                self.phase = Phase::Asked;
                Some(Some(Value::Found))
            }
            (Phase::Again | Phase::Open, Some(Value::Found), None | Some(Value::Found)) if is_apart => {
                self.phase = Phase::Open;
                Some(Some(Value::Found))
            }
            (Phase::Again, Some(Value::Found), None | Some(Value::Found)) => {
                self.forget();
                self.phase = Phase::Open;
                Some(None)
            }
            (Phase::Open, None, None) => Some(None),
            _ => None,
        }
    }
}
