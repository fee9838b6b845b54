//! Holding back what may be a call while text arrives.

use haft_core::invariant::OrReport as _;

use super::fence::{FenceContent, LeadingFence};
use super::offered::OfferedNames;
use super::scan::{Grammar, GrammarReading, GrammarScan, Input, RereadThreshold, WholeGrammar};
use super::{CollapsedText, ParsedText, TextCallFormat};

/// Shows text as it arrives, but not what could be the beginning of a call.
///
/// Whatever the pieces in which a text arrives, all that [`feed`](Self::feed) showed, followed by what
/// [`finish`](Self::finish) adds, is the text that [`TextCallFormat::parse`] gives for the whole, apart from
/// white space at its beginning. Other white space is shown when something follows it.
///
/// Forms that are a whole output hold it back as long as it can still be one; most prose cannot from its
/// first letter on. Once a call is complete, the text behind it is shown too if nothing that comes later
/// can change what the call is; else it waits for the end.
///
/// ```
/// use haft_providers::internals::{TextCallFilter, TextCallFormat};
///
/// let mut filter = TextCallFilter::new(TextCallFormat::Hermes, &["weather"]);
/// assert_eq!(filter.feed("One moment. <tool"), "One moment.");
/// assert_eq!(filter.feed("box> is a word, but <tool_"), " <toolbox> is a word, but");
/// assert_eq!(filter.feed("call>{\"name\": \"weather\"}</tool_call>"), "");
/// let rest = filter.finish();
/// assert_eq!((rest.text.as_str(), rest.calls[0].name.as_str()), ("", "weather"));
/// ```
#[derive(Debug)]
pub struct TextCallFilter {
    format: TextCallFormat,
    offered: Vec<String>,
    /// The whole text so far.
    text: String,
    leading: LeadingFence,
    watches: Vec<GrammarWatch>,
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
    pub fn new(format: TextCallFormat, offered: &[&str]) -> Self {
        let names = OfferedNames::new(offered);
        let inner = format.grammars(&names);
        let watches = format.grammars(&names).into_iter().zip(inner);
        Self {
            format,
            offered: offered.iter().map(|it| (*it).to_owned()).collect(),
            text: String::new(),
            leading: LeadingFence::default(),
            watches: watches.map(|(grammar, inner)| GrammarWatch::new(grammar, inner)).collect(),
            shown: ShownText::default(),
        }
    }

    /// Takes the next piece of the output and gives what can be shown now, which may be nothing.
    pub fn feed(&mut self, delta: &str) -> &str {
        self.text.push_str(delta);
        self.leading.advance(&self.text, Input::Partial);
        for watch in &mut self.watches {
            watch.advance(&self.text, &self.leading);
        }
        // Nothing can take precedence over a call of the first grammar.
        if self.watches.first().is_some_and(GrammarWatch::has_calls) {
            self.watches.truncate(1);
        }
        let before = self.shown.visible;
        if let [GrammarWatch::Inline { scan, .. }] = self.watches.as_slice()
            && !scan.spans.is_empty()
        {
            self.shown.pass_spans(&self.text, scan);
        } else {
            let showable =
                self.watches.iter().map(|it| it.showable(&self.text, &self.leading)).min();
            self.shown.pass(&self.text, showable.unwrap_or(self.text.len()));
        }
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
    pub fn finish(self) -> ParsedText {
        let offered: Vec<&str> = self.offered.iter().map(String::as_str).collect();
        let mut parsed = self.format.parse(&self.text, &offered);
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

    /// Passes on the text around calls.
    fn pass_spans(&mut self, text: &str, scan: &GrammarScan) {
        for span in scan.spans.iter().skip(self.spans) {
            self.pass(text, span.start);
            self.collapsed.cut();
            self.from = span.end;
            self.spans += 1;
        }
        self.pass(text, scan.decided(text));
    }
}

/// Looks out for one way of writing calls.
#[derive(Debug)]
enum GrammarWatch {
    Inline {
        scan: GrammarScan,
        /// The scan of a fence that may turn out to be the whole output.
        inner: GrammarScan,
        blank: BlankPrefix,
    },
    Whole {
        grammar: Box<dyn WholeGrammar>,
        threshold: RereadThreshold,
        is_over: bool,
    },
}

impl GrammarWatch {
    fn new(grammar: Grammar, inner: Grammar) -> Self {
        match (grammar, inner) {
            (Grammar::Inline(scan), Grammar::Inline(inner)) => {
                Self::Inline { scan, inner, blank: BlankPrefix::default() }
            }
            (Grammar::Whole(grammar), _) | (_, Grammar::Whole(grammar)) => {
                Self::Whole { grammar, threshold: RereadThreshold::default(), is_over: false }
            }
        }
    }

    fn has_calls(&self) -> bool {
        matches!(self, Self::Inline { scan, .. } if !scan.spans.is_empty())
    }

    fn advance(&mut self, text: &str, leading: &LeadingFence) {
        match self {
            Self::Inline { scan, inner, blank } => {
                scan.run(text, Input::Partial);
                if let Some((_, inside)) = fence_content(text, leading) {
                    inner.run(inside, Input::Partial);
                    blank.advance(inside, decided_len(inner, inside));
                }
            }
            Self::Whole { grammar, threshold, is_over } => {
                if *is_over || threshold.lasts(text, Input::Partial) {
                    return;
                }
                *is_over =
                    matches!(read(grammar.as_ref(), text, leading), GrammarReading::Declined(_));
                threshold.wait(text.len(), text.len());
            }
        }
    }

    /// How much of the text can be shown, as far as this is concerned.
    fn showable(&self, text: &str, leading: &LeadingFence) -> usize {
        match self {
            Self::Whole { is_over, .. } => {
                if *is_over {
                    text.len()
                } else {
                    0
                }
            }
            Self::Inline { scan, inner, blank } => {
                let outer = decided_len(scan, text);
                match fence_content(text, leading) {
                    // The fence goes if nothing but calls is in it.
                    Some(_) if !blank.is_over => 0,
                    Some((start, inside)) => outer.min(start + decided_len(inner, inside)),
                    None => outer,
                }
            }
        }
    }
}

/// How much of the text has no call in it, nor the beginning of one.
fn decided_len(scan: &GrammarScan, text: &str) -> usize {
    scan.spans.first().map_or_else(|| scan.decided(text), |it| it.start)
}

/// The content of a fence that is the whole output so far, and its position.
fn fence_content<'t>(text: &'t str, leading: &LeadingFence) -> Option<(usize, &'t str)> {
    match leading.inner() {
        FenceContent::Open(_, start) => Some((start, text.get(start..)?)),
        FenceContent::Closed(range) => Some((range.start, text.get(range)?)),
        FenceContent::Unknown | FenceContent::None => None,
    }
}

/// Whether the output so far can be, or become, one of calls only.
fn read(grammar: &dyn WholeGrammar, text: &str, leading: &LeadingFence) -> GrammarReading {
    match leading.inner() {
        FenceContent::Unknown => GrammarReading::More,
        FenceContent::None => grammar.read_output(text, Input::Partial),
        FenceContent::Closed(range) => {
            let inner = text.get(range).or_report_default(FENCE_WITHIN_TEXT);
            grammar.read_output(inner, Input::Whole)
        }
        FenceContent::Open(fence, start) => {
            let inner = text.get(start..).or_report_default(FENCE_WITHIN_TEXT);
            let last = inner.rfind('\n').map_or(0, |it| it + 1);
            let parts = inner.split_at_checked(last);
            let (before, line) = parts.or_report("a line begins behind a line break", ("", inner));
            let inner = if fence.may_be_closed_by(line) { before } else { inner };
            grammar.read_output(inner, Input::Partial)
        }
    }
}

const FENCE_WITHIN_TEXT: &str = "the content of a fence lies within the text";

/// Whether a text that grows has been white space so far.
#[derive(Debug, Default)]
struct BlankPrefix {
    at: usize,
    is_over: bool,
}

impl BlankPrefix {
    fn advance(&mut self, text: &str, to: usize) {
        let Some(part) = text.get(self.at..to) else { return };
        self.is_over |= !part.trim_start().is_empty();
        self.at = to;
    }
}
