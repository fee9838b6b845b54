//! What was said and done, in order.

use std::sync::Arc;

use haft_core::call::ToolCall;
use haft_core::record::{Identifier, Identity, Message, MessageRole, Thought};
use haft_core::trust::{MessagePart, PartOrigin, PeerPart, ThoughtPart};

use super::super::dialect::Note;
use super::super::names::{WireIds, speaker};
use super::super::prompt::{
    CallArgs, CallResult, Content, Entry, Heard, Own, OwnCall, OwnThought, Place,
};
use super::media::Shown;
use super::{AssembleError, Funnel, ThoughtSurfacing};

/// The tag of what every provider can have.
const PLAIN_TEXT: &str = "plain-text";

/// Puts the timeline together, entry by entry.
pub(super) struct Timeline<'a, 'f> {
    funnel: &'a Funnel<'f>,
    ids: WireIds,
    entries: Vec<Entry>,
    numbers: Vec<u64>,
    open: Generation,
}

/// The generation that is being put together.
#[derive(Default)]
struct Generation {
    own: Own,
    results: Vec<CallResult>,
    below: Vec<Content>,
    number: u64,
    stage: Stage,
}

/// How far a generation has got: it thinks, speaks and calls, in this order.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    #[default]
    Thinking,
    Speaking,
    Calling {
        iteration: u32,
    },
}

enum Item {
    Message(Arc<Message>),
    Thought(Arc<Thought>),
    Call(Arc<ToolCall>),
}

impl<'a, 'f> Timeline<'a, 'f> {
    pub(super) fn new(funnel: &'a Funnel<'f>, ids: WireIds) -> Self {
        let (entries, numbers, open) = (Vec::new(), Vec::new(), Generation::default());
        Self { funnel, ids, entries, numbers, open }
    }

    /// Goes through all records in the order in which they were made.
    pub(super) async fn tell(&mut self, notes: &mut Vec<Note>) -> Result<(), AssembleError> {
        let ctx = self.funnel.ctx;
        let messages = ctx.turn().messages().numbered().into_iter();
        let calls = ctx.turn().tool_calls().numbered().into_iter();
        let thoughts = self.thoughts().into_iter().map(|(n, it)| (n, Item::Thought(it)));
        let mut items: Vec<(u64, Item)> = thoughts
            .chain(messages.map(|(n, it)| (n, Item::Message(it))))
            .chain(calls.map(|(n, it)| (n, Item::Call(it))))
            .filter(|(n, _)| *n >= self.funnel.how.omit.before)
            .collect();
        items.sort_by_key(|(number, _)| *number);
        if let Some(summary) = &self.funnel.how.summary {
            let text = Content::Text(summary.shown(self.funnel.renderer));
            self.hear(0, Heard { name: None, content: vec![text] });
        }
        for (number, item) in items {
            match item {
                Item::Thought(thought) => self.thought(number, &thought),
                Item::Message(message) => self.message(number, &message, notes).await?,
                Item::Call(call) => self.call(number, &call, notes).await?,
            }
        }
        self.end_generation();
        Ok(())
    }

    /// The entries, and the number that each begins with. The last one is never the model's own: providers answer
    /// such a prompt with nothing.
    pub(super) fn finish(mut self, notes: &mut Vec<Note>) -> (Vec<Entry>, Vec<u64>) {
        if matches!(self.entries.last(), Some(Entry::Own(_))) {
            let text = Content::Text(self.funnel.own_words(GO_ON));
            self.entries.push(Entry::Heard(Heard { name: None, content: vec![text] }));
            self.numbers.push(u64::MAX);
            let message =
                "the timeline ended on the model's own words, so that it was told to go on";
            notes.push(Note::new("timeline-ended-on-own", message));
        }
        (self.entries, self.numbers)
    }

    /// The thoughts that are shown.
    fn thoughts(&self) -> Vec<(u64, Arc<Thought>)> {
        let how = self.funnel.how;
        let is_shown = |number: u64, thought: &Thought| {
            let own = how.thoughts == ThoughtSurfacing::All || self.is_self(thought.identity());
            let is_recent = thought.payload().is_some() || number >= how.omit.thoughts_before;
            own && is_recent
                && match (thought.replay_compatibility(), thought.payload()) {
                    (None, _) => true,
                    (Some(PLAIN_TEXT), None) => true,
                    (Some(tag), payload) if self.funnel.replays.contains(&tag) => {
                        payload.is_none() || number >= how.omit.replays_before
                    }
                    (Some(tag), _) => {
                        let is_listed = how.replay_compatibility.iter().any(|it| it == tag);
                        is_listed && !thought.content().is_empty()
                    }
                }
        };
        let mut all = self.funnel.ctx.turn().thoughts().numbered();
        all.retain(|(number, thought)| is_shown(*number, thought));
        if how.thoughts == ThoughtSurfacing::LatestSelf {
            let latest = all.pop();
            all = latest.into_iter().collect();
        }
        all
    }

    fn thought(&mut self, number: u64, thought: &Thought) {
        let renderer = self.funnel.renderer;
        let (id, body) = (thought.id().as_str(), thought.content().as_str());
        let from = thought.identity().representation();
        if !self.is_self(thought.identity()) {
            if !body.is_empty() {
                let part = ThoughtPart::peer(id, from, body).created_at(thought.created_at());
                let text = renderer.thought(&part);
                self.hear(
                    number,
                    Heard { name: Some(speaker(from)), content: vec![Content::Text(text)] },
                );
            }
            return;
        }
        let replays = |tag: &str| self.funnel.replays.contains(&tag);
        let payload =
            thought.payload().filter(|_| thought.replay_compatibility().is_some_and(replays));
        let shown = match payload {
            Some(payload) => OwnThought::Opaque(Arc::new(payload.clone())),
            None => {
                let part = ThoughtPart::own(id, from, body).created_at(thought.created_at());
                OwnThought::Text(renderer.thought(&part))
            }
        };
        self.reach(number, Stage::Thinking).own.thoughts.push(shown);
    }

    async fn message(
        &mut self,
        number: u64,
        message: &Message,
        notes: &mut Vec<Note>,
    ) -> Result<(), AssembleError> {
        let is_own = message.role() == MessageRole::Assistant && self.is_self(message.identity());
        let place = if is_own { Place::Own } else { Place::Heard };
        let mut content = self.words(message);
        let mut below = Vec::new();
        let origin = PartOrigin::Message(message.id().as_str());
        for (part, media) in (0..).zip(message.attachments()) {
            match self.funnel.medium((origin, part), media, place, notes).await? {
                Shown::Here(shown) => content.push(shown),
                Shown::Below(stub, shown) => {
                    content.push(Content::Text(stub));
                    below.push(shown);
                }
            }
        }
        if is_own {
            let open = self.reach(number, Stage::Speaking);
            open.own.content.extend(content);
            open.below.extend(below);
        } else {
            let name = message.identity().representation();
            let name = (!is_unnamed(message)).then(|| speaker(name));
            self.hear(number, Heard { name, content });
        }
        Ok(())
    }

    /// The text of a message, framed by who says it.
    fn words(&self, message: &Message) -> Vec<Content> {
        let Some(text) = message.content() else { return Vec::new() };
        let (id, text) = (message.id().as_str(), text.as_str());
        let (name, at) = (message.identity().representation(), message.created_at());
        let renderer = self.funnel.renderer;
        let shown = match message.role() {
            MessageRole::User if is_unnamed(message) => {
                renderer.message(&MessagePart::new(id, text))
            }
            MessageRole::User => {
                renderer.message(&MessagePart::from_user(id, name, text).created_at(at))
            }
            MessageRole::Assistant if self.is_self(message.identity()) => {
                renderer.message(&MessagePart::new(id, text))
            }
            MessageRole::Assistant => renderer.peer(&PeerPart::new(id, name, text).created_at(at)),
        };
        vec![Content::Text(shown)]
    }

    async fn call(
        &mut self,
        number: u64,
        call: &ToolCall,
        notes: &mut Vec<Note>,
    ) -> Result<(), AssembleError> {
        let shown = self.funnel.result(call, notes).await?;
        let wire_id = self.ids.of(call.id(), call.provider_id.as_deref());
        let wire_name = self.funnel.names.wire(call.tool());
        let replays = |tag: &str| self.funnel.replays.contains(&tag);
        let payload = call.payload().filter(|_| call.replay_compatibility().is_some_and(replays));
        let opaque = payload.map(|payload| Arc::new(payload.clone()));
        let open = self.reach(number, Stage::Calling { iteration: call.iteration });
        open.own.calls.push(OwnCall {
            id: call.id(),
            wire_id: wire_id.clone(),
            wire_name: Arc::clone(&wire_name),
            args: CallArgs::of(call.raw()),
            opaque,
        });
        let (content, is_error) = (shown.content, shown.is_error);
        open.results.push(CallResult { id: call.id(), wire_id, wire_name, is_error, content });
        open.below.extend(shown.below);
        Ok(())
    }

    fn hear(&mut self, number: u64, heard: Heard) {
        self.end_generation();
        if !heard.content.is_empty() {
            self.entries.push(Entry::Heard(heard));
            self.numbers.push(number);
        }
    }

    /// The generation that a record belongs to: the open one, unless that is past this stage.
    fn reach(&mut self, number: u64, stage: Stage) -> &mut Generation {
        let open = self.open.stage;
        let is_next = match (open, stage) {
            (Stage::Calling { iteration }, Stage::Calling { iteration: other }) => {
                iteration != other
            }
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
        let Generation { own, results, below, number, .. } = std::mem::take(&mut self.open);
        if !(own.thoughts.is_empty() && own.content.is_empty() && own.calls.is_empty()) {
            self.entries.push(Entry::Own(own));
            self.numbers.push(number);
        }
        if !results.is_empty() {
            self.entries.push(Entry::Results(results));
            self.numbers.push(number);
        }
        if !below.is_empty() {
            let mut content = vec![Content::Text(self.funnel.own_words(SHOWN))];
            content.extend(below);
            self.entries.push(Entry::Heard(Heard { name: None, content }));
            self.numbers.push(u64::MAX);
        }
    }

    /// Whether it is this agent: by its identifier, or by the word that stands for an assistant without one.
    fn is_self(&self, identity: &Identity) -> bool {
        match identity.identifier() {
            Identifier::Text(text) => {
                **text == *self.funnel.how.self_identity || **text == *ASSISTANT
            }
            _ => identity.identifier().to_string() == *self.funnel.how.self_identity,
        }
    }
}

impl Generation {
    fn is_empty(&self) -> bool {
        self.own.thoughts.is_empty() && self.own.content.is_empty() && self.own.calls.is_empty()
    }
}

/// Whether a user has no name but his role.
fn is_unnamed(message: &Message) -> bool {
    let word = message.role().as_str();
    matches!(message.identity().identifier(), Identifier::Text(text) if **text == *word)
}

const ASSISTANT: &str = "assistant";

/// Said when the model spoke last.
const GO_ON: &str = "Please go on.";

/// Said before media that stand here because a result cannot hold them.
const SHOWN: &str = "These are the media that the results above refer to.";
