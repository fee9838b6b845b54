//! Spellings of names: `camelCase`, `snake_case` and so on.

/// The words of a text: runs of letters and digits, split where a lower-case letter is followed by a capital.
fn split_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut characters = text.chars().peekable();
    let mut last = ' ';
    while let Some(it) = characters.next() {
        if !it.is_alphanumeric() {
            finish_word(&mut word, &mut words);
        } else {
            let next_small = characters.peek().is_some_and(|next| next.is_lowercase());
            let begins =
                it.is_uppercase() && (last.is_lowercase() || last.is_numeric() || next_small);
            if begins {
                finish_word(&mut word, &mut words);
            }
            word.extend(it.to_lowercase());
        }
        last = it;
    }
    finish_word(&mut word, &mut words);
    words
}

fn finish_word(word: &mut String, words: &mut Vec<String>) {
    if !word.is_empty() {
        words.push(std::mem::take(word));
    }
}

/// The words in lower case, with a separator between them.
pub(super) fn join_words(text: &str, separator: &str) -> String {
    split_words(text).join(separator)
}

pub(super) fn pascal_case(text: &str) -> String {
    split_words(text).iter().map(|word| capitalize(word)).collect()
}

pub(super) fn camel_case(text: &str) -> String {
    let words = split_words(text);
    let (first, rest) = words.split_at(words.len().min(1));
    first.iter().cloned().chain(rest.iter().map(|word| capitalize(word))).collect()
}

/// The text with a capital as its first letter.
pub(super) fn capitalize(word: &str) -> String {
    let mut characters = word.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => String::new(),
    }
}

/// The text with a capital at the start of each word, and everything else in lower case.
pub(super) fn title_case(text: &str) -> String {
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
