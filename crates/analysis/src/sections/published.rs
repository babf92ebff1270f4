//! What others measured on real GPUs.

use super::options::Options;
use crate::cells;
use crate::error::Error;
use crate::published::{PRODUCTS, PUBLISHED, Statistic, measure};
use crate::section::Content;
use crate::table::Table;
use bitmma_engine::Progress;

pub(super) fn section(options: &Options, progress: &dyn Progress) -> Result<Content, Error> {
    let products = options.effort.of(10, PRODUCTS);
    let mut table = Table::new(
        "published",
        "Published means and ours",
        "Each published number is a mean over 100 products of 128×128×128; ours is one over products drawn anew, so the \
         two differ by chance. The last column is their distance in units of the sampling error of both: within 3 is \
         agreement.",
        ["GPU", "data and instruction", "number", "published", "ours", "sampling error", "apart"],
    );
    let mut furthest: f64 = 0.0;
    for published in &PUBLISHED {
        let measured = measure(published, products, options.seed, progress)?;
        let apart = measured.deviation(products);
        furthest = furthest.max(apart.abs());
        let number = match published.statistic {
            Statistic::MeanSquare => "mean square error",
            Statistic::Mean => "mean error",
        };
        table.row(cells![
            published.gpu,
            format!("{}; A, B ~ {}; {}", published.about, published.factors, published.instruction),
            number,
            published.value,
            measured.value,
            measured.sampling_error,
            apart,
        ]);
    }
    let text = format!(
        "Where recordings exist, the models return the bits of the GPUs; here they are compared with means that others \
         measured on GPUs we have no recordings of. Over {products} products each, the furthest pair is {furthest:.1} sampling \
         errors apart."
    );
    Ok(Content { text: vec![text], tables: vec![table], ..Content::default() })
}
