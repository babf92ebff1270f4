//! Descriptors of matrices in shared memory.

/// Where a matrix is in shared memory (PTX ISA, "Matrix descriptor format" and "Strides" of `wgmma`).
pub(super) struct Descriptor {
    start: u64,
    leading: u64,
    stride: u64,
    /// Bytes of a row of the swizzle's pattern: 16 (none), 32, 64, 128.
    width: u64,
}

impl Descriptor {
    pub(super) fn of(bits: u64) -> Descriptor {
        let field = |low: u32| (bits >> low & 0x3fff) << 4;
        let width = match bits >> 62 {
            0 => 16,
            1 => 128,
            2 => 64,
            _ => 32,
        };
        Descriptor { start: field(0), leading: field(16), stride: field(32), width }
    }

    /// The address of an element: `line` is the row of A or column of B.
    pub(super) fn address(&self, line: usize, k: usize, bytes: u64, transposed: bool) -> u64 {
        let Descriptor { start, leading, stride, width } = *self;
        let (line, k) = (line as u64, k as u64);
        let linear = match transposed {
            // eight lines make a pattern; what of K does not fit into its width lies `leading` further
            false => {
                let along = k * bytes;
                line / 8 * stride + line % 8 * width + along / width * leading + along % width
            }
            // eight of K make a pattern
            true => {
                let along = line * bytes;
                let (across, down) = if width == 16 { (stride, leading) } else { (leading, stride) };
                k / 8 * down + k % 8 * width + along / width * across + along % width
            }
        };
        let address = start + linear;
        // the chunk of 16 bytes within 128 is exchanged by the number of the 128 bytes
        let turned = width / 16 - 1;
        address ^ (address >> 7 & turned) << 4
    }
}
