//! Tables of what codes are, kept.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use bitmma_arithmetic::run::Side;
use bitmma_arithmetic::{InputFlush, Prepared};
use bitmma_formats::Format;

/// What a table depends on: the codes' format, the operand's, and what becomes of subnormal numbers.
type Key = (Format, Format, InputFlush);

/// Tables of codes of up to 16 bits. One of 65,536 entries takes longer to fill than a small product to compute;
/// there are as many as formats, twice or three times.
pub(crate) struct Tables<T>(LazyLock<Mutex<HashMap<Key, Arc<[T]>>>>);

impl<T> Tables<T> {
    /// None yet.
    pub(crate) const fn new() -> Tables<T> {
        Tables(LazyLock::new(Mutex::default))
    }

    /// The table of an operand, made of its codes where it is asked for first; `None` for codes of more than 16 bits.
    ///
    /// It has an entry for every byte, so that none is looked up that is not there.
    pub(crate) fn of(
        &self,
        prepared: &Prepared<'_>,
        side: Side,
        entry: impl Fn(u64) -> T,
    ) -> Option<Arc<[T]>> {
        let codes = prepared.code_format(side);
        if codes.bits() > 16 {
            return None;
        }
        let key = (codes, prepared.operand_format(side), prepared.model().flush_operands);
        let mut tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = codes.max_code();
        let fill = || (0..=last.max(255)).map(|code| entry(code & last)).collect();
        Some(Arc::clone(tables.entry(key).or_insert_with(fill)))
    }
}
