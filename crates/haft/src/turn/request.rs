//! A request for a turn, which is awaited, started or submitted.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use haft_core::BoxFuture;
use haft_core::answer::{AnswerError, AnswerFormat};
use haft_core::args::ToolArgs;
use haft_core::cancel::Cancellation;
use haft_core::context::Instruction;
use haft_core::event::Observer;
use haft_core::record::{Memory, Retrievable, Text, Thought};
use haft_core::step::StepRequest;
use haft_core::store::{MemoryScope, StoreError, TurnId};
use haft_core::tool::IntoTool;
use serde_json::Value;

use super::agent::{Agent, AgentShared};
use super::cancellable::run_cancellable;
use super::input::{TurnInput, TurnMessages};
use super::report::TurnReport;
use super::running::RunningTurn;
use super::{GatePolicy, Limits, TurnError, driver, rendering};

/// A request for a turn of an [`Agent`]: a new one ([`Agent::turn`]), or one that was interrupted ([`Agent::resume`]).
///
/// Nothing happens until it is awaited, [reported](Self::report), [started](Self::start) or
/// [submitted](Self::submit). Awaiting it gives the [`Answer`](crate::Answer) of a turn that completed; every other end is an error with
/// the reason and the report. Setters never fail: what is wrong with the request is the error of the await.
///
/// Dropping the future stops the turn where it is: what was journaled stays, and [`Agent::resume`] continues from there.
///
/// ```
/// use haft::Agent;
/// use haft::executors::ScriptExecutor;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> haft::Result<()> {
/// let script = ScriptExecutor::parse("steps:\n  - say: Hello!\n")?;
/// let agent = Agent::builder(script).system("You are polite.").build()?;
/// let answer = agent.turn("Hi").id("greeting-1").conversation("support-7").await?;
/// assert_eq!((answer.to_string().as_str(), answer.report.turn.as_str()), ("Hello!", "greeting-1"));
/// # Ok(())
/// # }
/// ```
#[must_use = "a turn does nothing until it is awaited, started or submitted"]
pub struct Turn<T = String> {
    agent: Agent,
    requested: Requested,
    cancellation: Cancellation,
    signal: Option<BoxFuture<'static, ()>>,
    pub(crate) decode: fn(&TurnReport) -> Result<T, AnswerError>,
    /// What is wrong with the request.
    fault: Option<TurnError>,
}

/// Which turn is requested.
enum Requested {
    /// Boxed, because a request is moved often, and the future of a turn would reserve space for it to its end.
    New {
        input: Box<TurnInput>,
        if_exists: IfExists,
    },
    Resumed(String),
}

/// What happens if there is a turn with the id of a new one.
#[derive(Clone, Copy, Debug)]
enum IfExists {
    Refuse,
    Resume,
}

impl Turn {
    /// A new turn.
    pub(super) fn of_input(agent: Agent, input: TurnInput) -> Self {
        let input = Box::new(input);
        Self::of(agent, Requested::New { input, if_exists: IfExists::Refuse })
    }

    /// A turn that was interrupted.
    pub(super) fn of_stored(agent: Agent, id: String) -> Self {
        Self::of(agent, Requested::Resumed(id))
    }

    fn of(agent: Agent, requested: Requested) -> Self {
        Self {
            agent,
            requested,
            cancellation: Cancellation::new(),
            signal: None,
            decode: |report| Ok(report.text().to_owned()),
            fault: None,
        }
    }

    /// The answer has a type. Like the arguments of a tool, the type derives `ToolArgs`, so that the schema that the model
    /// sees, the check and the decoder agree; `haft_conformance::prove` proves it.
    ///
    /// An answer that does not fit goes back to the model with its problems, twice at most; [`typed_by`](Self::typed_by)
    /// takes another bound.
    ///
    /// ```
    /// use haft::executors::{Step, StepContext, StepError};
    /// use haft::{Agent, ToolArgs};
    ///
    /// /// An invoice.
    /// #[derive(Debug, PartialEq, ToolArgs)]
    /// struct Invoice {
    ///     /// Who sent it
    ///     #[arg(min_len = 1)]
    ///     sender: String,
    ///     /// Amount in cents
    ///     cents: u32,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> haft::Result<()> {
    /// # let model = async |ctx: StepContext| {
    /// #     let texts = [r#"{"sender": ""}"#, r#"{"sender": "Ada", "cents": "250"}"#];
    /// #     let text = texts[ctx.dispatch().iteration() as usize];
    /// #     Ok::<_, StepError>(Step::done().say(ctx.message(text)?))
    /// # };
    /// let agent = Agent::builder(model).system("You read invoices.").build()?;
    /// let answer = agent.turn("Ada asks for 2.50.").typed::<Invoice>().await?;
    /// assert_eq!(answer.value, Invoice { sender: "Ada".into(), cents: 250 });
    /// assert_eq!(answer.report.iterations, 2, "the first answer did not fit");
    /// # Ok(())
    /// # }
    /// ```
    pub fn typed<A: ToolArgs + Send + 'static>(self) -> Turn<A> {
        let format = AnswerFormat::of::<A>().map_err(|faults| {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            TurnError::invalid("answer", faults.join("; "))
        });
        self.answered_by(format, TurnReport::answer::<A>)
    }

    /// The answer is a JSON object in this format. The model is told about the schema by an instruction, and providers that
    /// can enforce one are asked to. The last message is always checked: if it does not fit, the model is told what is wrong
    /// and asked again. A turn whose model has no attempts left fails with the code `E_LLM_RESPONSE_INVALID`.
    ///
    /// ```
    /// use haft::Agent;
    /// use haft::executors::{Step, StepContext, StepError};
    /// use haft::turn::AnswerFormat;
    /// use serde_json::json;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let model = async |ctx: StepContext| {
    ///     let texts = ["It is three.", "{\"total\": 3}"];
    ///     let text = texts[ctx.dispatch().iteration() as usize];
    ///     Ok::<_, StepError>(Step::done().say(ctx.message(text)?))
    /// };
    /// let agent = Agent::builder(model).system("You count.").build()?;
    /// let total = json!({"properties": {"total": {"type": "number"}}, "type": "object", "required": ["total"]});
    /// let format = AnswerFormat::from_json_schema(total)?;
    /// let answer = agent.turn("How many?").typed_by(format).await?;
    /// assert_eq!(answer.value, json!({"total": 3}));
    /// assert_eq!(answer.report.iterations, 2, "the first answer was no JSON");
    /// # Ok(())
    /// # }
    /// ```
    pub fn typed_by(self, format: AnswerFormat) -> Turn<Value> {
        self.answered_by(Ok(format), TurnReport::answer::<Value>)
    }

    /// Requires an answer in this [format](Self::typed_by) and gives it as text.
    pub fn answer_format(self, format: AnswerFormat) -> Self {
        let decode = self.decode;
        self.answered_by(Ok(format), decode)
    }

    /// Requires an answer in a format. A turn that is resumed has its format already.
    fn answered_by<A>(
        self,
        format: Result<AnswerFormat, TurnError>,
        decode: fn(&TurnReport) -> Result<A, AnswerError>,
    ) -> Turn<A> {
        let Self { agent, mut requested, cancellation, signal, mut fault, .. } = self;
        match (format, &mut requested) {
            (Ok(format), Requested::New { input, .. }) => input.answer = Some(format),
            (Ok(_), Requested::Resumed(_)) => {}
            (Err(error), _) => fault = fault.or(Some(error)),
        }
        Turn { agent, requested, cancellation, signal, decode, fault }
    }
}

/// What a new turn begins with.
impl<T> Turn<T> {
    /// Sets something of the input. A turn that is resumed has its input already.
    fn with(mut self, field: &'static str, set: impl FnOnce(&mut TurnInput)) -> Self {
        match &mut self.requested {
            Requested::New { input, .. } => set(input),
            Requested::Resumed(_) => {
                let reason = "a turn that is resumed has its input already";
                self.fault = self.fault.take().or(Some(TurnError::invalid(field, reason)));
            }
        }
        self
    }

    /// The id of the turn (default: a new one). No two turns have the same id, so a caller that sets the id makes
    /// sure that a request which arrives twice runs once.
    ///
    /// ```
    /// use haft::Agent;
    /// use haft::executors::ScriptExecutor;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> haft::Result<()> {
    /// let agent = Agent::builder(ScriptExecutor::parse("steps:\n  - say: Done.\n")?).build()?;
    /// assert_eq!(agent.turn("Charge it.").id("order-42").await?.report.turn.as_str(), "order-42");
    /// assert!(agent.turn("Charge it.").id("order-42").await.is_err(), "the id is taken");
    /// # Ok(())
    /// # }
    /// ```
    pub fn id(self, id: impl Into<String>) -> Self {
        self.with("id", |input| input.id = Some(id.into()))
    }

    /// Resumes the turn with this [id](Self::id) if there is one already, and reports it again if it has ended: a request
    /// that arrives twice runs nothing twice.
    ///
    /// ```
    /// use haft::Agent;
    /// use haft::executors::ScriptExecutor;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> haft::Result<()> {
    /// let agent = Agent::builder(ScriptExecutor::parse("steps:\n  - say: Done.\n")?).build()?;
    /// for _ in 0..2 {
    ///     let answer = agent.turn("Charge it.").id("order-42").or_resume().await?;
    ///     assert_eq!((answer.value.as_str(), answer.report.iterations), ("Done.", 1));
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn or_resume(mut self) -> Self {
        if let Requested::New { if_exists, .. } = &mut self.requested {
            *if_exists = IfExists::Resume;
        }
        self
    }

    /// The conversation that the turn belongs to.
    pub fn conversation(self, id: impl Into<String>) -> Self {
        self.with("conversation", |input| input.conversation = Some(id.into()))
    }

    /// The agent that the turn belongs to (default: the [name](crate::turn::AgentBuilder::name) of the one that was asked).
    pub fn agent(self, name: impl Into<String>) -> Self {
        self.with("agent", |input| input.agent = Some(name.into()))
    }

    /// The namespace that the turn belongs to (default: the one without a name).
    pub fn tenant(self, tenant: impl Into<String>) -> Self {
        self.with("tenant", |input| input.tenant = tenant.into())
    }

    /// Workers claim turns of a higher priority first (default: 0).
    pub fn priority(self, priority: i32) -> Self {
        self.with("priority", |input| input.priority = priority)
    }

    /// How long workers wait before they claim a turn that is [submitted](Self::submit) (default: not at all).
    pub fn start_after(self, delay: Duration) -> Self {
        self.with("start_after", |input| input.start_after = delay)
    }

    /// The scope of the memories of the turn (default: its conversation; without one, the turn alone). Memories that
    /// the turn stores or deletes are stored and deleted there, and later turns of the scope find them, also while this
    /// one runs. [`hydrate_conversation`](crate::middleware::hydrate_conversation) adds them to a turn.
    pub fn memories(self, scope: MemoryScope) -> Self {
        self.with("memories", |input| input.memory_scope = Some(scope))
    }

    /// The system prompt of this turn (default: that of the agent).
    pub fn system(self, text: impl Into<Text>) -> Self {
        self.with("system", |input| input.system_prompt = text.into())
    }

    /// Adds a standing instruction to those of the agent.
    pub fn instruction(self, instruction: Instruction) -> Self {
        self.with("instructions", |input| input.instructions.push(instruction))
    }

    /// Adds messages after those that the turn was asked with.
    ///
    /// The words of a user are first-party: see [`MessageRole::User`](crate::records::MessageRole::User). Content from
    /// other sources is a retrieved record or an attachment, which have labels of their own.
    ///
    /// ```
    /// use haft::executors::{Step, StepContext, StepError};
    /// use haft::{Agent, Message};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let agent = Agent::builder(async |ctx: StepContext| {
    ///     let count = ctx.dispatch().turn().messages().len();
    ///     Ok::<_, StepError>(Step::done().say(ctx.message(format!("{count} messages"))?))
    /// })
    /// .build()?;
    /// let history = [Message::user("Hi")?, Message::assistant("Hello!")?];
    /// assert_eq!(agent.turn(history).message("How are you?").await?.to_string(), "3 messages");
    /// # Ok(())
    /// # }
    /// ```
    pub fn message(self, message: impl Into<TurnMessages>) -> Self {
        self.with("messages", |input| input.messages.append(message.into()))
    }

    /// Adds a memory.
    pub fn memory(self, memory: Memory) -> Self {
        self.with("memories", |input| input.memories.push(memory))
    }

    /// Adds a retrieved record.
    pub fn retrieved(self, record: Retrievable) -> Self {
        self.with("retrievables", |input| input.retrievables.push(record))
    }

    /// Adds a thought of an earlier turn.
    pub fn thought(self, thought: Thought) -> Self {
        self.with("thoughts", |input| input.thoughts.push(thought))
    }

    /// The stash at the beginning: a JSON object.
    ///
    /// ```
    /// use haft::Agent;
    /// use haft::executors::{Step, StepContext, StepError};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> haft::Result<()> {
    /// let agent = Agent::builder(async |ctx: StepContext| {
    ///     let name = ctx.dispatch().stash().get("user.name").unwrap_or_default();
    ///     Ok::<_, StepError>(Step::done().say(ctx.message(name.as_str().unwrap_or("?"))?))
    /// })
    /// .build()?;
    /// let turn = agent.turn("Who am I?").stash(serde_json::json!({"user": {"name": "Ada"}}));
    /// assert_eq!(turn.await?.to_string(), "Ada");
    /// # Ok(())
    /// # }
    /// ```
    pub fn stash(self, stash: Value) -> Self {
        self.with("stash", |input| input.stash = stash)
    }
}

/// How this process runs the turn.
impl<T> Turn<T> {
    /// Changes what the agent has, for this turn only.
    fn with_agent(mut self, change: impl FnOnce(&mut AgentShared)) -> Self {
        change(Arc::make_mut(&mut self.agent.shared));
        self
    }

    /// The limits of this turn (default: those of the agent).
    pub fn limits(self, limits: Limits) -> Self {
        self.with_agent(|agent| agent.limits = limits)
    }

    /// What happens at gates of this turn (default: what the agent says).
    pub fn gate_policy(self, policy: GatePolicy) -> Self {
        self.with_agent(|agent| agent.gate_policy = policy)
    }

    /// Adds tools for this turn only. A turn that is resumed elsewhere needs them again.
    ///
    /// ```
    /// use haft::executors::ScriptExecutor;
    /// use haft::{Agent, Tool};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> haft::Result<()> {
    /// let script = ScriptExecutor::parse(r#"{"steps": [{"call": {"roll": {}}}, {"say": "{{ last.roll }}"}]}"#)?;
    /// let agent = Agent::builder(script).build()?;
    /// let roll = Tool::builder("roll").description("Rolls.").handler(|| "4");
    /// assert_eq!(agent.turn("Play.").tools([roll]).await?.to_string(), "4");
    /// # Ok(())
    /// # }
    /// ```
    pub fn tools(mut self, tools: impl IntoIterator<Item = impl IntoTool>) -> Self {
        let own = self.agent.shared.tools.clone();
        for tool in tools {
            let tool = tool.into_tool().map_err(|error| TurnError::invalid("tools", error));
            let added = tool.and_then(|tool| {
                own.register(tool).map(drop).map_err(|error| TurnError::invalid("tools", error))
            });
            self.fault = self.fault.take().or(added.err());
        }
        self.with_agent(|agent| agent.tools = own)
    }

    /// Adds an observer of the events of this turn.
    pub fn observer(self, observer: impl Observer + 'static) -> Self {
        self.with_agent(|agent| {
            let all = agent.observers.iter().cloned();
            agent.observers = all.chain([Arc::new(observer) as _]).collect();
        })
    }

    /// Lets this turn be resumed although another executor began it: another model, other options, another address, or a
    /// script that was edited. By default such a turn is refused. The change is journaled.
    pub fn allow_other_executor(self) -> Self {
        self.with_agent(|agent| agent.allows_executor_change = true)
    }

    /// Cancels the turn when a future is ready, such as `tokio::signal::ctrl_c()` or `token.cancelled_owned()` of a
    /// `CancellationToken`.
    ///
    /// ```
    /// use haft::executors::{Step, StepContext, StepError};
    /// use haft::turn::TurnOutcome;
    /// use haft::{Agent, Error};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> haft::Result<()> {
    /// let agent = Agent::builder(async |_: StepContext| Ok::<_, StepError>(Step::new())).build()?;
    /// let stopped = agent.turn("Never stop.").cancel_on(async { "the user has pressed stop" }).await;
    /// let Err(Error::Stopped(stop)) = stopped else { unreachable!() };
    /// assert!(matches!(stop.report.outcome, TurnOutcome::Cancelled { .. }));
    /// # Ok(())
    /// # }
    /// ```
    pub fn cancel_on<F>(mut self, signal: F) -> Self
    where
        F: Future + Send + 'static,
    {
        let earlier = self.signal.take();
        self.signal = Some(Box::pin(async move {
            let signal = async { drop(signal.await) };
            match earlier {
                Some(earlier) => tokio::select! { () = earlier => {}, () = signal => {} },
                None => signal.await,
            }
        }));
        self
    }

    /// Runs the turn under a cancellation, which can also give a reason. What the turn cancels of itself does not cancel it.
    ///
    /// ```
    /// use haft::Agent;
    /// use haft::executors::{Step, StepContext, StepError};
    /// use haft::turn::{Cancellation, TurnOutcome};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> haft::Result<()> {
    /// let agent = Agent::builder(async |_: StepContext| Ok::<_, StepError>(Step::new())).build()?;
    /// let cancellation = Cancellation::new();
    /// cancellation.cancel("the user pressed stop");
    /// let report = agent.turn("Never stop.").cancellation(&cancellation).report().await?;
    /// assert_eq!(report.outcome.to_string(), "cancelled: the user pressed stop");
    /// # Ok(())
    /// # }
    /// ```
    pub fn cancellation(mut self, cancellation: &Cancellation) -> Self {
        self.cancellation = cancellation.child();
        self
    }
}

/// What is done with the request.
impl<T> Turn<T> {
    /// Runs the turn to its end and reports how it ended, whatever its outcome.
    ///
    /// ```
    /// use haft::Agent;
    /// use haft::executors::{Step, StepContext, StepError};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> haft::Result<()> {
    /// let executor = async |_: StepContext| Err::<Step, _>(StepError::new("the model has no power"));
    /// let report = Agent::builder(executor).build()?.turn("Hi").report().await?;
    /// assert_eq!(report.outcome.to_string(), "failed: the executor failed: the model has no power");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The turn could not be created or resumed: the request was refused, its id is taken, there is no such turn, another
    /// process runs it, another executor began it, or the store failed. Nothing has run in that case. Everything that happens
    /// later is part of the report. If the store fails later, the report contains the error, and the turn has not ended: it
    /// can be resumed.
    #[must_use]
    pub fn report(self) -> BoxFuture<'static, Result<TurnReport, TurnError>> {
        let Self { agent, requested, cancellation, signal, fault, .. } = self;
        if let Some(fault) = fault {
            return Box::pin(async { Err(fault) });
        }
        let shared = agent.shared;
        let work = run_requested(shared, requested, cancellation.clone());
        match signal {
            None => work,
            Some(signal) => Box::pin(run_cancellable(work, signal, cancellation)),
        }
    }

    /// Starts the turn on a task of its own. Its events can be read while it runs.
    ///
    /// # Panics
    ///
    /// There is no tokio runtime.
    #[expect(clippy::must_use_candidate, reason = "a turn whose handle is dropped goes on")]
    pub fn start(self) -> RunningTurn<T> {
        let events = crate::events::EventHub::new();
        let decode = self.decode;
        let cancellation = self.cancellation.clone();
        let received = events.subscribe(crate::events::EventFilter::all());
        let work = self.observer(events).report();
        RunningTurn::spawn(work, received, cancellation, decode)
    }

    /// Stores the turn without running it. Any process with the same store and executor can claim it, in the order of
    /// priorities and times: a [`Worker`](crate::Worker), or [`Agent::run_next`]. Turns of a conversation run one after the
    /// other.
    ///
    /// ```
    /// use haft::Agent;
    /// use haft::executors::ScriptExecutor;
    /// use haft::stores::ClaimFilter;
    /// use haft::turn::Cancellation;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> haft::Result<()> {
    /// let script = ScriptExecutor::parse(r#"{"steps": [{"say": "Hello!"}]}"#)?;
    /// let agent = Agent::builder(script).build()?;
    /// let turn = agent.turn("Hi").submit().await?;
    /// let report = agent.run_next(ClaimFilter::default(), &Cancellation::new()).await?;
    /// assert_eq!(report.map(|it| it.turn), Some(turn));
    /// assert!(agent.run_next(ClaimFilter::default(), &Cancellation::new()).await?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The request was refused, its id is taken, or the store failed.
    pub async fn submit(self) -> Result<TurnId, TurnError> {
        let (agent, input) = self.into_input("submit")?;
        driver::enqueue_turn(&agent, *input).await
    }

    /// Renders the first request of the turn without creating the turn. Nothing is sent or stored, and middleware does
    /// not run. Returns `None` if the executor sends no requests.
    ///
    /// ```
    /// use haft::providers::dialects::chat_completions::ChatCompletions;
    /// use haft::{Agent, Provider};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> haft::Result<()> {
    /// let model = Provider::builder(ChatCompletions::new(), "gpt-5-mini").build()?;
    /// let request = Agent::builder(model).build()?.turn("Hi").render_request().await?;
    /// assert_eq!(request.map(|it| it.model).as_deref(), Some("gpt-5-mini"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The request was refused, or the executor cannot render it.
    pub async fn render_request(self) -> Result<Option<StepRequest>, TurnError> {
        let (agent, input) = self.into_input("render")?;
        rendering::render_first_request(&agent, *input).await
    }

    /// The input of a new turn.
    fn into_input(
        self,
        what: &'static str,
    ) -> Result<(Arc<AgentShared>, Box<TurnInput>), TurnError> {
        match (self.fault, self.requested) {
            (Some(fault), _) => Err(fault),
            (None, Requested::New { input, .. }) => Ok((self.agent.shared, input)),
            (None, Requested::Resumed(_)) => {
                Err(TurnError::invalid(what, "the turn is stored already"))
            }
        }
    }
}

/// Runs the turn that is requested, under a cancellation of its own.
fn run_requested(
    agent: Arc<AgentShared>,
    requested: Requested,
    cancellation: Cancellation,
) -> BoxFuture<'static, Result<TurnReport, TurnError>> {
    match requested {
        Requested::New { input, if_exists: IfExists::Refuse } => {
            Box::pin(driver::create_turn(agent, *input, cancellation))
        }
        Requested::New { input, if_exists: IfExists::Resume } => Box::pin(async move {
            let id = input.id.clone();
            let created = driver::create_turn(Arc::clone(&agent), *input, cancellation.clone());
            match (created.await, id) {
                (Err(TurnError::Store(StoreError::Exists { .. })), Some(id)) => {
                    resume(&agent, &id, cancellation).await
                }
                (ended, _) => ended,
            }
        }),
        Requested::Resumed(id) => Box::pin(async move { resume(&agent, &id, cancellation).await }),
    }
}

async fn resume(
    agent: &Arc<AgentShared>,
    id: &str,
    cancellation: Cancellation,
) -> Result<TurnReport, TurnError> {
    let id = id.parse().map_err(|error| TurnError::invalid("id", error))?;
    Box::pin(driver::resume_turn(agent, &id, cancellation)).await
}

impl<T> fmt::Debug for Turn<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Turn");
        match &self.requested {
            Requested::New { input, .. } => shown.field("input", input),
            Requested::Resumed(id) => shown.field("resumes", id),
        };
        shown.finish_non_exhaustive()
    }
}
