//! Access of a turn to data that the application stores elsewhere.

use super::{Instruction, TurnContext};
use crate::BoxFuture;
use crate::call::ToolCall;
use crate::pipeline::BoxError;
use crate::record::{Memory, Message, Retrievable, Thought};
use crate::tool::Tool;

/// Gives a turn access to data of the application: in its own database, behind a search, on a server.
///
/// Only the `fetch_…` methods of [`TurnContext`] call a source, and only middleware and handlers call those. Each
/// method has a default that finds nothing. Fetched data becomes part of the turn when it is stored, registered or
/// shown; `haft::middleware::hydrate_from_source` does that for everything that a source finds.
///
/// ```
/// use std::sync::Arc;
///
/// use haft_core::{BoxFuture, DispatchContext};
/// use haft_core::clock::Timestamp;
/// use haft_core::context::{TurnContext, TurnSource};
/// use haft_core::pipeline::BoxError;
/// use haft_core::record::Message;
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
/// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// let ctx = DispatchContext::builder("turn-1").source(Arc::new(Inbox)).build();
/// assert_eq!(ctx.turn().fetch_messages().await?.len(), 1);
/// assert!(ctx.turn().fetch_memories().await?.is_empty());
/// assert!(ctx.turn().messages().is_empty(), "what is fetched is not part of the turn yet");
/// # Ok(())
/// # }
/// ```
pub trait TurnSource: Send + Sync {
    /// Fetches earlier messages.
    fn fetch_messages(
        &self,
        ctx: TurnContext,
    ) -> BoxFuture<'static, Result<Vec<Message>, BoxError>> {
        nothing(ctx)
    }

    /// The memories that matter to the turn.
    fn fetch_memories(
        &self,
        ctx: TurnContext,
    ) -> BoxFuture<'static, Result<Vec<Memory>, BoxError>> {
        nothing(ctx)
    }

    /// The records that a search finds for the turn.
    fn fetch_retrievables(
        &self,
        ctx: TurnContext,
    ) -> BoxFuture<'static, Result<Vec<Retrievable>, BoxError>> {
        nothing(ctx)
    }

    /// The thoughts of earlier turns.
    fn fetch_thoughts(
        &self,
        ctx: TurnContext,
    ) -> BoxFuture<'static, Result<Vec<Thought>, BoxError>> {
        nothing(ctx)
    }

    /// The tool calls of earlier turns, with their results.
    fn fetch_tool_calls(
        &self,
        ctx: TurnContext,
    ) -> BoxFuture<'static, Result<Vec<ToolCall>, BoxError>> {
        nothing(ctx)
    }

    /// The tools for the turn, in addition to those of the runner.
    fn fetch_tools(&self, ctx: TurnContext) -> BoxFuture<'static, Result<Vec<Tool>, BoxError>> {
        nothing(ctx)
    }

    /// The standing instructions as they are now.
    fn refresh_standing_instructions(
        &self,
        ctx: TurnContext,
    ) -> BoxFuture<'static, Result<Vec<Instruction>, BoxError>> {
        nothing(ctx)
    }
}

fn nothing<T: Send + 'static>(_: TurnContext) -> BoxFuture<'static, Result<Vec<T>, BoxError>> {
    Box::pin(async { Ok(Vec::new()) })
}

macro_rules! fetch_methods {
    ($($what:literal, $method:ident -> $record:ident;)*) => {
        impl TurnContext {$(
            #[doc = concat!("Asks the source of the application for ", $what, ". They do not become part of the turn: \
                             that is for the caller to decide. Without a source there are none.")]
            ///
            /// # Errors
            ///
            /// What the source failed with.
            pub async fn $method(&self) -> Result<Vec<$record>, BoxError> {
                match &self.turn.source {
                    Some(source) => source.$method(self.clone()).await,
                    None => Ok(Vec::new()),
                }
            }
        )*}
    };
}

fetch_methods! {
    "messages", fetch_messages -> Message;
    "memories", fetch_memories -> Memory;
    "retrieved records", fetch_retrievables -> Retrievable;
    "thoughts", fetch_thoughts -> Thought;
    "tool calls", fetch_tool_calls -> ToolCall;
    "standing instructions", refresh_standing_instructions -> Instruction;
}

impl TurnContext {
    /// Asks the sources that the application gave for tools. The tools are not registered: that is for
    /// the caller to decide. Without a source there are none.
    ///
    /// # Errors
    ///
    /// What a source failed with.
    pub async fn fetch_tools(&self) -> Result<Vec<Tool>, BoxError> {
        let mut tools = match &self.turn.tool_source {
            Some(source) => source.fetch(self.clone()).await?,
            None => Vec::new(),
        };
        if let Some(source) = &self.turn.source {
            tools.extend(source.fetch_tools(self.clone()).await?);
        }
        Ok(tools)
    }
}
