//! Text from which parts were removed.

/// Collects the remaining text. Where something was removed, at most two adjacent line breaks remain; everything else
/// is unchanged.
#[derive(Debug, Default)]
pub(crate) struct CollapsedText {
    text: String,
    /// Whether something was removed after the text so far.
    is_cut: bool,
}

impl CollapsedText {
    pub(crate) fn push(&mut self, part: &str) {
        if part.is_empty() {
            return;
        }
        if self.is_cut {
            let before = self.text.len() - self.text.trim_end_matches('\n').len();
            let rest = part.trim_start_matches('\n');
            let after = part.len() - rest.len();
            // More line breaks may follow in the next part.
            self.is_cut = rest.is_empty();
            if before + after > 2 {
                self.text.truncate(self.text.len() - before);
                self.text.push_str("\n\n");
                self.text.push_str(rest);
                return;
            }
        }
        self.text.push_str(part);
    }

    /// Notes that something was removed here.
    pub(crate) fn cut(&mut self) {
        self.is_cut = true;
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}
