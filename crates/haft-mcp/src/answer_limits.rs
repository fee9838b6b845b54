//! The maximum size of one answer, so that no client truncates it or moves it to a file.

use std::str::FromStr;

/// The maximum size of the text of one answer.
///
/// Clients limit what a tool may return: some truncate the rest, others write it to a file that the model then has to
/// read. An answer within these limits reaches the model unchanged.
///
/// ```
/// use haft_mcp::AnswerLimits;
///
/// let limits = AnswerLimits::GENERIC;
/// assert!(limits.fits("A short answer."));
/// let text = "Words upon words. ".repeat(10_000);
/// assert!(!limits.fits(&text) && limits.fits(&limits.cut(&text)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AnswerLimits {
    /// How many bytes. A text never has more characters than bytes.
    pub bytes: usize,
    /// How many tokens, by an estimate that is high for every common encoding.
    pub tokens: usize,
    /// How many bytes the text of an error may have.
    pub error_bytes: usize,
}

/// A client whose limits are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientProfile {
    /// Claude Code: it warns at 10 000 tokens and moves 50 000 characters to a file.
    ClaudeCode,
    /// Codex: it cuts results at 10 000 bytes or tokens.
    Codex,
    /// Cursor, which documents no limit.
    Cursor,
    /// Any other client.
    #[default]
    Generic,
}

impl ClientProfile {
    /// Its limits.
    #[must_use]
    pub const fn limits(self) -> AnswerLimits {
        match self {
            Self::ClaudeCode => AnswerLimits { bytes: 36_000, tokens: 9_000, error_bytes: 10_000 },
            Self::Codex => AnswerLimits { bytes: 9_000, tokens: 9_000, error_bytes: 8_000 },
            Self::Cursor | Self::Generic => AnswerLimits::GENERIC,
        }
    }
}

/// A client that has no profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a client is one of `claude-code`, `codex`, `cursor` and `generic`")]
#[non_exhaustive]
pub struct UnknownClient;

impl FromStr for ClientProfile {
    type Err = UnknownClient;

    fn from_str(name: &str) -> Result<Self, UnknownClient> {
        match name {
            "claude-code" => Ok(Self::ClaudeCode),
            "codex" => Ok(Self::Codex),
            "cursor" => Ok(Self::Cursor),
            "generic" => Ok(Self::Generic),
            _ => Err(UnknownClient),
        }
    }
}

impl AnswerLimits {
    /// 30 000 bytes and 8 000 tokens, 8 000 bytes for errors: below the limits of every client that is known.
    pub const GENERIC: Self = Self { bytes: 30_000, tokens: 8_000, error_bytes: 8_000 };

    /// Sets the maximum number of bytes, which also applies to errors.
    #[must_use]
    pub const fn bytes(mut self, bytes: usize) -> Self {
        self.bytes = bytes;
        if self.error_bytes > bytes {
            self.error_bytes = bytes;
        }
        self
    }

    /// Sets the maximum number of tokens.
    #[must_use]
    pub const fn tokens(mut self, tokens: usize) -> Self {
        self.tokens = tokens;
        self
    }

    /// Whether a text can be sent as it is.
    #[must_use]
    pub fn fits(&self, text: &str) -> bool {
        text.len() <= self.bytes && estimate_tokens(text) <= self.tokens
    }

    /// A text that fits: the text itself, or its beginning with a note that says how much is missing.
    #[must_use]
    pub fn cut(&self, text: &str) -> String {
        if self.fits(text) {
            return text.to_owned();
        }
        let room = Self { bytes: self.bytes.saturating_sub(MAX_NOTE), ..*self };
        let room = Self { tokens: room.tokens.saturating_sub(MAX_NOTE), ..room };
        let start = room.longest_start(text);
        format!(
            "{start}\n[cut after {} of {} bytes; ask for a smaller part]",
            start.len(),
            text.len()
        )
    }

    /// The text of an error that fits.
    #[must_use]
    pub fn cut_error(&self, text: &str) -> String {
        let bytes = self.error_bytes.min(self.bytes);
        Self { bytes, ..*self }.cut(text)
    }

    /// The longest beginning of a text that fits, found in a few steps.
    pub(crate) fn longest_start<'t>(&self, text: &'t str) -> &'t str {
        let mut start = start_of(text, self.bytes);
        loop {
            let tokens = estimate_tokens(start);
            if tokens <= self.tokens {
                return start;
            }
            let fitting = start.len().saturating_mul(self.tokens) / tokens;
            // At least one byte less in every step, and no more than a few steps.
            start = start_of(start, fitting.min(start.len().saturating_sub(1 + start.len() / 16)));
        }
    }
}

impl Default for AnswerLimits {
    fn default() -> Self {
        Self::GENERIC
    }
}

/// How much room the note about a cut text needs, in bytes.
const MAX_NOTE: usize = 96;

/// The first `bytes` of a text, or fewer where a character would be split.
pub(crate) fn start_of(text: &str, bytes: usize) -> &str {
    if bytes >= text.len() {
        return text;
    }
    let end = (0..=bytes).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.split_at(end).0
}

/// Estimates an upper bound of the tokens of a text: words cost one token per three letters, everything else nearly one
/// per character. The estimate is a third too high for prose, and not too low for random letters and digits.
pub(crate) fn estimate_tokens(text: &str) -> usize {
    let mut twelfths = 0_usize;
    let mut word = WordTally::default();
    for ch in text.chars() {
        if ch.is_ascii_alphanumeric() {
            word.push(ch);
            continue;
        }
        twelfths += word.take();
        twelfths += match ch {
            ' ' => 1,
            _ if ch.is_ascii() => 12,
            _ => match ch.len_utf8() {
                2 => 14,
                3 => 24,
                _ => 48,
            },
        };
    }
    twelfths += word.take();
    twelfths.div_ceil(12)
}

/// A run of ASCII letters and digits.
#[derive(Default)]
struct WordTally {
    letters: usize,
    /// Digits, and letters that are unusual in words: capitals after the first letter.
    odd: usize,
}

impl WordTally {
    fn push(&mut self, ch: char) {
        let is_plain =
            ch.is_ascii_lowercase() || (ch.is_ascii_uppercase() && self.letters + self.odd == 0);
        if is_plain {
            self.letters += 1;
        } else {
            self.odd += 1;
        }
    }

    /// The price of the run in twelfths of a token; the tally is empty afterwards.
    fn take(&mut self) -> usize {
        let Self { letters, odd } = std::mem::take(self);
        match (letters, odd) {
            (0, 0) => 0,
            // Short words are tokens of their own, and so are most words of up to seven letters.
            (1..=7, 0) => 12,
            (_, 0) => letters * 6,
            _ => (letters + odd) * 10,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_text_fits_and_begins_as_the_whole() {
        for text in
            ["ab ".repeat(50_000), "é".repeat(50_000), "🦀".repeat(20_000), "x1Y2".repeat(20_000)]
        {
            for limits in [
                AnswerLimits::GENERIC,
                ClientProfile::Codex.limits(),
                ClientProfile::ClaudeCode.limits(),
            ] {
                let cut = limits.cut(&text);
                assert!(limits.fits(&cut), "{} bytes, {} tokens", cut.len(), estimate_tokens(&cut));
                let start = cut.split("\n[cut").next().unwrap_or_default();
                assert!(text.starts_with(start) && start.len() > 1_000, "{}", start.len());
                assert!(limits.cut_error(&text).len() <= limits.error_bytes);
            }
        }
    }

    #[test]
    fn what_fits_stays_as_it_is() {
        assert_eq!(AnswerLimits::GENERIC.cut("as it is"), "as it is");
        assert_eq!("codex".parse(), Ok(ClientProfile::Codex));
        assert_eq!("emacs".parse::<ClientProfile>(), Err(UnknownClient));
    }
}
