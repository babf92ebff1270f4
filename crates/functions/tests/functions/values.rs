//! Every function against the values of an exhaustively verified implementation.

use crate::common::values;

#[test]
fn given_values_agree() {
    let wrong: Vec<String> = values()
        .into_iter()
        .filter(|&(function, x, y)| function.evaluate(x) != y)
        .map(|(function, x, y)| format!("{function} {x:08x}: {:08x}, not {y:08x}", function.evaluate(x)))
        .collect();
    assert!(wrong.is_empty(), "{} of 4438 differ:\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
}
