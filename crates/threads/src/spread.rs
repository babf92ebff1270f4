//! Work that is shared out by index, compiled once for all kinds of work: a parallel iterator of [`crate::prelude`] adds ten
//! kilobytes of Rayon to the library for each kind of item and closure.

use std::sync::{Mutex, PoisonError};

use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

use crate::run;
use crate::stop::Work;

/// Does work for each index below `count`, on the threads of a pool; a thread takes one after the other.
fn each(count: usize, work: &(dyn Fn(usize) + Sync)) {
    // to wake others for one piece takes longer than most pieces
    if count < 2 {
        return (0..count).for_each(work);
    }
    let own = Work::current();
    run(|| {
        let indices = (0..count).into_par_iter().with_max_len(1);
        indices.panic_fuse().for_each(|index| own.within(|| work(index)));
    });
}

/// What is made of each index below `count`, in order.
pub fn mapped<T: Send>(count: usize, make: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let made: Vec<Mutex<Option<T>>> = (0..count).map(|_| Mutex::new(None)).collect();
    each(count, &|index| {
        let value = make(index);
        *made[index].lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
    });
    let value = |made: Mutex<Option<T>>| made.into_inner().unwrap_or_else(PoisonError::into_inner);
    made.into_iter().map(|made| value(made).expect("each is made, or work ends by unwinding")).collect()
}

/// Does work with each chunk of `length` elements of a slice, the last one perhaps of fewer, and its index.
pub fn each_chunk<T: Send>(slice: &mut [T], length: usize, work: impl Fn(usize, &mut [T]) + Sync) {
    let chunks: Vec<Mutex<&mut [T]>> = slice.chunks_mut(length).map(Mutex::new).collect();
    each(chunks.len(), &|index| {
        // nobody else asks for it
        work(index, &mut chunks[index].lock().unwrap_or_else(PoisonError::into_inner));
    });
}
