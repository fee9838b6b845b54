//! The columns that text takes on a terminal: ideographs and emoji take two, marks that combine take none.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// The number of columns of a text without line breaks.
pub(crate) fn display_width(text: &str) -> usize {
    text.width()
}

/// The text with spaces behind it, up to a number of columns.
pub(crate) fn pad_end(text: &str, columns: usize) -> String {
    format!("{text}{}", spaces(columns.saturating_sub(display_width(text))))
}

/// The text with spaces before it, up to a number of columns.
pub(crate) fn pad_start(text: &str, columns: usize) -> String {
    format!("{}{text}", spaces(columns.saturating_sub(display_width(text))))
}

/// The text in the middle of a number of columns.
pub(crate) fn pad_both(text: &str, columns: usize) -> String {
    let missing = columns.saturating_sub(display_width(text));
    format!("{}{text}{}", spaces(missing / 2), spaces(missing - missing / 2))
}

/// Shortens a text to a number of columns, with `…` in the place of its end.
pub(crate) fn elide_columns(text: &str, columns: usize) -> String {
    if display_width(text) <= columns {
        return text.to_owned();
    }
    let mut used = 1;
    let is_shown = |character: &char| {
        used += character.width().unwrap_or_default();
        used <= columns
    };
    text.chars().take_while(is_shown).chain(['…']).collect()
}

/// Breaks a text at spaces into lines of at most so many columns. A longer word has a line of its own.
pub(crate) fn wrap(text: &str, columns: usize) -> String {
    let mut lines = String::new();
    let mut width = 0;
    for word in text.split(' ') {
        let word_width = display_width(word);
        if !lines.is_empty() {
            let fits = width + 1 + word_width <= columns;
            lines.push(if fits { ' ' } else { '\n' });
            width = if fits { width + 1 } else { 0 };
        }
        lines.push_str(word);
        width += word_width;
    }
    lines
}

fn spaces(count: usize) -> String {
    " ".repeat(count)
}

#[cfg(test)]
mod tests {
    use super::{display_width, elide_columns, pad_both, pad_end, pad_start, wrap};

    #[test]
    fn columns_are_counted_as_a_terminal_does() {
        for (text, columns) in
            [("", 0), ("abc", 3), ("é", 1), ("e\u{301}", 1), ("漢字", 4), ("🙂", 2)]
        {
            assert_eq!(display_width(text), columns, "{text}");
        }
    }

    #[test]
    fn text_is_padded_to_columns() {
        assert_eq!(pad_end("漢", 4), "漢  ");
        assert_eq!(pad_start("漢", 4), "  漢");
        assert_eq!(pad_both("漢", 5), " 漢  ");
        assert_eq!(pad_end("longer", 4), "longer");
    }

    #[test]
    fn text_is_broken_at_spaces() {
        for (text, columns, shown) in [
            ("", 3, ""),
            ("a b c", 5, "a b c"),
            ("a b c", 4, "a b\nc"),
            ("漢字 漢", 5, "漢字\n漢"),
            ("longer a b", 3, "longer\na b"),
        ] {
            assert_eq!(wrap(text, columns), shown, "{text} in {columns} columns");
        }
    }

    #[test]
    fn text_is_shortened_to_columns() {
        for (text, columns, shown) in [
            ("abcdef", 6, "abcdef"),
            ("abcdef", 5, "abcd…"),
            ("漢字漢字", 8, "漢字漢字"),
            ("漢字漢字", 7, "漢字漢…"),
            ("漢字漢字", 6, "漢字…"),
            ("cafe\u{301}s", 5, "cafe\u{301}s"),
            ("abc", 0, "…"),
        ] {
            assert_eq!(elide_columns(text, columns), shown, "{text} in {columns} columns");
        }
    }
}
