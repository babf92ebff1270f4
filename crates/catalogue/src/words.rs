//! Words in any order that describe an instruction: `wgmma e4m3`, `16x8x16 bf16 mma`, `nvfp4`, `sparse f16`.
//!
//! Every word must match. A word is a part of a spelling (`tcgen05`, `HMMA`, `kind::f16`, `v_mfma`), a shape (`m16n8k16`,
//! `16x8x16`, `k32`), a format or a group of formats under any name (`fp8`, `nvfp4`, `bfloat16`), a model family
//! (`T-FDPA`), or one of `sparse`, `dense`, `composed`, `native`, `unknown` and `scaled`.

use bitmma_arithmetic::family;
use bitmma_formats::{
    FORMATS, Format, UE4M3, UE8M0,
    alias::{self, UnknownFormat},
};

use crate::architecture::Architecture;
use crate::error::LookupError;
use crate::instruction::Instruction;
use crate::revision::Revision;
use crate::rows::{Rows, of};
use crate::shape::sizes;
use crate::spelling::{Key, key_of, keys};

/// Signed formats that a word stands for, and the scale factors that it implies: their format, and elements for each.
type Group = (&'static [&'static str], fn(&Format) -> bool, Option<(Format, usize)>);

/// Names of several formats, or of a format with scale factors.
#[rustfmt::skip]
const GROUPS: &[Group] = &[
    (&["fp8", "float8", "f8"],   |format| format.bits() == 8, None),
    (&["bf8"],                   |format| format.bits() == 8 && format.exponent_bits == 5, None),
    (&["fp6", "float6", "f6"],   |format| format.bits() == 6, None),
    (&["mxfp8", "mx8", "mxf8"],  |format| format.bits() == 8, Some((UE8M0, 32))),
    (&["mxfp6", "mx6", "mxf6"],  |format| format.bits() == 6, Some((UE8M0, 32))),
    (&["mxfp4", "mx4"],          |format| format.bits() == 4, Some((UE8M0, 32))),
    (&["nvfp4", "nvf4"],         |format| format.bits() == 4, Some((UE4M3, 16))),
];

/// Words that join others and ask for nothing.
const JOINING: [&str; 5] = ["->", "→", "to", "into", "and"];

/// One word.
enum Word {
    /// The format of an operand or of the result: one of these.
    Format(Vec<Format>),
    /// Sizes of M, N and K.
    Shape([Option<usize>; 3]),
    /// A model family.
    Model(&'static str),
    /// A property, and whether it is asked for or excluded.
    Has(Property, bool),
    /// Part of a spelling.
    Part(Vec<Key>),
}

#[derive(Clone, Copy)]
enum Property {
    Sparse,
    Composed,
    Unknown,
    Scaled,
}

impl Property {
    fn holds(self, row: &Instruction) -> bool {
        match self {
            Property::Sparse => row.family.is_sparse(),
            Property::Composed => row.composed_of.is_some(),
            Property::Unknown => row.unknown.is_some(),
            Property::Scaled => row.scale.is_some(),
        }
    }
}

/// What words ask for.
struct Words {
    words: Vec<Word>,
    /// Scale factors that a name of formats implies.
    scales: Vec<(Format, usize)>,
}

/// `m16n8k16`, `16x8x16`, `m64`, `n256`, `k32`.
fn shape(word: &str) -> Option<[Option<usize>; 3]> {
    let found = sizes(word)?;
    (!found.contains(&Some(None))).then(|| found.map(Option::flatten))
}

impl Words {
    /// Reads words; the reason, beginning with a verb, where one is known and is nothing of an instruction.
    fn read(text: &str) -> Result<Words, (String, &'static str)> {
        let mut read = Words { words: vec![], scales: vec![] };
        for word in text.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty()) {
            let lower = word.to_ascii_lowercase();
            if JOINING.contains(&lower.as_str()) {
                continue;
            }
            if let Some((_, is_meant, scale)) =
                GROUPS.iter().find(|(names, ..)| names.contains(&lower.as_str()))
            {
                let meant = FORMATS.into_iter().filter(|format| format.is_signed() && is_meant(format));
                read.words.push(Word::Format(meant.collect()));
                read.scales.extend(*scale);
                continue;
            }
            let property = match lower.as_str() {
                "sparse" | "2:4" => Some((Property::Sparse, true)),
                "dense" => Some((Property::Sparse, false)),
                "composed" => Some((Property::Composed, true)),
                "native" => Some((Property::Composed, false)),
                "unknown" => Some((Property::Unknown, true)),
                "scaled" => Some((Property::Scaled, true)),
                _ => None,
            };
            let family = family::by_name(word).map(|family| family.name);
            // a name with a namespace, as in cutlass::half_t, is a format's where it is alone
            let is_alone = !text.trim().contains(char::is_whitespace) && !lower.starts_with("kind::");
            let format = (is_alone || !lower.contains("::")).then(|| alias::find(word));
            read.words.push(match (property, family, format, shape(&lower)) {
                (Some((property, wanted)), ..) => Word::Has(property, wanted),
                (_, Some(family), ..) => Word::Model(family),
                (_, _, Some(Ok(format)), _) => Word::Format(vec![format]),
                (.., Some(sizes)) => Word::Shape(sizes),
                (_, _, Some(Err(UnknownFormat::Other { about, .. })), None) => {
                    return Err((word.to_owned(), about));
                }
                _ => Word::Part(keys(word).filter(|key| !key.text.is_empty()).collect()),
            });
        }
        Ok(read)
    }

    /// The formats; a group with one of its own beside it is that one: `mxfp8 e4m3`.
    fn formats(&self) -> Vec<&[Format]> {
        let all: Vec<&[Format]> = self.words.iter().filter_map(Word::formats).collect();
        let narrows = |other: &[Format], one: &[Format]| {
            other.len() < one.len() && other.iter().all(|format| one.contains(format))
        };
        all.iter().filter(|one| !all.iter().any(|other| narrows(other, one))).copied().collect()
    }

    /// How well a row fits, lower is better; `None` where a word does not match.
    fn fit(&self, row: &'static Instruction) -> Option<(Fit, Key)> {
        let (mut m, mut n) = (None, None);
        let spellings: Vec<String> = row.spellings().map(key_of).collect();
        let mut inner = 0;
        for word in &self.words {
            let matches = match word {
                Word::Format(_) => true, // below, all together
                Word::Shape([of_m, of_n, of_k]) => {
                    (m, n) = (m.or(*of_m), n.or(*of_n));
                    of_m.is_none_or(|m| row.m.contains(m))
                        && of_n.is_none_or(|n| row.n.contains(n))
                        && of_k.is_none_or(|k| row.k == k)
                }
                Word::Model(family) => {
                    row.model_ref(Revision::Hardware).is_some_and(|model| model.operation.name() == *family)
                }
                Word::Has(property, wanted) => property.holds(row) == *wanted,
                Word::Part(keys) => {
                    let places = keys.iter().flat_map(|key| {
                        spellings.iter().filter_map(move |text| Some((place(text, &key.text)?, key)))
                    });
                    match places.min_by_key(|(place, _)| *place) {
                        None => false,
                        Some((place, key)) => {
                            inner += u32::from(place != Standing::Begins);
                            (m, n) = (m.or(key.m), n.or(key.n));
                            true
                        }
                    }
                }
            };
            if !matches {
                return None;
            }
        }
        let scale = row.scale.map(|scale| (scale.format, scale.size));
        if !self.scales.iter().all(|wanted| scale == Some(*wanted)) {
            return None;
        }
        let formats = self.formats();
        let roles = roles(row, &formats)?;
        let [unknown, sparse, composed, scaled] =
            [Property::Unknown, Property::Sparse, Property::Composed, Property::Scaled]
                .map(|one| one.holds(row));
        let less_likely = [unknown, sparse, composed, scaled, row.saturates()];
        let mixed = row.c != row.d;
        Some((Fit { inner, roles, less_likely, mixed }, Key { text: String::new(), m, n }))
    }
}

impl Word {
    fn formats(&self) -> Option<&[Format]> {
        match self {
            Word::Format(formats) => Some(formats),
            _ => None,
        }
    }
}

/// How well a row fits words; what is compared first stands first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Fit {
    /// Words that stand inside its spellings, not at their beginning: `mma` in `wgmma.mma_async`.
    inner: u32,
    /// How usual the roles are in which it has the formats.
    roles: u8,
    /// Whether its model is unknown, whether it is sparse, composed, scaled, whether it saturates: what only a word asks for.
    less_likely: [bool; 5],
    /// Whether C and D have different formats.
    mixed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    Begins,
    Inside,
}

/// Where a spelling has `part`, at the borders of its words.
fn place(spelling: &str, part: &str) -> Option<Standing> {
    let is_border = |c: Option<char>| c.is_none_or(|c| matches!(c, '.' | '_'));
    let fits = |at: usize| {
        is_border(spelling[..at].chars().next_back()) && is_border(spelling[at + part.len()..].chars().next())
    };
    let places = spelling.match_indices(part).map(|(at, _)| at).filter(|at| fits(*at));
    places.min().map(|at| if at == 0 { Standing::Begins } else { Standing::Inside })
}

/// How usual the roles are in which a row has formats, 0 the most; `None` where it does not have all of them.
///
/// One format is that of A and B; two are that of A and B, and that of C and D, or else of A and of B; three are those of A,
/// B and D, or of D, A and B.
fn roles(row: &Instruction, formats: &[&[Format]]) -> Option<u8> {
    let is = |place: usize, format: Format| formats[place].contains(&format);
    let both = |place: usize| is(place, row.a) && is(place, row.b);
    let usual = match formats.len() {
        0 => Some(0),
        1 if both(0) => Some(u8::from(row.a != row.b)),
        2 if [(0, 1), (1, 0)].iter().any(|&(ab, d)| both(ab) && is(d, row.d)) => {
            Some(u8::from(row.a != row.b))
        }
        2 if is(0, row.a) && is(1, row.b) => Some(2),
        3 if is(0, row.a) && is(1, row.b) && is(2, row.d) => Some(0), // as in a product
        3 if is(0, row.d) && is(1, row.a) && is(2, row.b) => Some(0), // as in PTX
        _ => None,
    };
    // any roles, each format another
    let scale = row.scale.map(|scale| scale.format);
    let all: Vec<Format> = [row.a, row.b, row.d, row.c].into_iter().chain(scale).collect();
    usual.or_else(|| can_assign(formats, &all).then_some(3))
}

/// Whether each of `formats` has an element of `all` of its own.
fn can_assign(formats: &[&[Format]], all: &[Format]) -> bool {
    let Some((first, rest)) = formats.split_first() else { return true };
    (0..all.len()).any(|place| {
        let mut others = all.to_vec();
        first.contains(&others.remove(place)) && can_assign(rest, &others)
    })
}

/// Most formats of one description: A, B, C, D and the scale factors.
const MOST_FORMATS: usize = 5;

/// The rows that match every word, each with how well it fits.
fn fitting(
    architecture: Architecture,
    text: &str,
) -> Result<Vec<(&'static Instruction, Fit, Key)>, LookupError> {
    let words = Words::read(text).map_err(|(given, about)| LookupError::NotAnInstruction { given, about })?;
    if words.words.is_empty() || words.formats().len() > MOST_FORMATS {
        return Ok(vec![]);
    }
    Ok(of(architecture).filter_map(|row| words.fit(row).map(|(fit, key)| (row, fit, key))).collect())
}

/// Every row of `architecture` that has all words of `text`, in the catalogue's order.
///
/// # Errors
///
/// A word that is known and is nothing of an instruction here (`int16`).
pub fn matching(architecture: Architecture, text: &str) -> Result<Vec<&'static Instruction>, LookupError> {
    let found = fitting(architecture, text)?;
    let inner = found.iter().map(|(_, fit, _)| fit.inner).min();
    Ok(found.into_iter().filter(|(_, fit, _)| Some(fit.inner) == inner).map(|(row, ..)| row).collect())
}

/// The rows that fit all words of `text` best, in the catalogue's order.
pub(crate) fn meant(architecture: Architecture, text: &str) -> Result<Rows, LookupError> {
    let found = fitting(architecture, text)?;
    let best = found.iter().map(|(_, fit, _)| *fit).min();
    Ok(found.into_iter().filter(|(_, fit, _)| Some(*fit) == best).map(|(row, _, key)| (row, key)).collect())
}

/// Whether two rows compute the same function of A, B and C, whatever K: the same model, and as many products in one sum.
pub fn computes_alike(one: &Instruction, other: &Instruction) -> bool {
    let model = |row: &Instruction| {
        let mut model = row.model(Revision::Hardware)?;
        let length = model.length(row.products());
        model.operation = model.operation.with_length(length);
        Some(model)
    };
    model(one).is_some_and(|of_one| model(other) == Some(of_one))
}

#[cfg(test)]
mod tests {
    use super::shape;

    #[test]
    fn shapes() {
        let all = |m, n, k| Some([Some(m), Some(n), Some(k)]);
        assert_eq!(shape("m16n8k16"), all(16, 8, 16));
        assert_eq!(shape("16x8x16"), all(16, 8, 16));
        assert_eq!(shape("64×256×16"), all(64, 256, 16));
        assert_eq!(shape("k32"), Some([None, None, Some(32)]));
        assert_eq!(shape("m64n8"), Some([Some(64), Some(8), None]));
        for other in
            ["", "m", "mma", "16", "16x8", "m16n8k16.f32", "k", "n99999999999999999999999", "kind::f16"]
        {
            assert_eq!(shape(other), None, "{other}");
        }
    }
}
