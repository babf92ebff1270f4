//! Asks, and looks into answers.

use serde_json::Value;

/// The answer to a question; an error is a failure of the test.
pub(crate) fn ok(question: &Value) -> Value {
    let answer: Value =
        serde_json::from_str(&bitmma_web::ask(&question.to_string())).expect("answers are JSON");
    assert!(answer.get("error").is_none(), "{question}: {}", answer["error"]);
    answer["ok"].clone()
}

/// The error that a text gives.
pub(crate) fn error(question: &str) -> String {
    let answer: Value = serde_json::from_str(&bitmma_web::ask(question)).expect("answers are JSON");
    answer["error"].as_str().unwrap_or_else(|| panic!("{question} is answered: {answer}")).to_owned()
}
