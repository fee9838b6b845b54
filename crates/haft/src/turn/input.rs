//! What a new turn begins with.

use std::sync::Arc;
use std::time::Duration;

use haft_core::answer::AnswerFormat;
use haft_core::clock::Timestamp;
use haft_core::context::Instruction;
use haft_core::record::{Memory, Message, Retrievable, Text, Thought};
use haft_core::stash::Stash;
use haft_core::store::{MemoryScope, TurnId};
use serde_json::Value;

use super::TurnError;

/// What a turn is asked: the text of a user, a message, or several messages, of which the last is the new one.
///
/// ```
/// use haft::Message;
/// use haft::turn::TurnMessages;
///
/// let asked = TurnMessages::from("Is it warm?");
/// let with_history = TurnMessages::from([Message::user("Hi")?, Message::assistant("Hello!")?]);
/// # let _ = (asked, with_history);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct TurnMessages {
    messages: Vec<InputMessage>,
}

/// A message of the input.
#[derive(Clone, Debug)]
enum InputMessage {
    Whole(Arc<Message>),
    /// Text of the user, which becomes a message when the turn begins.
    UserText(Text),
}

impl From<&str> for TurnMessages {
    fn from(text: &str) -> Self {
        Self { messages: vec![InputMessage::UserText(text.into())] }
    }
}

impl From<String> for TurnMessages {
    fn from(text: String) -> Self {
        Self { messages: vec![InputMessage::UserText(text.into())] }
    }
}

impl From<Message> for TurnMessages {
    fn from(message: Message) -> Self {
        Self { messages: vec![InputMessage::Whole(Arc::new(message))] }
    }
}

impl From<Vec<Message>> for TurnMessages {
    fn from(messages: Vec<Message>) -> Self {
        messages.into_iter().collect()
    }
}

impl<const N: usize> From<[Message; N]> for TurnMessages {
    fn from(messages: [Message; N]) -> Self {
        messages.into_iter().collect()
    }
}

impl FromIterator<Message> for TurnMessages {
    fn from_iter<I: IntoIterator<Item = Message>>(messages: I) -> Self {
        let messages = messages.into_iter();
        Self { messages: messages.map(|it| InputMessage::Whole(Arc::new(it))).collect() }
    }
}

impl TurnMessages {
    /// Adds later messages.
    pub(super) fn append(&mut self, later: Self) {
        self.messages.extend(later.messages);
    }
}

/// What a new turn begins with.
#[derive(Clone, Debug)]
pub(super) struct TurnInput {
    pub(super) id: Option<String>,
    pub(super) conversation: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) tenant: String,
    pub(super) priority: i32,
    pub(super) start_after: Duration,
    pub(super) memory_scope: Option<MemoryScope>,
    pub(super) system_prompt: Text,
    pub(super) instructions: Vec<Instruction>,
    pub(super) messages: TurnMessages,
    pub(super) memories: Vec<Memory>,
    pub(super) retrievables: Vec<Retrievable>,
    pub(super) thoughts: Vec<Thought>,
    pub(super) stash: Value,
    pub(super) answer: Option<AnswerFormat>,
}

impl TurnInput {
    /// The input of a turn that is asked this, with a system prompt and standing instructions.
    pub(super) fn new(
        messages: TurnMessages,
        agent: Option<String>,
        system_prompt: Text,
        instructions: Vec<Instruction>,
    ) -> Self {
        Self {
            id: None,
            conversation: None,
            agent,
            tenant: String::new(),
            priority: 0,
            start_after: Duration::ZERO,
            memory_scope: None,
            system_prompt,
            instructions,
            messages,
            memories: Vec::new(),
            retrievables: Vec::new(),
            thoughts: Vec::new(),
            stash: Value::Object(serde_json::Map::new()),
            answer: None,
        }
    }

    /// Adds the format of the answer to the stash and to the instructions.
    pub(super) fn add_answer_format(&mut self) -> Result<(), TurnError> {
        let Some(format) = self.answer.take() else { return Ok(()) };
        let rule = Instruction::from_developer("answer-format", format.instruction());
        self.instructions.push(rule.map_err(|error| TurnError::invalid("answer", error))?);
        if let Some(stash) = self.stash.as_object_mut() {
            stash.insert(AnswerFormat::STASH_KEY.to_owned(), format.to_stored());
        }
        Ok(())
    }

    pub(super) fn turn_id(&self) -> Result<TurnId, TurnError> {
        match &self.id {
            Some(id) => id.parse().map_err(|error| TurnError::invalid("id", error)),
            None => {
                let mut text = uuid::Uuid::encode_buffer();
                let text = uuid::Uuid::now_v7().hyphenated().encode_lower(&mut text);
                text.parse().map_err(|error| TurnError::invalid("id", error))
            }
        }
    }

    /// Takes the messages. Texts of the user become messages of this turn with the current time.
    pub(super) fn take_messages(
        &mut self,
        turn: &TurnId,
        at: Timestamp,
    ) -> Result<Vec<Arc<Message>>, TurnError> {
        let messages = std::mem::take(&mut self.messages).messages.into_iter().enumerate();
        let whole = messages.map(|(n, message)| match message {
            InputMessage::Whole(message) => Ok(message),
            InputMessage::UserText(text) => {
                Message::user_at(format!("{turn}/input/message-{n}"), text, at).map(Arc::new)
            }
        });
        whole.collect::<Result<_, _>>().map_err(|error| TurnError::invalid("messages", error))
    }

    /// The stash at the beginning.
    pub(super) fn parse_stash(&self) -> Result<Stash, TurnError> {
        Stash::from_value(self.stash.clone()).map_err(|error| TurnError::invalid("stash", error))
    }
}
