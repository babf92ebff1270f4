//! Means, spreads and histograms of errors.

use serde::Serialize;

use crate::json::number;

/// Summary statistics; non-finite values are counted and left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Finite errors.
    pub count: u64,
    /// Errors that are no number: D or the exact result is not finite.
    pub not_finite: u64,
    /// Their mean: the bias.
    #[serde(serialize_with = "number")]
    pub mean: f64,
    /// The standard error of the mean, errors taken as independent.
    #[serde(serialize_with = "number")]
    pub mean_error: f64,
    /// Mean of the squares.
    #[serde(serialize_with = "number")]
    pub mean_square: f64,
    /// The standard error of the mean of the squares.
    #[serde(serialize_with = "number")]
    pub mean_square_error: f64,
    /// The largest magnitude.
    pub largest: f64,
}

impl Summary {
    /// Of these errors, summed in their order.
    pub fn of(errors: &[f64]) -> Summary {
        let mut summary = Summary::default();
        let (mut sum, mut squares, mut fourths) = (Sum::default(), Sum::default(), Sum::default());
        for error in errors {
            if !error.is_finite() {
                summary.not_finite += 1;
                continue;
            }
            summary.count += 1;
            let square = error * error;
            sum.add(*error);
            squares.add(square);
            fourths.add(square * square);
            summary.largest = summary.largest.max(error.abs());
        }
        let count = (summary.count as f64).max(1.0);
        summary.mean = sum.total() / count;
        summary.mean_square = squares.total() / count;
        let variance = (summary.mean_square - summary.mean * summary.mean).max(0.0);
        summary.mean_error = (variance / count).sqrt();
        let of_squares = (fourths.total() / count - summary.mean_square * summary.mean_square).max(0.0);
        summary.mean_square_error = (of_squares / count).sqrt();
        summary
    }

    /// The root of the mean square.
    pub fn root_mean_square(&self) -> f64 {
        self.mean_square.sqrt()
    }
}

/// A sum that keeps what each addition loses (Neumaier).
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    sum: f64,
    lost: f64,
}

impl Sum {
    fn add(&mut self, x: f64) {
        let total = self.sum + x;
        self.lost += if self.sum.abs() >= x.abs() { (self.sum - total) + x } else { (x - total) + self.sum };
        self.sum = total;
    }

    fn total(self) -> f64 {
        self.sum + self.lost
    }
}

/// How often errors fall into equal bins.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Histogram {
    /// Lower end of the first bin.
    pub start: f64,
    /// Width of a bin.
    pub width: f64,
    /// Errors in each bin; those beyond an end are in the last one there.
    pub counts: Vec<u64>,
}

impl Histogram {
    /// `bins` bins from `start` to `end`; what is not finite is left out.
    pub fn of(values: &[f64], (start, end): (f64, f64), bins: usize) -> Histogram {
        let bins = bins.max(1);
        let width = (end - start) / bins as f64;
        let mut counts = vec![0; bins];
        for value in values.iter().filter(|value| value.is_finite()) {
            let place = ((value - start) / width).floor();
            counts[(place.max(0.0) as usize).min(bins - 1)] += 1;
        }
        Histogram { start, width, counts }
    }
}

#[cfg(test)]
mod tests {
    use super::{Histogram, Summary};

    #[test]
    fn a_hand_computed_summary() {
        let summary = Summary::of(&[1.0, -1.0, 3.0, f64::NAN, 1.0]);
        assert_eq!((summary.count, summary.not_finite), (4, 1));
        assert!((summary.mean - 1.0).abs() < 1e-15 && (summary.mean_square - 3.0).abs() < 1e-15);
        assert!((summary.mean_error - (2.0_f64 / 4.0).sqrt()).abs() < 1e-15);
        assert!((summary.largest - 3.0).abs() < 1e-15);
    }

    #[test]
    fn bins_hold_everything_once() {
        let histogram = Histogram::of(&[-9.0, -1.0, -0.5, 0.0, 0.99, 1.0, 5.0, f64::NAN], (-1.0, 1.0), 4);
        assert_eq!(histogram.counts, [2, 1, 1, 3]);
    }
}
