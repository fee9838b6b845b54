//! Holding back what may be a call while text arrives.

use haft_core::invariant::OrReport as _;

use super::scan::{CallScan, Input};
use super::{CollapsedText, ParsedText};

/// Shows text as it arrives, but not what could be the beginning of a call.
///
/// Whatever the pieces in which a text arrives, all that [`feed`](Self::feed) showed, followed by what
/// [`finish`](Self::finish) adds, is the text that [`ParsedText::of`] gives for the whole, apart from
/// white space at its beginning. Other white space is shown when something follows it.
///
/// ```
/// use haft_providers::internals::TextCallFilter;
///
/// let mut filter = TextCallFilter::new();
/// assert_eq!(filter.feed("One moment. <tool"), "One moment.");
/// assert_eq!(filter.feed("box> is a word, but <tool_"), " <toolbox> is a word, but");
/// assert_eq!(filter.feed("call>{\"name\": \"weather\"}</tool_call>"), "");
/// let rest = filter.finish();
/// assert_eq!((rest.text.as_str(), rest.calls[0].name.as_str()), ("", "weather"));
/// ```
#[derive(Debug, Default)]
pub struct TextCallFilter {
    /// The whole text so far.
    text: String,
    scan: CallScan,
    shown: ShownText,
}

/// What has been shown.
#[derive(Debug, Default)]
struct ShownText {
    collapsed: CollapsedText,
    /// How much of the text has been looked at, and how many of its calls.
    from: usize,
    spans: usize,
    /// How much of `collapsed` can be shown: all but white space at its end.
    visible: usize,
}

impl TextCallFilter {
    /// A filter for one output.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next piece of the output and gives what can be shown now, which may be nothing.
    pub fn feed(&mut self, delta: &str) -> &str {
        self.text.push_str(delta);
        self.scan.run(&self.text, Input::Partial);
        let before = self.shown.visible;
        self.shown.advance(&self.text, &self.scan);
        let new = self.shown.visible_text(before);
        // A text with calls is trimmed.
        if before == 0 && self.shown.spans > 0 { new.trim_start() } else { new }
    }

    /// The whole text so far.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Ends the output: the calls, and the text that was not shown yet.
    #[must_use]
    pub fn finish(mut self) -> ParsedText {
        self.scan.run(&self.text, Input::Whole);
        let mut parsed = ParsedText::without(&self.text, self.scan.spans);
        let shown = self.shown.visible_text(0);
        let shown = if parsed.calls.is_empty() { shown } else { shown.trim_start() };
        if let Some(rest) = parsed.text.strip_prefix(shown) {
            parsed.text = rest.to_owned();
        }
        parsed
    }
}

impl ShownText {
    /// What can be shown, without the first bytes, which were visible before.
    fn visible_text(&self, before: usize) -> &str {
        let visible = self.collapsed.text().get(before..self.visible);
        visible.or_report_default("visible text stays visible, and ends in a whole character")
    }

    /// Passes on the text around calls, as far as the scan has decided it.
    fn advance(&mut self, text: &str, scan: &CallScan) {
        for span in scan.spans.iter().skip(self.spans) {
            self.pass(text, span.start);
            self.collapsed.cut();
            self.from = span.end;
            self.spans += 1;
        }
        self.pass(text, scan.decided(text));
    }

    /// Passes on the text up to `to`.
    fn pass(&mut self, text: &str, to: usize) {
        let Some(part) = text.get(self.from..to).filter(|it| !it.is_empty()) else { return };
        self.from = to;
        self.collapsed.push(part);
        let inked = part.trim_end().len();
        if inked > 0 {
            self.visible = self.collapsed.text().len() - (part.len() - inked);
        }
    }
}
