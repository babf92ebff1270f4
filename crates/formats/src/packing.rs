//! Codes narrower than a byte, packed into bytes without gaps.
//!
//! The first code occupies the lowest bits of the first byte, and a code that does not fit continues in
//! the lowest bits of the next: FP4 lies two to a byte, low nibble first; FP6 four to three bytes. Unused
//! bits at the end of the last byte are zero.
//!
//! safetensors (`F4`, `F6_E2M3`, `F6_E3M2`) counts the bits of a tensor, demands whole bytes, and says
//! nothing about the order inside them; this little-endian order is the project's reading of it.

/// Codes and bytes that do not fit together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PackingError {
    /// Codes of no bits, or of more than a byte.
    #[error("codes of {bits} bits cannot be packed; widths are 1 to 8 bits")]
    Width {
        /// The width asked for, in bits.
        bits: u32,
    },
    /// A code with bits above its width.
    #[error("code {index} is {code:#x}, but the largest code of {bits} bits is {largest:#x}")]
    CodeTooLarge {
        /// Where it stands among the codes, from 0.
        index: usize,
        /// The code.
        code: u8,
        /// Width of a code, in bits.
        bits: u32,
        /// The largest code of that width.
        largest: u8,
    },
    /// More or fewer bytes than the codes take.
    #[error("{count} codes of {bits} bits take {expected} bytes, not {actual}")]
    ByteCount {
        /// How many codes were asked for.
        count: usize,
        /// Width of a code, in bits.
        bits: u32,
        /// Bytes they take.
        expected: u128,
        /// Bytes given.
        actual: usize,
    },
    /// Something after the last code.
    #[error(
        "the last byte is {last:#04x}; after {count} codes of {bits} bits its high {unused} bits must be zero"
    )]
    NonZeroPadding {
        /// The last byte.
        last: u8,
        /// How many codes were asked for.
        count: usize,
        /// Width of a code, in bits.
        bits: u32,
        /// Bits of the last byte that belong to no code.
        unused: u32,
    },
}

/// The largest code of a width.
fn largest_code(bits: u32) -> Result<u8, PackingError> {
    if (1..=8).contains(&bits) { Ok(u8::MAX >> (8 - bits)) } else { Err(PackingError::Width { bits }) }
}

/// Packs codes of `bits` bits (1 to 8), one per element of `codes`, into bytes.
///
/// ```
/// use bitmma_formats::packing::{pack, unpack};
///
/// assert_eq!(pack(4, &[0x1, 0x2, 0x3])?, [0x21, 0x03]);
/// assert_eq!(unpack(4, &[0x21, 0x03], 3)?, [0x1, 0x2, 0x3]);
/// # Ok::<(), bitmma_formats::packing::PackingError>(())
/// ```
///
/// # Errors
///
/// [`PackingError::Width`] and [`PackingError::CodeTooLarge`].
pub fn pack(bits: u32, codes: &[u8]) -> Result<Vec<u8>, PackingError> {
    let largest = largest_code(bits)?;
    let mut bytes = Vec::with_capacity(codes.len()); // at most a byte for each
    let (mut pending, mut pending_bits) = (0u16, 0);
    for (index, &code) in codes.iter().enumerate() {
        if code > largest {
            return Err(PackingError::CodeTooLarge { index, code, bits, largest });
        }
        pending |= u16::from(code) << pending_bits;
        pending_bits += bits;
        if pending_bits >= 8 {
            bytes.push(pending as u8);
            pending >>= 8;
            pending_bits -= 8;
        }
    }
    if pending_bits > 0 {
        bytes.push(pending as u8);
    }
    Ok(bytes)
}

/// Takes `count` codes of `bits` bits (1 to 8) out of bytes, one per element of the result.
///
/// # Errors
///
/// [`PackingError::Width`], [`PackingError::ByteCount`] and [`PackingError::NonZeroPadding`].
pub fn unpack(bits: u32, bytes: &[u8], count: usize) -> Result<Vec<u8>, PackingError> {
    let largest = largest_code(bits)?;
    let expected = (count as u128 * u128::from(bits)).div_ceil(8);
    if bytes.len() as u128 != expected {
        return Err(PackingError::ByteCount { count, bits, expected, actual: bytes.len() });
    }
    let mut codes = Vec::with_capacity(count);
    let (mut pending, mut pending_bits) = (0u16, 0);
    for &byte in bytes {
        pending |= u16::from(byte) << pending_bits;
        pending_bits += 8;
        while pending_bits >= bits && codes.len() < count {
            codes.push(pending as u8 & largest);
            pending >>= bits;
            pending_bits -= bits;
        }
    }
    match bytes.last() {
        Some(&last) if pending != 0 => {
            Err(PackingError::NonZeroPadding { last, count, bits, unused: pending_bits })
        }
        _ => Ok(codes),
    }
}
