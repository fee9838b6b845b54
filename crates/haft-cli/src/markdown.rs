//! Markdown on a terminal, while it is streamed.

mod table;
mod wrap;

use anstyle::{AnsiColor, Style};

use self::table::{TableStart, read_table};
use self::wrap::WordWrap;

/// Styles Markdown as it arrives. What cannot be decided yet is held back until the next piece: a table until its end,
/// and otherwise at most the marker at the start of a line or a pair of emphasis characters.
#[derive(Debug, Default)]
pub(crate) struct MarkdownStream {
    /// Text that is not written yet.
    pending: String,
    /// The marker of the open code block.
    fence: Option<String>,
    is_inside_line: bool,
    line: LineStyle,
    is_bold: bool,
    is_italic: bool,
    is_code: bool,
    /// The last character that was written in this line.
    previous: Option<char>,
    wrap: WordWrap,
}

/// The style of a whole line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LineStyle {
    #[default]
    Plain,
    Heading,
    Quote,
    Code,
}

/// The longest marker at the start of a line, in bytes.
const MAX_MARKER: usize = 80;

impl MarkdownStream {
    /// Breaks lines between words at so many columns.
    pub(crate) fn for_columns(columns: Option<usize>) -> Self {
        Self { wrap: WordWrap::new(columns), ..Self::default() }
    }

    /// Takes a piece of text, and returns what can be written now.
    pub(crate) fn push(&mut self, text: &str) -> String {
        self.pending.push_str(text);
        self.write_pending(false)
    }

    /// Returns the rest, with all styles ended.
    pub(crate) fn finish(&mut self) -> String {
        let mut out = self.write_pending(true);
        self.wrap.end_line(&mut out);
        out.push_str(&self.end_line_style());
        *self = Self::default();
        out
    }

    fn write_pending(&mut self, is_end: bool) -> String {
        let mut out = String::new();
        let pending = std::mem::take(&mut self.pending);
        let mut rest = pending.as_str();
        while !rest.is_empty() {
            if !self.is_inside_line {
                match self.start_line(rest, is_end, &mut out) {
                    Some(after) => rest = after,
                    None => break,
                }
                continue;
            }
            let Some(after) = self.write_inline(rest, is_end, &mut out) else { break };
            rest = after;
        }
        self.pending = rest.to_owned();
        out
    }

    /// Writes the marker of a line, and returns what follows; nothing if more text is needed to decide.
    fn start_line<'t>(&mut self, rest: &'t str, is_end: bool, out: &mut String) -> Option<&'t str> {
        let (line, is_whole) = match rest.split_once('\n') {
            Some((line, _)) => (line, true),
            None => (rest, is_end),
        };
        let (indent, body) = line.split_at(line.find(|it| it != ' ').unwrap_or(line.len()));
        let could_be_marker = |it: char| "#>-*+`~_ .)0123456789".contains(it);
        if !is_whole && body.chars().all(could_be_marker) && line.len() < MAX_MARKER {
            return None;
        }
        let marker: String = body.chars().take_while(|it| matches!(it, '`' | '~')).collect();
        if let Some(fence) = &self.fence {
            self.line = LineStyle::Code;
            if marker.starts_with(fence.as_str()) && body.len() == marker.len() {
                self.fence = None;
            }
            return Some(self.begin_line(rest, "", out));
        }
        if marker.len() >= 3 {
            if !is_whole {
                return None;
            }
            self.fence = Some(marker.chars().take(3).collect());
            self.line = LineStyle::Code;
            return Some(self.begin_line(rest, "", out));
        }
        if body.starts_with('|') {
            match read_table(rest, is_end) {
                TableStart::Table(table, after) => {
                    out.push_str(&table);
                    return Some(after);
                }
                TableStart::Unknown => return None,
                TableStart::NoTable => {}
            }
        }
        let level = body.chars().take_while(|it| *it == '#').count();
        let text_of_heading = body.get(level..).and_then(|it| it.strip_prefix(' '));
        if (1..=6).contains(&level)
            && let Some(text) = text_of_heading
        {
            self.line = LineStyle::Heading;
            return Some(self.begin_line(after_prefix(rest, line, text), "", out));
        }
        if let Some(text) = body.strip_prefix('>') {
            self.line = LineStyle::Quote;
            let text = text.strip_prefix(' ').unwrap_or(text);
            return Some(self.begin_line(after_prefix(rest, line, text), "│ ", out));
        }
        let is_rule = |mark: char| {
            body.chars().filter(|it| *it == mark).count() >= 3
                && body.chars().all(|it| it == mark || it == ' ')
        };
        if is_whole && ['-', '*', '_'].into_iter().any(is_rule) {
            return Some(self.begin_line(after_prefix(rest, line, ""), &"─".repeat(40), out));
        }
        let item = ["- ", "* ", "+ "].iter().find_map(|mark| body.strip_prefix(mark));
        if let Some(text) = item {
            return Some(self.begin_line(
                after_prefix(rest, line, text),
                &format!("{indent}• "),
                out,
            ));
        }
        let text = self.begin_line(after_prefix(rest, line, body), indent, out);
        self.wrap.indent(number_columns(body));
        Some(text)
    }

    /// Begins a line: writes its style and a prefix, and returns the text behind the marker.
    fn begin_line<'t>(&mut self, text: &'t str, prefix: &str, out: &mut String) -> &'t str {
        self.is_inside_line = true;
        self.previous = None;
        out.push_str(&self.style().render().to_string());
        self.wrap.begin_line(prefix, out);
        text
    }

    /// Writes one character or one marker, and returns what follows; nothing if more text is needed to decide.
    fn write_inline<'t>(
        &mut self,
        rest: &'t str,
        is_end: bool,
        out: &mut String,
    ) -> Option<&'t str> {
        let mut characters = rest.chars();
        let first = characters.next()?;
        let after = characters.as_str();
        let next = characters.next();
        let after_next = characters.as_str();
        if first == '\n' {
            self.wrap.end_line(out);
            out.push_str(&self.end_line_style());
            out.push('\n');
            (self.is_inside_line, self.line) = (false, LineStyle::Plain);
            (self.is_bold, self.is_italic, self.is_code) = (false, false, false);
            return Some(after);
        }
        if self.line == LineStyle::Code || !matches!(first, '*' | '`' | '_' | '\\') {
            return self.write_character(first, after, out);
        }
        if next.is_none() && !is_end {
            return None;
        }
        match (first, next) {
            ('`', _) => {
                self.is_code = !self.is_code;
                self.restyle(out);
                Some(after)
            }
            _ if self.is_code => self.write_character(first, after, out),
            ('\\', Some(escaped)) if escaped.is_ascii_punctuation() => {
                self.write_character(escaped, after_next, out)
            }
            ('*', Some('*')) if after_next.is_empty() && !is_end => None,
            ('*', Some('*')) => Some(self.toggle_bold(after_next, out)),
            ('*' | '_', next) => {
                let is_word = |it: Option<char>| it.is_some_and(char::is_alphanumeric);
                let is_inside_word = first == '_' && is_word(self.previous) && is_word(next);
                if is_inside_word || !self.can_toggle(self.is_italic, next) {
                    return self.write_character(first, after, out);
                }
                self.is_italic = !self.is_italic;
                self.restyle(out);
                Some(after)
            }
            _ => self.write_character(first, after, out),
        }
    }

    /// Begins or ends bold text, or writes the two stars where neither is possible.
    fn toggle_bold<'t>(&mut self, after: &'t str, out: &mut String) -> &'t str {
        if self.can_toggle(self.is_bold, after.chars().next()) {
            self.is_bold = !self.is_bold;
            self.restyle(out);
        } else {
            self.wrap.push('*', out);
            self.wrap.push('*', out);
        }
        after
    }

    /// Whether emphasis can end behind the last character, or begin before the next one.
    fn can_toggle(&self, is_open: bool, next: Option<char>) -> bool {
        match is_open {
            true => self.previous.is_some_and(|it| !it.is_whitespace()),
            false => next.is_some_and(|it| !it.is_whitespace()),
        }
    }

    fn write_character<'t>(
        &mut self,
        character: char,
        after: &'t str,
        out: &mut String,
    ) -> Option<&'t str> {
        self.previous = Some(character);
        match self.line {
            LineStyle::Code => out.push(character),
            _ => self.wrap.push(character, out),
        }
        Some(after)
    }

    fn style(&self) -> Style {
        let style = match self.line {
            LineStyle::Plain => Style::new(),
            LineStyle::Heading => Style::new().bold().underline(),
            LineStyle::Quote => Style::new().dimmed(),
            LineStyle::Code => AnsiColor::Cyan.on_default(),
        };
        let style = if self.is_bold { style.bold() } else { style };
        let style = if self.is_italic { style.italic() } else { style };
        if self.is_code { style.fg_color(Some(AnsiColor::Cyan.into())) } else { style }
    }

    fn restyle(&mut self, out: &mut String) {
        let style = format!("\u{1b}[0m{}", self.style().render());
        self.wrap.push_style(&style, out);
    }

    fn end_line_style(&self) -> String {
        let is_plain = self.style() == Style::new();
        if is_plain { String::new() } else { "\u{1b}[0m".to_owned() }
    }
}

/// The columns of the number of a list item, such as `12. `.
fn number_columns(body: &str) -> usize {
    let digits = body.chars().take_while(char::is_ascii_digit).count();
    let is_item = digits > 0 && body.get(digits..).is_some_and(|it| it.starts_with(". "));
    if is_item { digits + 2 } else { 0 }
}

/// The part of the rest that begins with the text at the end of its first line.
fn after_prefix<'t>(rest: &'t str, line: &str, text: &str) -> &'t str {
    rest.get(line.len() - text.len()..).unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::MarkdownStream;

    /// Styles a text in pieces of this many characters.
    fn styled(text: &str, size: usize) -> String {
        feed(&mut MarkdownStream::default(), text, size)
    }

    fn feed(stream: &mut MarkdownStream, text: &str, size: usize) -> String {
        let characters: Vec<char> = text.chars().collect();
        let mut out = String::new();
        for piece in characters.chunks(size) {
            out.push_str(&stream.push(&piece.iter().collect::<String>()));
        }
        out + &stream.finish()
    }

    /// Replaces the control sequences by words.
    fn readable(text: &str) -> String {
        let pairs = [("\u{1b}[0m", "⟨⟩"), ("\u{1b}[1m", "⟨b⟩"), ("\u{1b}[3m", "⟨i⟩")];
        let pairs = pairs.into_iter().chain([
            ("\u{1b}[4m", "⟨u⟩"),
            ("\u{1b}[2m", "⟨d⟩"),
            ("\u{1b}[36m", "⟨c⟩"),
        ]);
        pairs.fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
    }

    #[test]
    fn markup_is_styled_and_the_rest_stays() {
        for (text, shown) in [
            ("plain text\nmore", "plain text\nmore"),
            ("a **b** c", "a ⟨⟩⟨b⟩b⟨⟩ c"),
            ("*i* and _i_ x", "⟨⟩⟨i⟩i⟨⟩ and ⟨⟩⟨i⟩i⟨⟩ x"),
            ("2 * 3 * 4", "2 * 3 * 4"),
            ("snake_case_name", "snake_case_name"),
            ("`a*b*` c", "⟨⟩⟨c⟩a*b*⟨⟩ c"),
            (r"\*no\*", "*no*"),
            ("# Title\ntext", "⟨b⟩⟨u⟩Title⟨⟩\ntext"),
            ("#hash", "#hash"),
            ("- one\n  - two\n* three", "• one\n  • two\n• three"),
            ("-1 is negative", "-1 is negative"),
            ("1. first\n2. second", "1. first\n2. second"),
            ("> said", "⟨d⟩│ said⟨⟩"),
            ("```rust\nlet *a* = 1;\n```\nx", "⟨c⟩```rust⟨⟩\n⟨c⟩let *a* = 1;⟨⟩\n⟨c⟩```⟨⟩\nx"),
            ("| a | b |\n| - | - |", "⟨b⟩a │ b⟨⟩\n──┼──\n"),
            ("x\n|a|\n|-|\n|**1**|\ny", "x\n⟨b⟩a⟨⟩\n─\n1\ny"),
            ("| a |\nb", "| a |\nb"),
            ("```\n| a |\n|---|\n```", "⟨c⟩```⟨⟩\n⟨c⟩| a |⟨⟩\n⟨c⟩|---|⟨⟩\n⟨c⟩```⟨⟩"),
            ("unclosed **bold\nnext", "unclosed ⟨⟩⟨b⟩bold⟨⟩\nnext"),
            ("a\n\n\nb", "a\n\n\nb"),
            ("ends with *", "ends with *"),
        ] {
            for size in [1, 2, 3, 1000] {
                assert_eq!(readable(&styled(text, size)), shown, "{text:?} by {size}");
            }
        }
        for (text, shown) in [
            ("one two three four", "one two\nthree four"),
            ("- one two three", "• one two\n  three"),
            ("12. one two", "12. one\n    two"),
            ("> one two three", "⟨d⟩│ one two\n│ three⟨⟩"),
            ("a **bold word** b", "a ⟨⟩⟨b⟩bold\nword⟨⟩ b"),
            ("unbreakable_word and", "unbreakable_word and"),
            ("```\nlet a = 1 + 2;\n```", "⟨c⟩```⟨⟩\n⟨c⟩let a = 1 + 2;⟨⟩\n⟨c⟩```⟨⟩"),
            ("日本 語 日本語", "日本 語\n日本語"),
        ] {
            for size in [1, 3, 1000] {
                let mut stream = MarkdownStream::for_columns(Some(10));
                let wrapped = feed(&mut stream, text, size);
                assert_eq!(readable(&wrapped), shown, "{text:?} by {size}");
            }
        }
        let rule = styled("a\n---\nb", 1000);
        assert!(rule.contains("────") && rule.ends_with("\nb"), "{rule}");
    }
}
