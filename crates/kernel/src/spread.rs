//! Work for one thread or for all of them.

/// Some work, unless it is to be stopped.
fn checked<T>(work: impl FnOnce() -> T) -> T {
    bitmma_threads::check();
    work()
}

/// What is made of each number below `count`, on all threads unless `alone`.
pub(crate) fn mapped<T: Send>(alone: bool, count: usize, make: impl Fn(usize) -> T + Send + Sync) -> Vec<T> {
    match alone {
        true => (0..count).map(|index| checked(|| make(index))).collect(),
        false => bitmma_threads::mapped(count, make),
    }
}

/// Passes parts of a slice, equal in length except for the last, to a function, on all threads unless `alone`.
pub(crate) fn each_chunk<T: Send>(
    alone: bool,
    slice: &mut [T],
    length: usize,
    work: impl Fn(usize, &mut [T]) + Send + Sync,
) {
    match alone {
        true => {
            slice.chunks_mut(length).enumerate().for_each(|(index, chunk)| checked(|| work(index, chunk)));
        }
        false => bitmma_threads::each_chunk(slice, length, work),
    }
}
