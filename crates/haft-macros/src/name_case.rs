//! Names in other spellings.

#[cfg(test)]
mod tests;

/// How a Rust name is spelled in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameCase {
    Lower,
    Upper,
    Camel,
    Pascal,
    Snake,
    ScreamingSnake,
    Kebab,
}

impl NameCase {
    /// Every spelling by the name that attributes use.
    pub(crate) const ALL: [(&'static str, Self); 7] = [
        ("camelCase", Self::Camel),
        ("snake_case", Self::Snake),
        ("kebab-case", Self::Kebab),
        ("PascalCase", Self::Pascal),
        ("SCREAMING_SNAKE_CASE", Self::ScreamingSnake),
        ("lowercase", Self::Lower),
        ("UPPERCASE", Self::Upper),
    ];

    /// The name in this spelling.
    pub(crate) fn convert(self, name: &str) -> String {
        let words = split_words(name);
        match self {
            Self::Lower => name.to_lowercase(),
            Self::Upper => name.to_uppercase(),
            Self::Snake => words.join("_"),
            Self::Kebab => words.join("-"),
            Self::ScreamingSnake => words.join("_").to_uppercase(),
            Self::Pascal => words.iter().map(|it| capitalize(it)).collect(),
            Self::Camel => {
                let mut words = words.into_iter();
                let first = words.next().unwrap_or_default();
                words.fold(first, |name, word| name + &capitalize(&word))
            }
        }
    }
}

/// The words of a name in lower case: parted by underscores and where capitals begin a word. Capitals in a
/// row are one word.
fn split_words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = '_';
    let mut rest = name.chars().peekable();
    while let Some(letter) = rest.next() {
        let after = rest.peek().copied().unwrap_or('_');
        let begins = letter.is_uppercase() && (!before.is_uppercase() || after.is_lowercase());
        if letter == '_' || begins {
            words.push(String::new());
        }
        if letter != '_'
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
        before = letter;
    }
    words.retain(|it| !it.is_empty());
    words
}

fn capitalize(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}
