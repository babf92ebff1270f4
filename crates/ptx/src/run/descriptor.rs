//! Descriptors of matrices in shared memory.

/// Where a matrix is in shared memory (PTX ISA, "Matrix descriptor format" and "Strides" of `wgmma`).
pub(super) struct Descriptor {
    start: u64,
    leading: u64,
    stride: u64,
    /// The logarithm of the bytes of a row of the swizzle's pattern: 16 (none), 32, 64, 128.
    width: u32,
}

/// Bits of a descriptor without a meaning.
const RESERVED: u64 = 0x3ff1_c000_c000_c000;

impl Descriptor {
    /// An error says what of it is not known. A base offset, which a pattern has that does not start at a multiple of its size, is
    /// such: the manual gives its value, and not how it moves what is exchanged. Without a swizzle there is no pattern
    /// to start, and it is ignored: Triton writes the number of 128 bytes there, modulo 8.
    pub(super) fn of(bits: u64) -> Result<Descriptor, String> {
        let base = bits >> 49 & 7;
        if base != 0 && bits >> 62 != 0 {
            return Err(format!(
                "the matrix descriptor {bits:#018x} has a base offset of {base}, which is not supported: \
                 the swizzle must start at a multiple of its pattern"
            ));
        }
        if bits & RESERVED != 0 {
            return Err(format!("the matrix descriptor {bits:#018x} has bits that must be zero"));
        }
        let field = |low: u32| (bits >> low & 0x3fff) << 4;
        let width = match bits >> 62 {
            0 => 4,
            1 => 7,
            2 => 6,
            _ => 5,
        };
        Ok(Descriptor { start: field(0), leading: field(16), stride: field(32), width })
    }

    /// The address of an element: `line` is the row of A or column of B.
    #[inline(always)]
    pub(super) fn address(&self, line: usize, k: usize, bytes: u64, transposed: bool) -> u64 {
        let Descriptor { start, leading, stride, width } = *self;
        let (line, k) = (line as u64, k as u64);
        // what does not fit into the width lies further, by one of the two distances
        let split = |along: u64, beyond: u64| (along >> width) * beyond + (along & ((1 << width) - 1));
        let linear = match transposed {
            // eight lines make a pattern
            false => line / 8 * stride + ((line % 8) << width) + split(k * bytes, leading),
            // eight of K make a pattern
            true => {
                let (across, down) = if width == 4 { (stride, leading) } else { (leading, stride) };
                k / 8 * down + ((k % 8) << width) + split(line * bytes, across)
            }
        };
        let address = start + linear;
        // the chunk of 16 bytes within 128 is exchanged by the number of the 128 bytes
        let turned = (1 << (width - 4)) - 1;
        address ^ (address >> 7 & turned) << 4
    }
}
