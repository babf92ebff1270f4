//! Means that others measured on real GPUs come out of the models.
//!
//! Both sides are means over 100 products of random numbers, so they are compared in units of their common
//! sampling error. `BITMMA_TESTS=all` draws ten times as many products, which leaves theirs.

use bitmma_analysis::published::{PRODUCTS, PUBLISHED, measure};

/// Sampling errors apart at most: a chance of 0.3 % for each of the seven means.
const APART: f64 = 3.0;

#[test]
fn published_means_agree_within_their_sampling_error() {
    let products = match std::env::var("BITMMA_TESTS").as_deref() {
        Ok("all") => 10 * PRODUCTS,
        _ => PRODUCTS,
    };
    for published in &PUBLISHED {
        let measured = measure(published, products, 1, &()).unwrap();
        let apart = measured.deviation(products);
        let line = format!(
            "{}, {}: published {:.3e}, ours {:.3e} ± {:.1e} over {products} products, {apart:.2} sampling errors apart",
            published.gpu, published.about, published.value, measured.value, measured.sampling_error
        );
        println!("{line}");
        assert_eq!(measured.summary.not_finite, 0, "{line}");
        assert!(apart.abs() <= APART, "{line}");
    }
}

/// The same seed gives the same bits.
#[test]
fn measurements_are_reproducible() {
    let once = || measure(&PUBLISHED[5], 2, 9, &()).unwrap().value.to_bits();
    assert_eq!(once(), once());
}
