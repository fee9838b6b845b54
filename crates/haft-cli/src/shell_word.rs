//! Words of commands that the user can copy into a shell.

use std::borrow::Cow;
use std::fmt::Write as _;

/// A word as a shell reads it: itself, or in quotes. Characters that a terminal would interpret are escaped in the way of
/// bash, zsh and ksh.
pub(crate) fn quote_word(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./:,@%+=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return Cow::Borrowed(word);
    }
    let is_shown = |c: char| !c.is_control() && !haft::trust::is_invisible(c);
    if word.chars().all(is_shown) {
        return Cow::Owned(format!("'{}'", word.replace('\'', r"'\''")));
    }
    let mut text = String::from("$'");
    for character in word.chars() {
        match character {
            '\\' | '\'' => {
                text.push('\\');
                text.push(character);
            }
            _ if is_shown(character) => text.push(character),
            // A String takes everything that is written to it.
            _ => drop(write!(text, "\\U{:08x}", u32::from(character))),
        }
    }
    text.push('\'');
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::quote_word;

    #[test]
    fn words_are_quoted_where_a_shell_needs_it() {
        for (word, quoted) in [
            ("agents/hello-2", "agents/hello-2"),
            ("größe", "größe"),
            ("", "''"),
            ("my agent", "'my agent'"),
            ("it's", r"'it'\''s'"),
            ("~/$HOME*", "'~/$HOME*'"),
            ("a\u{1b}[31mb'\\", r"$'a\U0000001b[31mb\'\\'"),
            ("a\u{202e}b", r"$'a\U0000202eb'"),
        ] {
            assert_eq!(quote_word(word), quoted);
        }
    }

    /// bash gets the word that was meant.
    #[test]
    fn a_shell_reads_the_word_again() {
        if !haft_testkit::has_program("bash") {
            return;
        }
        for word in ["plain", "my agent", "it's $HOME `x` \"y\" \\", "a\u{1b}[31m\n'\u{202e}é"] {
            let script = format!("printf %s {}", quote_word(word));
            let mut command = std::process::Command::new("bash");
            let output = command.args(["-c", &script]).env("LC_ALL", "C.UTF-8").output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), word, "{script}");
        }
    }
}
