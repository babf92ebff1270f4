//! Names that people bring from CUTLASS, Triton, PyTorch, JAX and rocWMMA: each resolves, or says what it is; none gets a
//! suggestion that is something else.

use bitmma_catalogue::{Architecture, Found, LookupError, find, find_with_options};
use bitmma_formats::alias::{self, UnknownFormat};

use crate::common;

/// What is found: names of instructions, in order.
fn found(result: Result<Found, LookupError>) -> Result<Vec<String>, LookupError> {
    match result {
        Ok(one) => Ok(vec![one.name()]),
        Err(LookupError::Ambiguous { mut candidates, .. }) => {
            candidates.sort();
            Ok(candidates)
        }
        Err(error) => Err(error),
    }
}

#[test]
fn names_of_software_resolve_or_say_what_they_are() {
    let mut counts = [0; 4]; // formats, one instruction, several, known
    let mut wrong = vec![];
    let records = common::records("software_names.csv");
    for record in &records {
        let (on, name, means) = (&record["on"], &record["name"], record["means"].as_str());
        if on == "format" {
            counts[0] += 1;
            match (alias::find(name), means) {
                (Err(UnknownFormat::Other { .. }), "not modelled") => {}
                (Ok(format), means) if format.name == means => {}
                (other, _) => wrong.push(format!("{name} is not {means}: {other:?}")),
            }
            continue;
        }
        let architecture: Architecture = on.parse().unwrap();
        let result = found(find_with_options(architecture, name).map(|(found, _)| found));
        let is_right = match (means, &result) {
            ("not modelled", Err(LookupError::NotAnInstruction { given, .. })) => given == name,
            ("absent", Err(LookupError::UnknownInstruction { nearest, .. })) => nearest.is_empty(),
            ("lists", Ok(names)) => names.len() > 1,
            ("=", Ok(names)) => names.len() == 1,
            ("not modelled" | "absent" | "lists" | "=", _) | (_, Err(_)) => false,
            (spelling, Ok(names)) => found(find(architecture, spelling)).as_ref() == Ok(names),
        };
        match &result {
            Ok(names) => counts[if names.len() == 1 { 1 } else { 2 }] += 1,
            Err(_) => counts[3] += 1,
        }
        if !is_right {
            wrong.push(format!("{on}: {name} is not {means}: {result:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), records.len(), wrong.join("\n"));
    assert!(records.len() >= 400, "{} names", records.len());
    println!("{} names: formats, one instruction, several, known: {counts:?}", records.len());
}

/// On an architecture that does not have it, an atom names those that do, and nothing that is something else.
#[test]
fn atoms_of_other_architectures_say_where_they_are() {
    let message = |architecture, text: &str| find(architecture, text).unwrap_err().to_string();
    assert_eq!(
        message(Architecture::Ampere, "SM90_64x64x16_F32F16F16_SS"),
        "ampere has no instruction 'SM90_64x64x16_F32F16F16_SS' (found on hopper)"
    );
    assert_eq!(
        message(Architecture::Hopper, "SM90_64x12x16_F32F16F16_SS"),
        "N is 12; wgmma.m64n{8..256}k16.f32.f16.f16 takes 8 to 256 in steps of 8"
    );
    assert_eq!(
        message(Architecture::Hopper, "torch.matmul"),
        "'torch.matmul' is a call of a library, not an instruction: `bitmma gemm --like CHIP` computes it as that chip would"
    );
}

/// A dtype in place of an instruction lists the instructions that multiply it.
#[test]
fn a_dtype_lists_its_instructions() {
    let names = found(find(Architecture::Cdna3, "torch.float8_e4m3fnuz")).unwrap();
    assert!(names.iter().all(|name| name.contains("_fp8_")), "{names:?}");
    let integers = found(find(Architecture::Cdna3, "torch.int8")).unwrap();
    assert!(integers.len() == 5 && integers.iter().all(|name| name.ends_with("_i8")), "{integers:?}");
    assert!(matches!(find(Architecture::Cdna3, "torch.int16"), Err(LookupError::NotAnInstruction { .. })));
}

#[test]
fn aliases_of_formats_are_unique_and_lower_case() {
    let mut seen = std::collections::HashMap::new();
    for format in bitmma_formats::table::all() {
        for alias in alias::aliases(&format) {
            assert_eq!(*alias, alias.to_ascii_lowercase());
            assert_eq!(seen.insert(alias, format.name), None, "{alias}");
            assert_eq!(alias::find(alias), Ok(format), "{alias}");
        }
    }
}
