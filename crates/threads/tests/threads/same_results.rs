//! Every method gives what the iterator of the standard library gives.

use bitmma_threads::prelude::*;
use bitmma_threads::{count, run};

const COUNT: usize = 10_007;

#[test]
fn as_one_thread_would() {
    let numbers: Vec<usize> = (0..COUNT).map(|number| number * 7919 % 1021).collect();
    let odd = |number: &usize| number % 2 == 1;
    let kept = |number: usize| odd(&number).then_some(3 * number);
    let first: Vec<usize> = numbers.par_iter().map(|number| number + 1).collect();
    assert!(first.into_iter().eq(numbers.iter().map(|number| number + 1)));
    let filtered: Vec<usize> = numbers.clone().into_par_iter().filter(odd).collect();
    assert!(filtered.into_iter().eq(numbers.iter().copied().filter(odd)));
    let kept_here: Vec<usize> = (0..COUNT).into_par_iter().with_min_len(8).filter_map(kept).collect();
    assert!(kept_here.into_iter().eq((0..COUNT).filter_map(kept)));
    let several: Vec<usize> = (0..COUNT).into_par_iter().flat_map_iter(|number| [number; 3]).collect();
    assert!(several.into_iter().eq((0..COUNT).flat_map(|number| [number; 3])));
    let nested: Vec<usize> = (0..99).into_par_iter().flat_map(|number| (0..number).into_par_iter()).collect();
    assert!(nested.into_iter().eq((0..99).flat_map(|number| 0..number)));
    assert_eq!((5..COUNT as u64).into_par_iter().find_first(|number| number % 1000 == 4), Some(1004));
    assert_eq!((0..COUNT as u64).into_par_iter().find_first(|number| *number > COUNT as u64), None);
    let by_number = |x: &(usize, usize), y: &(usize, usize)| x.1.cmp(&y.1);
    let pairs: Vec<(usize, usize)> = numbers.iter().copied().enumerate().collect();
    assert_eq!(pairs.clone().into_par_iter().min_by(by_number), pairs.into_iter().min_by(by_number));
    let sum = (0..COUNT).into_par_iter().reduce(|| 0, |x, y| x + y);
    assert_eq!(sum, COUNT * (COUNT - 1) / 2);
    let failed: Result<Vec<usize>, usize> = (0..COUNT)
        .into_par_iter()
        .map(|number| if number == 77 { Err(number) } else { Ok(number) })
        .collect();
    assert_eq!(failed, Err(77));
}

#[test]
fn chunks_keep_their_places() {
    let from: Vec<usize> = (0..COUNT).collect();
    let mut to = vec![0; COUNT];
    let work = |(at, (to, from)): (usize, (&mut [usize], &[usize]))| {
        to.iter_mut().zip(from).for_each(|(to, from)| *to = at + from);
    };
    to.par_chunks_mut(64).zip(from.par_chunks(64)).enumerate().with_max_len(1).for_each(work);
    assert!(to.into_iter().eq(from.iter().map(|number| number + number / 64)));
    let mut to = vec![0; COUNT];
    to.par_chunks_exact_mut(64)
        .zip(from.par_chunks_exact(64))
        .for_each(|(to, from)| to.copy_from_slice(from));
    let whole = COUNT / 64 * 64;
    assert!(to[..whole] == from[..whole] && to[whole..].iter().all(|number| *number == 0));
}

/// Several threads begin at the same time: there is one pool, and it is theirs.
#[test]
fn all_threads_share_a_pool() {
    let pools: Vec<(usize, usize)> = std::thread::scope(|scope| {
        let ask = || run(|| (count(), rayon::current_num_threads()));
        let threads: Vec<_> = (0..16).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(pools.iter().all(|&(own, of_rayon)| own == count() && own == of_rayon));
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return };
    // one pool, threads of the test's harness, and pools of the other tests
    assert!(tasks.count() < 16 * count().max(8));
}

/// A panic of one item is the caller's.
#[test]
fn a_panic_comes_back() {
    let broken = || (0..1000).into_par_iter().for_each(|number| assert!(number != 500, "number 500"));
    let panic = std::panic::catch_unwind(broken).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"number 500"));
    assert_eq!((0..10).into_par_iter().reduce(|| 0, |x, y| x + y), 45);
}
