//! The name of an instruction with its sizes left open: under it a row is found, whatever its M and N.

use crate::shape::sizes;

/// The placeholder in a spelling where M has a range.
pub(crate) const M: &str = "{m}";
/// The placeholder in a spelling where N has a range.
pub(crate) const N: &str = "{n}";

/// What a spelling may stand under in the index: lower case, `*` instead of an M or N that has a range.
pub(crate) struct Key {
    pub text: String,
    pub m: Option<usize>,
    pub n: Option<usize>,
}

/// The index entry of a row's spelling.
pub(crate) fn key_of(spelling: &str) -> String {
    spelling.replace(M, "*").replace(N, "*").to_ascii_lowercase()
}

/// Replaces every `{…}` by `*`.
pub(crate) fn starred(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, tail)) = rest.split_once('{') {
        let Some((_, after)) = tail.split_once('}') else { break };
        out += before;
        out.push('*');
        rest = after;
    }
    out + rest
}

/// The sizes in `m64n256k16`, or in `64x256x16` as SASS writes it, of which those of M and N may be open.
fn shape(token: &str) -> Option<(Option<usize>, Option<usize>, usize)> {
    match sizes(token)? {
        [Some(m), Some(n), Some(Some(k))] => Some((m, n, k)),
        _ => None,
    }
}

/// A spelling without its shape: `mma.f32.f16.f16.f32`.
pub(crate) fn without_shape(spelling: &str) -> String {
    spelling.split('.').filter(|token| shape(token).is_none()).collect::<Vec<_>>().join(".")
}

/// Every key `text` may stand under, each once: as it is, with N open, with M and N open.
pub(crate) fn keys(text: &str) -> impl Iterator<Item = Key> {
    let text = starred(text.trim()).to_ascii_lowercase();
    let mut found = vec![Key { text: text.clone(), m: None, n: None }];
    let mut start = 0;
    for token in text.split('.') {
        if let Some((m, n, k)) = shape(token) {
            let [m_mark, n_mark, k_mark] =
                if token.starts_with('m') { ["m", "n", "k"] } else { ["", "x", "x"] };
            let (before, after) = (&text[..start], &text[start + token.len()..]);
            let m_text = m.map_or("*".to_owned(), |m| m.to_string());
            let key = |m_text: &str| format!("{before}{m_mark}{m_text}{n_mark}*{k_mark}{k}{after}");
            found.push(Key { text: key(&m_text), m: None, n });
            found.push(Key { text: key("*"), m, n });
            break;
        }
        start += token.len() + 1;
    }
    found.dedup_by(|key, before| key.text == before.text);
    found.into_iter()
}
