//! Shapes in text: `m16n8k16`, `16x8x16`, `k32`.

/// The sizes of M, N and K that a text of nothing else names, any of them after its letter, or all three with `x` between: each a
/// number, or open, written `*` or as in the PTX manual (`mMnNk16`), in lower case.
pub(crate) fn sizes(text: &str) -> Option<[Option<Option<usize>>; 3]> {
    let size = |text: &str| match text {
        "*" | "m" | "n" => Some(None),
        number => number.parse().ok().map(Some),
    };
    if !text.starts_with(['m', 'n', 'k']) {
        let sizes: Option<Vec<_>> = text.split(['x', '×']).map(size).collect();
        return <[Option<usize>; 3]>::try_from(sizes?).ok().map(|sizes| sizes.map(Some));
    }
    let (mut sizes, mut rest) = ([None; 3], text);
    for (place, letter) in ['m', 'n', 'k'].into_iter().enumerate() {
        let Some(after) = rest.strip_prefix(letter) else { continue };
        let is_open = after.starts_with(['*', letter]);
        let digits = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        let (number, left) = after.split_at(if is_open { 1 } else { digits });
        (sizes[place], rest) = (Some(size(number)?), left);
    }
    rest.is_empty().then_some(sizes)
}

/// The sizes of M, N and K in `m16n8k16` or `16x8x16`.
pub fn shape(text: &str) -> Option<[usize; 3]> {
    match sizes(text)? {
        [Some(Some(m)), Some(Some(n)), Some(Some(k))] => Some([m, n, k]),
        _ => None,
    }
}
