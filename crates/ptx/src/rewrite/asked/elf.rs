//! The bytes of a section of a file of 64-bit ELF.

/// None where the file has no such section.
pub(super) fn section<'f>(file: &'f [u8], name: &str) -> Option<&'f [u8]> {
    let number = |at: usize, bytes: usize| -> Option<usize> {
        let slice = file.get(at..at.checked_add(bytes)?)?;
        let value = slice.iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
        usize::try_from(value).ok()
    };
    (file.get(..5)? == [0x7f, b'E', b'L', b'F', 2]).then_some(())?;
    let (table, size, count, names) =
        (number(0x28, 8)?, number(0x3a, 2)?, number(0x3c, 2)?, number(0x3e, 2)?);
    let header = |index: usize| -> Option<(usize, usize, usize)> {
        let at = table.checked_add(index.checked_mul(size)?)?;
        Some((number(at, 4)?, number(at + 0x18, 8)?, number(at + 0x20, 8)?))
    };
    let (_, strings, _) = header(names)?;
    for index in 0..count {
        let (label, at, bytes) = header(index)?;
        let label = file.get(strings.checked_add(label)?..)?;
        if label.starts_with(name.as_bytes()) && label.get(name.len()) == Some(&0) {
            return file.get(at..at.checked_add(bytes)?);
        }
    }
    None
}
