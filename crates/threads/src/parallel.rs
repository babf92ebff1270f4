//! Parallel iterators, all of whose work is done in the pool.
//!
//! Rayon's do theirs in the pool of the thread that starts them, which for most threads is Rayon's own. These have the same
//! names and start it in [`crate::run`]. After the panic of one item, which also ends work that is stopped, no thread begins
//! another.

use std::cmp::Ordering;

use rayon::iter::{
    self, FromParallelIterator, IndexedParallelIterator, IntoParallelIterator, ParallelIterator,
};
use rayon::slice::{self, ParallelSlice, ParallelSliceMut};

use crate::run;
use crate::stop::Work;

/// An iterator whose items are worked on by the threads of a pool.
#[must_use = "nothing is done before the last call, of `collect` or `for_each`"]
pub struct Par<I>(I);

/// What becomes a parallel iterator: ranges and vectors.
pub trait IntoPar: IntoParallelIterator + Sized {
    /// Its items.
    fn into_par_iter(self) -> Par<Self::Iter> {
        Par(IntoParallelIterator::into_par_iter(self))
    }
}

impl<T: IntoParallelIterator> IntoPar for T {}

/// Slices, element by element or in chunks.
pub trait ParSlice<T> {
    /// References to the elements.
    fn par_iter(&self) -> Par<slice::Iter<'_, T>>
    where
        T: Sync;

    /// Chunks of that many elements, the last one perhaps of fewer.
    fn par_chunks(&self, length: usize) -> Par<slice::Chunks<'_, T>>
    where
        T: Sync;

    /// The same, to be written.
    fn par_chunks_mut(&mut self, length: usize) -> Par<slice::ChunksMut<'_, T>>
    where
        T: Send;

    /// Chunks of that many elements; what is left over is left out.
    fn par_chunks_exact(&self, length: usize) -> Par<slice::ChunksExact<'_, T>>
    where
        T: Sync;

    /// The same, to be written.
    fn par_chunks_exact_mut(&mut self, length: usize) -> Par<slice::ChunksExactMut<'_, T>>
    where
        T: Send;
}

impl<T> ParSlice<T> for [T] {
    fn par_iter(&self) -> Par<slice::Iter<'_, T>>
    where
        T: Sync,
    {
        Par(IntoParallelIterator::into_par_iter(self))
    }

    fn par_chunks(&self, length: usize) -> Par<slice::Chunks<'_, T>>
    where
        T: Sync,
    {
        Par(ParallelSlice::par_chunks(self, length))
    }

    fn par_chunks_mut(&mut self, length: usize) -> Par<slice::ChunksMut<'_, T>>
    where
        T: Send,
    {
        Par(ParallelSliceMut::par_chunks_mut(self, length))
    }

    fn par_chunks_exact(&self, length: usize) -> Par<slice::ChunksExact<'_, T>>
    where
        T: Sync,
    {
        Par(ParallelSlice::par_chunks_exact(self, length))
    }

    fn par_chunks_exact_mut(&mut self, length: usize) -> Par<slice::ChunksExactMut<'_, T>>
    where
        T: Send,
    {
        Par(ParallelSliceMut::par_chunks_exact_mut(self, length))
    }
}

/// For [`Par::zip`] and [`Par::flat_map`], which take one.
impl<I: ParallelIterator> IntoParallelIterator for Par<I> {
    type Iter = I;
    type Item = I::Item;

    fn into_par_iter(self) -> I {
        self.0
    }
}

/// Each item has a place.
impl<I: IndexedParallelIterator> Par<I> {
    /// Each item with its place.
    pub fn enumerate(self) -> Par<iter::Enumerate<I>> {
        Par(self.0.enumerate())
    }

    /// Pairs with what is at the same places.
    pub fn zip<Z>(self, other: Z) -> Par<iter::Zip<I, Z::Iter>>
    where
        Z: IntoParallelIterator<Iter: IndexedParallelIterator>,
    {
        Par(self.0.zip(other))
    }

    /// A thread takes at least that many items.
    pub fn with_min_len(self, least: usize) -> Par<iter::MinLen<I>> {
        Par(self.0.with_min_len(least))
    }

    /// A thread takes at most that many items.
    pub fn with_max_len(self, most: usize) -> Par<iter::MaxLen<I>> {
        Par(self.0.with_max_len(most))
    }
}

impl<I: ParallelIterator> Par<I> {
    /// What is made of each item.
    pub fn map<T: Send>(
        self,
        make: impl Fn(I::Item) -> T + Sync + Send,
    ) -> Par<impl ParallelIterator<Item = T>> {
        let own = Work::current();
        Par(self.0.map(move |item| own.within(|| make(item))))
    }

    /// The items that are to be kept.
    pub fn filter(
        self,
        keep: impl Fn(&I::Item) -> bool + Sync + Send,
    ) -> Par<impl ParallelIterator<Item = I::Item>> {
        let own = Work::current();
        Par(self.0.filter(move |item| own.within(|| keep(item))))
    }

    /// What is made of each item, where something is.
    pub fn filter_map<T: Send>(
        self,
        make: impl Fn(I::Item) -> Option<T> + Sync + Send,
    ) -> Par<impl ParallelIterator<Item = T>> {
        let own = Work::current();
        Par(self.0.filter_map(move |item| own.within(|| make(item))))
    }

    /// All that is made of each item, which one thread works on.
    pub fn flat_map_iter<T: IntoIterator<Item: Send>>(
        self,
        make: impl Fn(I::Item) -> T + Sync + Send,
    ) -> Par<impl ParallelIterator<Item = T::Item>> {
        let own = Work::current();
        Par(self.0.flat_map_iter(move |item| own.within(|| make(item))))
    }

    /// All that is made of each item.
    pub fn flat_map<T: IntoParallelIterator>(
        self,
        make: impl Fn(I::Item) -> T + Sync + Send,
    ) -> Par<impl ParallelIterator<Item = T::Item>> {
        let own = Work::current();
        Par(self.0.flat_map(move |item| own.within(|| make(item))))
    }

    /// Does some work with each item.
    pub fn for_each(self, work: impl Fn(I::Item) + Sync + Send) {
        let own = Work::current();
        run(|| self.0.panic_fuse().for_each(|item| own.within(|| work(item))));
    }

    /// All items, in order.
    pub fn collect<C: FromParallelIterator<I::Item> + Send>(self) -> C {
        run(|| self.0.panic_fuse().collect())
    }

    /// The first item, in order, that is looked for.
    pub fn find_first(self, is: impl Fn(&I::Item) -> bool + Sync + Send) -> Option<I::Item> {
        let own = Work::current();
        run(|| self.0.panic_fuse().find_first(|item| own.within(|| is(item))))
    }

    /// The least item; of several the first.
    pub fn min_by(self, order: impl Fn(&I::Item, &I::Item) -> Ordering + Sync + Send) -> Option<I::Item> {
        run(|| self.0.panic_fuse().min_by(order))
    }

    /// All items taken together two by two, from `zero`; neighbors before others.
    pub fn reduce(
        self,
        zero: impl Fn() -> I::Item + Sync + Send,
        take: impl Fn(I::Item, I::Item) -> I::Item + Sync + Send,
    ) -> I::Item {
        run(|| self.0.panic_fuse().reduce(zero, take))
    }
}
