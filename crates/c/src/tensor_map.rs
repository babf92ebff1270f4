//! Tensor maps: tensors whose boxes a kernel copies.

use bitmma_ptx::{Boxes, TensorMap};

use crate::buffer::not_null;
use crate::status::bitmma_status::BITMMA_OPTION;
use crate::status::{Failure, bitmma_status, guarded};

/// A tensor in a buffer and the boxes of it that a kernel copies, as `bitmma_tensor_map_tiled` and `bitmma_tensor_map_im2col` write it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bitmma_tensor_map {
    /// The number of its buffer in the launch.
    pub buffer: usize,
    /// Where the tensor begins in it, in bytes.
    pub offset: u64,
    /// Bytes between neighbours along each dimension but the first.
    pub strides: [u64; 4],
    /// Elements along each dimension.
    pub dimensions: [u32; 5],
    /// Elements of a box; of im2col channels of a pixel, and pixels.
    pub lengths: [u32; 5],
    /// Of how many elements each is copied.
    pub steps: [u32; 5],
    /// The type of the elements, by its number in `tensormap.replace`.
    pub kind: u8,
    /// Dimensions.
    pub rank: u8,
    /// How chunks of 16 bytes are exchanged.
    pub swizzle: u8,
    /// 1 where elements outside of the tensor are NaN, 0 where they are zero.
    pub fills_nan: u8,
    /// What a box is: 0 tiled, 1 im2col, 2 `im2col::w`, 3 `im2col::w::128`.
    pub boxes: u8,
    /// Where the pixels of im2col begin along W, H and D, from the first of an image.
    pub lower: [i32; 3],
    /// Where they end, from the end of an image.
    pub upper: [i32; 3],
}

impl bitmma_tensor_map {
    /// The map of the kernel runner.
    pub(crate) fn map(&self) -> Result<TensorMap, Failure> {
        let &bitmma_tensor_map { offset, strides, dimensions, lengths, steps, kind, rank, .. } = self;
        let &bitmma_tensor_map { swizzle, lower, upper, .. } = self;
        let boxes = Boxes::try_from(self.boxes).map_err(|message| Failure::new(BITMMA_OPTION, message))?;
        Ok(TensorMap {
            kind,
            rank,
            swizzle,
            fills_nan: self.fills_nan != 0,
            address: offset,
            dimensions,
            strides,
            lengths,
            steps,
            interleave: 0,
            boxes,
            lower,
            upper,
        })
    }
}

/// The number in `tensormap.replace` of each type of CUtensorMapDataType that is supported.
const KINDS: [u8; 10] = [0, 1, 2, 3, 4, 5, 6, 7, 9, 10];

/// As many numbers as there are, then zeros.
///
/// # Safety
///
/// NULL, or as many can be read.
unsafe fn list<T: Copy + Default, const N: usize>(
    name: &str,
    from: *const T,
    count: usize,
) -> Result<[T; N], Failure> {
    let mut list = [T::default(); N];
    for (at, to) in list.iter_mut().take(count).enumerate() {
        not_null(name, from)?;
        // SAFETY: the caller's
        *to = unsafe { from.add(at).read_unaligned() };
    }
    Ok(list)
}

/// What both kinds of maps have.
struct Tensor {
    data_type: u32,
    rank: u32,
    buffer: usize,
    offset: u64,
    global_dim: *const u64,
    global_strides: *const u64,
    element_strides: *const u32,
    interleave: u32,
    swizzle: u32,
    l2_promotion: u32,
    oob_fill: u32,
}

impl Tensor {
    /// The map of `least` to 5 dimensions without its boxes.
    ///
    /// # Safety
    ///
    /// As many numbers as the rank asks for can be read.
    unsafe fn map(&self, least: u32) -> Result<bitmma_tensor_map, Failure> {
        let Tensor { data_type, rank, interleave, swizzle, l2_promotion, oob_fill, .. } = *self;
        for (name, value, least, most) in [
            ("data_type", data_type, 0, KINDS.len() as u32 - 1),
            ("rank", rank, least, 5),
            ("interleave", interleave, 0, 0),
            ("swizzle", swizzle, 0, 3),
            ("l2_promotion", l2_promotion, 0, 3),
            ("oob_fill", oob_fill, 0, 1),
        ] {
            if !(least..=most).contains(&value) {
                let range = if most == 0 { "0".to_owned() } else { format!("{least} to {most}") };
                return Err(Failure::new(
                    BITMMA_OPTION,
                    format!("{name} is {value}; only {range} is supported"),
                ));
            }
        }
        let count = rank as usize;
        // SAFETY: the caller's lists
        let (sizes, strides, steps) = unsafe {
            let sizes: [u64; 5] = list("global_dim", self.global_dim, count)?;
            let strides = list("global_strides", self.global_strides, count - 1)?;
            (sizes, strides, list("element_strides", self.element_strides, count)?)
        };
        let mut dimensions = [0; 5];
        for (at, (to, size)) in dimensions.iter_mut().zip(sizes).enumerate() {
            *to = u32::try_from(size).map_err(|_| {
                let message = format!("global_dim[{at}] is {size}; at most {} is supported", u32::MAX);
                Failure::new(BITMMA_OPTION, message)
            })?;
        }
        Ok(bitmma_tensor_map {
            buffer: self.buffer,
            offset: self.offset,
            strides,
            dimensions,
            lengths: [0; 5],
            steps,
            kind: KINDS[data_type as usize],
            rank: rank as u8,
            swizzle: swizzle as u8,
            fills_nan: oob_fill as u8,
            boxes: 0,
            lower: [0; 3],
            upper: [0; 3],
        })
    }
}

/// A tensor map with the parameters of cuTensorMapEncodeTiled, in their order; the numbers are those of its enumerations.
///
/// `data_type` (CUtensorMapDataType): 0 to 5 for u8, u16, u32, s32, u64, s64; 6 to 9 for f16, f32, f64, bf16. `rank`: 1 to 5.
/// `buffer` and `offset` are the global address: a buffer of the launch by its number, and bytes from its start.
/// `global_dim`, `box_dim` and `element_strides` have `rank` numbers, `global_strides` one less, in bytes; the first dimension
/// is the one that lies together. `interleave`: 0. `swizzle`: 0, or 1 to 3 for 32, 64 and 128 bytes. `l2_promotion`: 0 to 3,
/// which changes no bits. `oob_fill`: 0 for zeros, 1 for NaN. `bitmma_launch` checks alignments and sizes.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)] // as CUDA has them
pub unsafe extern "C" fn bitmma_tensor_map_tiled(
    map: *mut bitmma_tensor_map,
    data_type: u32,
    rank: u32,
    buffer: usize,
    offset: u64,
    global_dim: *const u64,
    global_strides: *const u64,
    box_dim: *const u32,
    element_strides: *const u32,
    interleave: u32,
    swizzle: u32,
    l2_promotion: u32,
    oob_fill: u32,
) -> bitmma_status {
    // SAFETY: the caller's lists and the place for the map
    guarded(|| unsafe {
        not_null("map", map)?;
        let tensor = Tensor {
            data_type,
            rank,
            buffer,
            offset,
            global_dim,
            global_strides,
            element_strides,
            interleave,
            swizzle,
            l2_promotion,
            oob_fill,
        };
        let made = tensor.map(1)?;
        map.write(bitmma_tensor_map { lengths: list("box_dim", box_dim, rank as usize)?, ..made });
        Ok(())
    })
}

/// A tensor map with the parameters of cuTensorMapEncodeIm2col, in their order: those of `bitmma_tensor_map_tiled`, for a `rank` of 3 to 5,
/// of NWC, NHWC or NDHWC with the first dimension C.
///
/// `pixel_box_lower_corner` and `pixel_box_upper_corner` have `rank` - 2 numbers, along W, H and D. For what cuTensorMapEncodeIm2colWide makes
/// change `boxes` of the map afterwards; it takes the corners along W.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)] // as CUDA has them
pub unsafe extern "C" fn bitmma_tensor_map_im2col(
    map: *mut bitmma_tensor_map,
    data_type: u32,
    rank: u32,
    buffer: usize,
    offset: u64,
    global_dim: *const u64,
    global_strides: *const u64,
    pixel_box_lower_corner: *const i32,
    pixel_box_upper_corner: *const i32,
    channels_per_pixel: u32,
    pixels_per_column: u32,
    element_strides: *const u32,
    interleave: u32,
    swizzle: u32,
    l2_promotion: u32,
    oob_fill: u32,
) -> bitmma_status {
    // SAFETY: the caller's lists and the place for the map
    guarded(|| unsafe {
        not_null("map", map)?;
        let tensor = Tensor {
            data_type,
            rank,
            buffer,
            offset,
            global_dim,
            global_strides,
            element_strides,
            interleave,
            swizzle,
            l2_promotion,
            oob_fill,
        };
        let made = tensor.map(3)?;
        map.write(bitmma_tensor_map {
            boxes: Boxes::Im2col as u8,
            lengths: [channels_per_pixel, pixels_per_column, 0, 0, 0],
            lower: list("pixel_box_lower_corner", pixel_box_lower_corner, rank as usize - 2)?,
            upper: list("pixel_box_upper_corner", pixel_box_upper_corner, rank as usize - 2)?,
            ..made
        });
        Ok(())
    })
}
