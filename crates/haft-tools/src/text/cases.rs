//! Spellings of names: `camelCase`, `snake_case` and so on.

/// The words of a text: runs of letters and digits, parted again where a small letter meets a capital.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut characters = text.chars().peekable();
    let mut last = ' ';
    while let Some(it) = characters.next() {
        if !it.is_alphanumeric() {
            flush(&mut word, &mut words);
        } else {
            let next_small = characters.peek().is_some_and(|next| next.is_lowercase());
            let begins =
                it.is_uppercase() && (last.is_lowercase() || last.is_numeric() || next_small);
            if begins {
                flush(&mut word, &mut words);
            }
            word.extend(it.to_lowercase());
        }
        last = it;
    }
    flush(&mut word, &mut words);
    words
}

fn flush(word: &mut String, words: &mut Vec<String>) {
    if !word.is_empty() {
        words.push(std::mem::take(word));
    }
}

/// The words in lower case, parted by this.
pub(super) fn joined(text: &str, separator: &str) -> String {
    words(text).join(separator)
}

/// The words without anything between them, each with a capital; the first one too if that is wanted.
pub(super) fn camel(text: &str, first: bool) -> String {
    let words = words(text);
    let spelled = words.iter().enumerate().map(|(at, word)| match at {
        0 if !first => word.clone(),
        _ => capitalized(word),
    });
    spelled.collect()
}

/// With a capital letter first, the rest as it is.
pub(super) fn capitalized(word: &str) -> String {
    let mut characters = word.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => String::new(),
    }
}

/// Each word with a capital letter, everything between them as it is.
pub(super) fn title(text: &str) -> String {
    let mut inside = false;
    let mut out = String::with_capacity(text.len());
    for it in text.chars() {
        let belongs = it.is_alphanumeric() || (inside && matches!(it, '\'' | '’'));
        if belongs && !inside {
            out.extend(it.to_uppercase());
        } else {
            out.extend(it.to_lowercase());
        }
        inside = belongs;
    }
    out
}
