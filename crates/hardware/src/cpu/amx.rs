//! Intel AMX: the tile multiplications TDPBF16PS and TDPFP16PS.
//!
//! Source: Intel's Software Developer's Manual, volume 1, chapter "Programming with Intel AMX", and the pages of LDTILECFG,
//! TILELOADD, TDPBF16PS, TDPFP16PS, TILESTORED and TILERELEASE in volume 2. Linux gives a process the tiles when it asks for
//! them (`Documentation/arch/x86/xstate.rst`).

use std::arch::asm;
use std::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};
use std::sync::OnceLock;

use bitmma_engine::{Operands, Signature};

use super::x86::{c_f32s, words};

/// Rows of a tile.
const ROWS: usize = 16;
/// Bytes of a row: 32 elements of A, 16 pairs of B, 16 elements of C.
const ROW: usize = 64;

/// A tile in memory, row after row.
#[repr(C, align(64))]
#[derive(Clone)]
struct Tile([u8; ROWS * ROW]);

/// What LDTILECFG reads: palette 1, tiles 0 to 2 of 16 rows of 64 bytes.
#[repr(C, align(64))]
struct Configuration([u8; 64]);

const CONFIGURATION: Configuration = {
    let mut bytes = [0; 64];
    bytes[0] = 1; // palette
    let mut tile = 0;
    while tile < 3 {
        bytes[16 + 2 * tile] = ROW as u8; // bytes of a row, 16 bits
        bytes[48 + tile] = ROWS as u8;
        tile += 1;
    }
    Configuration(bytes)
};

/// The instructions, `dot` among them: RDI points to the configuration, RSI to C, RDX to A, R8 to B; RCX is the distance
/// of two rows, in bytes. C is tile 0, A tile 1, B tile 2.
macro_rules! tiles {
    ($dot:literal) => {
        concat!(
            "ldtilecfg [rdi]\n",
            "tileloadd tmm0, [rsi + rcx]\n",
            "tileloadd tmm1, [rdx + rcx]\n",
            "tileloadd tmm2, [r8 + rcx]\n",
            $dot,
            " tmm0, tmm1, tmm2\n",
            "tilestored [rsi + rcx], tmm0\n",
            "tilerelease\n",
        )
    };
}

/// The function that multiplies one tile by `dot`.
macro_rules! multiply_tiles {
    ($name:ident, $dot:literal) => {
        /// C += A·B.
        ///
        /// # Safety
        ///
        /// The processor has the instruction, and the process may use the tiles.
        unsafe fn $name(a: &Tile, b: &Tile, c: &mut Tile) {
            // SAFETY: the tiles are as large as the configuration says; nothing of them is in use after the block
            unsafe {
                asm!(
                    tiles!($dot),
                    in("rdi") CONFIGURATION.0.as_ptr(),
                    in("rsi") c.0.as_mut_ptr(),
                    in("rdx") a.0.as_ptr(),
                    in("r8") b.0.as_ptr(),
                    in("rcx") ROW,
                    out("tmm0") _,
                    out("tmm1") _,
                    out("tmm2") _,
                    options(nostack, preserves_flags),
                );
            }
        }
    };
}

multiply_tiles!(bf16_tiles, "tdpbf16ps");
multiply_tiles!(fp16_tiles, "tdpfp16ps");

/// One TDPBF16PS: 16×32 times 32×16.
pub(super) fn tdpbf16ps(signature: &Signature, operands: &Operands<'_>) -> Vec<u64> {
    multiply(signature, operands, |a, b, c| {
        // SAFETY: `missing` has seen the instruction and asked for the tiles
        unsafe { bf16_tiles(a, b, c) }
    })
}

/// One TDPFP16PS: 16×32 times 32×16.
pub(super) fn tdpfp16ps(signature: &Signature, operands: &Operands<'_>) -> Vec<u64> {
    multiply(signature, operands, |a, b, c| {
        // SAFETY: `missing` has seen the instruction and asked for the tiles
        unsafe { fp16_tiles(a, b, c) }
    })
}

/// The operands brought into tiles, multiplied, and read back.
fn multiply(
    signature: &Signature,
    operands: &Operands<'_>,
    tiles: impl Fn(&Tile, &Tile, &mut Tile),
) -> Vec<u64> {
    let Signature { m, n, k, .. } = *signature;
    debug_assert_eq!((m, n, k), (ROWS, ROW / 4, ROW / 2));
    let a = rows(&words(operands.a));
    let b = pairs(&words(operands.b));
    let mut c = accumulators(&c_f32s(operands, signature));
    tiles(&a, &b, &mut c);
    c.0.chunks_exact(4)
        .map(|bytes| u64::from(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])))
        .collect()
}

/// A, row-major: the 32 elements of a row beside each other.
fn rows(a: &[u16]) -> Tile {
    let mut tile = Tile([0; ROWS * ROW]);
    for (bytes, code) in tile.0.chunks_exact_mut(2).zip(a) {
        bytes.copy_from_slice(&code.to_le_bytes());
    }
    tile
}

/// B, row-major, K×N: rows 2p and 2p + 1 become row p, the two elements of a column beside each other.
fn pairs(b: &[u16]) -> Tile {
    let columns = ROW / 4;
    let mut tile = Tile([0; ROWS * ROW]);
    for (index, bytes) in tile.0.chunks_exact_mut(2).enumerate() {
        let (pair, column, odd) = (index / ROWS / 2, index / 2 % columns, index % 2);
        bytes.copy_from_slice(&b[(2 * pair + odd) * columns + column].to_le_bytes());
    }
    tile
}

/// C, row-major.
fn accumulators(c: &[f32]) -> Tile {
    let mut tile = Tile([0; ROWS * ROW]);
    for (bytes, number) in tile.0.chunks_exact_mut(4).zip(c) {
        bytes.copy_from_slice(&number.to_bits().to_le_bytes());
    }
    tile
}

/// What BF16 tiles take that is not here.
pub(super) fn missing_bf16() -> Option<&'static str> {
    // CPUID leaf 7, subleaf 0, EDX: AMX-BF16
    let here = has_leaf_7() && __cpuid_count(7, 0).edx >> 22 & 1 == 1;
    if here { missing_tiles() } else { Some("AMX-BF16") }
}

/// What FP16 tiles take that is not here.
pub(super) fn missing_fp16() -> Option<&'static str> {
    // CPUID leaf 7, subleaf 1, EAX: AMX-FP16
    let here = has_leaf_7() && __cpuid_count(7, 0).eax >= 1 && __cpuid_count(7, 1).eax >> 21 & 1 == 1;
    if here { missing_tiles() } else { Some("AMX-FP16") }
}

fn has_leaf_7() -> bool {
    __cpuid(0).eax >= 7
}

/// What tiles take that is not here.
fn missing_tiles() -> Option<&'static str> {
    static PERMITTED: OnceLock<bool> = OnceLock::new();
    // CPUID leaf 7, subleaf 0, EDX: AMX-TILE
    if __cpuid_count(7, 0).edx >> 24 & 1 == 0 {
        return Some("AMX-TILE");
    }
    // CPUID leaf 1, ECX: OSXSAVE, without which XGETBV is not there; XCR0: the tiles' configuration and their data
    let saved = __cpuid(1).ecx >> 27 & 1 == 1 && {
        // SAFETY: XGETBV is there
        let states = unsafe { states() };
        states >> 17 & 0b11 == 0b11
    };
    if !saved {
        return Some("operating system that keeps AMX's tiles (XCR0, bits 17 and 18)");
    }
    if *PERMITTED.get_or_init(ask) {
        None
    } else {
        Some("permission for AMX's tiles (arch_prctl 0x1023, 18)")
    }
}

/// XCR0.
#[target_feature(enable = "xsave")]
fn states() -> u64 {
    // SAFETY: register 0 is there wherever XGETBV is
    unsafe { _xgetbv(0) }
}

/// Asks the kernel for the tiles' data, once for all threads of the process; whether it gives them.
#[cfg(target_os = "linux")]
fn ask() -> bool {
    const ARCH_PRCTL: u64 = 158;
    const ARCH_REQ_XCOMP_PERM: u64 = 0x1023;
    const XFEATURE_XTILEDATA: u64 = 18;
    let answer: i64;
    // SAFETY: the call takes two numbers, and changes nothing but what the process may use
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") ARCH_PRCTL => answer,
            in("rdi") ARCH_REQ_XCOMP_PERM,
            in("rsi") XFEATURE_XTILEDATA,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    answer == 0
}

/// Other systems than Linux are asked in ways that are not known here.
#[cfg(not(target_os = "linux"))]
fn ask() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use std::arch::global_asm;

    use bitmma_engine::catalogue::processor;
    use bitmma_engine::{MmaUnit, Simulator};
    use bitmma_verify::inputs::{Family, matrices};

    use super::*;

    global_asm!(
        ".pushsection .rodata",
        "bitmma_amx_bf16:",
        tiles!("tdpbf16ps"),
        "bitmma_amx_fp16:",
        tiles!("tdpfp16ps"),
        ".popsection",
    );

    unsafe extern "C" {
        static bitmma_amx_bf16: [u8; 39];
        static bitmma_amx_fp16: [u8; 39];
    }

    /// The bytes that the manual's opcode columns give, by hand: VEX.128 map 0F38 W0.
    #[test]
    fn the_instructions_are_the_manuals() {
        let expected = |prefix: u8| {
            let instructions: [&[u8]; 7] = [
                &[0xc4, 0xe2, 0x78, 0x49, 0x07],          // NP 49 /0: LDTILECFG [rdi]
                &[0xc4, 0xe2, 0x7b, 0x4b, 0x04, 0x0e],    // F2 4B /r: TILELOADD tmm0, [rsi + rcx]
                &[0xc4, 0xe2, 0x7b, 0x4b, 0x0c, 0x0a],    // tmm1, [rdx + rcx]
                &[0xc4, 0xc2, 0x7b, 0x4b, 0x14, 0x08],    // tmm2, [r8 + rcx]
                &[0xc4, 0xe2, 0x68 | prefix, 0x5c, 0xc1], // 5C: tmm0 in ModRM.reg, tmm1 in rm, tmm2 in vvvv
                &[0xc4, 0xe2, 0x7a, 0x4b, 0x04, 0x0e],    // F3 4B /r: TILESTORED [rsi + rcx], tmm0
                &[0xc4, 0xe2, 0x78, 0x49, 0xc0],          // NP 49 C0: TILERELEASE
            ];
            instructions.concat()
        };
        // SAFETY: the assembler laid these bytes down above
        let (bf16, fp16) = unsafe { (&bitmma_amx_bf16, &bitmma_amx_fp16) };
        assert_eq!(bf16[..], expected(2)[..], "F3 5C: TDPBF16PS");
        assert_eq!(fp16[..], expected(3)[..], "F2 5C: TDPFP16PS");
    }

    /// The manual's tables of LDTILECFG's operand: palette, start row, bytes of rows from 16 on, rows from 48 on.
    #[test]
    fn the_configuration_is_three_full_tiles() {
        let bytes = CONFIGURATION.0;
        assert_eq!(bytes[..16], [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[16..24], [64, 0, 64, 0, 64, 0, 0, 0]);
        assert!(bytes[24..48].iter().chain(&bytes[51..]).all(|byte| *byte == 0));
        assert_eq!(bytes[48..51], [16; 3]);
    }

    /// Zero of its sign instead of a subnormal number.
    fn flushed(number: f32) -> f32 {
        if number.is_subnormal() { 0f32.copysign(number) } else { number }
    }

    /// The manual's operation on tile registers, `number` making FP32 of a 16-bit element: for each pair of K, even
    /// and odd sums by fused multiply-adds, then C plus their sum, each with subnormal inputs and results flushed.
    fn emulate(a: &Tile, b: &Tile, c: &mut Tile, number: impl Fn(u16) -> f32) {
        let half = |tile: &Tile, row: usize, index: usize| {
            let at = row * ROW + 2 * index;
            number(u16::from_le_bytes([tile.0[at], tile.0[at + 1]]))
        };
        for m in 0..16 {
            let mut sums = [0f32; 32];
            for k in 0..16 {
                for n in 0..16 {
                    for odd in 0..2 {
                        let sum = &mut sums[2 * n + odd];
                        *sum = flushed(half(a, m, 2 * k + odd).mul_add(half(b, k, 2 * n + odd), *sum));
                    }
                }
            }
            for n in 0..16 {
                let at = m * ROW + 4 * n;
                let c = &mut c.0[at..at + 4];
                let before = flushed(f32::from_le_bytes([c[0], c[1], c[2], c[3]]));
                let sum = flushed(before + flushed(sums[2 * n] + sums[2 * n + 1]));
                c.copy_from_slice(&sum.to_le_bytes());
            }
        }
    }

    fn bf16(code: u16) -> f32 {
        flushed(f32::from_bits(u32::from(code) << 16))
    }

    /// Subnormal numbers of FP16 are normal in FP32.
    fn fp16(code: u16) -> f32 {
        let (sign, field, fraction) =
            (u32::from(code >> 15) << 31, code >> 10 & 0x1f, u32::from(code & 0x3ff));
        let magnitude = match field {
            0 => (fraction as f32 / 16_777_216.0).to_bits(), // 2^24
            0x1f => 0x7f80_0000 | fraction << 13,
            _ => (u32::from(field) + 112) << 23 | fraction << 13,
        };
        f32::from_bits(sign | magnitude)
    }

    /// The row's model is what the manual's operation on packed tiles gives, for inputs of all families. A result is
    /// flushed here once it is rounded, which differs from tininess after rounding where a value less than 2^-126 rounds
    /// up to it; none is drawn. NaN agrees with any NaN.
    #[test]
    fn packed_tiles_are_the_rows_model() {
        for (name, number) in [("tdpbf16ps", bf16 as fn(u16) -> f32), ("tdpfp16ps", fp16)] {
            let row = processor(name).expect("a row");
            let unit = Simulator::model(row.model.clone(), row.shape).expect("it fits");
            for family in Family::ALL {
                for index in 0..10 {
                    let drawn = matrices(unit.signature(), family, 0xa3, index).expect("draws");
                    let operands = drawn.operands();
                    let d = multiply(unit.signature(), &operands, |a, b, c| emulate(a, b, c, number));
                    let expected = unit.multiply(&operands).expect("multiplies");
                    assert_eq!(d.len(), 256);
                    for (place, (d, expected)) in d.into_iter().zip(expected.iter()).enumerate() {
                        let agrees = row.model.agrees(expected, d, false);
                        assert!(agrees, "{name} {family:?} {index}, element {place}: {d:x} {expected:x}");
                    }
                }
            }
        }
    }

    /// Names what is missing; if nothing is, `tests/hardware/cpu.rs` compares the unit with its row.
    #[test]
    fn a_processor_without_tiles_says_so() {
        for (name, missing) in [("tdpbf16ps", missing_bf16()), ("tdpfp16ps", missing_fp16())] {
            match (missing, crate::cpu::Cpu::open(name)) {
                (None, opened) => assert!(opened.is_ok()),
                (Some(missing), opened) => {
                    let error = opened.expect_err("it is missing").to_string();
                    assert!(error.contains(&format!("has no {missing}")), "{error}");
                    println!("skipped: {error}");
                }
            }
        }
    }
}
