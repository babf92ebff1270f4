//! The given values and digests.

use bitmma_functions::Function;

/// Lines `function,x,y` of `tests/data/values.csv`, from `../shared/functions`.
pub(crate) fn values() -> Vec<(Function, u32, u32)> {
    let text = include_str!("../../data/values.csv");
    let rows: Vec<_> = text.lines().skip(1).map(row).collect();
    assert_eq!(rows.len(), 4438);
    rows
}

/// Lines of `tests/data/witnesses.csv`.
pub(crate) fn witnesses() -> Vec<(Function, u32, u32)> {
    include_str!("../../data/witnesses.csv").lines().skip(1).map(row).collect()
}

fn row(line: &str) -> (Function, u32, u32) {
    let mut cells = line.split(',');
    let mut cell = || cells.next().unwrap();
    let function = cell().parse().unwrap();
    let mut code = || u32::from_str_radix(cell(), 16).unwrap();
    (function, code(), code())
}

/// Lines `function,block,digest` of `tests/data/digests.csv`.
pub(crate) fn digests() -> Vec<(Function, u32, u64)> {
    let text = include_str!("../../data/digests.csv");
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let block = u32::from_str_radix(cells[1], 16).unwrap();
        (cells[0].parse().unwrap(), block, u64::from_str_radix(cells[2], 16).unwrap())
    };
    let rows: Vec<_> = text.lines().skip(1).map(row).collect();
    assert_eq!(rows.len(), 16);
    rows
}
