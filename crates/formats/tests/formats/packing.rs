//! Narrow codes in bytes, against hand-packed bytes and against a list of single bits.

use crate::common;
use bitmma_formats::packing::{PackingError, pack, unpack};

#[test]
fn hand_packed_bytes() {
    let rows: &[(u32, &[u8], &[u8])] = &[
        (4, &[], &[]),
        (4, &[0x1, 0x2], &[0x21]), // low nibble first
        (4, &[0xf, 0x0, 0x7, 0x8], &[0x0f, 0x87]),
        (4, &[0xa, 0xb, 0xc], &[0xba, 0x0c]), // an odd one leaves a zero nibble
        (6, &[0x3f, 0, 0, 0], &[0x3f, 0, 0]), // the first code in the lowest bits
        (6, &[0, 0x3f, 0, 0], &[0xc0, 0x0f, 0]),
        (6, &[0, 0, 0x3f, 0], &[0, 0xf0, 0x03]),
        (6, &[0, 0, 0, 0x3f], &[0, 0, 0xfc]),
        (6, &[0b000001, 0b000010, 0b000011, 0b000100], &[0b1000_0001, 0b0011_0000, 0b0001_0000]),
        (6, &[0x2a, 0x15, 0x3f], &[0x6a, 0xf5, 0x03]),
        (8, &[0x00, 0xff, 0x5a], &[0x00, 0xff, 0x5a]),
        (1, &[1, 0, 1, 1, 0, 0, 0, 0, 1], &[0b0000_1101, 0b1]),
    ];
    for &(bits, codes, bytes) in rows {
        assert_eq!(pack(bits, codes).unwrap(), bytes, "{bits} bits {codes:x?}");
        assert_eq!(unpack(bits, bytes, codes.len()).unwrap(), codes, "{bits} bits {bytes:x?}");
    }
}

#[test]
fn every_width_as_a_list_of_bits() {
    let mut random = common::Random::new(30);
    for bits in 1..=8u32 {
        for count in 0..100usize {
            let codes: Vec<u8> = (0..count).map(|_| (random.next() as u8) >> (8 - bits)).collect();
            let stream: Vec<bool> =
                codes.iter().flat_map(|code| (0..bits).map(move |bit| code >> bit & 1 == 1)).collect();
            let expected: Vec<u8> = stream
                .chunks(8)
                .map(|byte| byte.iter().enumerate().map(|(bit, &set)| u8::from(set) << bit).sum())
                .collect();
            assert_eq!(pack(bits, &codes).unwrap(), expected, "{bits} bits {codes:x?}");
            assert_eq!(unpack(bits, &expected, count).unwrap(), codes, "{bits} bits {expected:x?}");
        }
    }
}

#[test]
fn errors_say_what_does_not_fit() {
    let rows: &[(Result<Vec<u8>, PackingError>, &str)] = &[
        (pack(0, &[]), "codes of 0 bits cannot be packed; widths are 1 to 8 bits"),
        (pack(9, &[1]), "codes of 9 bits cannot be packed; widths are 1 to 8 bits"),
        (unpack(16, &[], 0), "codes of 16 bits cannot be packed; widths are 1 to 8 bits"),
        (pack(4, &[1, 16]), "code 1 is 0x10, but the largest code of 4 bits is 0xf"),
        (pack(6, &[0x3f, 0, 0, 0xff]), "code 3 is 0xff, but the largest code of 6 bits is 0x3f"),
        (unpack(4, &[0x21, 0x03], 2), "2 codes of 4 bits take 1 bytes, not 2"),
        (unpack(6, &[0, 0], 4), "4 codes of 6 bits take 3 bytes, not 2"),
        (unpack(6, &[], 1), "1 codes of 6 bits take 1 bytes, not 0"),
        (unpack(4, &[1], 0), "0 codes of 4 bits take 0 bytes, not 1"),
        (
            unpack(8, &[], usize::MAX),
            "18446744073709551615 codes of 8 bits take 18446744073709551615 bytes, not 0",
        ),
        (
            unpack(4, &[0x21, 0x13], 3),
            "the last byte is 0x13; after 3 codes of 4 bits its high 4 bits must be zero",
        ),
        (
            unpack(6, &[0xc0, 0x10], 2),
            "the last byte is 0x10; after 2 codes of 6 bits its high 4 bits must be zero",
        ),
        (
            unpack(6, &[0x40], 1),
            "the last byte is 0x40; after 1 codes of 6 bits its high 2 bits must be zero",
        ),
    ];
    for (result, message) in rows {
        assert_eq!(result.as_ref().unwrap_err().to_string(), *message);
    }
}
