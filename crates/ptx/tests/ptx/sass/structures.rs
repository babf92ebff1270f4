//! Families of kernels: which statements their bodies have, and how often.

use rand_chacha::ChaCha8Rng;

use super::generate::Kind;
use super::write::{Statement, Writer};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Structure {
    /// Products and additions one after the other.
    Straight,
    /// A few products of operands, then sums of them.
    Sums,
    /// With multiply-adds, extremes, comparisons and selections between them.
    Mixed,
    /// Each instruction with its own rounding, flushing and clamping.
    Modifiers,
    /// Products with a constant factor.
    Constants,
    /// Instructions that do nothing.
    Nothing,
    /// Divisions and reciprocals.
    Divisions,
    /// Functions of data.
    Functions,
    /// Functions of constants.
    Folding,
    /// Instructions under a predicate.
    Guards,
    /// Barriers, fences, exchanges, loads and stores between.
    Between,
    /// Branches and merges.
    Blocks,
    /// Products with a constant factor, and branches, loops and fences.
    ConstantBlocks,
    /// Loops of few turns.
    Loops,
    /// All of it.
    Everything,
    /// The same, five times as long; only where it is asked for.
    Long,
    /// Products that are multiplied by powers of two; in a campaign of their own.
    Scaled,
}

impl Structure {
    pub(super) const ALL: [(Structure, &'static str); 17] = [
        (Structure::Straight, "straight"),
        (Structure::Sums, "sums"),
        (Structure::Mixed, "mixed"),
        (Structure::Modifiers, "modifiers"),
        (Structure::Constants, "constants"),
        (Structure::Nothing, "nothing"),
        (Structure::Divisions, "divisions"),
        (Structure::Functions, "functions"),
        (Structure::Folding, "folding"),
        (Structure::Guards, "guards"),
        (Structure::Between, "between"),
        (Structure::Blocks, "blocks"),
        (Structure::ConstantBlocks, "constant-blocks"),
        (Structure::Loops, "loops"),
        (Structure::Everything, "everything"),
        (Structure::Long, "long"),
        (Structure::Scaled, "scaled"),
    ];

    pub(super) fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Whether there are such kernels of a kind: only FP32 has divisions and functions.
    pub(super) fn has(self, kind: Kind) -> bool {
        let single = [Structure::Divisions, Structure::Functions, Structure::Folding, Structure::Scaled];
        !single.contains(&self) || kind == Kind::F32
    }

    /// Statements beside products and additions, with their weights; those have 70 together.
    fn statements(self) -> Vec<(Statement, usize)> {
        use Statement::{
            Between, Block, Compare, Constant, Divide, Extreme, Folded, Function, Guarded, Loop, MultiplyAdd,
            Nothing, Scale, Select, Store,
        };
        match self {
            Structure::Straight | Structure::Sums | Structure::Modifiers => vec![],
            Structure::Mixed => {
                vec![(MultiplyAdd, 10), (Extreme, 8), (Select, 8), (Compare, 4), (Store, 4)]
            }
            Structure::Constants => vec![(Constant, 40), (Store, 3), (Select, 3)],
            Structure::Nothing => vec![(Nothing, 35)],
            Structure::Divisions => vec![(Divide, 35), (Constant, 5)],
            Structure::Functions => vec![(Function, 35), (Divide, 5)],
            Structure::Folding => vec![(Folded, 35), (Function, 5), (Constant, 10)],
            Structure::Guards => vec![(Guarded, 40)],
            Structure::Between => vec![(Between, 40)],
            Structure::Blocks => vec![(Block, 25), (Store, 3)],
            Structure::ConstantBlocks => vec![(Block, 20), (Constant, 30), (Between, 8), (Loop, 6)],
            Structure::Loops => vec![(Loop, 25)],
            Structure::Scaled => vec![
                (Scale, 120),
                (Store, 6),
                (Select, 6),
                (Nothing, 12),
                (Divide, 12),
                (Guarded, 6),
                (Block, 6),
                (Loop, 10),
            ],
            Structure::Everything | Structure::Long => vec![
                (MultiplyAdd, 5),
                (Extreme, 4),
                (Select, 5),
                (Compare, 3),
                (Store, 3),
                (Constant, 10),
                (Nothing, 8),
                (Divide, 4),
                (Function, 4),
                (Folded, 3),
                (Guarded, 6),
                (Between, 6),
                (Block, 8),
                (Loop, 6),
            ],
        }
    }
}

pub(super) fn body(structure: Structure, kind: Kind, folds: bool, random: ChaCha8Rng) -> Vec<String> {
    let mut writer = Writer::new(kind, structure.statements(), folds, random);
    writer.flush_sometimes();
    if structure == Structure::Long {
        writer.registers = 200;
    }
    if structure == Structure::Modifiers {
        writer.modify_each();
    }
    if structure == Structure::Sums {
        writer.sums();
        writer.store_all();
        return writer.lines;
    }
    let most = match structure {
        Structure::Blocks | Structure::ConstantBlocks | Structure::Loops => 5,
        Structure::Everything => 10,
        Structure::Long => 50,
        _ => 8,
    };
    let count = 3 + writer.below(most);
    writer.statements(count);
    if matches!(structure, Structure::Blocks | Structure::ConstantBlocks) {
        writer.block();
        writer.statements(1);
    }
    if structure == Structure::Loops {
        writer.turns();
        writer.statements(1);
    }
    writer.store_all();
    writer.lines
}
