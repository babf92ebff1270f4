//! Which lanes of a warp run together, and which wait for others: independent thread scheduling.
//!
//! Lanes that a branch parts meet again where all of its paths do. Until then one group of them runs and the others wait. No lane
//! can keep the others from going on for ever: a group that spins on what another lane is to change lets that lane go first, even
//! if it has to leave the others behind, and a `bar.warp.sync` or `barrier.sync` is reached by lanes at several places.

/// Lanes that are at one instruction.
#[derive(Clone, Copy, Debug)]
struct Group {
    at: usize,
    active: u32,
    join: Option<usize>,
}

/// Where lanes that a branch parted meet again.
#[derive(Clone, Copy, Debug)]
struct Join {
    at: usize,
    /// The lanes that are to come, those that have exited among them, and those that have come.
    members: u32,
    arrived: u32,
    /// Where they meet others after that.
    parent: Option<usize>,
}

/// What a group waits for that others must reach first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rendezvous {
    /// Any instruction that names these lanes, as `bar.warp.sync` does.
    Anywhere,
    /// The same instruction, as `shfl.sync` does.
    Here,
    /// Any instruction that names this barrier of the block and number of threads, as `barrier.sync` does.
    Barrier { id: u32, count: Option<u32>, arrive: bool },
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    group: Group,
    members: u32,
    kind: Rendezvous,
}

impl Waiting {
    /// Whether another group waits for the same.
    fn meets(&self, other: &Waiting) -> bool {
        other.kind == self.kind
            && other.members == self.members
            && (other.group.at == self.group.at || self.kind != Rendezvous::Here)
    }

    /// Where it goes on.
    fn after(&self) -> Group {
        Group { at: self.group.at + 1, ..self.group }
    }
}

/// All groups of a warp.
#[derive(Default)]
pub(super) struct Groups {
    /// The instruction that the lanes that run are at, and these lanes.
    pub(super) at: usize,
    pub(super) active: u32,
    /// Where they wait for others: no instruction if nowhere.
    pub(super) joins_at: usize,
    join: Option<usize>,
    pub(super) exited: u32,
    others: Vec<Group>,
    waiting: Vec<Waiting>,
    joins: Vec<Join>,
    /// Turns of loops that spin while others could run.
    spun: u32,
}

/// Turns that a group may spin while others could run.
const MOST_SPINS: u32 = 256;

impl Groups {
    /// All lanes of a warp, at the first instruction.
    pub(super) fn start(&mut self, lanes: u32) {
        self.others.clear();
        self.waiting.clear();
        self.joins.clear();
        (self.exited, self.spun) = (0, 0);
        self.go(Group { at: 0, active: lanes, join: None });
    }

    fn go(&mut self, group: Group) {
        (self.at, self.active, self.join) = (group.at, group.active, group.join);
        self.joins_at = group.join.map_or(usize::MAX, |join| self.joins[join].at);
    }

    fn current(&self) -> Group {
        Group { at: self.at, active: self.active, join: self.join }
    }

    /// Whether other lanes of the warp are somewhere else.
    #[inline(always)]
    pub(super) fn are_several(&self) -> bool {
        !self.joins.is_empty() || !self.others.is_empty() || !self.waiting.is_empty()
    }

    /// Ends lanes of the group that runs.
    pub(super) fn exit(&mut self, lanes: u32) {
        self.exited |= lanes;
        self.active &= !lanes;
    }

    /// Some lanes of the group go on at a target, the others at the next instruction.
    #[inline(always)]
    pub(super) fn branch(&mut self, taken: u32, target: usize, reconverge: usize) {
        if self.active == taken {
            self.at = target;
            return;
        }
        self.part(&[(target, taken), (self.at + 1, self.active & !taken)], reconverge);
    }

    /// All lanes of the group that runs go on, some at each of several targets: at the first ones first.
    pub(super) fn part(&mut self, parts: &[(usize, u32)], reconverge: usize) {
        if let [(target, _)] = parts {
            self.at = *target;
            return;
        }
        if reconverge != self.joins_at {
            let join = Join { at: reconverge, members: self.active, arrived: 0, parent: self.join };
            self.joins.push(join);
            (self.join, self.joins_at) = (Some(self.joins.len() - 1), reconverge);
        }
        let Some(join) = self.join else { return };
        self.active = 0;
        for (target, lanes) in parts.iter().rev().copied() {
            if target == reconverge {
                self.joins[join].arrived |= lanes;
                continue;
            }
            if self.active != 0 {
                self.others.push(self.current());
            }
            (self.at, self.active) = (target, lanes);
        }
    }

    /// Parts of the lanes that run take an instruction one after the other, and meet again behind it, where the rest of them waits.
    pub(super) fn take_apart(&mut self, parts: &[u32]) {
        let next = self.at + 1;
        if next != self.joins_at {
            let join = Join { at: next, members: self.active, arrived: 0, parent: self.join };
            self.joins.push(join);
            (self.join, self.joins_at) = (Some(self.joins.len() - 1), next);
        }
        let Some((first, others)) = parts.split_first() else { return };
        let taken = parts.iter().fold(0, |all, part| all | part);
        if let Some(join) = self.join {
            self.joins[join].arrived |= self.active & !taken;
        }
        self.others.extend(others.iter().map(|part| Group { at: self.at, active: *part, join: self.join }));
        self.active = *first;
    }

    /// The group has ended, or waits for others: runs lanes that can run next. Whether there are any.
    pub(super) fn resume(&mut self) -> bool {
        if self.active != 0
            && let Some(join) = self.join
        {
            self.joins[join].arrived |= self.active;
            self.active = 0;
        }
        if let Some((join, lanes)) = self.complete() {
            self.leave(join, lanes);
            return true;
        }
        if let Some(group) = self.others.pop() {
            self.go(group);
            return true;
        }
        self.meet()
    }

    /// A join that all have reached, the innermost first, and its lanes.
    fn complete(&self) -> Option<(usize, u32)> {
        let of = |(number, join): (usize, &Join)| {
            let lanes = join.arrived & !self.exited;
            (lanes != 0 && join.members & !(join.arrived | self.exited) == 0).then_some((number, lanes))
        };
        self.joins.iter().enumerate().rev().find_map(of)
    }

    /// Lanes that wait at a join go on.
    fn leave(&mut self, join: usize, lanes: u32) {
        let Join { at, parent, .. } = self.joins[join];
        self.joins[join].members &= !lanes;
        self.joins[join].arrived &= !lanes;
        let exited = self.exited;
        while self.joins.last().is_some_and(|join| join.members & !exited == 0)
            && !self.is_used(self.joins.len() - 1)
        {
            self.joins.pop();
        }
        self.go(Group { at, active: lanes, join: parent });
    }

    fn is_used(&self, number: usize) -> bool {
        let of = |group: &Group| group.join == Some(number);
        self.others.iter().any(of) || self.waiting.iter().any(|waiting| of(&waiting.group))
    }

    /// The innermost join where some wait for others that do not come: they go on without them. Whether there is one.
    fn give_up_a_join(&mut self) -> bool {
        let innermost = self.joins.iter().rposition(|join| join.arrived & !self.exited != 0);
        let Some(join) = innermost else { return false };
        self.leave(join, self.joins[join].arrived & !self.exited);
        true
    }

    /// The group goes back in a loop that looks at what others may change: now and then they run first.
    pub(super) fn spin(&mut self) {
        self.spun += 1;
        if self.spun < MOST_SPINS {
            return;
        }
        self.spun = 0;
        let current = self.current();
        if let Some(group) = self.others.pop() {
            self.others.insert(0, current);
            self.go(group);
        } else if self.give_up_a_join() {
            self.others.insert(0, current);
        }
    }

    /// The group waits for other lanes of `members`, if they can come; whether they can.
    pub(super) fn wait(&mut self, members: u32, kind: Rendezvous) -> bool {
        let missing = members & !self.active & !self.exited;
        let elsewhere = |lanes: u32, group: &Group| lanes | group.active;
        let groups = self.others.iter().fold(0, elsewhere);
        let groups = self.waiting.iter().map(|waiting| &waiting.group).fold(groups, elsewhere);
        let at_joins = self.joins.iter().fold(0, |lanes, join| lanes | join.arrived);
        // those at a join have passed this instruction
        let can_come = if kind == Rendezvous::Here { groups } else { groups | at_joins };
        if missing == 0 || missing & !can_come != 0 {
            return false;
        }
        self.waiting.push(Waiting { group: self.current(), members, kind });
        self.active = 0;
        self.join = None;
        true
    }

    /// Lets a group that waits go on if the lanes that it waits for have come, or brings them; whether any can go on.
    fn meet(&mut self) -> bool {
        if self.waiting.is_empty() {
            return false;
        }
        for first in 0..self.waiting.len() {
            let waiting = self.waiting[first];
            let here = self.together(waiting);
            if waiting.members & !here & !self.exited != 0 {
                continue;
            }
            let group = waiting.group;
            match waiting.kind {
                Rendezvous::Here => {
                    let met: Vec<_> = self.waiting.extract_if(.., |other| waiting.meets(other)).collect();
                    let met = met.iter().map(|waiting| waiting.group);
                    met.reduce(|one, other| self.unite(one, other)).into_iter().for_each(|all| self.go(all));
                }
                Rendezvous::Anywhere => {
                    let met: Vec<_> = self.waiting.extract_if(.., |other| waiting.meets(other)).collect();
                    self.others.extend(met.iter().rev().map(Waiting::after));
                    return self.others.pop().map(|group| self.go(group)).is_some();
                }
                // it comes again, and brings those that wait
                Rendezvous::Barrier { .. } => {
                    self.waiting.remove(first);
                    self.go(group);
                }
            }
            return true;
        }
        let elsewhere = self.waiting.iter().any(|waiting| waiting.kind != Rendezvous::Here);
        elsewhere && self.give_up_a_join()
    }

    /// Groups that are at one instruction become one, which waits where both are to meet others.
    fn unite(&mut self, one: Group, other: Group) -> Group {
        let active = one.active | other.active;
        if one.join == other.join {
            return Group { active, ..one };
        }
        let [ours, theirs] = [one, other].map(|group| self.joins_of(group.join));
        let outer = ours.iter().rev().zip(theirs.iter().rev());
        let shared = outer.take_while(|(a, b)| self.joins[**a].at == self.joins[**b].at).count();
        let (inner, ours) = ours.split_at(ours.len() - shared);
        let (others, theirs) = theirs.split_at(theirs.len() - shared);
        // who waits where only one of them was to come waits no longer for it
        inner.iter().chain(others).for_each(|join| self.joins[*join].members &= !active);
        for (to, from) in ours.iter().zip(theirs).filter(|(to, from)| to != from) {
            let Join { members, arrived, .. } = self.joins[*from];
            (self.joins[*from].members, self.joins[*from].arrived) = (0, 0);
            self.joins[*to].members |= members;
            self.joins[*to].arrived |= arrived;
            let groups =
                self.others.iter_mut().chain(self.waiting.iter_mut().map(|waiting| &mut waiting.group));
            let used =
                groups.map(|group| &mut group.join).chain(self.joins.iter_mut().map(|join| &mut join.parent));
            used.filter(|join| **join == Some(*from)).for_each(|join| *join = Some(*to));
        }
        Group { active, join: ours.first().copied(), ..one }
    }

    /// A join and those after it.
    fn joins_of(&self, join: Option<usize>) -> Vec<usize> {
        std::iter::successors(join, |join| self.joins[*join].parent).collect()
    }

    /// The lanes that wait for the same as a group does.
    fn together(&self, waiting: Waiting) -> u32 {
        let here = self.waiting.iter().filter(|other| waiting.meets(other));
        here.fold(0, |lanes, other| lanes | other.group.active)
    }

    /// The lanes that wait at such a barrier of the block.
    pub(super) fn at_barrier(&self, kind: Rendezvous) -> u32 {
        let here = self.waiting.iter().filter(|waiting| waiting.kind == kind);
        here.fold(0, |lanes, waiting| lanes | waiting.group.active)
    }

    /// Lanes that wait at such a barrier of the block are to go on with those that run; where they waited is added to a list.
    pub(super) fn pass_barrier(&mut self, kind: Rendezvous, places: &mut Vec<(usize, u32)>) {
        for waiting in self.waiting.extract_if(.., |waiting| waiting.kind == kind) {
            places.push((waiting.group.at, waiting.group.active));
            self.others.push(waiting.after());
        }
    }

    /// Lanes of the group that runs stay here, and the others go on independently.
    pub(super) fn split(&mut self, stay: u32) {
        let rest = Group { at: self.at + 1, active: self.active & !stay, join: self.join };
        if rest.active != 0 {
            self.others.push(rest);
            self.active = stay;
        }
    }

    /// A group that waits for lanes that do not come: its instruction, the lanes that wait with it, and one that is missing.
    pub(super) fn stuck(&self) -> Option<(usize, u32, u32)> {
        let waiting = *self.waiting.first()?;
        let here = self.together(waiting);
        let missing = waiting.members & !here & !self.exited;
        Some((waiting.group.at, here, missing.trailing_zeros()))
    }
}
