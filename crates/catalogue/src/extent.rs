//! The sizes a dimension can have.

use std::fmt;

/// `first`, `first + step`, … `last`, from some size on in steps twice as large; one size where `first` equals `last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extent {
    /// Smallest size.
    pub first: usize,
    /// Largest size.
    pub last: usize,
    /// From one size to the next; 1 or more.
    pub step: usize,
    /// From here on only every second of these sizes is one; `None`: all are.
    pub doubled_from: Option<usize>,
}

impl Extent {
    /// One size.
    pub const fn one(size: usize) -> Extent {
        Extent { first: size, last: size, step: 1, doubled_from: None }
    }

    /// `first` to `last` in steps of `step`.
    pub const fn range(first: usize, last: usize, step: usize) -> Extent {
        Extent { first, last, step, doubled_from: None }
    }

    /// The same with steps twice as large from one of its sizes on.
    pub const fn doubled_from(self, size: usize) -> Extent {
        Extent { doubled_from: Some(size), ..self }
    }

    /// Whether there is more than one size.
    pub const fn is_range(&self) -> bool {
        self.first != self.last
    }

    /// Whether `size` is one of the sizes.
    pub const fn contains(&self, size: usize) -> bool {
        let among = size >= self.first && size <= self.last && (size - self.first).is_multiple_of(self.step);
        match self.doubled_from {
            Some(from) if size > from => among && (size - from).is_multiple_of(2 * self.step),
            _ => among,
        }
    }

    /// Every size, smallest first.
    pub fn sizes(&self) -> impl Iterator<Item = usize> {
        (self.first..=self.last).step_by(self.step).filter(|size| self.contains(*size))
    }

    /// In words: `8`, `64 or 128`, `8 to 256 in steps of 8`.
    pub fn in_words(&self) -> String {
        let Extent { first, last, step, doubled_from } = self;
        if let Some(from) = doubled_from {
            return format!(
                "{first} to {from} in steps of {step}, from there to {last} in steps of {}",
                2 * step
            );
        }
        match (last - first) / step {
            0 => format!("{first}"),
            1 => format!("{first} or {last}"),
            _ => format!("{first} to {last} in steps of {step}"),
        }
    }
}

/// As in a name: `8`, `{64|128}`, `{8..256}`.
impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Extent { first, last, step, .. } = self;
        match (last - first) / step {
            0 => f.pad(&format!("{first}")),
            1 => f.pad(&format!("{{{first}|{last}}}")),
            _ => f.pad(&format!("{{{first}..{last}}}")),
        }
    }
}
