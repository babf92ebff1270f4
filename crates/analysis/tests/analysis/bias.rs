//! The paper's figure: δ_RD is biased toward the negative direction, δ_RZ is symmetric.

use bitmma_analysis::bias::{FACTORS, distributions, growth};
use bitmma_engine::Revision;

#[test]
fn round_down_is_biased_and_toward_zero_is_not() {
    for revision in Revision::ALL {
        let found = distributions(revision, 100, 1, &()).unwrap();
        let (down, zero) = (found.round_down, found.toward_zero);
        println!(
            "{revision}: RD {:.4e} ± {:.1e}, RZ {:.4e} ± {:.1e}, outside {:.4e} ± {:.1e}",
            down.mean,
            down.mean_error,
            zero.mean,
            zero.mean_error,
            found.outside.mean,
            found.outside.mean_error
        );
        assert!(down.mean < -20.0 * down.mean_error, "{down:?}");
        assert!(zero.mean.abs() < 4.0 * zero.mean_error, "{zero:?}");
        assert!(found.outside.mean.abs() < 4.0 * found.outside.mean_error, "{:?}", found.outside);
        assert_eq!(found.round_down_bins.counts.iter().sum::<u64>(), down.count);
    }
}

#[test]
fn the_bias_grows_with_k() {
    let rows = growth(Revision::Hardware, FACTORS, &[64, 512, 4096], 6, 1, &()).unwrap();
    for row in &rows {
        let (bias, outside) = (row.bias, row.outside);
        println!(
            "K {:5}: bias {:.3e} ± {:.1e}, outside {:.3e} ± {:.1e}",
            row.k, bias.mean, bias.mean_error, outside.mean, outside.mean_error
        );
        assert!(bias.mean < -4.0 * bias.mean_error, "{bias:?}");
        assert!(outside.mean.abs() < 4.0 * outside.mean_error, "{outside:?}");
    }
    assert!(rows.windows(2).all(|pair| pair[1].bias.mean < 1.5 * pair[0].bias.mean), "{rows:?}");
}
