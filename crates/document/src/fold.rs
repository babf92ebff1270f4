//! Lines folded to a width, and how many columns a text takes.

use anstream::adapter::strip_str;
use unicode_width::UnicodeWidthStr;

/// Columns of the terminal that `text` takes; colors take none.
pub fn shown_width(text: &str) -> usize {
    strip_str(text).map(UnicodeWidthStr::width).sum()
}

/// Lines of at most `room` columns, broken at blanks; a longer word keeps its line. A color ends with its line and begins
/// again in the next.
pub fn wrapped(text: &str, room: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for paragraph in text.split('\n') {
        let (mut line, mut taken) = (String::new(), 0);
        let mut colour: Option<String> = None;
        for (index, word) in paragraph.split(' ').enumerate() {
            let width = shown_width(word);
            if index > 0 && taken > 0 && taken + 1 + width > room {
                if colour.is_some() {
                    line += RESET;
                }
                lines.push(std::mem::replace(&mut line, colour.clone().unwrap_or_default()));
                taken = 0;
            } else if index > 0 {
                line.push(' ');
                taken += 1;
            }
            line += word;
            taken += width;
            colour = colour_after(word, colour);
        }
        lines.push(line);
    }
    lines.join("\n")
}

/// Ends every color.
const RESET: &str = "\u{1b}[0m";

/// The color that holds after a word.
fn colour_after(word: &str, before: Option<String>) -> Option<String> {
    let Some(start) = word.rfind("\u{1b}[") else { return before };
    let end = word[start..].find('m').map(|end| start + end + 1)?;
    let last = &word[start..end];
    (last != RESET).then(|| last.to_owned())
}

/// `text` with lines wider than `width` broken at blanks; what follows an indented beginning is two columns further in.
pub fn folded(text: &str, width: usize) -> String {
    let mut folded = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (body, end) = line.strip_suffix('\n').map_or((line, ""), |body| (body, "\n"));
        if shown_width(body) <= width {
            folded += line;
            continue;
        }
        let indent = body.len() - body.trim_start_matches(' ').len();
        let inner = if indent == 0 { 0 } else { (indent + 2).min(width / 2) };
        for (index, part) in wrapped(&body[indent..], width - inner).split('\n').enumerate() {
            if index > 0 {
                folded.push('\n');
            }
            folded.extend(std::iter::repeat_n(' ', if index > 0 { inner } else { indent }));
            folded += part;
        }
        folded += end;
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::{folded, wrapped};

    #[test]
    fn long_texts_are_broken_at_blanks_only() {
        assert_eq!(wrapped("one two three", 7), "one two\nthree");
        assert_eq!(wrapped("abcdefgh i", 3), "abcdefgh\ni");
        assert_eq!(wrapped("", 7), "");
        assert_eq!(folded("  one two three\nx\n", 9), "  one\n    two\n    three\nx\n");
    }

    #[test]
    fn colours_end_with_their_line() {
        let red = "\u{1b}[31m";
        let end = "\u{1b}[0m";
        assert_eq!(wrapped(&format!("{red}one two{end} x"), 5), format!("{red}one{end}\n{red}two{end} x"));
    }
}
