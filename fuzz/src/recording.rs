//! Recordings: any bytes read or are an error that names a line, never a panic; what was read comes back.

use std::sync::Arc;

use bitmma_engine::catalogue::{catalogue, find};
use bitmma_engine::{Case, Error, Revision};
use bitmma_verify::inputs::{Family, case};
use bitmma_verify::origin::Origin;
use bitmma_verify::recording::{Answer, Record, read, write};

use crate::mutate::mutate;
use crate::{Outcome, Unstructured};

/// A recording of a few dot products, changed a little; or any bytes.
///
/// # Panics
///
/// If the reader does, if its error names no line, or if records do not come back as they were.
pub fn run(u: &mut Unstructured<'_>) -> Outcome {
    let mut bytes: Vec<u8> = Vec::new();
    if u.ratio(1, 8)? {
        bytes = u.arbitrary()?;
        if u.arbitrary()? {
            bytes.splice(0..0, *b"arch,instruction,a,b,c,scale_a,scale_b,d\n");
        }
    } else {
        let records = records(u)?;
        write(&mut bytes, &["a comment"], &records).unwrap_or_else(|error| panic!("{error}"));
        let back = read(bytes.as_slice()).unwrap_or_else(|error| panic!("{error}\n{}", shown(&bytes)));
        assert!(same(&records, &back), "read otherwise than written:\n{}", shown(&bytes));
        mutate(u, &mut bytes, 4)?;
    }
    hold(&bytes);
    Ok(())
}

fn hold(bytes: &[u8]) {
    match read(bytes) {
        Ok(records) => {
            let mut again = Vec::new();
            write(&mut again, &[], &records).unwrap_or_else(|error| panic!("{error}"));
            let back = read(again.as_slice()).unwrap_or_else(|error| panic!("{error}\n{}", shown(bytes)));
            assert!(same(&records, &back), "does not come back:\n{}", shown(bytes));
            let replayed = bitmma_verify::replay::replay(&records, &bitmma_verify::replay::Rules::default());
            let total: usize =
                replayed.map_or(records.len(), |outcomes| outcomes.iter().map(|one| one.total).sum());
            assert!(total == records.len(), "{total} of {} replayed", records.len());
        }
        Err(Error::Recording { line, .. }) => {
            assert!(line > 0, "an error on line 0:\n{}", shown(bytes));
        }
        Err(error) => panic!("{error}: from bytes in memory\n{}", shown(bytes)),
    }
}

fn records(u: &mut Unstructured<'_>) -> arbtest::arbitrary::Result<Vec<Record>> {
    (0..u.int_in_range(0..=3)?)
        .map(|_| {
            let row = u.choose(catalogue())?;
            let found = find(row.architecture, &row.name()).unwrap_or_else(|error| panic!("{error}"));
            let origin = Arc::new(Origin::found(found));
            let Some(model) = row.model(Revision::Hardware) else {
                let (a, c, d, line) = (vec![0; row.products()], 0, Answer::Nan, 0);
                let scale_a: Vec<u64> =
                    row.scale.map_or(Vec::new(), |scale| vec![scale.format.one_code(); a.len() / scale.size]);
                let (b, scale_b) = (a.clone(), scale_a.clone());
                return Ok(Record { origin, case: Case { a, b, c, scale_a, scale_b }, d, line });
            };
            let family = *u.choose(&Family::ALL)?;
            let case = case(&model, row.products(), family, u.arbitrary()?, 0);
            let d = if u.ratio(1, 4)? {
                Answer::Nan
            } else {
                Answer::Code(u.arbitrary::<u64>()? & row.d.max_code())
            };
            Ok(Record { origin, case, d, line: 0 })
        })
        .collect()
}

/// Whether all but the lines are the same.
fn same(left: &[Record], right: &[Record]) -> bool {
    let plain = |record: &Record| {
        let Record { origin, case, d, line: _ } = record.clone();
        (origin, case, d)
    };
    left.len() == right.len() && left.iter().zip(right).all(|(left, right)| plain(left) == plain(right))
}

fn shown(bytes: &[u8]) -> String {
    format!("{:?}", String::from_utf8_lossy(bytes))
}
