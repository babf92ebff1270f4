//! Tensor maps: where the elements of a box of a tensor are in global memory, and where in shared memory.

use crate::error::Error;
use crate::program::{Field, Type};

/// Types of elements by their number in a map (PTX ISA, "tensormap.replace": `.elemtype`); none where a copy would convert them.
const KINDS: [Option<Type>; 11] = [
    Some(Type::U8),
    Some(Type::U16),
    Some(Type::U32),
    Some(Type::S32),
    Some(Type::U64),
    Some(Type::S64),
    Some(Type::F16),
    Some(Type::F32),
    None,
    Some(Type::F64),
    Some(Type::BF16),
];

/// A tensor and the boxes that are copied: what `cuTensorMapEncodeTiled` is given. On a GPU its 128 bytes are opaque; here they are
/// these fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TensorMap {
    /// A type of elements by its number for `tensormap.replace`: 0 to 5 for u8, u16, u32, s32, u64, s64; 6, 7, 9 and 10 for f16, f32, f64 and bf16.
    pub kind: u8,
    /// From 1 to 5.
    pub rank: u8,
    /// The pattern of 32 (1), 64 (2) or 128 (3) bytes by which chunks of 16 bytes are exchanged; none (0).
    pub swizzle: u8,
    /// Whether elements outside of the tensor are NaN, and not zero.
    pub fills_nan: bool,
    /// Of the first element; of a map that is an argument the offset in its buffer.
    pub address: u64,
    /// Elements along each dimension, the one that lies together first.
    pub dimensions: [u32; 5],
    /// Bytes between neighbours along each but the first.
    pub strides: [u64; 4],
    /// Elements of a box.
    pub lengths: [u32; 5],
    /// Of how many elements each is copied. The first is ignored: along the first dimension a box has all elements.
    pub steps: [u32; 5],
    /// How channels lie: 0, one after the other; others are not supported.
    pub interleave: u8,
}

/// What the first bytes of a map are.
const MAGIC: u32 = 0x5041_4d54;

/// Bytes of a map.
pub(crate) const SIZE: usize = 128;

/// Where each field is.
const ADDRESS: usize = 8;
const DIMENSIONS: usize = 16;
const STRIDES: usize = 40;
const LENGTHS: usize = 72;
const STEPS: usize = 92;

/// Where a field is among the bytes of a map, and how many it has.
pub(super) fn place(field: Field) -> (usize, usize) {
    let along = |first: usize, at: u8, bytes: usize| (first + usize::from(at) * bytes, bytes);
    match field {
        Field::Type => (4, 1),
        Field::Rank => (5, 1),
        Field::Swizzle => (6, 1),
        Field::Fill => (7, 1),
        Field::Interleave => (112, 1),
        Field::Address => (ADDRESS, 8),
        Field::Dimension(at) => along(DIMENSIONS, at, 4),
        // there are four
        Field::Stride(at) => along(STRIDES, at.min(3), 8),
        Field::Box(at) => along(LENGTHS, at, 4),
        Field::ElementStride(at) => along(STEPS, at, 4),
    }
}

/// The bytes that mark a map.
pub(super) const MARK: [u8; 4] = MAGIC.to_le_bytes();

impl TensorMap {
    /// The same with sizes; what is missing is zero.
    pub fn with(self, dimensions: &[u32], strides: &[u64], lengths: &[u32], steps: &[u32]) -> TensorMap {
        fn filled<T: Copy + Default, const N: usize>(list: &[T]) -> [T; N] {
            std::array::from_fn(|at| list.get(at).copied().unwrap_or_default())
        }
        let (dimensions, strides) = (filled(dimensions), filled(strides));
        TensorMap { dimensions, strides, lengths: filled(lengths), steps: filled(steps), ..self }
    }

    /// The bytes of a map.
    pub(crate) fn bytes(&self) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
        put(0, &MARK);
        put(4, &[self.kind, self.rank.wrapping_sub(1), self.swizzle, u8::from(self.fills_nan)]);
        put(ADDRESS, &self.address.to_le_bytes());
        let mut all = |first: usize, list: &[u32]| {
            list.iter().enumerate().for_each(|(at, one)| put(first + 4 * at, &one.to_le_bytes()));
        };
        all(DIMENSIONS, &self.dimensions);
        all(LENGTHS, &self.lengths);
        all(STEPS, &self.steps);
        self.strides.iter().enumerate().for_each(|(at, one)| put(STRIDES + 8 * at, &one.to_le_bytes()));
        bytes
    }

    /// The map that some bytes are; an error says why they are none.
    pub(super) fn of(bytes: &[u8; SIZE]) -> Result<TensorMap, String> {
        if bytes[..4] != MARK {
            return Err("the tensor map holds nothing: it was neither given by the host nor written by tensormap.replace".to_owned());
        }
        let word = |at: usize| u32::from_le_bytes(*bytes[at..].first_chunk().unwrap_or(&[0; 4]));
        let wide = |at: usize| u64::from_le_bytes(*bytes[at..].first_chunk().unwrap_or(&[0; 8]));
        let map = TensorMap {
            kind: bytes[4],
            rank: bytes[5].wrapping_add(1),
            swizzle: bytes[6],
            fills_nan: bytes[7] != 0,
            interleave: bytes[112],
            address: wide(ADDRESS),
            dimensions: std::array::from_fn(|at| word(DIMENSIONS + 4 * at)),
            strides: std::array::from_fn(|at| wide(STRIDES + 8 * at)),
            lengths: std::array::from_fn(|at| word(LENGTHS + 4 * at)),
            steps: std::array::from_fn(|at| word(STEPS + 4 * at)),
        };
        map.check()?;
        Ok(map)
    }

    /// The type of an element, if one such can be copied.
    pub(super) fn element_type(&self) -> Option<Type> {
        KINDS.get(usize::from(self.kind)).copied().flatten()
    }

    /// Bytes of an element.
    pub(super) fn element(&self) -> u64 {
        self.element_type().map_or(1, |kind| u64::from(kind.bits()) / 8)
    }

    /// Of how many elements along a dimension each is copied ("cuTensorMapEncodeTiled": without interleave the hardware ignores the
    /// first step).
    pub(super) fn step(&self, at: usize) -> u32 {
        if at == 0 { 1 } else { self.steps[at].max(1) }
    }

    /// Elements of a box along each dimension, as they lie in shared memory.
    pub(super) fn counts(&self) -> [u64; 5] {
        std::array::from_fn(|at| match at < usize::from(self.rank) {
            true => u64::from(self.lengths[at].div_ceil(self.step(at))),
            false => 1,
        })
    }

    /// Whether the fields are such as a copy can have ("Tensor Map Object Management" of the CUDA driver API).
    fn check(&self) -> Result<(), String> {
        let rank = usize::from(self.rank);
        if !(1..=5).contains(&rank) {
            return Err(format!("a tensor map has 1 to 5 dimensions, not {rank}"));
        }
        if self.element_type().is_none() {
            return Err(format!("a tensor map of elements of type {:#x} is not supported", self.kind));
        }
        if self.interleave != 0 {
            return Err("a tensor map that interleaves is not supported".to_owned());
        }
        if self.swizzle > 3 {
            return Err(format!("a tensor map has swizzle 0 to 3, not {}", self.swizzle));
        }
        if !self.address.is_multiple_of(16) {
            return Err(format!("the address of a tensor map is a multiple of 16, not {:#x}", self.address));
        }
        for at in 0..rank {
            let (size, length, step) = (self.dimensions[at], self.lengths[at], self.steps[at]);
            if size == 0 {
                return Err(format!("dimension {at} of a tensor map has no elements"));
            }
            if length == 0 || length > 256 {
                return Err(format!("a box has 1 to 256 elements along dimension {at}, not {length}"));
            }
            if at > 0 && (step == 0 || step > 8) {
                return Err(format!("dimension {at} of a tensor map has a step of 1 to 8, not {step}"));
            }
        }
        if let Some(stride) = self.strides[..rank - 1].iter().find(|stride| !stride.is_multiple_of(16)) {
            return Err(format!("the strides of a tensor map are multiples of 16 bytes, not {stride}"));
        }
        let inner = self.counts()[0] * self.element();
        let most = match self.swizzle {
            0 => u64::MAX,
            swizzle => 16 << swizzle,
        };
        if !inner.is_multiple_of(16) || inner > most {
            let limit = if most == u64::MAX { String::new() } else { format!(" of at most {most}") };
            return Err(format!("a row of a box has a multiple of 16 bytes{limit}, not {inner}"));
        }
        Ok(())
    }

    /// Where the chunk of 16 bytes at an offset of a box is.
    pub(super) fn exchanged(&self, address: u64) -> u64 {
        let turned = (1 << self.swizzle) - 1;
        address ^ (address >> 7 & turned) << 4
    }

    /// The same as an argument: an error if it is wrong. Its address is checked by the launch.
    pub(crate) fn checked(&self) -> Result<(), Error> {
        self.check().map_err(Error::Launch)
    }
}
