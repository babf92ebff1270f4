//! A text of one entry, with a `.loc` before every instruction that says its number.

use std::collections::HashSet;
use std::ops::Range;

use crate::text::{Function, Module};

/// Whether other entries and device functions that nothing calls are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    Entry,
    Whole,
}

/// The text without what says where it was compiled from; with a line `.loc 1 NUMBER 1` before the instructions of the entries,
/// counted from 1 in each, if `numbered`. Lines of a listing then name instructions, also where a line of the text has several.
/// Without numbers every line stays the line that it is, so that errors name lines of the text.
pub(super) fn numbered(module: &Module, entries: &[&Function], extent: Extent, numbered: bool) -> String {
    let mut cuts: Vec<Range<usize>> = module.remarks.clone();
    if extent == Extent::Entry {
        let wanted: HashSet<usize> = entries.iter().map(|entry| entry.bytes.start).collect();
        let others = module.entries.iter().filter(|other| !wanted.contains(&other.bytes.start));
        cuts.extend(others.map(|other| other.bytes.clone()));
        let mut instructions = entries.iter().flat_map(|entry| &entry.instructions);
        if !instructions.any(|instruction| instruction.name() == "call") {
            cuts.extend(module.helpers.iter().cloned());
        }
    }
    cuts.sort_by_key(|cut| (cut.start, usize::MAX - cut.end));
    let text = &module.text;
    let mut result = String::with_capacity(text.len());
    let mut cuts = cuts.into_iter().peekable();
    let marks = entries.iter().flat_map(|entry| entry.instructions.iter().enumerate());
    let mut marks = marks.filter(|_| numbered).peekable();
    let mut at = 0;
    loop {
        // what a larger cut has taken with it
        while cuts.peek().is_some_and(|cut| cut.start < at) {
            cuts.next();
        }
        let cut = cuts.peek().map_or(text.len(), |cut| cut.start);
        let mark = marks.peek().map_or(text.len(), |(_, instruction)| instruction.first_byte);
        result.push_str(&text[at..cut.min(mark)]);
        if mark < cut {
            let number = marks.next().map_or(0, |(number, _)| number + 1);
            result.push_str(&format!("\n.loc 1 {number} 1\n"));
            at = mark;
            // the instruction itself has at least one byte
            let length = text[at..].chars().next().map_or(0, char::len_utf8);
            result.push_str(&text[at..at + length]);
            at += length;
        } else if let Some(cut) = cuts.next() {
            result.extend(text[cut.clone()].chars().filter(|character| *character == '\n'));
            at = cut.end;
        } else {
            break;
        }
    }
    // ptxas 13.4 crashes where the last line has no end
    result.push('\n');
    if numbered {
        result.push_str(".file 1 \"kernel.ptx\"\n");
    }
    result
}
