//! The paper's tables of parameters are the catalogue's.

use std::collections::BTreeMap;

use bitmma_analysis::sections::{Effort, Options, Part, section};
use bitmma_engine::Revision;

#[test]
fn every_row_of_the_paper_is_there_and_what_is_not_in_it_says_so() {
    for revision in [Revision::Hardware, Revision::Paper] {
        let options = Options { seed: 1, revision, effort: Effort::Quick, data: None, link: |_, _, _| None };
        let found = section(Part::Models, &options, &()).unwrap();
        assert!(found.text[1].starts_with("29 of 29 "), "{}", found.text[1]);
        let mut verdicts: BTreeMap<(&str, String), usize> = BTreeMap::new();
        for table in found.tables.iter().skip(1) {
            for row in &table.rows {
                *verdicts.entry((table.name.as_str(), row.last().unwrap().short())).or_default() += 1;
            }
        }
        // counted by hand: the rows of the paper's tables, and what the catalogue has beyond them
        let of = |table: &'static str, verdict: &str| verdicts.get(&(table, verdict.to_owned())).copied();
        assert_eq!(of("parameters-t-fdpa", "the same"), Some(34));
        assert_eq!(of("parameters-t-fdpa", "not in it: m8n8k4 computes on Turing as on Volta"), Some(2));
        assert_eq!(of("parameters-gst-fdpa", "the same"), Some(2));
        assert_eq!(of("parameters-tr-fdpa", "the same"), Some(4));
        assert_eq!(of("parameters-cdna", "the same"), Some(5));
        assert_eq!(of("parameters-fma", "the same"), Some(10));
        // .rz, .rm and .rp on five architectures
        assert_eq!(of("parameters-fma", "not in it: the paper treats no .rz, .rm and .rp"), Some(15));
        assert_eq!(of("conversions", "the same"), Some(4));
        assert_eq!(of("conversions", "not in it"), Some(4));
        assert_eq!(verdicts.values().sum::<usize>(), 80, "{verdicts:?}");
        // SASS names and models, as sets
        for row in &found.tables[0].rows {
            for (paper, ours) in [(1, 2), (3, 4)] {
                let set = |column: usize| {
                    let mut words: Vec<String> = row[column].short().split(", ").map(str::to_owned).collect();
                    words.sort();
                    words
                };
                assert_eq!(set(paper), set(ours), "{row:?}");
            }
        }
    }
}
