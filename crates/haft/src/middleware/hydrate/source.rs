//! What the source of an application finds.

use std::sync::Arc;

use haft_core::BoxFuture;
use haft_core::clock::Timestamp;
use haft_core::context::{EarlierRecord, TurnContext};
use haft_core::pipeline::{BoxError, Middleware, Next};

use crate::middleware::fetch::register_tools;

/// See [`hydrate_from_source`].
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct HydrateFromSource;

/// For the input of a turn: asks the [source](crate::turn::TurnRunnerBuilder::source) of the application for everything
/// that it finds, and gives it to the turn.
///
/// Messages, thoughts and tool calls are shown in the order of their times, before the records of the turn. Memories and
/// standing instructions replace those with their ids, and tools are registered as
/// [`fetch_and_register_tools`](crate::middleware::fetch_and_register_tools) does. Retrieved records are stored with the
/// turn, because long ones go to the spool; all others stay with the source, which a resumed turn asks again.
///
/// ```
/// use haft::executors::{Step, StepContext, StepError};
/// use haft::middleware::{BoxError, hydrate_from_source};
/// use haft::turn::{Timestamp, TurnContext, TurnSource};
/// use haft::{BoxFuture, Message, TurnInput, TurnRunner};
///
/// struct Inbox;
///
/// impl TurnSource for Inbox {
///     fn fetch_messages(&self, _: TurnContext) -> BoxFuture<'static, Result<Vec<Message>, BoxError>> {
///         Box::pin(async { Ok(vec![Message::user_at("mail-1", "Where is my order?", Timestamp::EPOCH)?]) })
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let runner = TurnRunner::builder(async |ctx: StepContext| {
///     let first = ctx.dispatch().turn().messages().all().remove(0);
///     Ok::<_, StepError>(Step::done().say(ctx.message(first.id().as_str())?))
/// })
/// .source(Inbox)
/// .turn_input("source", hydrate_from_source())
/// .build()?;
/// let input = TurnInput::new("Answer.").message(Message::user_at("m-1", "Well?", Timestamp::EPOCH)?);
/// assert_eq!(runner.run(input).await?.text(), "mail-1");
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn hydrate_from_source() -> HydrateFromSource {
    HydrateFromSource
}

impl Middleware<TurnContext> for HydrateFromSource {
    fn handle(
        &self,
        ctx: TurnContext,
        next: Next<TurnContext>,
    ) -> BoxFuture<'static, Result<(), BoxError>> {
        Box::pin(async move {
            hydrate(&ctx).await?;
            next.run().await
        })
    }
}

async fn hydrate(ctx: &TurnContext) -> Result<(), BoxError> {
    for instruction in ctx.refresh_standing_instructions().await? {
        ctx.instructions().put(instruction);
    }
    for memory in ctx.fetch_memories().await? {
        ctx.memories().put(memory);
    }
    for record in ctx.fetch_retrievables().await? {
        if ctx.retrievables().get(record.id()).is_none() {
            ctx.store_retrievable(record).await?;
        }
    }
    let thoughts = ctx.fetch_thoughts().await?.into_iter();
    let messages = ctx.fetch_messages().await?.into_iter();
    let calls = ctx.fetch_tool_calls().await?.into_iter();
    // Of records with the same time, a model thinks, speaks and calls in this order.
    let mut records: Vec<(Timestamp, EarlierRecord)> = thoughts
        .map(|it| (it.created_at(), EarlierRecord::Thought(Arc::new(it))))
        .chain(messages.map(|it| (it.created_at(), EarlierRecord::Message(Arc::new(it)))))
        .chain(calls.map(|it| (it.created_at, EarlierRecord::ToolCall(Arc::new(it)))))
        .collect();
    records.sort_by_key(|(at, _)| *at);
    ctx.show_earlier(records.into_iter().map(|(_, record)| record).collect());
    register_tools(ctx, ctx.fetch_tools().await?)
}
