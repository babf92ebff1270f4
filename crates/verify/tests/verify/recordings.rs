//! Recordings: all of the project's replay without a mismatch; what is written reads back; what is broken
//! is an error that names the line and holds the numbers, never a panic and never a changed record.

use std::fs;
use std::path::PathBuf;

use bitmma_engine::catalogue::{Revision, find};
use bitmma_engine::kernel::Level;
use bitmma_engine::{Architecture, Error};
use bitmma_verify::recording::{Answer, Record, read, write};
use bitmma_verify::replay::{Outcome, Rules, replay};

/// Files of `recordings/` and how many dot products they hold, counted when they were recorded.
// columns: folder, file, dot products
#[rustfmt::skip]
const FILES: [(&str, &str, usize); 23] = [
    ("hardware", "a100",          800),
    ("hardware", "a2",            800),
    ("hardware", "ada",          1600),
    ("hardware", "b200",         1600),
    ("hardware", "h100",         1600),
    ("hardware", "h100-sxm",     8960),
    ("hardware", "h100-sxm-sparse", 5160),
    ("hardware", "h200",         1600),
    ("hardware", "h200-sxm",     5940),
    ("hardware", "l40s",         1200),
    ("hardware", "rtx4060",     23821),
    ("hardware", "v100",          400),
    ("hardware", "xeon-amx",      400),
    ("vectors",  "ada",          1300),
    ("vectors",  "ampere",        468),
    ("vectors",  "blackwell",    8008),
    ("vectors",  "cdna1",         780),
    ("vectors",  "cdna2",        1144),
    ("vectors",  "cdna3",        1404),
    ("vectors",  "hopper",       1664),
    ("vectors",  "rtx-blackwell", 5408),
    ("vectors",  "turing",        260),
    ("vectors",  "volta",         156),
];
const HARDWARE: usize = 53_881;
const VECTORS: usize = 20_592;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../recordings")
}

fn file(folder_name: &str, name: &str) -> Vec<Record> {
    let path = folder().join(folder_name).join(format!("{name}.csv"));
    let text = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    read(text.as_slice()).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn all() -> Vec<Record> {
    FILES.iter().flat_map(|(folder, name, _)| file(folder, name)).collect()
}

fn mismatches(outcomes: &[Outcome]) -> usize {
    outcomes.iter().map(|outcome| outcome.mismatches).sum()
}

#[test]
fn every_recording_replays() {
    let (mut totals, mut by_kernels) = ([0, 0], 0);
    for (folder, name, count) in FILES {
        let records = file(folder, name);
        assert_eq!(records.len(), count, "{folder}/{name}.csv");
        totals[usize::from(folder == "vectors")] += count;
        for strict_nan in [false, true] {
            let rules = Rules { strict_nan, ..Rules::default() };
            for outcome in replay(&records, &rules).expect("replays") {
                by_kernels += outcome.by_kernel;
                let model = outcome.origin.model(Revision::Hardware).expect("known");
                if strict_nan && model.nan_code.is_none() && folder == "hardware" {
                    println!(
                        "{}: {} NaN codes of operands",
                        outcome.origin.instruction(),
                        outcome.mismatches
                    );
                    continue;
                }
                assert!(
                    outcome.mismatches == 0,
                    "{folder}/{name}.csv, {}: {} of {} differ, first {:?}",
                    outcome.origin.instruction(),
                    outcome.mismatches,
                    outcome.total,
                    outcome.first
                );
            }
        }
    }
    assert_eq!(totals, [HARDWARE, VECTORS]);
    // without a kernel: AMX, and where the processor has no AVX-512 directed FP64 (15 forms of Hopper)
    let directed = if Level::best() < Level::Avx512 { 15 * (160 + 60) } else { 0 };
    assert_eq!(by_kernels, 2 * (HARDWARE + VECTORS - directed - 400));
    // and no file is left out
    let mut found: Vec<String> = Vec::new();
    for name in ["hardware", "vectors"] {
        for entry in fs::read_dir(folder().join(name)).expect("a folder") {
            found.push(entry.expect("an entry").file_name().to_string_lossy().into_owned());
        }
    }
    assert_eq!(found.len(), FILES.len(), "{found:?}");
}

/// Revision `paper` has no exponent of zero terms, and fewer bits in TR- and GTR-FDPA: vectors that depend
/// on these differ, and so do 52 recorded lines, all of the H100 SXM and the H200, which were asked directed cases; everything with FMA,
/// FTZ-AddMul and E-FDPA does not.
#[test]
fn revision_paper_differs_where_it_should() {
    let rules = Rules { revision: Revision::Paper, ..Rules::default() };
    let outcomes = replay(&all(), &rules).expect("replays");
    let differing: Vec<_> = outcomes.iter().filter(|outcome| outcome.mismatches > 0).collect();
    for outcome in &differing {
        println!("{}: {} of {}", outcome.origin.instruction(), outcome.mismatches, outcome.total);
    }
    println!("{} differ, of {} instructions", mismatches(&outcomes), differing.len());
    assert_eq!((mismatches(&outcomes), differing.len()), (79, 27), "counted on the files of this project");
    for (_, name, _) in FILES.iter().filter(|(folder, ..)| *folder == "hardware") {
        let wanted = match *name {
            "h100-sxm" => 10,
            "h100-sxm-sparse" => 12,
            "h200-sxm" => 30,
            _ => 0, // asked random normal inputs
        };
        assert_eq!(mismatches(&replay(&file("hardware", name), &rules).expect("replays")), wanted, "{name}");
    }
    for outcome in differing {
        let row = outcome.origin.row().expect("of the catalogue").instruction;
        let first = outcome.first.as_ref().expect("there is one");
        let model = row.model(Revision::Hardware).expect("it replays");
        let family = model.operation.name();
        if family == "TR-FDPA" {
            println!("{} {} {first:x?}", row.architecture, outcome.origin.instruction());
            continue; // one more bit and one more rounding
        }
        assert_eq!(family, "T-FDPA", "{}", outcome.origin.instruction());
        // a difference takes a zero: a product of zero, or a zero accumulator
        let record = &first.record;
        let zero = |format: &bitmma_engine::formats::Format, code: u64| code & !format.sign_bit() == 0;
        assert!(
            zero(&row.c, record.case.c)
                || record.case.a.iter().any(|code| zero(&row.a, *code))
                || record.case.b.iter().any(|code| zero(&row.b, *code)),
            "{record:?}"
        );
    }
}

/// What an RTX 4060 shows that no other recording does: the code of NaN, the sign of a zero, subnormal C and D.
#[test]
fn the_rtx_4060_shows_nan_codes_zeros_and_subnormal_numbers() {
    let (mut nan, mut zeros, mut from_minus_zero, mut subnormal_c, mut subnormal_d) = (0, 0, 0, 0, 0);
    for record in file("hardware", "rtx4060") {
        let Answer::Code(d) = record.d else { panic!("every answer is a code") };
        let (c, minus_zero, infinity) = (record.case.c, 0x8000_0000, 0x7f80_0000);
        let subnormal = |code: u64| (1..0x80_0000).contains(&(code & !minus_zero));
        assert_ne!(d, minus_zero, "line {}", record.line);
        zeros += usize::from(d == 0);
        from_minus_zero += usize::from(d == 0 && c == minus_zero);
        if d & !minus_zero > infinity {
            assert_eq!(d, 0x7fff_ffff, "line {}", record.line);
            nan += 1;
        }
        subnormal_c += usize::from(subnormal(c));
        subnormal_d += usize::from(subnormal(d));
    }
    let seen = [nan, zeros, from_minus_zero, subnormal_c, subnormal_d];
    assert_eq!(seen, [260, 6172, 1126, 4412, 806], "counted by a script of its own");
}

#[test]
fn a_changed_answer_is_a_mismatch() {
    let mut records = file("hardware", "v100");
    let Answer::Code(d) = records[17].d else { panic!("a number") };
    records[17].d = Answer::Code(d ^ 1);
    let outcomes = replay(&records, &Rules::default()).expect("replays");
    assert_eq!(mismatches(&outcomes), 1);
    let first = outcomes.iter().find_map(|outcome| outcome.first.as_ref()).expect("the mismatch");
    assert_eq!((first.actual, first.record.line), (d, records[17].line));
    assert_eq!(records[17].line, 21, "three lines of comments and header, then from line 4 on");
}

fn plain(record: &Record) -> impl PartialEq + std::fmt::Debug + use<> {
    let Record { origin, case, d, line: _ } = record.clone();
    (origin.architecture().to_owned(), origin.instruction().to_owned(), case, d)
}

fn plain_all(records: &[Record]) -> Vec<impl PartialEq + std::fmt::Debug + use<>> {
    records.iter().map(plain).collect()
}

#[test]
fn what_is_written_reads_back() {
    for (folder, name, _) in FILES {
        let records = file(folder, name);
        let mut text = Vec::new();
        write(&mut text, &["one line", "two\nlines"], &records).expect("writes into memory");
        assert!(text.starts_with(b"# one line\n# two\n# lines\narch,instruction,a,b,c,scale_a,scale_b,d\n"));
        let back = read(text.as_slice()).expect("reads");
        assert!(plain_all(&back) == plain_all(&records), "{folder}/{name}.csv");
        assert_eq!(back.first().map(|record| record.line), Some(5));
    }
    let mut text = Vec::new();
    write(&mut text, &[], []).expect("writes into memory");
    assert_eq!(text, b"arch,instruction,a,b,c,scale_a,scale_b,d\n");
    assert!(read(text.as_slice()).expect("no records").is_empty());
}

/// A small recording with every kind of cell: a comment, FP16, scale factors, `nan`.
const SMALL: &str = "# two units\n\
    arch,instruction,a,b,c,scale_a,scale_b,d\n\
    volta,mma.m8n8k4.f32.f16.f16.f32,d831 457c 7599 4b81,1771 b845 2588 432a,30f8fb74,,,44087ebf\n\
    cdna1,v_mfma_f32_32x32x4bf16,7f80 0000 0000 0000,0000 0000 0000 0000,00000000,,,nan\n\
    rtx-blackwell,mma.m16n8k64.kind::mxf4nvf4.block32.f32.e2m1.e2m1.f32.ue8m0,\
    2 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0,\
    2 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0,\
    00000000,7f 7f,7f 7f,3f800000\n\
    volta,mma.m8n8k4.f16.f16.f16.f16,3c00 0000 0000 0000,3c00 0000 0000 0000,0000,,,3c00\n";

#[test]
fn a_recording_cut_anywhere_loses_whole_records_or_is_an_error() {
    let whole = read(SMALL.as_bytes()).expect("reads");
    assert_eq!(whole.len(), 4);
    assert_eq!(mismatches(&replay(&whole, &Rules::default()).expect("replays")), 0);
    let whole = plain_all(&whole);
    let (mut read_counts, mut errors) = ([0; 5], 0);
    for cut in 0..=SMALL.len() {
        let text = &SMALL.as_bytes()[..cut];
        match read(text) {
            Ok(records) => {
                assert!(plain_all(&records) == whole[..records.len()], "cut at byte {cut} changes a record");
                read_counts[records.len()] += 1;
            }
            Err(Error::Recording { line, problem }) => {
                // the line that was cut; a file cut before its header ends where it ends
                let last = text.iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
                assert!(line >= 1 && line <= last, "cut at byte {cut}: line {line} of {last}: {problem}");
                errors += 1;
            }
            Err(error) => panic!("cut at byte {cut}: {error}"),
        }
    }
    // with and without the line end, each; none but a header: once more for each byte of nothing
    assert_eq!(read_counts, [2, 2, 2, 2, 2], "{errors} errors");
}

#[test]
fn a_byte_changed_anywhere_is_never_a_panic() {
    for at in 0..SMALL.len() {
        for byte in [b'\n', b',', b'"', b'#', b' ', b'0', b'g', 0, 0xff] {
            let mut text = SMALL.as_bytes().to_vec();
            text[at] = byte;
            if let Err(error) = read(text.as_slice()) {
                let Error::Recording { line, .. } = error else { panic!("byte {at} is {byte:#x}: {error}") };
                assert!(line >= 1, "byte {at} is {byte:#x}: {error}");
            }
        }
    }
}

const HEADER: &str = "arch,instruction,a,b,c,scale_a,scale_b,d\n";

fn problem(text: impl AsRef<[u8]>) -> String {
    match read(text.as_ref()) {
        Err(error) => error.to_string(),
        Ok(records) => panic!("reads {} records", records.len()),
    }
}

/// The message of a recording of this one line under the header, which is line 2.
fn problem_of_line(line: &str) -> String {
    problem(format!("{HEADER}{line}\n"))
}

#[test]
fn what_is_wrong_is_said_with_its_numbers() {
    // columns: the line, the message
    #[rustfmt::skip]
    let rows = [
        ("vola,mma.m8n8k4.f32.f16.f16.f32,,,,,,",
         "line 2: unknown architecture 'vola'; did you mean volta?"),
        ("volta,mma.m8n8k4.f32.f16.f16.f23,,,,,,",
         "line 2: volta has no instruction 'mma.m8n8k4.f32.f16.f16.f23'; did you mean mma.m8n8k4.f32.f16.f16.f32"),
        ("volta,mma.m8n8k4.f32.f16.f16.f32,3c00 3c00 3c00 3c0,0000 0000 0000 0000,00000000,,,00000000",
         "line 2: a holds '3c0'; f16 codes have 4 hex digits and 16 bits"),
        ("volta,mma.m8n8k4.f32.f16.f16.f32,3c00 3c00 3c00 03c00,0000 0000 0000 0000,00000000,,,00000000",
         "line 2: a holds '03c00'; f16 codes have 4 hex digits and 16 bits"),
        ("volta,mma.m8n8k4.f32.f16.f16.f32,3c00 3c00 3c00 3g00,0000 0000 0000 0000,00000000,,,00000000",
         "line 2: a holds '3g00'; f16 codes have 4 hex digits and 16 bits"),
        ("volta,mma.m8n8k4.f32.f16.f16.f32,3c00 3c00 3c00,0000 0000 0000 0000,00000000,,,00000000",
         "line 2: a has 3 codes; 4 were expected"),
        ("volta,mma.m8n8k4.f32.f16.f16.f32,3c00 3c00 3c00 3c00,0000 0000 0000 0000 0000,00000000,,,00000000",
         "line 2: b has 5 codes; 4 were expected"),
        ("volta,mma.m8n8k4.f32.f16.f16.f32,,0000 0000 0000 0000,00000000,,,00000000",
         "line 2: a has 0 codes; 4 were expected"),
        ("volta,mma.m8n8k4.f32.f16.f16.f32,3c00 3c00 3c00 3c00,0000 0000 0000 0000,0000,,,00000000",
         "line 2: c holds '0000'; f32 codes have 8 hex digits and 32 bits"),
        ("volta,mma.m8n8k4.f32.f16.f16.f32,3c00 3c00 3c00 3c00,0000 0000 0000 0000,00000000,,,",
         "line 2: d holds ''; f32 codes have 8 hex digits and 32 bits"),
        ("volta,mma.m8n8k4.f32.f16.f16.f32,3c00 3c00 3c00 3c00,0000 0000 0000 0000,00000000,,,inf",
         "line 2: d holds 'inf'; f32 codes have 8 hex digits and 32 bits"),
        ("volta,mma.m8n8k4.f32.f16.f16.f32,3c00 3c00 3c00 3c00,0000 0000 0000 0000,00000000,,,0000000+",
         "line 2: d holds '0000000+'; f32 codes have 8 hex digits and 32 bits"),
        ("volta,mma.m8n8k4.f32.f16.f16.f32,3c00 3c00 3c00 3c00,0000 0000 0000 0000,00000000,7f,,00000000",
         "line 2: scale_a is '7f'; mma.m8n8k4.f32.f16.f16.f32 takes none"),
        ("volta,mma.m8n8k4.f32.f16.f16.f32,3c00 3c00 3c00 3c00,0000 0000 0000 0000,00000000,,7f,00000000",
         "line 2: scale_b is '7f'; mma.m8n8k4.f32.f16.f16.f32 takes none"),
        ("volta,mma.m8n8k4.f32.f16.f16.f32,3c00 3c00 3c00 3c00,0000 0000 0000 0000,00000000",
         "line 2: 5 fields; 8 were expected: arch,instruction,a,b,c,scale_a,scale_b,d"),
        ("volta,mma.m8n8k4.f32.f16.f16.f32,3c00 3c00 3c00 3c00,0000 0000 0000 0000,00000000,,,00000000,",
         "line 2: 9 fields; 8 were expected: arch,instruction,a,b,c,scale_a,scale_b,d"),
    ];
    for (line, expected) in rows {
        let actual = problem_of_line(line);
        assert!(actual.starts_with(expected), "{line}\n says     {actual}\n expected {expected}");
    }
    // FP6: two digits, six bits
    let name = "mma.m16n8k32.kind::f8f6f4.f32.e3m2.e3m2.f32";
    let zeros = vec!["00"; 31].join(" ");
    assert_eq!(
        problem_of_line(&format!("rtx-blackwell,{name},40 {zeros},00 {zeros},00000000,,,00000000")),
        "line 2: a holds '40'; e3m2 codes have 2 hex digits and 6 bits"
    );
    // scale factors missing, too few
    let name = "mma.m16n8k32.kind::mxf8f6f4.block32.f32.e4m3.e4m3.f32.ue8m0";
    let codes = format!("00 {zeros},00 {zeros},00000000");
    assert_eq!(
        problem_of_line(&format!("rtx-blackwell,{name},{codes},,7f,00000000")),
        "line 2: scale_a has 0 codes; 1 were expected"
    );
    assert_eq!(
        problem_of_line(&format!("rtx-blackwell,{name},{codes},7f,7f 7f,00000000")),
        "line 2: scale_b has 2 codes; 1 were expected"
    );
}

#[test]
fn broken_files() {
    let header = "arch,instruction,a,b,c,scale_a,scale_b,d";
    assert_eq!(problem(""), format!("line 1: the header is missing; '{header}' was expected"));
    assert!(problem("# only a comment\n").contains(&format!("'{header}' was expected")));
    assert_eq!(
        problem("arch,instruction,a,b,c,d\n"),
        format!("line 1: the header is 'arch,instruction,a,b,c,d'; '{header}' was expected")
    );
    // not UTF-8, in a record and in the header
    let mut bytes = format!("{HEADER}volta,mma.m8n8k4.f32.f16.f16.f32,").into_bytes();
    bytes.extend([0xff, 0xfe, b',', b'\n']);
    assert_eq!(problem(&bytes), "line 2: the text is not UTF-8");
    assert_eq!(
        problem(b"arch,\xff\n"),
        "line 1: it looks like a binary file; a recording (CSV) was expected"
    );
}

/// The line with the mistake, comments and blank lines counted.
#[test]
fn comments_are_counted() {
    let commented = format!("# one\n{HEADER}# three\nvola,x,,,,,,\n");
    assert!(problem(&commented).starts_with("line 4: unknown architecture"), "{}", problem(&commented));
    let commented = format!("{HEADER}\n\n# four\n\nvola,x,,,,,,\n");
    assert!(problem(&commented).starts_with("line 6: unknown architecture"), "{}", problem(&commented));
    let windows = commented.replace('\n', "\r\n");
    assert!(problem(&windows).starts_with("line 6: unknown architecture"), "{}", problem(&windows));
    let text = SMALL.replace("\ncdna1", "\n# a comment between\n\ncdna1");
    let lines: Vec<u64> = read(text.as_bytes()).expect("reads").iter().map(|record| record.line).collect();
    assert_eq!(lines, [3, 6, 7, 8]);
}

#[test]
fn a_wrong_header_below_comments_is_on_its_own_line() {
    let commented = "# one\n# two\nvolta,mma.m8n8k4.f32.f16.f16.f32,1,2,3,,,4\n";
    assert!(problem(commented).starts_with("line 3: the header is"), "{}", problem(commented));
}

#[test]
fn line_ends_and_blanks_do_not_matter() {
    let whole = plain_all(&read(SMALL.as_bytes()).expect("reads"));
    let windows = SMALL.replace('\n', "\r\n");
    assert!(plain_all(&read(windows.as_bytes()).expect("reads")) == whole, "CRLF");
    let blank = format!("{SMALL}\n\n# the end\n");
    assert!(plain_all(&read(blank.as_bytes()).expect("reads")) == whole, "blank lines");
    let unfinished = SMALL.trim_end();
    assert!(plain_all(&read(unfinished.as_bytes()).expect("reads")) == whole, "no last line end");
    let marked = format!("\u{feff}{}", SMALL.trim_start_matches("# two units\n"));
    assert!(plain_all(&read(marked.as_bytes()).expect("reads")) == whole, "a byte order mark");
    let upper = SMALL.replace("44087ebf", "44087EBF").replace("nan", "NaN").replace("volta,", " Volta ,");
    assert!(plain_all(&read(upper.as_bytes()).expect("reads")) == whole, "case and blanks");
}

/// `nan` agrees with any NaN, strictly or not; a code with the bits of a NaN agrees with that code alone
/// where the vendor specifies it, and with any NaN otherwise, unless `strict_nan`.
#[test]
fn nan_answers() {
    let nan_line = |instruction: &str, nans: &str, zeros: &str, d: &str| {
        format!("{HEADER}{instruction},{nans},{zeros},00000000,,,{d}\n")
    };
    let t = |d| nan_line("volta,mma.m8n8k4.f32.f16.f16.f32", "7e00 0000 0000 0000", "0000 0000 0000 0000", d);
    let e = |d| nan_line("cdna1,v_mfma_f32_32x32x4bf16", "7fc0 0000 0000 0000", "0000 0000 0000 0000", d);
    let differ = |text: String, strict_nan| {
        let records = read(text.as_bytes()).expect("reads");
        mismatches(&replay(&records, &Rules { strict_nan, ..Rules::default() }).expect("replays"))
    };
    // columns: text, mismatches, with strict_nan
    let rows = [
        (t("nan"), 0, 0),
        (t("7fffffff"), 0, 0),
        (t("7fc00000"), 1, 1),
        (t("ffffffff"), 1, 1),
        (t("7f800000"), 1, 1),
        (e("nan"), 0, 0),
        (e("7fc00000"), 0, 0),
        (e("ffffffff"), 0, 1),
        (e("7f800001"), 0, 1),
        (e("7f800000"), 1, 1),
    ];
    for (text, expected, strict) in rows {
        assert_eq!((differ(text.clone(), false), differ(text.clone(), true)), (expected, strict), "{text}");
    }
    // a number where `nan` was recorded is a mismatch
    let number =
        nan_line("cdna1,v_mfma_f32_32x32x4bf16", "0000 0000 0000 0000", "0000 0000 0000 0000", "nan");
    assert_eq!((differ(number.clone(), false), differ(number, true)), (1, 1));
}

#[test]
fn a_model_in_place_of_the_instructions_own() {
    let records = file("hardware", "v100");
    let own = find(Architecture::Volta, "mma.m8n8k4.f32.f16.f16.f32").expect("is there").instruction;
    let with_f32: Vec<_> = records
        .into_iter()
        .filter(|record| record.origin.row().is_some_and(|found| std::ptr::eq(found.instruction, own)))
        .collect();
    let rules = |model| Rules { model: Some(model), ..Rules::default() };
    let model = own.model(Revision::Hardware).expect("known");
    let outcomes = replay(&with_f32, &rules(model)).expect("replays");
    assert_eq!((outcomes.len(), outcomes[0].total, mismatches(&outcomes)), (1, 200, 0));
    // Hopper's F and L: recordings tell it apart
    let other = find(Architecture::Hopper, "mma.m16n8k16.f32.f16.f16.f32").expect("is there").instruction;
    let other = other.model(Revision::Hardware).expect("known");
    assert!(mismatches(&replay(&with_f32, &rules(other)).expect("replays")) > 0);
    // a model of other formats
    let half = find(Architecture::Hopper, "mma.m16n8k16.f16.f16.f16.f16").expect("is there").instruction;
    let error =
        replay(&with_f32, &rules(half.model(Revision::Hardware).expect("known"))).expect_err("C is FP32");
    assert_eq!(
        error.to_string(),
        "C is f32, the model replayed against mma.m8n8k4.f32.f16.f16.f32 takes f16"
    );
}

#[test]
fn instructions_without_a_model_say_so() {
    let name = "mma.m8n8k4.f32.f16.f16.f32"; // from Ampere on, expanded in an unknown order
    let zeros = "0000 0000 0000 0000";
    let text = format!("{HEADER}ampere,{name},{zeros},{zeros},00000000,,,00000000\n");
    let records = read(text.as_bytes()).expect("reads");
    let error = replay(&records, &Rules::default()).expect_err("no model");
    assert!(matches!(&error, Error::NoModel { .. }), "{error}");
    assert!(error.to_string().starts_with(&format!("{name} on ampere has no model: ")), "{error}");
}
