//! The catalogue against the vendors' assemblers: every dense form is there (and every sparse
//! one of `mma.sp` and `wgmma.mma_async.sp` that is one instruction), with the same shape, formats, blocks, scale factors, SASS; and nothing is there that they do not take.

use std::collections::{BTreeMap, HashSet};

use crate::common::{Record, records};
use bitmma_catalogue::{
    Architecture, Extent, Family, Instruction, LookupError, Revision, catalogue, find, of,
};

fn architecture(record: &Record) -> Architecture {
    let architecture: Architecture = record["arch"].parse().unwrap();
    let target = record.get("sm").or_else(|| record.get("gfx")).unwrap();
    assert_eq!(architecture.target(), target);
    assert_eq!(architecture.vendor().to_string(), record["vendor"]);
    architecture
}

/// Sparse, by one instruction of the hardware; `tcgen05.mma.sp` is not in.
fn is_listed_sparse(record: &Record) -> bool {
    record["dense_or_sparse"] == "sparse 2:4"
        && ["mma.sp", "wgmma.mma_async.sp"].contains(&record["family"].as_str())
        && record["native_single_instruction"] == "yes"
}

/// Whether the catalogue should have it: dense, no `.ws`, no `cta_group::2`; or sparse.
fn is_listed(record: &Record) -> bool {
    if is_listed_sparse(record) {
        return true;
    }
    let families = ["mma.sync", "wgmma.mma_async", "tcgen05.mma", "wmma.mma", "mfma"];
    record["dense_or_sparse"] == "dense"
        && families.contains(&record["family"].as_str())
        && !record["instruction"].contains("cta_group::2")
}

/// `16`, `64|128`, `8..256 step 8 (all 32 assemble)`.
fn extent(text: &str) -> Extent {
    let number = |text: &str| text.trim().parse::<usize>().unwrap();
    if let Some((first, last)) = text.split_once('|') {
        let (first, last) = (number(first), number(last));
        return Extent::range(first, last, last - first);
    }
    let text = text.split('(').next().unwrap();
    match text.split_once("..") {
        None => Extent::one(number(text)),
        Some((first, rest)) => {
            let (last, step) = rest.split_once("step").unwrap();
            Extent::range(number(first), number(last), number(step))
        }
    }
}

/// The file describes its XF32 in words, and has AMD's words for integers.
fn type_name(text: &str) -> &str {
    match text {
        "i8" => "s8",
        "i32" => "s32",
        _ if text.starts_with("xf32 ") => "xf32",
        _ => text,
    }
}

fn agrees(record: &Record, row: &Instruction) -> Result<(), String> {
    let same = |what: &str, expected: String, actual: String| {
        if expected == actual { Ok(()) } else { Err(format!("{what}: expected {expected}, found {actual}")) }
    };
    same("family", record["family"].replace("mfma", "v_mfma"), row.family.name().to_owned())?;
    same("M", extent(&record["M"]).to_string(), row.m.to_string())?;
    same("M", extent(&record["M"]).in_words(), row.m.in_words())?;
    same("N", extent(&record["N"]).to_string(), row.n.to_string())?;
    same("N", extent(&record["N"]).in_words(), row.n.in_words())?;
    same("K", record["K"].clone(), row.k.to_string())?;
    same("blocks", record["blocks"].clone(), row.blocks.to_string())?;
    for (column, format) in [("A_type", row.a), ("B_type", row.b), ("C_type", row.c), ("D_type", row.d)] {
        same(column, type_name(&record[column]).to_owned(), format.name.to_owned())?;
    }
    let (scale_type, scale_block) = match row.scale {
        None => ("none".to_owned(), String::new()),
        Some(scale) => (scale.format.name.to_owned(), scale.size.to_string()),
    };
    same("scale_type", record["scale_type"].clone(), scale_type)?;
    same("scale_block", record["scale_block"].clone(), scale_block)
}

/// SASS as the file has it: `2xHMMA.1688.F16 +8xF2FP/HADD2`, or one step of HMMA.884 after the other.
/// Gives how many matrix instructions there are and what they are called.
fn sass(text: &str) -> (usize, HashSet<String>) {
    let mut count = 0;
    let mut names = HashSet::new();
    for word in text.split_whitespace().filter(|word| !word.starts_with('+')) {
        let (times, name) = match word.split_once('x') {
            Some((times, name)) if times.parse::<usize>().is_ok() => (times.parse().unwrap(), name),
            _ => (1, word),
        };
        let name = name.split(".STEP").next().unwrap().to_owned();
        count += times;
        names.insert(name);
    }
    (count, names)
}

fn sass_agrees(record: &Record, row: &Instruction) {
    let place = format!("{} {}", row.architecture, row.name());
    let (count, names) = sass(&record["sass"]);
    let ours = row.sass().map(|sass| sass.replace("{8..256}", "8"));
    let volume = |row: &Instruction| row.m.first * row.n.first * row.k * row.blocks;
    match record["native_single_instruction"].as_str() {
        "yes" => {
            let asked = row.architecture == Architecture::Hopper; // of the sparse ones only Hopper's
            assert_eq!(row.is_native(), !row.family.is_sparse() || asked, "{place}");
            assert_eq!(names, HashSet::from([ours.unwrap()]), "{place}");
        }
        "unknown (not disassembled)" => match row.family {
            Family::MmaSync => {
                assert!(row.is_native() && row.remark.is_some(), "{place}");
                let turing = find(Architecture::Turing, &row.name()).unwrap().instruction;
                assert_eq!(ours, turing.sass(), "{place}");
            }
            // wmma on Volta, which was disassembled after the file was written
            _ => {
                let composition = row.composed_of.as_ref().unwrap();
                let part = find(row.architecture, &composition.part).unwrap().instruction;
                assert_eq!(part.sass(), ours, "{place}");
                assert_eq!(volume(part) * composition.count, volume(row), "{place}");
            }
        },
        composed => {
            assert!(!row.is_native(), "{place}");
            if names.is_empty() {
                // no matrix instruction in it at all
                assert_eq!(ours, None, "{place}");
                match &row.composed_of {
                    Some(parts) => {
                        assert_eq!((row.architecture, &*parts.part), (Architecture::Hopper, "FFMA"));
                    }
                    None => assert!(row.unknown.unwrap().contains("compiler expands"), "{place}"),
                }
                assert_eq!(row.model(Revision::Hardware).is_none(), row.unknown.is_some(), "{place}");
                return;
            }
            let composition = row.composed_of.as_ref().unwrap();
            assert_eq!(composition.count, count, "{place}");
            assert_eq!(names, HashSet::from([ours.clone().unwrap()]), "{place}");
            let part = find(row.architecture, &composition.part).unwrap().instruction;
            assert!(part.is_native(), "{place}");
            assert_eq!(part.sass(), ours, "{place}");
            if let Some(number) = composed.strip_prefix("composed of ") {
                assert_eq!(number, format!("{count} MMA ops"), "{place}");
            }
            // the part's elements of D, times K, make up the whole
            assert_eq!(volume(part) * count, volume(row), "{place}");
        }
    }
}

#[test]
fn nvidia_rows_agree() {
    let mut seen = HashSet::new();
    let mut checked = 0;
    for record in records("instructions_nvidia.csv") {
        let text = &record["instruction"];
        if !is_listed(&record) {
            continue;
        }
        let on = architecture(&record);
        // the name of a tcgen05 has no types in it: one of the candidates must have them
        let names = match find(on, text) {
            Ok(found) => vec![found.instruction.name()],
            Err(LookupError::Ambiguous { candidates, .. }) if record["family"] == "tcgen05.mma" => candidates,
            Err(error) => panic!("{error}"),
        };
        let rows: Vec<_> = names.iter().map(|name| find(on, name).unwrap().instruction).collect();
        let fitting: Vec<_> = rows.iter().filter(|row| agrees(&record, row).is_ok()).collect();
        let [row] = fitting[..] else { panic!("{on} {text}: {:?}", agrees(&record, rows[0])) };
        sass_agrees(&record, row);
        seen.insert((on, row.name()));
        checked += 1;
    }
    println!("{checked} forms of NVIDIA agree");
    for row in catalogue().iter().filter(|row| row.family != Family::Mfma && !row.d.is_integer()) {
        assert!(
            seen.contains(&(row.architecture.unit(), row.name())),
            "{} {row}: no assembler takes it",
            row.architecture
        );
    }
}

/// Integers: what `ptxas` takes has a row, of one instruction where it is assembled to one of as many products, and every row but
/// those of `tcgen05` is taken.
#[test]
fn integer_rows_of_nvidia_agree() {
    let mut seen = HashSet::new();
    for record in records("integers_nvidia.csv") {
        let (on, text) = (architecture(&record), &record["instruction"]);
        let found = find(on, text).unwrap_or_else(|error| panic!("{on} {text}: {error}"));
        let row = found.instruction;
        assert!(row.d.is_integer() && row.model(Revision::Paper).is_some(), "{on} {text}");
        assert_eq!(row.saturates(), text.contains("satfinite"), "{on} {text}");
        let (count, names) = sass(&record["sass"]);
        let ours = row.sass().unwrap().replace("{8..256}", &found.n.to_string());
        assert_eq!(names, HashSet::from([ours]), "{on} {text}");
        match &row.composed_of {
            None => assert_eq!(count, 1, "{on} {text}"),
            Some(composition) => {
                assert_eq!(composition.count, count, "{on} {text}");
                let part = find(on, &composition.part).unwrap().instruction;
                assert!(part.is_native() && part.sass() == row.sass(), "{on} {text}");
            }
        }
        // the shape and the types in the name are those of the row
        let word = text.split('.').find(|word| word.starts_with('m') && word.contains('k')).unwrap();
        assert_eq!(word, format!("m{}n{}k{}", found.m, found.n, row.k), "{on} {text}");
        let types = if row.name().starts_with("wgmma") {
            vec![row.d, row.a, row.b]
        } else {
            vec![row.d, row.a, row.b, row.c]
        };
        let types = types.iter().map(|format| format.name).collect::<Vec<_>>().join(".");
        assert!(text.contains(&format!(".{types}")), "{on} {text}");
        seen.insert((on, row.name()));
    }
    let rows = || catalogue().iter().filter(|row| row.d.is_integer() && row.family != Family::Mfma);
    for row in rows().filter(|row| row.family != Family::Tcgen05) {
        assert!(
            seen.contains(&(row.architecture, row.name())),
            "{} {row}: no assembler takes it",
            row.architecture
        );
    }
    assert_eq!((seen.len(), rows().count()), (549, 557));
}

/// N of integers is 8, 24 or a multiple of 16 (PTX ISA, "Warpgroup-level matrix shape" and "tcgen05", tables of shapes).
#[test]
fn n_of_integers_has_gaps() {
    for name in ["wgmma.m64n8k32.s32.s8.s8", "wgmma.m64n8k256.s32.b1.b1.and.popc"] {
        let row = find(Architecture::Hopper, name).unwrap().instruction;
        let sizes: Vec<usize> = row.n.sizes().collect();
        let expected: Vec<usize> = (1..=256).filter(|n| [8, 24].contains(n) || n % 16 == 0).collect();
        assert_eq!(sizes, expected);
        assert!((0..300).all(|n| row.n.contains(n) == expected.contains(&n)));
    }
    let refused = find(Architecture::Hopper, "wgmma.m64n40k32.s32.s8.s8").unwrap_err().to_string();
    assert!(refused.contains("8 to 32 in steps of 8, from there to 256 in steps of 16"), "{refused}");
}

#[test]
fn amd_rows_agree() {
    let mut seen = HashSet::new();
    let mut checked = 0;
    for record in records("instructions_amd.csv") {
        if !is_listed(&record) {
            continue;
        }
        let on = architecture(&record);
        let row = find(on, &record["instruction"]).unwrap().instruction;
        agrees(&record, row).unwrap_or_else(|error| panic!("{on} {row}: {error}"));
        assert_eq!(row.name(), record["canonical_name"]);
        let is_alias = record["is_alias"] == "True";
        assert_eq!(row.aliases().contains(&record["instruction"]), is_alias, "{on} {row}");
        assert!(row.is_native() && row.sass().is_none());
        seen.insert((on, row.name()));
        checked += 1;
    }
    println!("{checked} forms of AMD agree");
    for row in catalogue().iter().filter(|row| row.family == Family::Mfma) {
        assert!(
            seen.contains(&(row.architecture.unit(), row.name())),
            "{} {row}: no assembler takes it",
            row.architecture
        );
    }
}

/// The forms the assemblers take, where layout and a written `rn` make no difference: native, composed,
/// unknown.
fn expected_counts() -> BTreeMap<String, [usize; 3]> {
    let mut forms = BTreeMap::new();
    for record in records("instructions_nvidia.csv").iter().filter(|record| is_listed(record)) {
        let mut name = record["instruction"].replace(".rn.", ".");
        for layout in [".row.row", ".row.col", ".col.row", ".col.col"] {
            name = name.replace(layout, "");
        }
        let types = ["A_type", "B_type", "D_type", "scale_type"].map(|column| record[column].clone());
        let kind = match record["native_single_instruction"].as_str() {
            "yes" if is_listed_sparse(record) => {
                name = name.replace("::ordered_metadata", "");
                if record["arch"] == "Hopper" { 0 } else { 2 }
            }
            "yes" => 0,
            "unknown (not disassembled)" if record["family"] == "mma.sync" => 0,
            "unknown (not disassembled)" => 1,
            _ if sass(&record["sass"]).0 == 0 && record["arch"] != "Hopper" => 2,
            _ => 1,
        };
        forms.insert((architecture(record).name().to_owned(), name, types.join(" ")), kind);
    }
    for record in records("instructions_amd.csv").iter().filter(|record| is_listed(record)) {
        let key = (architecture(record).name().to_owned(), record["canonical_name"].clone(), String::new());
        forms.insert(key, 0);
    }
    let mut counts: BTreeMap<String, [usize; 3]> = BTreeMap::new();
    for ((architecture, ..), kind) in forms {
        counts.entry(architecture).or_default()[kind] += 1;
    }
    counts
}

#[test]
fn counts() {
    let expected = expected_counts();
    for architecture in Architecture::ALL {
        let mut count = [0; 3];
        let is_counted = |row: &&Instruction| !row.d.is_integer() || row.family == Family::Mfma;
        for row in of(architecture).filter(is_counted) {
            count[if row.unknown.is_some() { 2 } else { usize::from(row.composed_of.is_some()) }] += 1;
        }
        let [native, composed, unknown] = count;
        println!("{architecture}: {native} native, {composed} composed, {unknown} unknown");
        assert_eq!(expected[architecture.unit().name()], count, "{architecture}");
    }
}
