//! Messages of the floors below in Python's words.

/// A message with the options and commands that it names as Python has them: `--lt-config` is `lt_config`.
pub(crate) fn in_python(text: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut rest = text.split(' ').peekable();
    while let Some(word) = rest.next() {
        let quote = if word.starts_with('`') { "`" } else { "" };
        let bare = word.trim_start_matches('`');
        let of_script = words.last().is_some_and(|before| before.starts_with("scripts/"));
        let next = rest.peek().map(|next| next.trim_end_matches(['`', ';', ',', '.']).to_owned());
        // what follows the value: the quotation mark and a comma
        let tail = |next: &str, whole: &str| whole.strip_prefix(next).unwrap_or_default().to_owned();
        match (bare, next) {
            ("bitmma", Some(command)) if quote == "`" && (command == "list" || command == "gemm") => {
                let given: Vec<&str> = rest.clone().take(3).collect();
                match given[..] {
                    ["list", "--arch", name] => {
                        let bare = name.trim_end_matches(['`', ';', ',', '.']);
                        words.push(format!("`bitmma.catalogue.instructions('{bare}'){}", tail(bare, name)));
                        rest.nth(2);
                    }
                    ["gemm", "--like", name] => {
                        let bare = name.trim_end_matches(['`', ';', ',', '.']);
                        words.push(format!("`bitmma.matmul(a, b, like={bare}){}", tail(bare, name)));
                        rest.nth(2);
                    }
                    _ => words.push(word.to_owned()),
                }
            }
            ("--assume", Some(value)) => {
                let whole = rest.next().unwrap_or_default();
                words.push(format!("{quote}assume=['{value}']{}", tail(&value, whole)));
            }
            _ => match bare.trim_start_matches('(').strip_prefix("--") {
                Some(option)
                    if !of_script && option.starts_with(|first: char| first.is_ascii_lowercase()) =>
                {
                    let before = &word[..word.len() - option.len() - 2];
                    words.push(format!("{before}{}", option.replace('-', "_")));
                }
                _ => words.push(word.to_owned()),
            },
        }
    }
    words.join(" ")
}
