//! Adds the history of the conversation and the memories of its scope to a turn.

mod window;

use std::sync::Arc;

use haft_core::BoxFuture;
use haft_core::context::{HistoryReader, TurnContext};
use haft_core::event::LogLevel;
use haft_core::pipeline::{BoxError, Middleware, Next};
use haft_core::store::{RowKind, TurnQuery};

use self::window::{HistoryWindow, WindowLimits};

/// See [`hydrate_conversation`].
#[derive(Clone, Copy, Debug)]
#[must_use = "middleware does nothing until an agent has it"]
pub struct HydrateConversation {
    limits: WindowLimits,
    retrievables: bool,
}

/// For the input of a turn: adds the records of the earlier turns of its conversation, and the memories of its
/// [scope](crate::turn::Turn::memories).
///
/// It shows the newest ended turns, as a whole and oldest first, within [`last_messages`] and [`max_tokens`]: messages,
/// thoughts, and calls with their results. Artifacts of those calls can be queried by their old handles, and keep their
/// tier. Nothing is stored twice: the journal of the turn refers to the earlier turns, and a process that resumes the
/// turn shows the same records.
///
/// The window grows turn by turn and is halved when it is full. Between two such cuts each request begins with the
/// bytes of the one before, so that the prompt cache of a provider matches. If the newest turn alone is larger than the
/// window, its messages are shown without its calls and thoughts.
///
/// A turn of the conversation that has not ended is not shown, and a warning says so: resume it first.
///
/// ```
/// use haft::executors::{Step, StepContext, StepError};
/// use haft::middleware::hydrate_conversation;
/// use haft::turn::Timestamp;
/// use haft::{Agent, Message};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let agent = Agent::builder(async |ctx: StepContext| {
///     let messages = ctx.dispatch().turn().messages().len();
///     Ok::<_, StepError>(Step::done().say(ctx.message(format!("{messages} messages"))?))
/// })
/// .turn_input("history", hydrate_conversation().last_messages(40))
/// .build()?;
///
/// assert_eq!(agent.turn("Hi").conversation("c-1").await?.to_string(), "1 messages");
/// assert_eq!(agent.turn("Hi").conversation("c-1").await?.to_string(), "3 messages");
/// # Ok(())
/// # }
/// ```
///
/// [`last_messages`]: HydrateConversation::last_messages
/// [`max_tokens`]: HydrateConversation::max_tokens
pub fn hydrate_conversation() -> HydrateConversation {
    HydrateConversation { limits: WindowLimits::default(), retrievables: false }
}

impl HydrateConversation {
    /// The maximum number of messages of earlier turns (default: 200).
    pub fn last_messages(mut self, count: usize) -> Self {
        self.limits.messages = count;
        self
    }

    /// The maximum number of tokens of earlier turns, by a rule of thumb (default: 32 000).
    pub fn max_tokens(mut self, count: u64) -> Self {
        self.limits.tokens = count;
        self
    }

    /// Also shows the records that earlier turns have retrieved.
    pub fn with_retrievables(mut self) -> Self {
        self.retrievables = true;
        self
    }

    async fn hydrate(self, ctx: &TurnContext) -> Result<(), BoxError> {
        let Some(history) = ctx.history() else { return Ok(()) };
        if let Some(scope) = ctx.memory_scope() {
            for memory in history.load_memories(scope.clone()).await? {
                ctx.memories().put(memory);
            }
        }
        // A resumed turn has its history already.
        if let Some(conversation) = ctx.conversation().filter(|_| !ctx.is_hydrated()) {
            self.show_history(ctx, history, conversation).await?;
        }
        Ok(())
    }

    async fn show_history(
        self,
        ctx: &TurnContext,
        history: &Arc<dyn HistoryReader>,
        conversation: &str,
    ) -> Result<(), BoxError> {
        let mut kinds = vec![RowKind::Message, RowKind::Thought, RowKind::ToolCall];
        if self.retrievables {
            kinds.push(RowKind::Retrievable);
        }
        let mut window = HistoryWindow::new(self.limits, kinds.clone());
        let mut unfinished = Vec::new();
        let mut before = ctx.turn_id().parse()?;
        'pages: loop {
            let query = TurnQuery::default().conversation(conversation).before(before).limit(PAGE);
            let page = history.list_turns(query).await?;
            let is_last = page.len() < PAGE;
            let Some(oldest) = page.last().map(|summary| summary.id.clone()) else { break };
            for summary in page {
                if !summary.status.is_final() {
                    let text = format!("the turn `{}` has not ended and is not shown", summary.id);
                    ctx.log(LogLevel::Warn, "history", &text, None);
                    unfinished.push(summary.id);
                    continue;
                }
                let Some(turn) = history.load_turn(summary.id).await? else { continue };
                if !window.add_older(turn) {
                    break 'pages;
                }
            }
            if is_last {
                break;
            }
            before = oldest;
        }
        ctx.hydrate(window.into_turns(), unfinished, &kinds);
        Ok(())
    }
}

impl Middleware<TurnContext> for HydrateConversation {
    fn handle(
        &self,
        ctx: TurnContext,
        next: Next<TurnContext>,
    ) -> BoxFuture<'static, Result<(), BoxError>> {
        let this = *self;
        Box::pin(async move {
            this.hydrate(&ctx).await?;
            next.run().await
        })
    }
}

/// How many turns are listed at once.
const PAGE: usize = 50;
