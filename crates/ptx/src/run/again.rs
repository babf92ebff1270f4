//! What other runs of a launch show: whether what seems a race matters, and with what it races.

use std::sync::Mutex;

use super::global::Global;
use super::guesses::{Guesses, Wrong};
use super::launch::{Given, How, Launch, Outcome, Report};
use super::running::Order;
use crate::error::Error;

/// What a run costs: instructions of threads, and as much for guesses and the memory that is made anew.
fn work(global: &Global, report: &Report) -> u64 {
    let guesses = global.guesses.as_ref().and_then(|guesses| guesses.lock().ok());
    report.instructions + global.bytes() / 16 + guesses.map_or(0, |guesses| 64 * guesses.loads)
}

/// Mixed orders in which a launch runs besides: more of a short one.
fn mixed(work: u64) -> u64 {
    (0x10_0000 / work.max(1)).min(3)
}

/// Runs with wrong guesses in one order: more of a short launch.
fn rounds(work: u64) -> u32 {
    (0x80_0000 / work.max(1)).clamp(3, 8) as u32
}

impl Launch<'_> {
    /// The error of a race with the line and thread of the earlier access, which another run finds.
    pub(super) fn with_other(
        &self,
        error: Error,
        how: &How<'_>,
        given: &Given<'_>,
        stop: &mut dyn FnMut() -> bool,
    ) -> Error {
        let again = self.watching(how, given, None, stop);
        match (error, again) {
            (Error::Kernel { line, what, thread }, Ok(Outcome::Found((other, by)))) => Error::Kernel {
                line,
                what: format!("{what}; the other access is line {other}, {by}"),
                thread,
            },
            (error, _) => error,
        }
    }

    /// Warps of a block may write to global memory what others of the block have read, with no barrier between, where no result
    /// depends on it: copies of a value that several warps have. An error if results differ when the warps run in other orders.
    pub(super) fn check_order(
        &self,
        given: &Given<'_>,
        global: &Global,
        report: &Report,
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<(), Error> {
        let Some(((line, thread, _), race)) = global.doubt.lock().ok().and_then(|mut doubt| doubt.take())
        else {
            return Ok(());
        };
        for sequence in 0..2 + mixed(work(global, report)) {
            let how = How::new(Order { is_together: false, sequence });
            let is_same = match self.watching(&how, given, None, stop)? {
                Outcome::Done(other) => other.0.is_same(global),
                _ => false,
            };
            if !is_same {
                let error = Error::Kernel { line, what: race.what, thread };
                let watched = global.watched();
                let how = How { watched, sought: race.other, ..How::new(Order::FIRST) };
                return Err(self.with_other(error, &how, given, stop));
            }
        }
        Ok(())
    }

    /// First guesses of compare-and-swap loops may read what others have changed since, where no result depends on it. An error if
    /// results differ when they do, with blocks and warps in their order, backwards or, if the launch is short, mixed.
    pub(super) fn check_guesses(
        &self,
        given: &Given<'_>,
        global: &Global,
        report: &Report,
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<(), Error> {
        let have_met = |guesses: &Mutex<Guesses>| guesses.lock().is_ok_and(|guesses| guesses.have_met);
        if !global.guesses.as_ref().is_some_and(have_met) {
            return Ok(());
        }
        let work = work(global, report);
        self.check_guesses_in((Order::FIRST, rounds(work)), given, (global, report), stop)?;
        for sequence in 1..2 + mixed(work) {
            let order = Order { sequence, ..Order::FIRST };
            let how = How { watched: global.watched(), ..How::new(order) };
            let (global, report, _) = self.once(how, given, None, stop).map_err(|error| match error {
                Error::Kernel { line, what, thread } => {
                    let what = format!("{what} (where blocks and warps run in another order)");
                    Error::Kernel { line, what, thread }
                }
                error => error,
            })?;
            self.check_guesses_in((order, rounds(work)), given, (&global, &report), stop)?;
        }
        Ok(())
    }

    /// The same in one order, of which a run with right guesses has left this.
    fn check_guesses_in(
        &self,
        (order, rounds): (Order, u32),
        given: &Given<'_>,
        (global, report): (&Global, &Report),
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<(), Error> {
        let Some(Ok(seen)) = global.guesses.as_ref().map(|guesses| guesses.lock()) else { return Ok(()) };
        let Some(first) = seen.races.values().next() else { return Ok(()) };
        let how = || How { watched: global.watched(), ..How::new(order) };
        let mut differs = |round, only| {
            let how = How { wrong: Some(Wrong { round, only }), ..how() };
            Ok::<_, Error>(match self.watching(&how, given, None, stop)? {
                Outcome::Done(other) => !other.0.is_same(global) || other.1.printed != report.printed,
                _ => true,
            })
        };
        for round in 0..rounds {
            if !differs(round, None)? {
                continue;
            }
            let mut which = None;
            for (at, race) in &seen.races {
                if which.is_none() && differs(round, Some(*at))? {
                    which = Some(race);
                }
            }
            let (line, thread, race) = which.unwrap_or(first);
            let what = format!("{} (the results differ with what it could read instead)", race.what);
            let error = Error::Kernel { line: *line, what, thread: *thread };
            return Err(self.with_other(error, &How { sought: race.other, ..how() }, given, stop));
        }
        Ok(())
    }
}
