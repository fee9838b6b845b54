//! Listening to an answer: what is said goes to observers as it comes, and into the generation.

use haft_core::step::StepContext;
use haft_core::stream::StreamPart;

use crate::generation::{AnswerTooLarge, Assembler, Event, Generation, Outcome};
use crate::options::Control;
use crate::prompt::Prompt;
use crate::reasoning::{Piece, ReasoningFilter};
use crate::text_calls::TextCallFilter;

/// The channel of reasoning that stands in the text.
const IN_TEXT: &str = "text";

/// Slots of calls that stand in the text: behind all that providers count.
const TEXT_SLOTS: u32 = 1 << 30;

/// An answer that has been heard.
pub(super) struct Heard {
    pub(super) generation: Generation,
    pub(super) outcome: Outcome,
    /// The id under which the message was shown.
    pub(super) message_id: String,
    /// The channel whose thoughts were shown as they came, and the id under which.
    pub(super) thought: Option<(String, String)>,
}

/// Listens to one answer.
pub(super) struct Hearing<'c> {
    cx: &'c StepContext,
    assembler: Assembler,
    reasoning: Option<ReasoningFilter>,
    text_calls: Option<TextCallFilter>,
    message_id: String,
    thought: Option<(String, String)>,
    failed: Option<AnswerTooLarge>,
    /// Whether somebody sees pieces as they come. Who comes later sees the whole.
    is_seen: bool,
}

impl<'c> Hearing<'c> {
    pub(super) fn new(cx: &'c StepContext, control: &Control, prompt: &Prompt) -> Self {
        let offered: Vec<&str> = prompt.tools.iter().map(|tool| &*tool.wire_name).collect();
        Self {
            cx,
            assembler: Assembler::new(),
            reasoning: control.reasoning.map(ReasoningFilter::new),
            text_calls: control.text_calls.map(|format| TextCallFilter::new(format, &offered)),
            message_id: cx.next_id("message"),
            thought: None,
            failed: None,
            is_seen: cx.dispatch().is_observed(),
        }
    }

    /// The same, but nothing is shown as it comes.
    pub(super) fn unseen(self) -> Self {
        Self { is_seen: false, ..self }
    }

    pub(super) fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Text(text) => self.text(text),
            Event::Reasoning { channel, text } => self.reason(channel, text),
            other => self.push(other),
        }
    }

    /// Whether the provider has said that the answer is over.
    pub(super) const fn is_over(&self) -> bool {
        self.assembler.is_over()
    }

    /// Whether nothing of the answer is missing.
    pub(super) const fn is_complete(&self) -> bool {
        self.assembler.is_complete()
    }

    /// What went wrong, if something did.
    pub(super) const fn failed(&self) -> Option<AnswerTooLarge> {
        self.failed
    }

    pub(super) fn finish(mut self) -> Heard {
        if let Some(mut filter) = self.reasoning.take() {
            match filter.finish() {
                Some(Piece::Text(text)) => self.visible(text),
                Some(Piece::Reasoning(text)) => self.reason(IN_TEXT, text),
                _ => {}
            }
        }
        if let Some(filter) = self.text_calls.take() {
            let parsed = filter.finish();
            self.say(&parsed.text);
            // Calls that the provider found itself are the calls.
            if self.assembler.so_far().calls.is_empty() {
                for (slot, call) in (TEXT_SLOTS..).zip(&parsed.calls) {
                    let arguments = call.arguments.to_text();
                    let (name, arguments) = (Some(call.name.as_str()), &*arguments);
                    self.push(Event::Call { slot, id: None, name, arguments });
                    self.push(Event::CallEnd { slot });
                }
            }
        }
        let (generation, outcome) = self.assembler.finish();
        let (message_id, thought) = (self.message_id, self.thought);
        Heard { generation, outcome, message_id, thought }
    }

    fn text(&mut self, text: &str) {
        let Some(mut filter) = self.reasoning.take() else { return self.visible(text) };
        for piece in filter.feed(text) {
            match piece {
                Piece::Reasoning(text) => self.reason(IN_TEXT, text),
                Piece::Text(text) => self.visible(text),
            }
        }
        self.reasoning = Some(filter);
    }

    fn visible(&mut self, text: &str) {
        let Some(mut filter) = self.text_calls.take() else { return self.say(text) };
        let shown = filter.feed(text);
        self.say(shown);
        self.text_calls = Some(filter);
    }

    fn say(&mut self, text: &str) {
        if !text.is_empty() {
            self.push(Event::Text(text));
            if self.is_seen {
                // A stream that cannot be shown is still an answer.
                let _ = self.cx.report_message(&self.message_id, text, StreamPart::More);
            }
        }
    }

    fn reason(&mut self, channel: &str, text: &str) {
        self.push(Event::Reasoning { channel, text });
        // Only the first channel is shown as it comes: others often repeat it, which shows at the end.
        let cx = self.cx;
        let shown = self.thought.get_or_insert_with(|| (channel.to_owned(), cx.next_id("thought")));
        if self.is_seen && shown.0 == channel {
            let _ = cx.report_thought(&shown.1, text, StreamPart::More);
        }
    }

    fn push(&mut self, event: Event<'_>) {
        if let Err(error) = self.assembler.push(event) {
            self.failed.get_or_insert(error);
        }
    }
}
