//! PTX text for one instruction: a kernel that loads a tile, runs the instruction once, and stores D.
//!
//! One file for each family. Every kernel takes two pointers, to the tiles that go in and to those that
//! come out; block b of the grid does tile b. [`TileLayout`](crate::gpu::TileLayout) says what a tile looks like.

pub mod function;
mod mma;
mod tcgen05;
mod text;
mod wgmma;
mod wmma;

use bitmma_engine::catalogue::lookup::Found;
use bitmma_engine::catalogue::{Family, Instruction, Vendor};
use bitmma_engine::formats::F64;
use bitmma_engine::{Architecture, Signature};

use super::fragment::Majors;
use super::sparse::Selection;
use crate::gpu::Error;

pub use text::Kernel;

/// The kernel of an instruction that was looked up; `majors` matters to `m8n8k4` on FP16 alone.
pub fn kernel(found: &Found, majors: Majors) -> Result<Kernel, Error> {
    let row = found.instruction;
    if row.d.is_integer() {
        return Err(Error::of_integers(found.name()));
    }
    match row.family {
        Family::MmaSync => mma::kernel(found, majors, None),
        Family::Wgmma => wgmma::kernel(found, None),
        Family::MmaSp | Family::WgmmaSp => sparse_kernel(found, None),
        Family::Tcgen05 => tcgen05::kernel(found),
        Family::Wmma if row.a == F64 => wmma::kernel(found),
        Family::Wmma | Family::Mfma => Err(Error::NoKernel {
            instruction: found.name(),
            reason: "it is not an instruction of NVIDIA's hardware".to_owned(),
        }),
    }
}

/// The kernel of an instruction with a sparse A, of which the elements of that name are stored: `01` to `23` of
/// every four, `0` or `1` of two TF32, or `mixed`; the first if there is no name.
pub fn sparse_kernel(found: &Found, selection: Option<&str>) -> Result<Kernel, Error> {
    let refused = |reason| Error::NoKernel { instruction: found.name(), reason };
    if found.instruction.d.is_integer() {
        return Err(Error::of_integers(found.name()));
    }
    let selection = Selection::of(&Signature::found(found), selection).map_err(refused)?;
    match found.instruction.family {
        Family::MmaSp => mma::kernel(found, Majors::ROW_COL, Some(&selection)),
        Family::WgmmaSp => wgmma::kernel(found, Some(&selection)),
        _ => Err(refused("its A is not sparse, so nothing is selected".to_owned())),
    }
}

/// Whether there is a kernel for a row.
pub fn has_kernel(row: &Instruction) -> bool {
    row.architecture.vendor() == Vendor::Nvidia
        && !row.d.is_integer()
        && (row.family != Family::Wmma || row.a == F64)
}

/// A module of kernels of one architecture.
pub fn module<'k>(architecture: Architecture, kernels: impl IntoIterator<Item = &'k Kernel>) -> String {
    let (mut entries, mut newest) = (String::new(), (6, 4));
    for kernel in kernels {
        newest = newest.max(kernel.version);
        entries += &kernel.text;
    }
    let ((major, minor), target) = (newest, architecture.target());
    format!(".version {major}.{minor}\n.target {target}\n.address_size 64\n{entries}")
}
