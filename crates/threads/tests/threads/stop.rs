//! Work that is stopped.
#![allow(clippy::unit_arg, dropping_copy_types, clippy::semicolon_if_nothing_returned)] // works are one expression each

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use bitmma_threads::prelude::*;
use bitmma_threads::{Pool, attended, check, run, stay_on_this_thread};

const LONG: usize = 1_000_000_000;

/// Stops after 0.1 s; how long the whole took.
fn stopped(work: impl FnOnce() + Send) -> Duration {
    let start = Instant::now();
    let enough = |_: Option<()>| if start.elapsed().as_secs_f64() < 0.1 { Ok(()) } else { Err("enough") };
    assert_eq!(attended(|_| work(), enough), Err("enough"));
    start.elapsed()
}

fn item() {
    sleep(Duration::from_millis(1));
}

/// Everything that goes through items one by one, or checks, stops within 0.2 s, in every pool.
#[test]
fn all_kinds_of_work_stop() {
    let long = || (0..LONG).into_par_iter();
    let mut slice = vec![0u8; LONG / 100];
    let nested = || {
        (0..4).into_par_iter().for_each(|_| (0..LONG).into_par_iter().for_each(|_| item()));
    };
    let works: Vec<Box<dyn FnOnce() + Send>> = vec![
        Box::new(|| long().for_each(|_| item())),
        Box::new(|| drop(long().map(|_| item()).collect::<Vec<()>>())),
        Box::new(|| drop(long().with_min_len(1000).filter_map(|_| Some(item())).collect::<Vec<()>>())),
        Box::new(|| {
            drop(
                long()
                    .filter(|_| {
                        item();
                        false
                    })
                    .collect::<Vec<usize>>(),
            )
        }),
        Box::new(|| {
            drop(
                long()
                    .flat_map_iter(|_| {
                        item();
                        [0; 0]
                    })
                    .collect::<Vec<u8>>(),
            )
        }),
        Box::new(|| {
            drop(
                long()
                    .flat_map(|_| {
                        item();
                        (0..0).into_par_iter()
                    })
                    .collect::<Vec<u8>>(),
            )
        }),
        Box::new(|| {
            drop(long().find_first(|_| {
                item();
                false
            }))
        }),
        Box::new(|| slice.par_chunks_mut(1).enumerate().with_max_len(1).for_each(|_| item())),
        Box::new(nested),
        Box::new(|| {
            loop {
                check();
                item();
            }
        }),
        Box::new(|| {
            run(|| {
                loop {
                    check();
                    item();
                }
            })
        }),
        Box::new(move || Pool::new(2).unwrap().install(nested)),
        Box::new(|| {
            stay_on_this_thread();
            long().for_each(|_| item());
        }),
    ];
    for (number, work) in works.into_iter().enumerate() {
        let taken = stopped(work).as_secs_f64();
        assert!((0.1..3.0).contains(&taken), "work {number}: {taken} s");
    }
}

/// Work that shares the threads of stopped work goes on.
#[test]
fn other_work_goes_on() {
    let done = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let sum =
                    attended(|_| (0..400).into_par_iter().map(|_| item()).collect::<Vec<()>>().len(), no_one);
                done.fetch_add(sum.unwrap(), Ordering::Relaxed);
            });
        }
        for _ in 0..4 {
            scope.spawn(|| stopped(|| (0..LONG).into_par_iter().for_each(|_| item())));
        }
    });
    assert_eq!(done.into_inner(), 1600);
}

fn no_one(_: Option<()>) -> Result<(), ()> {
    Ok(())
}

/// Messages come in order, and an error at one of them stops the work.
#[test]
fn messages_arrive() {
    let mut got = Vec::new();
    let sent = attended(
        |sender| (0..10).map(|number| sender.send(number)).filter(Result::is_ok).count(),
        |message| -> Result<(), ()> {
            got.extend(message);
            Ok(())
        },
    );
    assert_eq!((sent, got), (Ok(10), (0..10).collect()));
    let refuse = |message: Option<usize>| if message == Some(3) { Err(message) } else { Ok(()) };
    let forever = |sender: &std::sync::mpsc::Sender<usize>| {
        for number in 0.. {
            check();
            _ = sender.send(number);
        }
    };
    assert_eq!(attended(forever, refuse), Err(Some(3)));
}

/// More works at the same time than can be stopped: they all end.
#[test]
fn any_number_of_works() {
    std::thread::scope(|scope| {
        for number in 0..300 {
            scope.spawn(move || {
                let found = attended(
                    |_| {
                        sleep(Duration::from_millis(100));
                        number
                    },
                    no_one,
                );
                assert_eq!(found, Ok(number));
            });
        }
    });
}

/// A panic of the work itself is passed on.
#[test]
fn a_panic_is_not_a_stop() {
    let broken =
        || attended(|_| (0..9).into_par_iter().for_each(|number| assert!(number != 5, "five")), no_one);
    let panic = std::panic::catch_unwind(broken).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"five"));
}
