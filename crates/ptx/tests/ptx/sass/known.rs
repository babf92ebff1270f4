//! The evaluator itself: instructions whose results are known by hand, and what a wrong instruction does to a comparison.

use super::assemble::Tools;
use super::compare::{Way, machine};
use super::evaluate::{Memory, run};
use super::generate::{Entry, Kind, text};
use super::listing::{self, functions};
use super::structures::Structure;

/// What lines leave in R0, or in R0 and R1 for a result of 64 bits; R4 to R9 hold the operands.
fn result(lines: &str, operands: [u32; 6]) -> Result<u64, String> {
    let mut listing = "\t.section\t.text.one,\"ax\",@progbits\none:\n".to_owned();
    let mut address = 0;
    let mut add = |line: &str| {
        listing.push_str(&format!("        /*{address:04x}*/                   {line} ;\n"));
        address += 16;
    };
    for (at, operand) in operands.iter().enumerate() {
        add(&format!("MOV R{}, {operand:#x}", 4 + at));
    }
    lines.split(';').map(str::trim).for_each(&mut add);
    add("MOV R2, 0x0");
    add("MOV R3, 0x1");
    add("STG.E.64 [R2.64], R0");
    add("EXIT");
    let mut memory = Memory { buffers: vec![(1 << 32, vec![0; 8])], constants: vec![], shared: vec![] };
    run(&functions(&listing)["one"], &mut memory)?;
    Ok(u64::from_le_bytes(memory.buffers[0].1[..].try_into().expect("eight bytes")))
}

const ONE: u32 = 0x3f80_0000;
const NAN: u32 = 0x7fff_ffff;

#[test]
fn integers() {
    let rows: [(&str, [u32; 3], u32); 14] = [
        // 0xffffffff + 1 carries; 2 + 3 + carry
        ("IADD3 R1, P0, R4, R5, RZ ; IADD3.X R0, R6, 0x3, RZ, P0, !PT ; MOV R1, RZ", [u32::MAX, 1, 2], 6),
        ("IADD3 R0, PT, PT, R4, -0x3, RZ", [1, 0, 0], 0xffff_fffe),
        ("IMAD R0, R4, -0x800000, R5", [2, 0x0300_0000, 0], 0x0200_0000),
        ("LEA R0, R4, 0xc0800000, 0x17", [3, 0, 0], 0xc200_0000),
        ("SHF.R.U32.HI R0, RZ, 0x17, R4", [0xbf80_0000, 0, 0], 0x17f),
        ("SHF.R.S32.HI R0, RZ, 0x1f, R4", [0x8000_0000, 0, 0], u32::MAX),
        ("SHF.L.U32 R0, R4, R5, RZ", [3, 32, 0], 0),
        ("SHF.R.U64 R0, R4, 0x4, R5", [0x10, 0x3, 0], 0x3000_0001),
        ("SHF.L.U64.HI R0, R4, 0x4, R5", [0xf000_0000, 0x1, 0], 0x1f),
        ("PRMT R0, R4, 0x5432, R5", [0x4433_2211, 0x8877_6655, 0], 0x6655_4433),
        ("PRMT R0, R4, 0x9180, R5", [0x0000_8001, 0, 0], 0xff80_0001),
        // exclusive or of three
        ("LOP3.LUT R0, R4, R5, R6, 0x96, !PT", [0b1100, 0b1010, 0b0001], 0b0111),
        ("ISETP.LT.U32.AND P0, PT, R4, R5, PT ; SEL R0, R4, R5, P0", [u32::MAX, 1, 0], 1),
        // either of two predicates: both are false, then one is true
        (
            "ISETP.GT.AND P0, P1, R4, R5, PT ; PLOP3.LUT P0, PT, P0, P1, PT, 0xa8, 0x0 ; SEL R0, R4, R5, P0",
            [1, 2, 0],
            1,
        ),
    ];
    for (lines, [a, b, c], expected) in rows {
        let lines = if lines.contains("R1,") { lines.to_owned() } else { format!("{lines} ; MOV R1, RZ") };
        let actual = result(&lines, [a, b, c, 0, 0, 0]).expect(&lines);
        assert_eq!(actual, u64::from(expected), "{lines}: {actual:#x}, should be {expected:#x}");
    }
}

#[test]
fn floats() {
    let tiny = 0x3300_0001; // a little more than 2^-25
    let rows: [(&str, [u32; 3], u32); 27] = [
        ("FADD R0, R4, R5", [ONE, tiny, 0], ONE),
        ("FADD.RP R0, R4, R5", [ONE, tiny, 0], ONE + 1),
        ("FADD.RM R0, -R4, -R5", [ONE, tiny, 0], 0xbf80_0001),
        ("FADD.RZ R0, -R4, -R5", [ONE, tiny, 0], 0xbf80_0000),
        ("FADD R0, R4, -R4", [ONE, 0, 0], 0),
        ("FADD.SAT R0, R4, R4", [ONE, 0, 0], ONE),
        ("FADD.SAT R0, R4, R5", [NAN, ONE, 0], 0),
        ("FMUL R0, R4, |R5|", [0x4000_0000, 0xc040_0000, 0], 0x40c0_0000), // 2 · |-3|
        ("FMUL R0, R4, 0.5", [0x0000_0003, 0, 0], 2),                      // 1.5 units, to even
        ("FMUL.FTZ R0, R4, 2", [0x8000_0003, 0, 0], 0x8000_0000),
        ("FMUL R0, R4, RZ", [0x7f80_0000, 0, 0], NAN),
        // (1 + 2^-23)² - (1 + 2^-22) = 2^-46, of which a rounded product leaves nothing
        ("FFMA R0, R4, R4, -R5", [ONE + 1, ONE + 2, 0], 0x2880_0000),
        ("FMUL R0, R4, R4 ; FADD R0, R0, -R5", [ONE + 1, ONE + 2, 0], 0),
        ("FMNMX R0, R4, R5, PT", [0, 0x8000_0000, 0], 0x8000_0000),
        ("FMNMX R0, R4, R5, !PT", [NAN, ONE, 0], ONE),
        ("FMNMX.NAN R0, R4, R5, !PT", [NAN, ONE, 0], NAN),
        ("FMNMX3 R0, R4, -R5, R6, !PT", [ONE, 0xc000_0000, 0], 0x4000_0000),
        ("FSETP.GEU.AND P0, PT, R4, R5, PT ; FSEL R0, R4, 2, P0", [ONE, NAN, 0], ONE),
        ("FSETP.GE.AND P0, PT, R4, R5, PT ; FSEL R0, R4, 2, P0", [ONE, NAN, 0], 0x4000_0000),
        // halves: 1 and 2, times 3 and -4, plus 0.5 and 0.25
        ("HFMA2 R0, R4, R5, R6", [0x3c00_4000, 0x4200_c400, 0x3800_3400], 0x4300_c7c0),
        ("HFMA2.MMA R0, -RZ, RZ, 0, 2.384185791015625e-07", [0; 3], 4),
        ("HADD2 R0, R4.H1_H1, -R5.H0_NH1", [0x3c00_0000, 0x4000_4200, 0], 0xc000_4200),
        ("HADD2.F32 R0, -RZ, R4.H1_H1", [0x3c00_0000, 0, 0], ONE),
        ("HMUL2.BF16_V2 R0, R4, 1, 2", [0x3f80_4040, 0, 0], 0x3f80_40c0),
        ("HMNMX2 R0, R4, R5, PT", [0x3c00_8000, 0x4000_0000, 0], 0x3c00_8000),
        ("F2FP.F16.F32.PACK_AB R0, R4, R5", [ONE, 0x3300_0000, 0], 0x3c00_0000),
        ("F2FP.BF16.F32.PACK_AB R0, R4, R5", [ONE, 0x3f80_8000, 0], 0x3f80_3f80),
    ];
    for (lines, [a, b, c], expected) in rows {
        let lines = format!("{lines} ; MOV R1, RZ");
        let actual = result(&lines, [a, b, c, 0, 0, 0]).expect(&lines);
        assert_eq!(actual, u64::from(expected), "{lines}: {actual:#x}, should be {expected:#x}");
    }
    // pairs of registers
    let rows: [(&str, [u32; 6], u64); 6] = [
        ("DADD R0, R4, R6", [0, 0x3ff0_0000, 0, 0xbff0_0000, 0, 0], 0),
        // (1 + 2^-52)² - (1 + 2^-51) = 2^-104
        ("DFMA R0, R4, R4, -R6", [1, 0x3ff0_0000, 2, 0x3ff0_0000, 0, 0], 0x3970_0000_0000_0000),
        ("DMUL R0, R4, 0.5", [0, 0x4008_0000, 0, 0, 0, 0], 0x3ff8_0000_0000_0000),
        ("IMAD.WIDE.U32 R0, R4, 0x8, R6", [0x8000_0000, 0, 5, 1, 0, 0], 0x5_0000_0005),
        // 0 + 1 below, 1 - 1 above
        ("FADD2 R0, R4.F32x2.LO_HI, R6.F32x2.HI_LO.NP", [ONE, 0, ONE, ONE, 0, 0], 0x3f80_0000),
        (
            "FFMA2 R0, R4.F32x2.HI_LO, R6.F32x2.HI_LO, -R8.F32x2.HI_LO",
            [ONE + 1, ONE, ONE + 1, ONE, ONE + 2, 0],
            0x3f80_0000_2880_0000,
        ),
    ];
    for (lines, operands, expected) in rows {
        let actual = result(lines, operands).expect(lines);
        assert_eq!(actual, expected, "{lines}: {actual:#x}, should be {expected:#x}");
    }
}

#[test]
fn what_is_unknown_is_refused_by_name() {
    let refused = |lines: &str| result(lines, [0; 6]).expect_err(lines);
    assert_eq!(refused("XMAD R0, R4, R5"), "XMAD");
    assert_eq!(refused("FADD.NEW R0, R4, R5"), "FADD.NEW");
    assert_eq!(refused("IMAD.HI R0, R4, R5, R6"), "IMAD.HI");
    assert_eq!(refused("MUFU.TANH R0, R4"), "MUFU.TANH");
    assert!(refused("FADD R0, R4.NEW, R5").contains("NEW"));
    assert!(refused("MOV R0, c[0x4][0x0]").contains("bank 4"));
}

/// Where the sign of an operand is turned in one instruction of a kernel, its output is another one: the comparison sees all.
#[test]
fn a_wrong_instruction_is_noticed() {
    for target in ["sm_80", "sm_100a"] {
        let Some(tools) = Tools::find(target) else { continue };
        let mut wish = super::every(target, Way::TEXT);
        // divisions and functions have instructions for operands that are hardly ever drawn, and cos has no sign
        wish.structures.retain(|structure| structure.has(Kind::F64) && *structure != Structure::Everything);
        let entries: Vec<Entry> = (0..100).map(|seed| Entry::of(seed, &wish)).collect();
        let mut compiled =
            tools.compile(&text(&entries, target), target, Way::TEXT.options).expect("compiled");
        let (mut noticed, mut all) = (0, 0);
        for entry in &entries {
            let name = entry.name();
            let Ok(right) = machine(entry, &compiled, &name, target) else { continue };
            for at in 0..compiled.functions[&name].instructions.len() {
                let changed = |compiled: &mut super::assemble::Compiled| {
                    let function = compiled.functions.get_mut(&name).expect("a function");
                    let instruction = &mut function.instructions[at];
                    let arithmetic =
                        ["FADD", "FMUL", "FFMA", "DADD", "DMUL", "DFMA", "HADD2", "HMUL2", "HFMA2"];
                    let takes_part = |kind: &listing::Kind| matches!(kind, listing::Kind::Register(Some(_)));
                    let counts = arithmetic.contains(&instruction.name.as_str())
                        && takes_part(&instruction.operands[1].kind);
                    if counts {
                        instruction.operands[1].negated = !instruction.operands[1].negated;
                    }
                    counts
                };
                if changed(&mut compiled) {
                    all += 1;
                    noticed += u32::from(machine(entry, &compiled, &name, target).as_ref() != Ok(&right));
                    changed(&mut compiled);
                }
            }
        }
        println!("{target}: {noticed} of {all} wrong instructions noticed");
        assert!(100 * noticed >= 95 * all && all > 100, "{target}: {noticed} of {all}");
    }
}
