//! The input of a turn.

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

/// The input of a turn. Only the system prompt is required.
///
/// ```
/// use haft::turn::TurnInput;
///
/// let input = TurnInput::new("You are a helpful assistant.").user("What is the weather in Paris?");
/// # let _ = input;
/// ```
#[derive(Clone, Debug)]
#[must_use = "an input does nothing until it is run"]
pub struct TurnInput {
    /// Boxed, because an input is moved often, and the future of a turn would reserve space for it to its end.
    pub(super) parts: Box<InputParts>,
}

/// What an input consists of.
#[derive(Clone, Debug)]
pub(super) struct InputParts {
    pub(super) id: Option<String>,
    pub(super) conversation: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) tenant: String,
    pub(super) priority: i32,
    pub(super) start_after: Duration,
    pub(super) memory_scope: Option<MemoryScope>,
    pub(super) system_prompt: Text,
    pub(super) instructions: Vec<Instruction>,
    messages: Vec<InputMessage>,
    pub(super) memories: Vec<Memory>,
    pub(super) retrievables: Vec<Retrievable>,
    pub(super) thoughts: Vec<Thought>,
    pub(super) stash: Value,
    answer: Option<AnswerFormat>,
}

/// A message of the input.
#[derive(Clone, Debug)]
enum InputMessage {
    Whole(Arc<Message>),
    /// Text of the user, which becomes a message when the turn begins.
    UserText(Text),
}

impl TurnInput {
    /// Creates the input of a turn with a system prompt, which the developer or the operator wrote.
    pub fn new(system_prompt: impl Into<Text>) -> Self {
        let parts = InputParts {
            id: None,
            conversation: None,
            agent: None,
            tenant: String::new(),
            priority: 0,
            start_after: Duration::ZERO,
            memory_scope: None,
            system_prompt: system_prompt.into(),
            instructions: Vec::new(),
            messages: Vec::new(),
            memories: Vec::new(),
            retrievables: Vec::new(),
            thoughts: Vec::new(),
            stash: Value::Object(serde_json::Map::new()),
            answer: None,
        };
        Self { parts: Box::new(parts) }
    }

    /// The id of the turn (default: a new one). No two turns have the same id, so a caller that sets the id makes
    /// sure that a request which arrives twice runs once.
    ///
    /// ```
    /// use haft::executors::{Step, StepContext, StepError};
    /// use haft::{Agent, TurnInput};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let executor = async |_: StepContext| Ok::<_, StepError>(Step::done());
    /// let agent = Agent::builder(executor).build()?;
    /// let input = TurnInput::new("Be brief.").id("order-42");
    /// assert_eq!(agent.run(input.clone()).await?.turn.as_str(), "order-42");
    /// assert!(agent.run(input).await.is_err(), "the id is taken");
    /// # Ok(())
    /// # }
    /// ```
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.parts.id = Some(id.into());
        self
    }

    /// The conversation that the turn belongs to.
    pub fn conversation(mut self, id: impl Into<String>) -> Self {
        self.parts.conversation = Some(id.into());
        self
    }

    /// The agent that the turn belongs to. Lists of turns show it, and workers can claim turns of some agents only.
    ///
    /// ```
    /// use haft::TurnInput;
    ///
    /// let input = TurnInput::new("Be brief.").agent("support").tenant("shop").priority(5);
    /// # let _ = input;
    /// ```
    pub fn agent(mut self, name: impl Into<String>) -> Self {
        self.parts.agent = Some(name.into());
        self
    }

    /// The namespace that the turn belongs to (default: the one without a name).
    pub fn tenant(mut self, tenant: impl Into<String>) -> Self {
        self.parts.tenant = tenant.into();
        self
    }

    /// Workers claim turns of a higher priority first (default: 0).
    pub fn priority(mut self, priority: i32) -> Self {
        self.parts.priority = priority;
        self
    }

    /// How long workers wait before they claim a turn that is [enqueued](super::Agent::enqueue) (default: not at
    /// all).
    pub fn start_after(mut self, delay: Duration) -> Self {
        self.parts.start_after = delay;
        self
    }

    /// The scope of the memories of the turn (default: its conversation; without one, the turn alone). Memories that
    /// the turn stores or deletes are stored and deleted there, and later turns of the scope find them, also while this
    /// one runs. [`hydrate_conversation`](crate::middleware::hydrate_conversation) adds them to a turn.
    ///
    /// ```
    /// use haft::TurnInput;
    /// use haft::stores::MemoryScope;
    ///
    /// let input = TurnInput::new("Be brief.").memory_scope(MemoryScope::user("ada"));
    /// # let _ = input;
    /// ```
    pub fn memory_scope(mut self, scope: MemoryScope) -> Self {
        self.parts.memory_scope = Some(scope);
        self
    }

    /// Adds a standing instruction.
    pub fn instruction(mut self, instruction: Instruction) -> Self {
        self.parts.instructions.push(instruction);
        self
    }

    /// Adds a text of the user. It gets the time of the agent's clock, and an id that follows from that of the turn.
    ///
    /// The words of a user are first-party: see [`MessageRole::User`](crate::records::MessageRole::User). Content from
    /// other sources is a retrieved record or an attachment, which have labels of their own.
    ///
    /// ```
    /// use haft::executors::ScriptExecutor;
    /// use haft::{Agent, TurnInput};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), haft::Error> {
    /// let script = ScriptExecutor::parse("steps:\n  - say: Hello!\n")?;
    /// let agent = Agent::builder(script).build()?;
    /// let report = agent.run(TurnInput::new("Be polite.").user("Hi")).await?;
    /// assert_eq!(report.text(), "Hello!");
    /// # Ok(())
    /// # }
    /// ```
    pub fn user(mut self, text: impl Into<Text>) -> Self {
        self.parts.messages.push(InputMessage::UserText(text.into()));
        self
    }

    /// Adds a message: first the history, then the new message of the user.
    ///
    /// ```
    /// use haft::executors::{Step, StepContext, StepError};
    /// use haft::{Agent, Message, TurnInput};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let agent = Agent::builder(async |ctx: StepContext| {
    ///     let count = ctx.dispatch().turn().messages().len();
    ///     Ok::<_, StepError>(Step::done().say(ctx.message(format!("{count} messages"))?))
    /// })
    /// .build()?;
    /// let input = TurnInput::new("Be brief.")
    ///     .message(Message::user("Hi")?)
    ///     .message(Message::assistant("Hello!")?)
    ///     .user("How are you?");
    /// assert_eq!(agent.run(input).await?.text(), "3 messages");
    /// # Ok(())
    /// # }
    /// ```
    pub fn message(mut self, message: Message) -> Self {
        self.parts.messages.push(InputMessage::Whole(Arc::new(message)));
        self
    }

    /// Adds a memory.
    pub fn memory(mut self, memory: Memory) -> Self {
        self.parts.memories.push(memory);
        self
    }

    /// Adds a retrieved record.
    pub fn retrievable(mut self, record: Retrievable) -> Self {
        self.parts.retrievables.push(record);
        self
    }

    /// Adds a thought of an earlier turn.
    pub fn thought(mut self, thought: Thought) -> Self {
        self.parts.thoughts.push(thought);
        self
    }

    /// The stash at the beginning: a JSON object.
    ///
    /// ```
    /// use haft::executors::{Step, StepContext, StepError};
    /// use haft::{Agent, TurnInput};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let agent = Agent::builder(async |ctx: StepContext| {
    ///     let name = ctx.dispatch().stash().get("user.name").unwrap_or_default();
    ///     Ok::<_, StepError>(Step::done().say(ctx.message(name.as_str().unwrap_or("?"))?))
    /// })
    /// .build()?;
    /// let input = TurnInput::new("Be brief.").stash(serde_json::json!({"user": {"name": "Ada"}}));
    /// assert_eq!(agent.run(input).await?.text(), "Ada");
    /// # Ok(())
    /// # }
    /// ```
    pub fn stash(mut self, stash: Value) -> Self {
        self.parts.stash = stash;
        self
    }

    /// Requires that the turn ends with an answer in this format: a JSON object that fits a schema. The model is told
    /// about the schema by an instruction, and providers that can enforce one are asked to. The last message is always
    /// checked: if it does not fit, the model is told what is wrong and asked again. A turn whose model has no attempts
    /// left fails with the code `E_LLM_RESPONSE_INVALID`.
    ///
    /// [`TurnReport::answer`](super::TurnReport::answer) decodes the answer, also after the turn was resumed.
    /// [`Agent::run_typed`](super::Agent::run_typed) does both for a type.
    ///
    /// ```
    /// use haft::executors::{Step, StepContext, StepError};
    /// use haft::turn::AnswerFormat;
    /// use haft::{Agent, TurnInput};
    /// use serde_json::{Value, json};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let model = async |ctx: StepContext| {
    ///     let texts = ["It is three.", "{\"total\": 3}"];
    ///     let text = texts[ctx.dispatch().iteration() as usize];
    ///     Ok::<_, StepError>(Step::done().say(ctx.message(text)?))
    /// };
    /// let agent = Agent::builder(model).build()?;
    /// let total = json!({"properties": {"total": {"type": "number"}}, "type": "object", "required": ["total"]});
    /// let input = TurnInput::new("You count.").user("How many?");
    /// let report = agent.run(input.answer(AnswerFormat::from_json_schema(total)?)).await?;
    /// assert_eq!(report.answer::<Value>()?, json!({"total": 3}));
    /// assert_eq!(report.iterations, 2, "the first answer was no JSON");
    /// # Ok(())
    /// # }
    /// ```
    pub fn answer(mut self, format: AnswerFormat) -> Self {
        self.parts.answer = Some(format);
        self
    }

    /// Adds the format of the answer to the stash and to the instructions.
    pub(super) fn add_answer_format(&mut self) -> Result<(), TurnError> {
        let Some(format) = self.parts.answer.take() else { return Ok(()) };
        let rule = Instruction::from_developer("answer-format", format.instruction());
        self.parts.instructions.push(rule.map_err(|error| TurnError::invalid("answer", error))?);
        if let Some(stash) = self.parts.stash.as_object_mut() {
            stash.insert(AnswerFormat::STASH_KEY.to_owned(), format.to_stored());
        }
        Ok(())
    }

    pub(super) fn turn_id(&self) -> Result<TurnId, TurnError> {
        match &self.parts.id {
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
        let messages = std::mem::take(&mut self.parts.messages).into_iter().enumerate();
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
        Stash::from_value(self.parts.stash.clone())
            .map_err(|error| TurnError::invalid("stash", error))
    }

    /// The system prompt as it is stored.
    pub(super) fn prompt_text(&self) -> Result<Arc<str>, TurnError> {
        let text = &self.parts.system_prompt;
        if text.as_str().trim().is_empty() {
            return Err(TurnError::invalid("system prompt", "it is empty"));
        }
        Ok(text.shared())
    }
}
