//! Model files: any model comes back from its file; any text reads or is an error, never a panic.

use bitmma_engine::Model;

use crate::mutate::mutate;
use crate::{Outcome, Unstructured, generate};

/// One model to a file and back, the file then changed a little.
///
/// # Panics
///
/// If a model does not come back as it was, or a text makes the reader panic.
pub fn run(u: &mut Unstructured<'_>) -> Outcome {
    if u.ratio(1, 8)? {
        let text: String = u.arbitrary()?;
        hold(&text);
        return Ok(());
    }
    let Some(model) = generate::model(u)? else { return Ok(()) };
    let file = model.to_toml();
    let back = Model::from_toml(&file).unwrap_or_else(|error| panic!("{error}\n{file}\n{model:?}"));
    assert!(back == model, "{model:?}\nwritten as\n{file}\nand read as\n{back:?}");
    let mut bytes = file.into_bytes();
    mutate(u, &mut bytes, 4)?;
    hold(&String::from_utf8_lossy(&bytes));
    Ok(())
}

/// A text either is no model, or is one that comes back.
fn hold(text: &str) {
    if let Ok(model) = Model::from_toml(text) {
        model.validate().unwrap_or_else(|error| panic!("{error}\n{text}"));
        let again = model.to_toml();
        let back = Model::from_toml(&again).unwrap_or_else(|error| panic!("{error}\n{again}\nfrom\n{text}"));
        assert!(back == model, "{text}\nwritten as\n{again}");
    }
}
