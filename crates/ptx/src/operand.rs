//! Operands: numbered slots of registers, their types, and addresses.

/// A slot of 32 lanes of 32 bits; 8 and 16-bit registers leave the upper bits zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Word(pub(crate) u32);

/// A slot of 32 lanes of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Wide(pub(crate) u32);

/// A slot of 32 bits, one for each lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Predicate(pub(crate) u32);

/// Predicates that every kernel has: all true, all false, the carry.
pub(crate) const TRUE: Predicate = Predicate(0);
pub(crate) const FALSE: Predicate = Predicate(1);
pub(crate) const CARRY: Predicate = Predicate(2);
pub(crate) const FIRST_PREDICATE: u32 = 3;

/// A register of any width, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Slot {
    /// With its bits: 8, 16 or 32.
    Word(Word, u32),
    Wide(Wide),
    Sink,
}

/// A predicate, perhaps negated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(crate) predicate: Predicate,
    pub(crate) negated: bool,
}

/// Types of operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Type {
    Pred,
    B8,
    B16,
    B32,
    B64,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    BF16,
    TF32,
    U16x2,
    S16x2,
    F16x2,
    BF16x2,
    F32,
    F32x2,
    F64,
    E4M3x2,
    E5M2x2,
    E2M3x2,
    E3M2x2,
    E2M1x2,
    UE8M0x2,
}

/// Where memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Region {
    Generic,
    Global,
    /// Of `isspacep` alone: accesses find constants in global memory.
    Constant,
    Shared,
    /// Shared memory of the own block alone: `.shared`, `.shared::cta`.
    SharedOfBlock,
    Local,
    Parameter,
}

/// A register that holds an address, with an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) base: Slot,
    pub(crate) offset: i64,
}

/// Formats of float operations, packed ones lane by lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    Half,
    Brain,
    Single,
    Double,
}

/// Float operands: one in a word, two in a word, one or two in 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Float {
    pub(crate) number: Number,
    pub(crate) packed: bool,
}

impl Type {
    /// The type of a modifier.
    pub(crate) fn named(word: &str) -> Option<Type> {
        Some(match word {
            "pred" => Type::Pred,
            "b8" => Type::B8,
            "b16" => Type::B16,
            "b32" => Type::B32,
            "b64" => Type::B64,
            "u8" => Type::U8,
            "u16" => Type::U16,
            "u32" => Type::U32,
            "u64" => Type::U64,
            "s8" => Type::S8,
            "s16" => Type::S16,
            "s32" => Type::S32,
            "s64" => Type::S64,
            "f16" => Type::F16,
            "bf16" => Type::BF16,
            "tf32" => Type::TF32,
            "u16x2" => Type::U16x2,
            "s16x2" => Type::S16x2,
            "f16x2" => Type::F16x2,
            "bf16x2" => Type::BF16x2,
            "f32" => Type::F32,
            "f32x2" => Type::F32x2,
            "f64" => Type::F64,
            "e4m3x2" => Type::E4M3x2,
            "e5m2x2" => Type::E5M2x2,
            "e2m3x2" => Type::E2M3x2,
            "e3m2x2" => Type::E3M2x2,
            "e2m1x2" => Type::E2M1x2,
            "ue8m0x2" => Type::UE8M0x2,
            _ => return None,
        })
    }

    pub(crate) fn bits(self) -> u32 {
        match self {
            Type::Pred => 1,
            Type::B8 | Type::U8 | Type::S8 | Type::E2M1x2 => 8,
            Type::B16 | Type::U16 | Type::S16 | Type::F16 | Type::BF16 => 16,
            Type::E4M3x2 | Type::E5M2x2 | Type::E2M3x2 | Type::E3M2x2 | Type::UE8M0x2 => 16,
            Type::B32 | Type::U32 | Type::S32 | Type::F32 | Type::TF32 => 32,
            Type::U16x2 | Type::S16x2 | Type::F16x2 | Type::BF16x2 => 32,
            Type::B64 | Type::U64 | Type::S64 | Type::F64 | Type::F32x2 => 64,
        }
    }

    pub(crate) fn is_signed(self) -> bool {
        matches!(self, Type::S8 | Type::S16 | Type::S32 | Type::S64)
    }

    /// Whether it is an integer that is more than bits.
    pub(crate) fn is_number(self) -> bool {
        self.is_integer() && !matches!(self, Type::B8 | Type::B16 | Type::B32 | Type::B64)
    }

    /// The type as a float, if it is one.
    pub(crate) fn float(self) -> Option<Float> {
        let (number, packed) = match self {
            Type::F16 => (Number::Half, false),
            Type::F16x2 => (Number::Half, true),
            Type::BF16 => (Number::Brain, false),
            Type::BF16x2 => (Number::Brain, true),
            Type::F32 => (Number::Single, false),
            Type::F32x2 => (Number::Single, true),
            Type::F64 => (Number::Double, false),
            _ => return None,
        };
        Some(Float { number, packed })
    }

    /// Whether it is two halves.
    pub(crate) fn is_packed(self) -> bool {
        matches!(self, Type::F16x2 | Type::BF16x2)
    }

    pub(crate) fn is_integer(self) -> bool {
        self.float().is_none() && !matches!(self, Type::Pred | Type::TF32) && !self.is_narrow()
    }

    /// Whether it is two numbers of 8 bits or fewer.
    pub(crate) fn is_narrow(self) -> bool {
        matches!(
            self,
            Type::E4M3x2 | Type::E5M2x2 | Type::E2M3x2 | Type::E3M2x2 | Type::E2M1x2 | Type::UE8M0x2
        )
    }
}

impl Condition {
    pub(crate) const TRUE: Condition = Condition { predicate: TRUE, negated: false };
}
