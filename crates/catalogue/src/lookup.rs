//! From a spelling to a row.

use std::collections::HashMap;
use std::sync::LazyLock;

use bitmma_formats::B1;

use crate::architecture::Architecture;
use crate::error::{LookupError, nearest};
use crate::extent::Extent;
use crate::instruction::Instruction;
use crate::rows::{Rows, catalogue, of};
use crate::selection;
use crate::software::{self, Meaning, Options};
use crate::spelling::{Key, key_of, keys, without_shape};
use crate::words;

/// A row, and the M and N that were asked for.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// The row.
    pub instruction: &'static Instruction,
    /// Rows of A and D; the smallest the instruction has where the spelling leaves M open.
    pub m: usize,
    /// Columns of B and D; the smallest the instruction has where the spelling leaves N open.
    pub n: usize,
}

impl Found {
    /// The instruction's name for this M and N.
    pub fn name(&self) -> String {
        self.instruction.name_for(self.m, self.n)
    }
}

/// Rows by the keys of their names, and of their names and aliases.
#[derive(Default)]
struct Index {
    names: HashMap<String, Vec<&'static Instruction>>,
    aliases: HashMap<String, Vec<&'static Instruction>>,
}

static INDEX: LazyLock<HashMap<Architecture, Index>> = LazyLock::new(|| {
    let mut index: HashMap<Architecture, Index> = HashMap::new();
    for row in catalogue() {
        let entry = index.entry(row.architecture).or_default();
        for (position, spelling) in row.spellings().enumerate() {
            let map = if position == 0 { &mut entry.names } else { &mut entry.aliases };
            let rows = map.entry(key_of(spelling)).or_default();
            if !rows.iter().any(|known| std::ptr::eq(*known, row)) {
                rows.push(row);
            }
        }
    }
    index
});

/// The rows that a spelling can mean, each with the M and N it asks for; names go before aliases.
fn candidates(architecture: Architecture, text: &str) -> Rows {
    let Some(index) = INDEX.get(&architecture) else { return vec![] };
    for map in [&index.names, &index.aliases] {
        let found: Vec<_> = keys(text)
            .flat_map(|key| {
                let rows = map.get(&key.text).into_iter().flatten();
                rows.map(move |row| (*row, Key { text: String::new(), ..key })).collect::<Vec<_>>()
            })
            .collect();
        if !found.is_empty() {
            return found;
        }
    }
    vec![]
}

/// The size asked for, if the instruction has it; its smallest where none was asked for.
fn choose(
    dimension: char,
    extent: Extent,
    asked: Option<usize>,
    row: &Instruction,
) -> Result<usize, LookupError> {
    match asked {
        None => Ok(extent.first),
        Some(size) if extent.contains(size) => Ok(size),
        Some(given) => {
            Err(LookupError::Extent { dimension, given, instruction: row.name(), allowed: extent.in_words() })
        }
    }
}

fn resolve(row: &'static Instruction, key: &Key) -> Result<Found, LookupError> {
    let m = choose('M', row.m, key.m, row)?;
    let n = choose('N', row.n, key.n, row)?;
    Ok(Found { instruction: row, m, n })
}

/// The instruction of `architecture` that `text` names.
///
/// Without regard to case, `text` is a name or any alias: the full PTX spelling, the SASS name, the HIP
/// builtin, an older spelling. Where the row has a range, M and N may be a size (`n256`), the range as
/// it is printed (`n{8..256}`) or the letter of the manual (`nN`); the last two leave it open. The first words
/// of a name (`wgmma`, `QGMMA`) mean the instructions that begin so, and [`words`] in any order (`wgmma e4m3`, `nvfp4`) those
/// that fit all of them best; several are an error that lists them, unless they compute alike.
///
/// After the name of a sparse instruction may stand which elements are stored ([`selection`]): `….select13`.
///
/// Names that software gives are read too: CuTe atoms (`SM90_64x64x16_F32F16F16_SS`), `tl.dot(f16, f16)`, fragments of WMMA
/// and rocWMMA, intrinsics of LLVM; a dtype (`float8_e4m3fn`) lists the instructions that multiply it.
///
/// # Errors
///
/// Also a name with an option that is not part of an instruction, which [`find_with_options`] takes.
pub fn find(architecture: Architecture, text: &str) -> Result<Found, LookupError> {
    let (found, Options { promote_every, .. }) = find_with_options(architecture, text)?;
    match promote_every {
        None => Ok(found),
        Some(every) => Err(LookupError::Option {
            given: text.trim().to_owned(),
            option: "max_num_imprecise_acc".to_owned(),
            why: format!(
                "is promotion every {every} elements of K, which takes more than one instruction: leave it out here, or give it \
                 to `bitmma gemm` (promote_every = {every}), `dot`, `explain` or `show`"
            ),
        }),
    }
}

/// As [`find`], with what the name asks for besides the instruction.
pub fn find_with_options(architecture: Architecture, text: &str) -> Result<(Found, Options), LookupError> {
    let (instruction, Some(selected)) = selection::split(text.trim()) else {
        return find_instruction(architecture, text);
    };
    let (found, options) = find_instruction(architecture, instruction)?;
    let selections = selection::names(found.instruction);
    if selections.contains(&selected) {
        return Ok((found, options));
    }
    let offered = selections.iter().rev().take(3).map(|name| selection::named(instruction, name)).collect();
    let nearest = if selections.is_empty() { vec![instruction.to_owned()] } else { offered };
    Err(LookupError::UnknownInstruction { architecture, given: text.to_owned(), nearest, elsewhere: vec![] })
}

/// As [`find_with_options`], of a name without a selection. Of single bits it must say the operation: those that are not in the
/// catalogue count bits that differ.
fn find_instruction(architecture: Architecture, text: &str) -> Result<(Found, Options), LookupError> {
    let found = find_named(architecture, text)?;
    match found.0.instruction.a == B1 && !text.to_ascii_lowercase().contains("and") {
        false => Ok(found),
        true => Err(LookupError::NotAnInstruction {
            given: text.to_owned(),
            about: "multiplies single bits and does not say how: .and.popc, or .xor.popc, which counts those that differ and is not modeled",
        }),
    }
}

fn find_named(architecture: Architecture, text: &str) -> Result<(Found, Options), LookupError> {
    let plain = |found| (found, Options::default());
    let spelled = candidates(architecture, text);
    if !spelled.is_empty() {
        return choose_one(architecture, text, &spelled).map(plain);
    }
    if let Some(meaning) = software::meaning(architecture, text) {
        let spelled = |spelling: &str| candidates(architecture, spelling);
        let (meant, options) = software::resolved(architecture, text, meaning, spelled)?;
        return match meant.is_empty() {
            true => Err(elsewhere(architecture, text)),
            false => Ok((choose_one(architecture, text, &meant)?, options)),
        };
    }
    let begins = beginning_with(architecture, text);
    if !begins.is_empty() {
        return choose_one(architecture, text, &begins).map(plain);
    }
    match words::meant(architecture, text)?.as_slice() {
        [] => Err(unknown(architecture, text)),
        meant => choose_alike(architecture, text, meant),
    }
}

/// The one of the candidates that has the M and N asked for.
fn choose_one(
    architecture: Architecture,
    text: &str,
    candidates: &[(&'static Instruction, Key)],
) -> Result<Found, LookupError> {
    let mut found = vec![];
    let mut refused = None;
    for (row, key) in candidates {
        match resolve(row, key) {
            Ok(one) => found.push(one),
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    match (found.as_slice(), refused) {
        ([one], _) => Ok(*one),
        ([], Some(error)) => Err(error),
        (several, _) => Err(LookupError::Ambiguous {
            architecture,
            given: text.to_owned(),
            candidates: several.iter().map(|found| found.instruction.name()).collect(),
        }),
    }
}

/// As [`choose_one`], where several that compute alike are one: the one with the largest K, the first of these.
fn choose_alike(
    architecture: Architecture,
    text: &str,
    candidates: &[(&'static Instruction, Key)],
) -> Result<(Found, Options), LookupError> {
    let (first, _) = candidates[0];
    if candidates.len() == 1 || !candidates.iter().all(|(row, _)| words::computes_alike(first, row)) {
        return Ok((choose_one(architecture, text, candidates)?, Options::default()));
    }
    let longest = candidates.iter().map(|(row, _)| row.k).max();
    let taken = candidates.iter().position(|(row, _)| Some(row.k) == longest).unwrap_or(0);
    let (row, key) = &candidates[taken];
    let others = candidates.iter().filter(|(other, _)| !std::ptr::eq(*other, *row));
    let alike = others.map(|(other, _)| other.name()).collect();
    Ok((resolve(row, key)?, Options { alike, ..Options::default() }))
}

/// The rows of which a spelling begins with the words of `text` (`wgmma`, `QGMMA`, `v_mfma_f32_32x32x8`), each with the M and
/// N it asks for: words end at a dot or an underscore. The shape may be left out: `tcgen05.mma.kind::f16`.
fn beginning_with(architecture: Architecture, text: &str) -> Rows {
    let begins = |spelling: &str, wanted: &str| {
        let rest = spelling.strip_prefix(wanted);
        rest.is_some_and(|rest| {
            rest.is_empty() || rest.starts_with(['.', '_']) || wanted.ends_with(['.', '_'])
        })
    };
    let asked: Vec<Key> = keys(text).filter(|key| !key.text.is_empty()).collect();
    let meant = |row: &'static Instruction| {
        let whole: Vec<String> = row.spellings().map(key_of).collect();
        let shapeless = whole.iter().map(|spelling| without_shape(spelling));
        let spellings: Vec<String> = shapeless.chain(whole.iter().cloned()).collect();
        let key = asked.iter().find(|key| spellings.iter().any(|spelling| begins(spelling, &key.text)))?;
        Some((row, Key { text: String::new(), ..*key }))
    };
    of(architecture).filter_map(meant).collect()
}

/// A name that software gives to an instruction that this architecture does not have; nothing is near to it.
fn elsewhere(architecture: Architecture, text: &str) -> LookupError {
    let has = |other: &Architecture| {
        *other != architecture
            && match software::meaning(*other, text) {
                Some(Meaning::Rows(wanted, _)) => !wanted.rows(*other).is_empty(),
                Some(Meaning::Spelling(spelling, _)) => !candidates(*other, &spelling).is_empty(),
                Some(Meaning::Known(_) | Meaning::Refused(..)) | None => false,
            }
    };
    LookupError::UnknownInstruction {
        architecture,
        given: text.to_owned(),
        nearest: vec![],
        elsewhere: Architecture::ALL.into_iter().filter(has).collect(),
    }
}

/// The word before the first dot, which tells one family of spellings from another.
fn first_word(text: &str) -> &str {
    text.split('.').next().unwrap_or(text)
}

fn unknown(architecture: Architecture, text: &str) -> LookupError {
    let wanted = text.trim().to_ascii_lowercase();
    let asked = keys(text).last();
    let (m, n) = asked.map_or((None, None), |key| (key.m, key.n));
    let fitting = |extent: Extent, asked: Option<usize>| {
        asked.filter(|size| extent.contains(*size)).unwrap_or(extent.first)
    };
    let mut offered: Vec<(String, String)> = of(architecture)
        .flat_map(|row| row.spellings_for(fitting(row.m, m), fitting(row.n, n)))
        .map(|spelling| (spelling.to_ascii_lowercase(), spelling))
        .collect();
    let is_related = |(spelling, _): &(String, String)| first_word(spelling) == first_word(&wanted);
    if offered.iter().any(is_related) {
        offered.retain(is_related);
    }
    let has = |other: &Architecture| {
        *other != architecture
            && (candidates(*other, text).iter().any(|(row, key)| resolve(row, key).is_ok())
                || words::meant(*other, text).is_ok_and(|rows| !rows.is_empty()))
    };
    let elsewhere: Vec<Architecture> = Architecture::ALL.into_iter().filter(has).collect();
    // a name that another architecture has is not misspelt
    let nearest = if elsewhere.is_empty() { nearest(&wanted, offered.into_iter(), 3) } else { vec![] };
    LookupError::UnknownInstruction { architecture, given: text.to_owned(), nearest, elsewhere }
}
