//! The report: sections as one page with its numbers and pictures, in a folder.

mod folder;

use std::path::Path;

use serde_json::json;

use crate::error::Error;
use crate::page::About;
use crate::section::Section;
use crate::sections::{Effort, Options, Part, make};
use bitmma_engine::Progress;

use folder::Folder;

/// Makes the parts that are not finished yet, then the folder: index.html, report.json, tables, figures,
/// sections. One that holds a report is replaced; it appears when everything is done.
///
/// `build` marks finished sections beside their options: those of another build are made again.
/// `progress` gives, for a part and its place among all, who listens.
pub fn write<P: Progress>(
    out: &Path,
    parts: &[Part],
    options: &Options,
    build: &str,
    mut progress: impl FnMut(Part, usize) -> P,
) -> Result<Vec<Section>, Error> {
    let folder = Folder::new(out)?;
    let mut sections: Vec<Section> = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let options = options.of_part(*part);
        let made_with = format!("{build} {}", options.fingerprint(*part));
        let section = match folder.finished(part.name(), &made_with) {
            Some(section) => section,
            None => make(*part, &options, &progress(*part, index))?,
        };
        folder.keep(&section, &made_with)?;
        sections.push(section);
    }
    if let Some(data) = &options.data {
        for (section, _) in sections.iter_mut().zip(parts).filter(|(_, part)| !part.takes_unit()) {
            section.text.insert(
                0,
                format!("This part is the same for every instruction; {} is not in it.", data.name),
            );
        }
    }
    let numbers = json!({
        "bitmma": env!("CARGO_PKG_VERSION"),
        "seed": options.seed,
        "revision": options.revision.name(),
        "effort": options.effort,
        "data": options.data.as_ref().map(|data| data.product.about.clone()),
        "sections": sections,
    });
    folder.finish(&about(options), &numbers, &sections)?;
    Ok(sections)
}

/// The head of the page.
pub fn about(options: &Options) -> About {
    let effort = match options.effort {
        Effort::Quick => " This is the quick report: fewer cases of everything.",
        Effort::Full => "",
    };
    let mut text = vec![
        "What the arithmetic of GPU matrix units means: where instructions differ, how large their errors can be and are, which \
         designs are risky, and what helps. Tables and pictures follow the sections \"Discrepancy Analysis\" and \"Accuracy \
         Analysis\" of P. Xie and others, Bit-Accurate Modeling of GPU Matrix Multiply-Accumulate Units; the paper's numbers stand \
         beside ours, and where they differ the page says why."
            .to_owned(),
        format!(
            "bitmma {}, models of revision {}, seed {}: the same call gives the same numbers, bit for bit.{effort}",
            env!("CARGO_PKG_VERSION"),
            options.revision,
            options.seed
        ),
    ];
    if let Some(data) = &options.data {
        text.push(format!("Own data: {}, {}.", data.name, data.product.about));
    }
    About { title: "bitmma: what the arithmetic means".to_owned(), text }
}
