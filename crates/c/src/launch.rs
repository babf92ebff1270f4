//! Launches of kernels.

use std::ffi::{c_char, c_void};
use std::slice;

use bitmma_ptx::{Argument, Buffer, Launch, Limits, Scalar};

use crate::buffer::{not_null, required};
use crate::gemm::threads;
use crate::kernel::bitmma_kernel;
use crate::status::bitmma_status::{BITMMA_MEMORY, BITMMA_OPTION, BITMMA_SIZE};
use crate::status::{Failure, bitmma_status, guarded};
use crate::tensor_map::bitmma_tensor_map;

/// An argument that is a null pointer.
pub const BITMMA_NULL_POINTER: u32 = 0;
/// An argument that is a pointer into a buffer: `buffer` and `offset`.
pub const BITMMA_POINTER: u32 = 1;
/// An argument that is a whole number: `integer`.
pub const BITMMA_INTEGER: u32 = 2;
/// An argument that is a number, rounded to the type of its parameter: `number`.
pub const BITMMA_FLOAT: u32 = 3;
/// An argument that is a tensor map: `map`.
pub const BITMMA_TENSOR_MAP: u32 = 4;

/// An argument of a launch. All zero is a null pointer.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bitmma_argument {
    /// BITMMA_POINTER, BITMMA_INTEGER, …; it says which of the other fields are read.
    pub kind: u32,
    /// The number of the buffer among those of the launch.
    pub buffer: usize,
    /// Bytes from the start of the buffer, at most its length.
    pub offset: u64,
    /// The value of an integer; of an unsigned one of 64 bits its bits.
    pub integer: i64,
    /// The value of a float.
    pub number: f64,
    /// The tensor map.
    pub map: *const bitmma_tensor_map,
}

/// Memory that a kernel reads and writes. Buffers must not overlap. Only those that the kernel writes to are written.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bitmma_buffer {
    /// The first byte.
    pub bytes: *mut c_void,
    /// How many there are.
    pub count: usize,
}

/// How a kernel is launched.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bitmma_launch_options {
    /// Blocks: x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block: x, y, z; zeros: what the entry requires.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory; NULL: as many as the architecture has.
    pub shared: *const u64,
    /// Turns of the loops of a warp after which the launch is an error; 0: 10,000,000.
    pub loop_limit: u64,
    /// Threads of this machine; 0: one for each core.
    pub threads: usize,
    /// Not 0: kernels run although results of theirs on a GPU are not known, or depend on the order of blocks.
    pub allow_doubtful: u32,
    /// Receives what the kernel printed and a zero, cut to `capacity` bytes; NULL with a `capacity` of 0: it is dropped.
    pub printed: *mut c_char,
    /// Bytes that `printed` has room for.
    pub capacity: usize,
}

impl bitmma_buffer {
    /// The bytes that lie here.
    ///
    /// # Safety
    ///
    /// NULL, or `count` bytes can be read.
    unsafe fn read(&self, at: usize) -> Result<Buffer, Failure> {
        let (name, count) = (format!("buffer {at}"), self.count);
        let mut bytes: Vec<u8> = vec![];
        if count > 0 {
            not_null(&format!("buffers[{at}].bytes"), self.bytes)?;
        }
        if bytes.try_reserve_exact(count).is_err() {
            let message = format!("there is not enough memory for {name}, which has {count} bytes");
            return Err(Failure::new(BITMMA_MEMORY, message));
        }
        if count > 0 {
            // SAFETY: the caller's bytes, and room for as many
            unsafe {
                bytes.as_mut_ptr().copy_from_nonoverlapping(self.bytes.cast(), count);
                bytes.set_len(count);
            }
        }
        Ok(Buffer { bytes, name, written: false })
    }
}

/// An error where two buffers share a byte.
fn check_apart(buffers: &[bitmma_buffer]) -> Result<(), Failure> {
    let mut places: Vec<(usize, usize, usize)> =
        buffers.iter().enumerate().map(|(at, buffer)| (buffer.bytes.addr(), buffer.count, at)).collect();
    places.retain(|(_, count, _)| *count > 0);
    places.sort_unstable();
    for pair in places.windows(2) {
        let [(start, count, one), (next, _, other)] = *pair else { continue };
        if next - start < count {
            let (first, second) = (one.min(other), one.max(other));
            let message = format!("buffers {first} and {second} overlap");
            return Err(Failure::new(BITMMA_SIZE, message));
        }
    }
    Ok(())
}

impl bitmma_argument {
    /// The argument of the kernel runner; `at` counts from 0.
    ///
    /// # Safety
    ///
    /// The map of a tensor map is NULL or valid.
    unsafe fn argument(&self, at: usize, buffers: &[Buffer]) -> Result<Argument, Failure> {
        let argument = match self.kind {
            BITMMA_NULL_POINTER => Argument::Null,
            BITMMA_POINTER => Argument::Pointer { buffer: self.buffer, offset: self.offset },
            BITMMA_INTEGER => Argument::Scalar(Scalar::Integer(self.integer.into())),
            BITMMA_FLOAT => Argument::Scalar(Scalar::Float(self.number)),
            BITMMA_TENSOR_MAP => {
                // SAFETY: the caller's
                let given = unsafe { required(&format!("arguments[{at}].map"), self.map)? };
                Argument::TensorMap { buffer: given.buffer, map: given.map()? }
            }
            other => {
                let message = format!("arguments[{at}].kind is {other}; 0 to {BITMMA_TENSOR_MAP} is allowed");
                return Err(Failure::new(BITMMA_OPTION, message));
            }
        };
        if let Argument::Pointer { buffer, offset }
        | Argument::TensorMap { buffer, map: bitmma_ptx::TensorMap { address: offset, .. } } = argument
            && let Some(Buffer { bytes, name, .. }) = buffers.get(buffer)
            && offset > bytes.len() as u64
        {
            let message = format!("argument {at} is byte {offset} of {name}, which has {}", bytes.len());
            return Err(Failure::new(BITMMA_SIZE, message));
        }
        Ok(argument)
    }
}

/// As many of them as there are.
///
/// # Safety
///
/// NULL, or as many can be read.
unsafe fn list<'l, T>(name: &str, from: *const T, count: usize) -> Result<&'l [T], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    not_null(name, from)?;
    let most = isize::MAX as usize / size_of::<T>();
    if count > most {
        let message = format!("{name}: {count} are given; no memory holds more than {most}");
        return Err(Failure::new(BITMMA_SIZE, message));
    }
    // SAFETY: the caller's
    Ok(unsafe { slice::from_raw_parts(from, count) })
}

/// Runs a kernel on buffers, and writes to them what it leaves; after an error they are as they were.
///
/// `arguments` has one for each parameter of the kernel. Pointers and tensor maps name one of `buffers` by its number, counted
/// from 0. A launch starts threads of its own, which end before it returns; it holds two copies of the buffers or more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmma_launch(
    kernel: *const bitmma_kernel,
    options: *const bitmma_launch_options,
    arguments: *const bitmma_argument,
    argument_count: usize,
    buffers: *const bitmma_buffer,
    buffer_count: usize,
) -> bitmma_status {
    // SAFETY: the caller's kernel, options, arguments and memory
    guarded(|| unsafe {
        let bitmma_kernel { kernel, .. } = required("kernel", kernel)?;
        let options = required("options", options)?;
        let arguments = list("arguments", arguments, argument_count)?;
        let buffers = list("buffers", buffers, buffer_count)?;
        if options.capacity > 0 {
            not_null("printed", options.printed)?;
        }
        let starts_threads = cfg!(feature = "threads");
        let threads = threads(options.threads, starts_threads)?.unwrap_or(if starts_threads { 0 } else { 1 });
        let turns = if options.loop_limit == 0 { Limits::default().turns } else { options.loop_limit };
        check_apart(buffers)?;
        let held = buffers.iter().enumerate().map(|(at, buffer)| buffer.read(at));
        let mut held: Vec<Buffer> = held.collect::<Result<_, _>>()?;
        let arguments = arguments.iter().enumerate().map(|(at, one)| one.argument(at, &held));
        let arguments: Vec<Argument> = arguments.collect::<Result<_, _>>()?;
        let launch = Launch {
            block: (options.block != [0; 3]).then_some(options.block),
            shared: options.shared.as_ref().copied(),
            allow_doubtful: options.allow_doubtful != 0,
            limits: Limits { turns, threads },
            ..Launch::new(kernel, options.grid)
        };
        let report = launch.run(&arguments, &mut held, &mut || false)?;
        for (buffer, held) in buffers.iter().zip(&held) {
            if held.written {
                buffer.bytes.cast::<u8>().copy_from_nonoverlapping(held.bytes.as_ptr(), buffer.count);
            }
        }
        if options.capacity > 0 {
            let length = report.printed.floor_char_boundary(options.capacity - 1);
            let to = options.printed.cast::<u8>();
            to.copy_from_nonoverlapping(report.printed.as_ptr(), length);
            to.add(length).write(0);
        }
        Ok(())
    })
}
