//! A kernel decoded: typed operations on numbered slots.

mod tcgen05;

use std::sync::Arc;

use bitmma_engine::catalogue::Architecture;
use bitmma_engine::formats::Rounding;

use crate::instruction::compute::{Computed, Spread};
use crate::matrix::{Multiplier, Sizes};
pub(crate) use crate::operand::*;
use crate::text::{self, Register};
pub(crate) use tcgen05::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Logic {
    And,
    Or,
    Xor,
}

/// Which threads a strong access or a fence orders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    Block,
    Cluster,
    #[default]
    All,
}

/// How a strong access (volatile, relaxed, acquire, release, atomic) orders others (PTX ISA, "Memory Consistency Model").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) acquire: bool,
    pub(crate) release: bool,
    pub(crate) scope: Scope,
    /// Whether the access is weak, and counts as strong because it may be the first guess of a compare-and-swap loop.
    pub(crate) guesses: bool,
}

/// An access of memory.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub(crate) region: Region,
    /// Of one element: 1, 2, 4 or 8.
    pub(crate) bytes: u8,
    pub(crate) signed: bool,
    /// None if it is weak: other threads may then not access the bytes at the same time.
    pub(crate) order: Option<Order>,
    pub(crate) address: Address,
    /// Registers, one for each element.
    pub(crate) elements: Box<[Slot]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomicOp {
    Add,
    Minimum,
    Maximum,
    And,
    Or,
    Xor,
    Exchange,
    CompareExchange,
    Increment,
    Decrement,
}

/// An atomic operation.
#[derive(Clone, Debug)]
pub(crate) struct Atomic {
    pub(crate) region: Region,
    pub(crate) op: AtomicOp,
    pub(crate) kind: Type,
    pub(crate) no_flush: bool,
    pub(crate) order: Order,
    pub(crate) address: Address,
    pub(crate) d: Box<[Slot]>,
    pub(crate) b: Box<[Slot]>,
    /// What a comparison exchanges.
    pub(crate) c: Box<[Slot]>,
    /// Whether anything reads its result.
    pub(crate) observes: bool,
}

/// A multiplication of matrices by a warp.
#[derive(Clone, Debug)]
pub(crate) struct Mma {
    pub(crate) line: u32,
    pub(crate) multiplier: Arc<Multiplier>,
    pub(crate) d: Box<[Slot]>,
    pub(crate) a: Box<[Slot]>,
    pub(crate) b: Box<[Slot]>,
    pub(crate) c: Box<[Slot]>,
    /// Of a sparse A: metadata, and which threads have it.
    pub(crate) sparse: Option<(Word, u32)>,
    /// Scale factors of A and of B: registers, and the first byte and thread that have them.
    pub(crate) factors: Option<[(Word, u32, u32); 2]>,
}

/// Multiplications, one after the other in the text, that are one larger product: its rows are those of some fragments of A, its
/// columns those of some of B, and K goes on from one to the next where an instruction adds to the D of an earlier one.
#[derive(Clone, Debug)]
pub(crate) struct Nest {
    /// The fragments of each row of tiles along K.
    pub(crate) a: Vec<Fragments>,
    /// Those of each column of tiles.
    pub(crate) b: Vec<Fragments>,
    /// C of each tile, row by row; `None` where each adds to its D.
    pub(crate) c: Option<Vec<Box<[Slot]>>>,
    /// D: its number among [`Kernel::accumulators`].
    pub(crate) d: usize,
}

/// Registers of fragments along K.
pub(crate) type Fragments = Vec<Box<[Slot]>>;

/// Registers that multiplications add to.
#[derive(Clone, Debug)]
pub(crate) struct Accumulators {
    pub(crate) multiplier: Arc<Multiplier>,
    /// Rows and columns of tiles.
    pub(crate) tiles: [usize; 2],
    /// D of each tile, row by row.
    pub(crate) d: Vec<Box<[Slot]>>,
    /// Elements along K that are added at once, at most.
    pub(crate) longest: usize,
}

impl Accumulators {
    /// Rows and columns of elements.
    pub(crate) fn shape(&self) -> (usize, usize) {
        let Sizes { m, n, .. } = self.multiplier.own;
        (self.tiles[0] * m, self.tiles[1] * n)
    }

    /// The first element of a tile.
    pub(crate) fn place(&self, tile: usize) -> (usize, usize) {
        let Sizes { m, n, .. } = self.multiplier.own;
        (tile / self.tiles[1] * m, tile % self.tiles[1] * n)
    }
}

/// Some of [`Kernel::accumulators`]: a bit for each, one for all from the 64th on.
pub(crate) type AccumulatorSet = u64;

/// The bit of one of them.
pub(crate) fn accumulator_bit(number: usize) -> AccumulatorSet {
    1 << number.min(63)
}

/// Whether no other has its bit.
pub(crate) fn is_told_apart(number: usize) -> bool {
    number < 63
}

/// The same by a warpgroup, each of whose warps computes its own rows.
#[derive(Clone, Debug)]
pub(crate) struct Wgmma {
    pub(crate) line: u32,
    pub(crate) multiplier: Arc<Multiplier>,
    pub(crate) d: Box<[Slot]>,
    /// The same as a number among [`Kernel::accumulators`].
    pub(crate) number: usize,
    pub(crate) a: WgmmaA,
    /// Descriptor.
    pub(crate) b: Wide,
    /// Of a sparse A: metadata, and which threads have it.
    pub(crate) sparse: Option<(Word, u32)>,
    /// Accumulators whose registers are its fragment of A or its metadata.
    pub(crate) reads: AccumulatorSet,
    /// The line that writes a fragment of A, where no `wgmma.fence` comes after it.
    pub(crate) unfenced: Option<u32>,
    /// Whether D is added.
    pub(crate) accumulate: Condition,
    pub(crate) negate: [bool; 2],
    /// Whether A and B lie with M and N along memory.
    pub(crate) transposed: [bool; 2],
}

#[derive(Clone, Debug)]
pub(crate) enum WgmmaA {
    Registers(Box<[Slot]>),
    Descriptor(Wide),
}

/// An addition, subtraction or multiply-add with carry.
#[derive(Clone, Debug)]
pub(crate) struct Carry {
    pub(crate) subtract: bool,
    /// None: no product. Else whether its upper half is taken, and whether it is signed.
    pub(crate) product: Option<(bool, bool)>,
    pub(crate) takes: bool,
    pub(crate) gives: bool,
    pub(crate) bits: u32,
    pub(crate) d: Slot,
    pub(crate) a: [Slot; 3],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    EqualUnordered,
    NotEqualUnordered,
    LessUnordered,
    LessEqualUnordered,
    GreaterUnordered,
    GreaterEqualUnordered,
    Ordered,
    Unordered,
}

/// A comparison and what is done with its outcome.
#[derive(Clone, Debug)]
pub(crate) struct Compare {
    pub(crate) comparison: Comparison,
    pub(crate) kind: Type,
    pub(crate) flush: bool,
    pub(crate) a: Slot,
    pub(crate) b: Slot,
    pub(crate) combine: Option<(Logic, Condition)>,
}

/// A conversion.
#[derive(Clone, Debug)]
pub(crate) struct Convert {
    pub(crate) to: Type,
    pub(crate) from: Type,
    /// None: the value is exact, or is an integer's.
    pub(crate) rounding: Option<Rounding>,
    /// The result is a number without a fraction.
    pub(crate) integral: bool,
    pub(crate) flush: bool,
    pub(crate) saturate: bool,
    pub(crate) finite: bool,
    pub(crate) relu: bool,
    pub(crate) d: Slot,
    pub(crate) a: Slot,
    /// The lower half of a packed result.
    pub(crate) b: Option<Slot>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shuffle {
    Up,
    Down,
    Butterfly,
    Index,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vote {
    All,
    Any,
    Uniform,
}

/// `bar.red`
#[derive(Clone, Debug)]
pub(crate) struct Reduction {
    /// None counts.
    pub(crate) f: Option<Logic>,
    pub(crate) d: Slot,
    pub(crate) p: Option<Predicate>,
    pub(crate) a: Condition,
}

/// An operation on a barrier object.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) address: Address,
    pub(crate) action: Action,
}

#[derive(Clone, Debug)]
pub(crate) enum Action {
    Initialize(Word),
    Invalidate,
    /// `expects`: bytes that are expected besides; `drops`: it does not take part in later phases.
    Arrive {
        state: Slot,
        count: Option<Word>,
        expects: Option<Word>,
        drops: bool,
        /// Whether it orders nothing but itself.
        relaxed: bool,
    },
    Expect(Word),
    Complete(Word),
    /// Whether a phase is complete: of a parity, or of a state.
    Test {
        d: Predicate,
        phase: Phase,
        relaxed: bool,
    },
    /// Of the copies of this warp that `cp.async` started an arrival when they have come.
    ArriveWithCopies {
        counts: bool,
    },
    Pending {
        d: Word,
        state: Wide,
    },
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Phase {
    Parity(Word),
    State(Wide),
}

/// A bulk copy, or what belongs to one.
#[derive(Clone, Debug)]
pub(crate) enum Bulk {
    /// A box of a tensor into shared memory.
    Load {
        to: Address,
        part: Part,
        barrier: Address,
        /// Bits of the blocks of the cluster that it goes to, and whose barrier objects it completes.
        blocks: Option<Word>,
    },
    /// The same back; an operation combines with what is there.
    Store {
        part: Part,
        from: Address,
        op: Option<AtomicOp>,
    },
    /// Bytes that lie together.
    CopyIn {
        to: Address,
        from: Address,
        bytes: Word,
        barrier: Address,
        blocks: Option<Word>,
    },
    /// Bytes that lie together, from shared memory to that of another block.
    CopyAcross {
        to: Address,
        from: Address,
        bytes: Word,
        barrier: Address,
    },
    /// `st.async`: registers, of that many bytes each.
    StoreAcross {
        to: Address,
        elements: Box<[Slot]>,
        bytes: u8,
        barrier: Address,
    },
    /// An operation combines with what is there.
    CopyOut {
        to: Address,
        from: Address,
        bytes: Word,
        op: Option<(AtomicOp, Type)>,
    },
    Commit,
    /// Until at most that many groups are left; `reads`: that have not read their sources.
    Wait {
        left: u32,
        reads: bool,
    },
    /// Sets a field of a tensor map in shared memory.
    Replace {
        address: Address,
        field: Field,
        value: Slot,
    },
    /// A tensor map from shared to global memory.
    CopyMap {
        to: Address,
        from: Address,
    },
}

/// The part of a tensor that one copy moves.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) map: Address,
    pub(crate) coordinates: Box<[Word]>,
    /// Four rows of a matrix: their numbers are coordinates.
    pub(crate) has_rows: bool,
    pub(crate) boxes: Boxes,
    /// What a load of im2col takes beside coordinates, 16 bits each: offsets along W, H and D; of im2col::w the halo and the offset.
    pub(crate) offsets: Box<[Word]>,
}

/// What a box of a tensor map is (PTX ISA, "Tensors").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Boxes {
    /// Elements along each dimension.
    #[default]
    Tiled,
    /// Pixels that follow each other in the box of an image, and from image to image: `cuTensorMapEncodeIm2col`.
    Im2col,
    /// The same in one row of each image: `cuTensorMapEncodeIm2colWide`.
    Im2colWide,
    /// The same, always 128 pixels.
    Im2colWide128,
}

impl Boxes {
    /// All, by their number.
    pub const ALL: [Boxes; 4] = [Boxes::Tiled, Boxes::Im2col, Boxes::Im2colWide, Boxes::Im2colWide128];

    /// As PTX calls it.
    pub(crate) fn name(self) -> &'static str {
        ["tile", "im2col", "im2col::w", "im2col::w::128"][self as usize]
    }
}

impl TryFrom<u8> for Boxes {
    type Error = String;

    fn try_from(number: u8) -> Result<Boxes, String> {
        let found = Boxes::ALL.get(usize::from(number)).copied();
        found.ok_or_else(|| format!("a tensor map has boxes of kind 0 to 3, not {number}"))
    }
}

/// A field of a tensor map, of those along dimensions with its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Address,
    Rank,
    Dimension(u8),
    Stride(u8),
    Box(u8),
    ElementStride(u8),
    Type,
    Interleave,
    Swizzle,
    Fill,
}

/// How a matrix in shared memory, rows of 16 bytes, is in registers: 8 rows in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tile {
    /// Elements of 16 bits.
    Halves { transposed: bool },
    /// A byte for each element of 8, 6 or 4 bits, in rows of 16.
    Bytes { bits: u32, transposed: bool },
}

/// What one instruction does.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Nothing,
    Computed(Box<Computed>),
    Carry(Box<Carry>),
    /// Class of a number.
    Test {
        class: u8,
        kind: Type,
        d: Predicate,
        a: Slot,
    },
    /// Two moves.
    Copy {
        d: [Slot; 2],
        a: [Slot; 2],
    },
    /// The two factors of the last multiplication of a division.
    DivideFactors {
        full: bool,
        flush: bool,
        d: [Word; 2],
        a: Word,
        b: Word,
    },
    /// Checks a product that is scaled by a power of two.
    Scaled {
        /// Whether the product itself flushes.
        first: bool,
        flush: bool,
        saturate: bool,
        factors: [Word; 2],
        power: Word,
    },
    /// The two factors of the last multiplication of a reciprocal.
    ReciprocalFactors {
        flush: bool,
        d: [Word; 2],
        a: Word,
    },

    Compare {
        compare: Box<Compare>,
        d: Predicate,
        q: Option<Predicate>,
    },
    /// A comparison whose outcome is a number.
    Set {
        compare: Box<Compare>,
        kind: Type,
        d: Slot,
    },
    Select {
        d: Slot,
        a: Slot,
        b: Slot,
        condition: Condition,
    },
    Logic {
        f: Logic,
        d: Predicate,
        a: Condition,
        b: Condition,
    },
    Convert(Box<Convert>),
    /// Parts from the lowest on, each of that many bits, into one register.
    Pack {
        d: Slot,
        bits: u32,
        parts: Box<[Slot]>,
    },
    Unpack {
        a: Slot,
        bits: u32,
        parts: Box<[Slot]>,
    },
    /// What a clock shows: as many instructions as the threads of the warp have run of this block, without its lowest bits.
    Clock {
        d: Slot,
        shift: u32,
    },
    /// From an address of a window to a generic one, or back.
    Window {
        to_generic: bool,
        region: Region,
        d: Slot,
        a: Slot,
    },
    /// `own_only`: shared memory of the block alone, not of its cluster.
    IsSpace {
        region: Region,
        own_only: bool,
        d: Predicate,
        a: Slot,
    },

    Load(Box<Access>),
    Store(Box<Access>),
    Atomic(Box<Atomic>),
    /// An access of shared memory whose bytes complete at a barrier object.
    Completing {
        op: Box<Op>,
        bytes: u32,
        barrier: Address,
    },
    /// Zeros in shared memory.
    Fill {
        address: Address,
        bytes: Slot,
    },
    LoadMatrix {
        tile: Tile,
        address: Address,
        d: Box<[Slot]>,
    },
    StoreMatrix {
        tile: Tile,
        address: Address,
        a: Box<[Slot]>,
    },
    /// A copy from global to shared memory; `size`: how many bytes of the source are read.
    CopyAsync {
        bytes: u8,
        to: Address,
        from: Address,
        size: Option<Word>,
        ignore: Option<Condition>,
    },
    Object(Box<Object>),
    Bulk(Box<Bulk>),
    Tcgen05(Box<Tcgen05>),
    CommitCopies,
    /// Until at most that many groups are left.
    WaitCopies(u32),
    /// Until all have come, those of no group among them.
    WaitAllCopies,

    Shuffle {
        f: Shuffle,
        d: Word,
        p: Option<Predicate>,
        a: Word,
        b: Word,
        c: Word,
        mask: Word,
    },
    Vote {
        f: Vote,
        d: Predicate,
        a: Condition,
        mask: Word,
    },
    Ballot {
        d: Word,
        a: Condition,
        mask: Word,
    },
    ActiveMask {
        d: Word,
    },
    /// Lanes that hold the same value.
    Match {
        all: bool,
        d: Word,
        p: Option<Predicate>,
        a: Slot,
        mask: Word,
    },
    Reduce {
        f: fn(u32, u32) -> u32,
        /// Without their signs.
        absolute: bool,
        float: bool,
        d: Word,
        a: Word,
        mask: Word,
    },
    Elect {
        d: Slot,
        p: Predicate,
        mask: Word,
    },
    /// All lanes of the mask must be here.
    SyncWarp {
        mask: Word,
    },

    Mma(Box<Mma>),
    /// This multiplication and some that follow, which then have nothing left to do, unless the launch is traced.
    Nest(Box<Mma>, Box<Nest>),
    /// One that an earlier [`Op::Nest`] did, unless the launch is traced.
    OfNest(Box<Mma>),
    Wgmma(Box<Wgmma>),

    /// `reconverge`: where lanes that it parts meet again, `u32::MAX` if nowhere. `spins`: it goes back in a loop that looks at what
    /// other threads may change.
    Branch {
        target: u32,
        reconverge: u32,
        spins: bool,
    },
    /// To one of several targets, by a number from zero on.
    BranchTable {
        index: Word,
        targets: Box<[u32]>,
        reconverge: u32,
        spins: bool,
    },
    /// Prints a text with numbers.
    Print {
        d: Slot,
        /// Addresses of the text and of the numbers.
        text: Wide,
        values: Wide,
    },
    /// An assertion that does not hold: addresses of its message, file and function, and the line.
    Fail {
        texts: [Wide; 3],
        line: Word,
    },
    Exit,
    Trap,
    /// `arrive`: goes on at once. `aligned`: all lanes of a warp must be at this instruction. `reduce`: a result over all threads.
    Barrier {
        id: Word,
        count: Option<Word>,
        arrive: bool,
        aligned: bool,
        reduce: Option<Box<Reduction>>,
    },
    /// `barrier.cluster.arrive`, which goes on at once, and `wait`. `orders`: it releases or acquires.
    ClusterBarrier {
        arrive: bool,
        aligned: bool,
        orders: bool,
    },
    /// `mapa`: the same address in another block of the cluster.
    MapShared {
        generic: bool,
        d: Slot,
        a: Slot,
        rank: Word,
    },
    /// `getctarank`
    Rank {
        d: Word,
        a: Slot,
    },
    /// `membar`, `fence`: makes a strong access before or after it acquire or release.
    Fence {
        scope: Scope,
    },
    /// `fence.proxy.async`: bulk copies and products see what was written to shared memory before it.
    FenceForAsync,
    /// `wgmma.fence`
    FenceForProducts,
    /// `fence.mbarrier_init`: who meets at a barrier of the cluster sees the objects that the warp has started.
    FenceForObjects,
    /// `wgmma.commit_group`
    CommitProducts,
    /// `wgmma.wait_group`: until at most that many groups are left.
    WaitProducts(u32),
}

/// An instruction with its guard and line.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) op: Op,
    pub(crate) guard: Option<Condition>,
    pub(crate) line: u32,
    /// Accumulators that it reads or writes in another way than by adding to all of them.
    pub(crate) settles: AccumulatorSet,
}

/// Registers that an instruction reads and writes, by their numbers in the text.
#[derive(Clone, Debug)]
pub(crate) struct Effects {
    pub(crate) reads: Box<[text::RegisterId]>,
    pub(crate) writes: Box<[text::RegisterId]>,
}

/// What a slot holds when a warp starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Preset {
    Word(u32),
    /// An address of shared memory of the own block.
    SharedAt(u32),
    Thread(u8),
    ThreadCount(u8),
    Block(u8),
    BlockCount(u8),
    Lane,
    Warp,
    WarpCount,
    MaskEqual,
    MaskLess,
    MaskLessEqual,
    MaskGreater,
    MaskGreaterEqual,
    DynamicShared,
    /// All shared memory, in units of its allocation.
    Shared,
    /// The cluster of a block, and how many there are.
    Cluster(u8),
    ClusterCount(u8),
    /// The block in its cluster, and how many that has.
    BlockInCluster(u8),
    BlocksOfCluster(u8),
    Rank,
    RankCount,
    /// Whether clusters were asked for.
    IsCluster,
}

/// A variable in global or constant memory.
#[derive(Clone, Debug)]
pub(crate) struct Static {
    pub(crate) name: String,
    pub(crate) bytes: u64,
    pub(crate) initial: Vec<u8>,
    pub(crate) is_constant: bool,
}

/// A variable of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable<'k> {
    /// Its name.
    pub name: &'k str,
    /// Bytes.
    pub bytes: u64,
    /// What the text says that it holds: its first bytes, the others are 0.
    pub initial: &'k [u8],
    /// Whether it is in constant memory.
    pub is_constant: bool,
}

/// A parameter of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter<'k> {
    /// Its name.
    pub name: &'k str,
    /// `pointer`, or its type as in `u32`.
    pub kind: &'k str,
    /// Its bytes: of a structure, all of them.
    pub bytes: u64,
}

/// An entry, decoded: what [`launch`](crate::Launch) runs.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub(crate) name: String,
    pub(crate) target: String,
    pub(crate) architecture: Architecture,
    pub(crate) parameters: Vec<text::Parameter>,
    /// Offset of each parameter, and bytes in all.
    pub(crate) offsets: Vec<usize>,
    pub(crate) parameter_bytes: usize,
    pub(crate) required_block: Option<[u32; 3]>,
    pub(crate) largest_block: Option<[u32; 3]>,
    pub(crate) cluster: text::Cluster,
    pub(crate) registers: Vec<Register>,
    pub(crate) steps: Vec<Step>,
    pub(crate) accumulators: Vec<Accumulators>,
    pub(crate) words: usize,
    pub(crate) wides: usize,
    pub(crate) predicates: usize,
    /// Words that hold the same throughout a warp.
    pub(crate) presets: Vec<(Word, Preset)>,
    pub(crate) wide_constants: Vec<(Wide, u64, bool)>,
    /// Bytes of shared memory that the text declares.
    pub(crate) static_shared: u64,
    /// Whether there is shared memory whose size the launch says.
    pub(crate) dynamic_shared: bool,
    /// Bytes of local memory of a thread.
    pub(crate) local: u64,
    pub(crate) statics: Vec<Static>,
    /// Whether registers may be read before they are written, each with the line of the first such read.
    pub(crate) unwritten: Vec<(String, u32)>,
    pub(crate) doubts: Vec<crate::error::Doubt>,
    pub(crate) forms: Vec<(String, u32)>,
    /// Registers that each step reads and writes.
    pub(crate) effects: Vec<Effects>,
    /// What a trace records of each step: registers that it writes; those that it reads where it writes none.
    pub(crate) traced: Vec<Vec<crate::run::Traced>>,
    /// Lines with the file and the line that they were compiled from.
    pub(crate) sources: Vec<(u32, [u32; 2])>,
    pub(crate) rewrites: crate::rewrite::Rewrites,
    /// Whether the order of blocks can change results: there are atomic or other strong operations on global memory.
    pub(crate) ordered: bool,
    /// Whether loads may be first guesses of compare-and-swap loops.
    pub(crate) guesses: bool,
    /// Whether it handles addresses as data.
    pub(crate) addresses: crate::decode::addresses::Addresses,
}

/// The lanes that an instruction must be reached by.
pub(crate) enum Members {
    Named(Word),
    All,
}

impl Op {
    /// The lanes that take part, where the instruction says so.
    pub(crate) fn members(&self) -> Option<Members> {
        match self {
            Op::Shuffle { mask, .. }
            | Op::Vote { mask, .. }
            | Op::Ballot { mask, .. }
            | Op::Match { mask, .. }
            | Op::Reduce { mask, .. }
            | Op::Elect { mask, .. }
            | Op::SyncWarp { mask } => Some(Members::Named(*mask)),
            Op::LoadMatrix { .. }
            | Op::StoreMatrix { .. }
            | Op::Mma(_)
            | Op::Nest(..)
            | Op::OfNest(_)
            | Op::Wgmma(_) => Some(Members::All),
            Op::Tcgen05(tensor) if tensor.is_of_the_warp() => Some(Members::All),
            _ => None,
        }
    }

    /// Whether it does nothing but write registers.
    pub(crate) fn only_writes_registers(&self) -> bool {
        self.members().is_none()
            && !matches!(
                self,
                Op::Branch { .. }
                    | Op::BranchTable { .. }
                    | Op::Print { .. }
                    | Op::Fail { .. }
                    | Op::Exit
                    | Op::Trap
                    | Op::Barrier { .. }
                    | Op::ClusterBarrier { .. }
                    | Op::Load(_)
                    | Op::Store(_)
                    | Op::Atomic(_)
                    | Op::CopyAsync { .. }
                    | Op::Completing { .. }
                    | Op::Fill { .. }
                    | Op::Object(_)
                    | Op::Bulk(_)
                    | Op::Tcgen05(_)
            )
    }

    /// Whether it only copies registers.
    pub(crate) fn moves(&self) -> bool {
        match self {
            Op::Computed(computed) => {
                computed.computation.spread == Spread::Moves(1) && computed.a.len() == 1
            }
            Op::Copy { .. } | Op::Pack { .. } | Op::Unpack { .. } => true,
            _ => false,
        }
    }

    /// Where it may branch to, where the lanes that it parts meet again, and whether it waits for others.
    pub(crate) fn branch(&mut self) -> Option<(&[u32], &mut u32, &mut bool)> {
        match self {
            Op::Branch { target, reconverge, spins } => {
                Some((std::slice::from_ref(target), reconverge, spins))
            }
            Op::BranchTable { targets, reconverge, spins, .. } => Some((targets, reconverge, spins)),
            _ => None,
        }
    }

    /// Whether it goes back in a loop that looks at what other threads may change.
    pub(crate) fn spins(&self) -> bool {
        matches!(self, Op::Branch { spins: true, .. } | Op::BranchTable { spins: true, .. })
    }

    /// Whether it looks at memory that other threads may change meanwhile.
    pub(crate) fn watches(&self) -> bool {
        match self {
            Op::Atomic(_) => true,
            Op::Load(access) => access.order.is_some(),
            Op::Object(object) => matches!(object.action, Action::Test { .. }),
            _ => false,
        }
    }

    /// Whether it computes with floating-point numbers.
    pub(crate) fn is_float(&self) -> bool {
        match self {
            Op::Mma(_) | Op::Nest(..) | Op::OfNest(_) | Op::Wgmma(_) => true,
            Op::Tcgen05(tensor) => matches!(**tensor, Tcgen05::Multiply(_)),
            Op::Reduce { float, .. } => *float,
            Op::Computed(computed) => computed.computation.d.float().is_some(),
            Op::Convert(convert) => !convert.to.is_integer(),
            _ => false,
        }
    }
}

impl Logic {
    pub(crate) fn of(self, a: u32, b: u32) -> u32 {
        match self {
            Logic::And => a & b,
            Logic::Or => a | b,
            Logic::Xor => a ^ b,
        }
    }
}

impl Kernel {
    /// The entry's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The architecture that the text was compiled for, as in `sm_90a`.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// The block that `.reqntid` requires.
    pub fn required_block(&self) -> Option<[u32; 3]> {
        self.required_block
    }

    /// Blocks of a cluster, as `.reqnctapercluster` requires them.
    pub fn required_cluster(&self) -> Option<[u32; 3]> {
        self.cluster.required
    }

    /// Names and types of the parameters.
    pub fn parameters(&self) -> impl Iterator<Item = Parameter<'_>> {
        self.parameters.iter().map(|parameter| Parameter {
            name: &parameter.name,
            kind: if parameter.pointer { "pointer" } else { &parameter.kind },
            bytes: parameter.bytes,
        })
    }

    /// Variables in global and constant memory that the entry names.
    pub fn variables(&self) -> impl Iterator<Item = Variable<'_>> {
        let named = self.statics.iter().filter(|one| !one.name.starts_with('%'));
        named.map(|one| Variable {
            name: &one.name,
            bytes: one.bytes,
            initial: &one.initial,
            is_constant: one.is_constant,
        })
    }

    /// Whether an instruction leads back to one before it.
    pub(crate) fn has_loops(&self) -> bool {
        self.steps.iter().enumerate().any(|(at, step)| match &step.op {
            Op::Branch { target, .. } => *target as usize <= at,
            Op::BranchTable { targets, .. } => targets.iter().any(|target| *target as usize <= at),
            _ => false,
        })
    }

    /// Instructions whose results on a GPU are not known for sure.
    pub fn doubts(&self) -> &[crate::error::Doubt] {
        &self.doubts
    }

    /// Forms with how often they occur, as the text has them.
    pub fn forms(&self) -> &[(String, u32)] {
        &self.forms
    }

    /// Lines of the text with the number of the file and the line that they were compiled from.
    pub fn sources(&self) -> &[(u32, [u32; 2])] {
        &self.sources
    }

    /// Lines of instructions that compute with floats, as they run: after what ptxas fuses and folds.
    pub fn float_lines(&self) -> Vec<u32> {
        self.steps.iter().filter(|step| step.op.is_float()).map(|step| step.line).collect()
    }

    /// What ptxas makes of the text, as far as it changes results.
    pub fn rewrites(&self) -> &crate::rewrite::Rewrites {
        &self.rewrites
    }
}
