//! Tensor maps: where the elements of a box of a tensor are in global memory, and where in shared memory.

use crate::error::Error;
use crate::program::{Boxes, Field, Type};

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

/// The number of `.b4x16_p64` (`CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B`): elements of 4 bits, two in a byte, of which 16 are brought to 16
/// bytes, the last eight of which are undefined.
const PADDED: u8 = 14;

/// A tensor and the boxes that are copied: what `cuTensorMapEncodeTiled` and `cuTensorMapEncodeIm2col` are given. On a GPU its 128
/// bytes are opaque; here they are these fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TensorMap {
    /// A type of elements by its number for `tensormap.replace`: 0 to 5 for u8, u16, u32, s32, u64, s64; 6, 7, 9 and 10 for f16, f32, f64 and
    /// bf16; 14 for elements of 4 bits that are padded.
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
    /// Elements of a box; of im2col channels of a pixel, and pixels.
    pub lengths: [u32; 5],
    /// Of how many elements each is copied. The first is ignored: along the first dimension a box has all elements.
    pub steps: [u32; 5],
    /// How channels lie: 0, one after the other; others are not supported.
    pub interleave: u8,
    /// What a box is.
    pub boxes: Boxes,
    /// Where the pixels of im2col begin along W, H and D, from the first of an image; of `Im2colWide` along W alone.
    pub lower: [i32; 3],
    /// Where they end, from the end of an image.
    pub upper: [i32; 3],
}

/// Rows of elements along the first dimension.
pub(super) struct Rows {
    /// The coordinate of their first element.
    pub(super) first: i64,
    /// Where each is in global memory (its element 0); none outside of the tensor.
    pub(super) all: Vec<Option<u64>>,
}

/// The dimensions of an image, the one that lies together first.
const AXES: [&str; 3] = ["W", "H", "D"];

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
const INTERLEAVE: usize = 112;
const BOXES: usize = 113;
const LOWER: usize = 114;
const UPPER: usize = 120;

/// Where a field is among the bytes of a map, and how many it has.
pub(super) fn place(field: Field) -> (usize, usize) {
    let along = |first: usize, at: u8, bytes: usize| (first + usize::from(at) * bytes, bytes);
    match field {
        Field::Type => (4, 1),
        Field::Rank => (5, 1),
        Field::Swizzle => (6, 1),
        Field::Fill => (7, 1),
        Field::Interleave => (INTERLEAVE, 1),
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
        put(BOXES, &[self.boxes as u8]);
        for at in 0..3 {
            put(LOWER + 2 * at, &(self.lower[at] as i16).to_le_bytes());
            put(UPPER + 2 * at, &(self.upper[at] as i16).to_le_bytes());
        }
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
        let corner = |at: usize| i32::from(i16::from_le_bytes([bytes[at], bytes[at + 1]]));
        let wide = |at: usize| u64::from_le_bytes(*bytes[at..].first_chunk().unwrap_or(&[0; 8]));
        let map = TensorMap {
            kind: bytes[4],
            rank: bytes[5].wrapping_add(1),
            swizzle: bytes[6],
            fills_nan: bytes[7] != 0,
            interleave: bytes[INTERLEAVE],
            boxes: bytes[BOXES].try_into()?,
            lower: std::array::from_fn(|at| corner(LOWER + 2 * at)),
            upper: std::array::from_fn(|at| corner(UPPER + 2 * at)),
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
        if self.is_padded() { Some(Type::U8) } else { KINDS.get(usize::from(self.kind)).copied().flatten() }
    }

    /// Whether elements have 4 bits, and as much room again as padding in shared memory.
    pub(super) fn is_padded(&self) -> bool {
        self.kind == PADDED
    }

    /// Bytes of an element as it lies in shared memory.
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
            let (most, what) = match (self.boxes, at) {
                (Boxes::Tiled, _) => (256, format!("a box has 1 to 256 elements along dimension {at}")),
                (_, 0) => (256, "im2col has 1 to 256 channels of a pixel".to_owned()),
                (_, 1) => (1024, "im2col has 1 to 1024 pixels".to_owned()),
                _ => (u32::MAX, String::new()),
            };
            if length > most || length == 0 && !what.is_empty() {
                return Err(format!("{what}, not {length}"));
            }
            if at > 0 && (step == 0 || step > 8) {
                return Err(format!("dimension {at} of a tensor map has a step of 1 to 8, not {step}"));
            }
        }
        if self.is_padded() {
            self.check_padded(rank)?;
        }
        let strides = &self.strides[..rank - 1];
        if let Some(stride) = strides.iter().find(|stride| !stride.is_multiple_of(16)) {
            return Err(format!("the strides of a tensor map are multiples of 16 bytes, not {stride}"));
        }
        if let Some(stride) = strides.iter().find(|stride| **stride >= 1 << 40) {
            return Err(format!("the strides of a tensor map are less than 2^40 bytes, not {stride}"));
        }
        if self.fills_nan && self.element_type().is_none_or(|kind| kind.float().is_none()) {
            return Err("a tensor map of integers fills with zeros, not with NaN".to_owned());
        }
        if self.boxes != Boxes::Tiled {
            self.check_pixels(rank)?;
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

    /// The same of padded elements.
    fn check_padded(&self, rank: usize) -> Result<(), String> {
        let (size, length) = (self.dimensions[0], self.lengths[0]);
        let wide = std::iter::once(&self.address).chain(&self.strides[..rank - 1]);
        if let Some(odd) = wide.into_iter().find(|number| !number.is_multiple_of(32)) {
            return Err(format!(
                "the address and the strides of a tensor map of .b4x16_p64 are multiples of 32, not {odd:#x}"
            ));
        }
        if !size.is_multiple_of(128) || length != 128 {
            return Err(format!(
                "a tensor map of .b4x16_p64 has a multiple of 128 elements along dimension 0, not {size}, and a box 128, not {length}"
            ));
        }
        if !matches!(self.swizzle, 0 | 3) || self.fills_nan || self.boxes != Boxes::Tiled {
            return Err(
                "a tensor map of .b4x16_p64 has tiles, no swizzle or that of 128 bytes, and zeros outside"
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// The same of im2col.
    fn check_pixels(&self, rank: usize) -> Result<(), String> {
        let is_wide = self.boxes != Boxes::Im2col;
        if rank < 3 {
            return Err(format!("a tensor map of im2col has 3 to 5 dimensions, not {rank}"));
        }
        if self.steps[rank - 1] != 1 {
            return Err(format!(
                "a tensor map of im2col has no steps from image to image, not {}",
                self.steps[rank - 1]
            ));
        }
        if is_wide && self.swizzle < 2 {
            return Err(format!("a tensor map of {} has a swizzle of 64 or 128 bytes", self.boxes.name()));
        }
        let most = if is_wide { 1 << 15 } else { [1 << 15, 1 << 7, 1 << 4][rank - 3] };
        for (at, axis) in AXES.iter().enumerate().take(self.walked()) {
            let (lower, upper, size) = (self.lower[at], self.upper[at], self.dimensions[at + 1]);
            if let Some(corner) = [lower, upper].into_iter().find(|corner| !(-most..most).contains(corner)) {
                return Err(format!(
                    "a corner of im2col is {} to {} along {axis}, not {corner}",
                    -most,
                    most - 1
                ));
            }
            if i64::from(size) + i64::from(upper) <= i64::from(lower) {
                return Err(format!(
                    "the box of im2col is empty along {axis}: from {lower} to {upper} beyond the {size} pixels"
                ));
            }
        }
        Ok(())
    }

    /// Dimensions of an image along which pixels follow each other.
    fn walked(&self) -> usize {
        if self.boxes == Boxes::Im2col { usize::from(self.rank) - 2 } else { 1 }
    }

    /// Where a row of elements is, by its coordinates along all dimensions but the first.
    fn row(&self, along: [i64; 4]) -> Option<u64> {
        (1..usize::from(self.rank)).zip(along).try_fold(self.address, |offset, (at, along)| {
            let is_inside = (0..i64::from(self.dimensions[at])).contains(&along);
            is_inside.then(|| offset.wrapping_add((along as u64).wrapping_mul(self.strides[at - 1])))
        })
    }

    /// The rows that a copy of such boxes moves. `has_rows`: the coordinates but the first are numbers of rows of a matrix.
    pub(super) fn rows(
        &self,
        boxes: Boxes,
        coordinates: &[i64],
        offsets: &[i64],
        has_rows: bool,
    ) -> Result<Rows, String> {
        if boxes != self.boxes {
            let [map, copy] = [self.boxes, boxes].map(Boxes::name);
            return Err(format!("the tensor map is of {map}, and the copy of {copy}"));
        }
        let (rank, given) = (self.rank, coordinates.len());
        if self.is_padded() && coordinates[0] % 128 != 0 {
            return Err(format!(
                "a copy of .b4x16_p64 begins at a multiple of 128 elements, not at {}",
                coordinates[0]
            ));
        }
        if has_rows {
            if rank != 2 || given != 5 {
                return Err(format!(
                    "rows are gathered of a matrix, by 5 coordinates, not of {rank} dimensions by {given}"
                ));
            }
            if self.lengths[1] != 1 {
                return Err(format!(
                    "rows are gathered by a map whose box has one row, not {}",
                    self.lengths[1]
                ));
            }
            let all = coordinates[1..].iter().map(|row| self.row([*row, 0, 0, 0])).collect();
            return Ok(Rows { first: coordinates[0], all });
        }
        if given != usize::from(rank) {
            return Err(format!("the tensor map has {rank} dimensions, and the copy {given} coordinates"));
        }
        let mut first = [0; 4];
        first[..given - 1].copy_from_slice(&coordinates[1..]);
        let all = match boxes {
            Boxes::Tiled => {
                let counts = self.counts();
                let box_of = |mut left: u64| {
                    self.row(std::array::from_fn(|at| {
                        let (index, count) = (left, counts[at + 1]);
                        left /= count;
                        first[at] + (index % count * u64::from(self.step(at + 1))) as i64
                    }))
                };
                (0..counts[1..].iter().product()).map(box_of).collect()
            }
            _ => self.pixels(first, offsets)?,
        };
        Ok(Rows { first: coordinates[0], all })
    }

    /// The pixels of im2col (PTX ISA, "im2col mode", "im2col::w and im2col::w::128 modes"): from the first on along W; at the end of the box
    /// it goes on at its lower corner, one step along H, then D, then in the next image. Offsets move the box and the first pixel.
    fn pixels(&self, first: [i64; 4], offsets: &[i64]) -> Result<Vec<Option<u64>>, String> {
        let (walked, is_wide) = (self.walked(), self.boxes != Boxes::Im2col);
        let offsets = match offsets {
            [0, rest @ ..] if is_wide => rest,
            [_, ..] if is_wide => {
                return Err(
                    "the halo of im2col::w is not supported: PTX does not say in words which pixels it has"
                        .to_owned(),
                );
            }
            offsets => offsets,
        };
        let most = if is_wide { 1 << 15 } else { [1 << 16, 1 << 8, 1 << 5][usize::from(self.rank) - 3] };
        if let Some(offset) = offsets.iter().find(|offset| **offset >= most) {
            return Err(format!("an offset of im2col is 0 to {}, not {offset}", most - 1));
        }
        let bounds: Vec<(i64, i64, i64)> = (0..walked)
            .map(|at| {
                let upper = i64::from(self.dimensions[at + 1]) + i64::from(self.upper[at]);
                (i64::from(self.lower[at]), upper, i64::from(self.step(at + 1)))
            })
            .collect();
        for (axis, (from, (lower, upper, step))) in AXES.iter().zip(first.iter().zip(&bounds)) {
            if from >= upper || from < lower && !is_wide {
                return Err(format!(
                    "im2col begins at {from} along {axis}, outside of its box from {lower} to {}",
                    upper - 1
                ));
            }
            if (from - lower) % step != 0 {
                return Err(format!(
                    "im2col begins at {from} along {axis}, which steps of {step} from the corner {lower} do not reach: PTX does not say what follows"
                ));
            }
        }
        let count = if self.boxes == Boxes::Im2colWide128 { 128 } else { self.lengths[1] };
        let mut at = first;
        let pixels = (0..count).map(|_| {
            let place = std::array::from_fn(|axis| at[axis] + offsets.get(axis).unwrap_or(&0));
            let goes_on = at.iter_mut().zip(&bounds).any(|(along, (lower, upper, step))| {
                *along += step;
                let is_inside = *along < *upper;
                if !is_inside {
                    *along = *lower;
                }
                is_inside
            });
            if !goes_on {
                at[usize::from(self.rank) - 2] += 1;
            }
            self.row(place)
        });
        Ok(pixels.collect())
    }

    /// Whether boxes of im2col may be stored (PTX ISA, "Restriction on Tensor Copy instructions").
    pub(super) fn check_store(&self, coordinates: &[i64]) -> Result<(), String> {
        let is_outside = coordinates.iter().any(|coordinate| *coordinate < 0)
            || self.lower.iter().any(|corner| *corner < 0)
            || self.upper.iter().any(|corner| *corner > 0);
        match self.boxes != Boxes::Tiled && is_outside {
            true => Err("a store of im2col has coordinates and corners within the tensor".to_owned()),
            false => Ok(()),
        }
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
