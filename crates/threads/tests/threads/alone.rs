//! Threads that share no work.

use bitmma_threads::prelude::*;
use bitmma_threads::{Pool, count, each_chunk, mapped, on, run, stay_on_this_thread};

/// Each thread works alone, and again once it has.
#[test]
fn a_thread_works_alone() {
    let alone = || {
        let own = std::thread::current().id();
        for _ in 0..2 {
            stay_on_this_thread();
            assert_eq!(count(), 1);
            let mut ids: Vec<_> = (0..1000).into_par_iter().map(|_| std::thread::current().id()).collect();
            ids.dedup();
            assert_eq!(ids, [own]);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(alone);
        }
    });
}

/// Work that is started on a thread of a pool stays in it; also in one that a user made by Rayon.
#[test]
fn work_stays_in_its_pool() {
    let three = Pool::new(3).unwrap();
    assert_eq!(three.threads(), 3);
    assert_eq!(three.install(count), 3);
    assert_eq!(three.install(|| run(count)), 3);
    let of_rayon = rayon::ThreadPoolBuilder::new().num_threads(5).build().unwrap();
    assert_eq!(of_rayon.install(|| run(count)), 5);
    let used: usize = three.install(|| (0..100).into_par_iter().map(|_| count()).min_by(Ord::cmp)).unwrap();
    assert_eq!(used, 3);
}

#[test]
fn a_pool_has_a_size_that_the_system_can_start() {
    for threads in [0, bitmma_threads::MOST + 1, usize::MAX] {
        let error = Pool::new(threads).err().unwrap().to_string();
        assert_eq!(error, format!("a pool has 1 to 4096 threads; {threads} were asked for"));
    }
}

/// A thread finds the threads again that it asked for; another number are others, and all of them work.
#[test]
fn as_many_threads_as_were_asked_for() {
    let ids = |threads: usize| {
        let own = || mapped(64, |_| std::thread::current().id());
        let mut ids = on(threads, || (count(), own())).unwrap();
        assert_eq!(ids.0, threads);
        ids.1.sort_by_key(|id| format!("{id:?}"));
        ids.1.dedup();
        ids.1
    };
    let one = ids(1);
    assert_eq!(one, ids(1));
    assert!(!ids(3).contains(&one[0]));
    assert!(on(0, || ()).is_err());
}

#[test]
fn what_is_made_of_indices_and_chunks_is_in_order() {
    assert_eq!(mapped(100, |index| index * index), (0..100).map(|index| index * index).collect::<Vec<_>>());
    let mut numbers = [0; 10];
    each_chunk(&mut numbers, 4, |chunk, numbers| numbers.fill(10 * chunk + numbers.len()));
    assert_eq!(numbers, [4, 4, 4, 4, 14, 14, 14, 14, 22, 22]);
}
