//! The timeline of a prompt: messages, thoughts and calls, in order.

use std::sync::Arc;

use haft_core::call::{ToolCall, ToolResults};
use haft_core::record::{Identifier, Message, MessageRole, Thought};
use haft_core::trust::{PartOrigin, PromptText};

use super::media::MediaPlacement;
use super::render_cache::{RenderedCall, RenderedParts};
use super::results::ShownHandles;
use super::{AssembleError, Funnel, is_own_identity};
use crate::dialect::{NoteTopic, RequestNote};
use crate::prompt::{
    AssistantCall, AssistantEntry, AssistantThought, CallArgs, CallResult, ContentPart,
    MediaPosition, PromptEntry, UserEntry,
};
use crate::wire_names::{WireIds, author_name};

/// The tag of what every provider can have.
const PLAIN_TEXT: &str = "plain-text";

/// Puts the timeline together, entry by entry.
pub(super) struct TimelineBuilder<'a, 'f> {
    funnel: &'a Funnel<'f>,
    rendered: &'a mut RenderedParts,
    ids: WireIds,
    entries: Vec<PromptEntry>,
    numbers: Vec<u64>,
    open: OpenGeneration,
}

/// The generation that is being assembled.
#[derive(Default)]
struct OpenGeneration {
    entry: AssistantEntry,
    results: Vec<CallResult>,
    below: Vec<ContentPart>,
    /// Whether a result has a handle.
    has_handle: bool,
    number: u64,
    stage: GenerationStage,
}

/// The progress of a generation: thoughts, text and calls, in this order.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum GenerationStage {
    #[default]
    Thinking,
    Speaking,
    Calling {
        iteration: u32,
    },
}

enum TimelineItem {
    Message(Arc<Message>),
    Thought(Arc<Thought>),
    Call(Arc<ToolCall>),
}

impl<'a, 'f> TimelineBuilder<'a, 'f> {
    pub(super) fn new(
        funnel: &'a Funnel<'f>,
        ids: WireIds,
        rendered: &'a mut RenderedParts,
    ) -> Self {
        let (entries, numbers, open) = (Vec::new(), Vec::new(), OpenGeneration::default());
        Self { funnel, rendered, ids, entries, numbers, open }
    }

    /// Goes through all records in the order in which they were made.
    pub(super) async fn add_records(
        &mut self,
        notes: &mut Vec<RequestNote>,
    ) -> Result<(), AssembleError> {
        let ctx = self.funnel.ctx;
        let messages = ctx.turn().messages().numbered().into_iter();
        let calls = ctx.turn().tool_calls().numbered().into_iter();
        let thoughts =
            self.shown_thoughts().into_iter().map(|(n, it)| (n, TimelineItem::Thought(it)));
        let mut items: Vec<(u64, TimelineItem)> = thoughts
            .chain(messages.map(|(n, it)| (n, TimelineItem::Message(it))))
            .chain(calls.map(|(n, it)| (n, TimelineItem::Call(it))))
            .filter(|(n, _)| *n >= self.funnel.options.omissions.before)
            .collect();
        items.sort_by_key(|(number, _)| *number);
        if let Some(summary) = &self.funnel.options.summary {
            let text = ContentPart::Text(summary.clone());
            self.push_user_entry(0, UserEntry { name: None, content: vec![text] });
        }
        for (number, item) in items {
            match item {
                TimelineItem::Thought(thought) => self.add_thought(number, &thought),
                TimelineItem::Message(message) => self.add_message(number, &message).await?,
                TimelineItem::Call(call) => self.add_call(number, &call, notes).await?,
            }
        }
        self.end_generation();
        Ok(())
    }

    /// Returns the entries, and the number with which each begins. The last entry is never a generation of the model:
    /// providers respond to such a prompt with nothing.
    pub(super) fn finish(mut self, notes: &mut Vec<RequestNote>) -> (Vec<PromptEntry>, Vec<u64>) {
        if matches!(self.entries.last(), Some(PromptEntry::Assistant(_))) {
            let text = ContentPart::Text(self.funnel.developer_text(CONTINUE_TEXT));
            self.entries.push(PromptEntry::User(UserEntry { name: None, content: vec![text] }));
            self.numbers.push(u64::MAX);
            let message =
                "the timeline ended on the model's own words, so that it was told to go on";
            notes.push(RequestNote::new(NoteTopic::TimelineEndedOnOwn, message));
        }
        (self.entries, self.numbers)
    }

    /// The thoughts that are shown: those of this agent that the provider can read.
    fn shown_thoughts(&self) -> Vec<(u64, Arc<Thought>)> {
        let omissions = &self.funnel.options.omissions;
        let is_shown = |number: u64, thought: &Thought| {
            let is_recent = thought.payload().is_some() || number >= omissions.thoughts_before;
            is_own_identity(thought.identity())
                && is_recent
                && match (thought.replay_compatibility(), thought.payload()) {
                    (None, _) => true,
                    (Some(PLAIN_TEXT), None) => true,
                    (Some(tag), payload) => {
                        self.funnel.replay_tags.contains(&tag)
                            && (payload.is_none() || number >= omissions.replays_before)
                    }
                }
        };
        let mut all = self.funnel.ctx.turn().thoughts().numbered();
        all.retain(|(number, thought)| is_shown(*number, thought));
        all
    }

    fn add_thought(&mut self, number: u64, thought: &Arc<Thought>) {
        let shown = self.own_thought(thought);
        self.generation_at(number, GenerationStage::Thinking).entry.thoughts.push(shown);
    }

    fn own_thought(&mut self, thought: &Arc<Thought>) -> AssistantThought {
        if let Some(known) = self.rendered.thoughts.get(thought) {
            return known.clone();
        }
        let replays = |tag: &str| self.funnel.replay_tags.contains(&tag);
        let payload =
            thought.payload().filter(|_| thought.replay_compatibility().is_some_and(replays));
        let (shown, length) = match payload {
            // A payload is about as long as the text of the thought, or as a signature.
            Some(payload) => {
                let length = thought.content().as_str().len() + PAYLOAD_BYTES;
                (AssistantThought::Opaque(Arc::new(payload.clone())), length)
            }
            None => {
                let text = self.funnel.renderer.own_thought(thought);
                let length = text.len();
                (AssistantThought::Text(text), length)
            }
        };
        self.rendered.thoughts.insert(thought, Some((&shown, length)));
        shown
    }

    async fn add_message(
        &mut self,
        number: u64,
        message: &Arc<Message>,
    ) -> Result<(), AssembleError> {
        let is_own =
            message.role() == MessageRole::Assistant && is_own_identity(message.identity());
        let position = if is_own { MediaPosition::Assistant } else { MediaPosition::User };
        let mut content: Vec<ContentPart> =
            self.message_text(message).map(ContentPart::Text).into_iter().collect();
        let mut below = Vec::new();
        let origin = PartOrigin::Message(message);
        for (part, media) in (0..).zip(message.attachments()) {
            match self.funnel.place_media((origin, part), media, position).await? {
                MediaPlacement::Inline(shown) => content.push(shown),
                MediaPlacement::Below(stub, shown) => {
                    content.push(ContentPart::Text(stub));
                    below.push(shown);
                }
            }
        }
        if is_own {
            let open = self.generation_at(number, GenerationStage::Speaking);
            open.entry.content.extend(content);
            open.below.extend(below);
        } else {
            let name = message.identity().representation();
            let name = (!is_unnamed(message)).then(|| author_name(name));
            self.push_user_entry(number, UserEntry { name, content });
        }
        Ok(())
    }

    /// The text of a message, framed by who says it.
    fn message_text(&mut self, message: &Arc<Message>) -> Option<PromptText> {
        if let Some(known) = self.rendered.messages.get(message) {
            return known.clone();
        }
        let text = self.render_message(message);
        let length = text.as_ref().map_or(0, PromptText::len);
        self.rendered.messages.insert(message, Some((&text, length)));
        text
    }

    fn render_message(&self, message: &Message) -> Option<PromptText> {
        let text = message.content()?;
        let is_known_by_role = match message.role() {
            MessageRole::User => is_unnamed(message),
            MessageRole::Assistant => is_own_identity(message.identity()),
        };
        let renderer = self.funnel.renderer;
        Some(if is_known_by_role {
            renderer.spoken_text(text.as_str())
        } else {
            renderer.named_message(message)
        })
    }

    async fn add_call(
        &mut self,
        number: u64,
        call: &Arc<ToolCall>,
        notes: &mut Vec<RequestNote>,
    ) -> Result<(), AssembleError> {
        let stage = GenerationStage::Calling { iteration: call.iteration };
        let are_first = !self.generation_at(number, stage).has_handle;
        let (shown, below) = self.shown_call(call, are_first, notes).await?;
        let RenderedCall { args, opaque, content, is_error, handles, .. } = shown;
        let wire_id = self.ids.assign(call.id(), call.provider_id.as_deref());
        let wire_name = self.funnel.names.wire_name(call.tool());
        let open = &mut self.open;
        open.has_handle |= !handles.is_empty();
        open.entry.calls.push(AssistantCall {
            id: call.id(),
            wire_id: wire_id.clone(),
            wire_name: Arc::clone(&wire_name),
            args,
            opaque,
        });
        open.results.push(CallResult { id: call.id(), wire_id, wire_name, is_error, content });
        open.below.extend(below);
        Ok(())
    }

    /// What is shown of a call and its end, and what follows behind the results.
    async fn shown_call(
        &mut self,
        call: &Arc<ToolCall>,
        are_first: bool,
        notes: &mut Vec<RequestNote>,
    ) -> Result<(RenderedCall, Vec<ContentPart>), AssembleError> {
        let funnel = self.funnel;
        let is_omitted = funnel.omits_result(call);
        let known = if is_omitted { &mut self.rendered.omitted } else { &mut self.rendered.calls };
        let handles = match &call.results {
            Some(ToolResults::Artifacts(_)) if !is_omitted => {
                funnel.ctx.artifacts().handles_of(call.id())
            }
            _ => Vec::new(),
        };
        let has_first_handles = are_first && !handles.is_empty();
        let is_same =
            |it: &&RenderedCall| it.handles == handles && it.has_first_handles == has_first_handles;
        if let Some(known) = known.get(call).filter(is_same) {
            return Ok((known.clone(), Vec::new()));
        }
        let known_notes = notes.len();
        let shown_handles = ShownHandles { all: &handles, are_first };
        let shown = funnel.call_result(call, shown_handles, notes).await?;
        let replays = |tag: &str| funnel.replay_tags.contains(&tag);
        let payload = call.payload().filter(|_| call.replay_compatibility().is_some_and(replays));
        let rendered = RenderedCall {
            args: CallArgs::of_call(call).cleaned(funnel.renderer),
            opaque: payload.map(|payload| Arc::new(payload.clone())),
            content: shown.content,
            is_error: shown.is_error,
            handles,
            has_first_handles,
        };
        let length = text_length(&rendered.content) + rendered.args.as_str().len() + PAYLOAD_BYTES;
        // A note belongs to every request that shows the same.
        let is_final = call.state().is_final() && !shown.may_change && notes.len() == known_notes;
        known.insert(call, is_final.then_some((&rendered, length)));
        Ok((rendered, shown.below))
    }

    fn push_user_entry(&mut self, number: u64, entry: UserEntry) {
        self.end_generation();
        if !entry.content.is_empty() {
            self.entries.push(PromptEntry::User(entry));
            self.numbers.push(number);
        }
    }

    /// The generation that a record belongs to: the open one, unless that is past this stage.
    fn generation_at(&mut self, number: u64, stage: GenerationStage) -> &mut OpenGeneration {
        let open = self.open.stage;
        let is_next = match (open, stage) {
            (
                GenerationStage::Calling { iteration },
                GenerationStage::Calling { iteration: other },
            ) => iteration != other,
            _ => open > stage,
        };
        if is_next {
            self.end_generation();
        }
        if self.open.is_empty() {
            self.open.number = number;
        }
        self.open.stage = stage;
        &mut self.open
    }

    fn end_generation(&mut self) {
        let OpenGeneration { entry, results, below, number, .. } = std::mem::take(&mut self.open);
        if !(entry.thoughts.is_empty() && entry.content.is_empty() && entry.calls.is_empty()) {
            self.entries.push(PromptEntry::Assistant(entry));
            self.numbers.push(number);
        }
        if !results.is_empty() {
            self.entries.push(PromptEntry::ToolResults(results));
            self.numbers.push(number);
        }
        if !below.is_empty() {
            let mut content = vec![ContentPart::Text(self.funnel.developer_text(MOVED_MEDIA_TEXT))];
            content.extend(below);
            self.entries.push(PromptEntry::User(UserEntry { name: None, content }));
            self.numbers.push(u64::MAX);
        }
    }
}

impl OpenGeneration {
    fn is_empty(&self) -> bool {
        self.entry.thoughts.is_empty()
            && self.entry.content.is_empty()
            && self.entry.calls.is_empty()
    }
}

/// The bytes of texts; media are not cached.
fn text_length(content: &[ContentPart]) -> usize {
    let length = |part: &ContentPart| match part {
        ContentPart::Text(text) => text.len(),
        ContentPart::Media(_) => 0,
    };
    content.iter().map(length).sum()
}

/// Whether a user has no name but his role.
fn is_unnamed(message: &Message) -> bool {
    let word = message.role().as_str();
    matches!(message.identity().identifier(), Identifier::Text(text) if **text == *word)
}

/// What the payload of a provider is taken to need in memory.
const PAYLOAD_BYTES: usize = 256;

/// The user text after a message of the model, if nothing else follows.
const CONTINUE_TEXT: &str = "Please go on.";

/// The text before media that are here because a result cannot contain them.
const MOVED_MEDIA_TEXT: &str = "These are the media that the results above refer to.";
