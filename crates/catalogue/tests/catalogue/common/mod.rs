//! Reading the test data.

use std::collections::HashMap;

pub(crate) type Record = HashMap<String, String>;

pub(crate) fn records(name: &str) -> Vec<Record> {
    let path = format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    let mut reader = csv::Reader::from_path(&path).expect("test data is there");
    let records: Vec<Record> = reader.deserialize().map(|record| record.expect("test data reads")).collect();
    assert!(!records.is_empty(), "{path} is empty");
    records
}
