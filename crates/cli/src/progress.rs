//! How far long work has come: a bar on the standard error where that is a terminal, else a line every ten seconds; only for
//! work that takes a while.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use bitmma_engine::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output;

/// Work that takes no longer has no bar.
const PATIENCE: Duration = Duration::from_millis(1500);
/// Time between lines where the standard error is not a terminal.
const EVERY: Duration = Duration::from_secs(10);

/// A bar that comes late, and goes when it is dropped.
pub(crate) struct Bar {
    start: Instant,
    /// The bar, and whether it shows a share of a known whole.
    drawn: Mutex<Option<(ProgressBar, bool)>>,
    /// When a line was last written where the standard error is not a terminal.
    written: Mutex<Duration>,
    /// What all is about.
    about: String,
}

impl Bar {
    /// One for work that begins now; `about` stands before every message.
    pub(crate) fn new(about: impl Into<String>) -> Bar {
        Bar { start: Instant::now(), drawn: Mutex::default(), written: Mutex::default(), about: about.into() }
    }

    /// Time since the work began.
    pub(crate) fn spent(&self) -> Duration {
        self.start.elapsed()
    }

    /// Shows `done` of `total` (0: nobody knows how much there is) and a message made of the time spent.
    pub(crate) fn show(&self, done: u64, total: u64, message: impl FnOnce(Duration) -> String) {
        let (spent, known) = (self.spent(), total > 0);
        if !std::io::stderr().is_terminal() {
            return self.line(spent, done, total, message);
        }
        let Ok(mut drawn) = self.drawn.lock() else { return };
        if spent < PATIENCE {
            return;
        }
        if drawn.as_ref().is_none_or(|(_, share)| *share != known) {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            let template = if known { "{bar:30} {percent}% {wide_msg}" } else { "{spinner} {wide_msg}" };
            ProgressStyle::with_template(template).into_iter().for_each(|style| bar.set_style(style));
            if let Some((old, _)) = drawn.replace((bar, known)) {
                old.finish_and_clear();
            }
        }
        let Some((bar, _)) = &*drawn else { return };
        let mut words = vec![self.about.clone(), message(spent)];
        if known && done > 0 {
            let left = spent.mul_f64(total.saturating_sub(done) as f64 / done as f64);
            words.push(format!("{} left", span(left)));
        }
        words.retain(|words| !words.is_empty());
        bar.set_message(words.join(", "));
        if known {
            bar.set_length(total);
            bar.set_position(done);
        } else {
            bar.tick();
        }
    }
}

impl Bar {
    /// A line every ten seconds, for logs.
    fn line(&self, spent: Duration, done: u64, total: u64, message: impl FnOnce(Duration) -> String) {
        let Ok(mut written) = self.written.lock() else { return };
        if spent < *written + EVERY {
            return;
        }
        *written = spent;
        let share = (100 * done).checked_div(total).map_or(String::new(), |share| format!("{share} %"));
        let mut words = vec![self.about.clone(), message(spent), share, format!("{} so far", span(spent))];
        words.retain(|words| !words.is_empty());
        output::note(&words.join(", "));
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Ok(Some((bar, _))) = self.drawn.get_mut() {
            bar.finish_and_clear();
        }
    }
}

impl Progress for Bar {
    fn step(&self, what: &str, done: u64, total: u64) -> Result<(), bitmma_engine::Error> {
        self.show(done, total, |_| what.to_owned());
        Ok(())
    }
}

/// `75 s`, `20 min`, `2 h 15 min`.
fn span(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min", seconds / 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}
