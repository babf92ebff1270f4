//! Tensor maps: tensors whose boxes a kernel copies.

use bitmma_ptx::TensorMap;

use crate::buffer::not_null;
use crate::status::bitmma_status::BITMMA_OPTION;
use crate::status::{Failure, bitmma_status, guarded};

/// A tensor in a buffer and the boxes of it that a kernel copies, as `bitmma_tensor_map_tiled` writes it.
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
    /// Elements of a box.
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
}

impl bitmma_tensor_map {
    /// The map of the kernel runner.
    pub(crate) fn map(&self) -> TensorMap {
        let &bitmma_tensor_map { offset, strides, dimensions, lengths, steps, kind, rank, swizzle, .. } =
            self;
        TensorMap {
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
        }
    }
}

/// The number in `tensormap.replace` of each type of CUtensorMapDataType that is supported.
const KINDS: [u8; 10] = [0, 1, 2, 3, 4, 5, 6, 7, 9, 10];

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
    // SAFETY: the caller's lists and the place for the map
    guarded(|| unsafe {
        not_null("map", map)?;
        for (name, value, least, most) in [
            ("data_type", data_type, 0, KINDS.len() as u32 - 1),
            ("rank", rank, 1, 5),
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
        let sizes: [u64; 5] = list("global_dim", global_dim, count)?;
        let mut dimensions = [0; 5];
        for (at, (to, size)) in dimensions.iter_mut().zip(sizes).enumerate() {
            *to = u32::try_from(size).map_err(|_| {
                let message = format!("global_dim[{at}] is {size}; at most {} is supported", u32::MAX);
                Failure::new(BITMMA_OPTION, message)
            })?;
        }
        map.write(bitmma_tensor_map {
            buffer,
            offset,
            strides: list("global_strides", global_strides, count - 1)?,
            dimensions,
            lengths: list("box_dim", box_dim, count)?,
            steps: list("element_strides", element_strides, count)?,
            kind: KINDS[data_type as usize],
            rank: rank as u8,
            swizzle: swizzle as u8,
            fills_nan: oob_fill as u8,
        });
        Ok(())
    })
}
