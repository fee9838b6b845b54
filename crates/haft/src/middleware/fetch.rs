//! Tools that are found per turn.

use haft_core::context::TurnContext;
use haft_core::pipeline::{Middleware, MiddlewareFuture, Next};
use haft_core::tool::{OnCollision, ToolName};

/// See [`fetch_and_register_tools`].
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct FetchTools;

/// For the input of a turn: asks the application's source of tools
/// ([`fetch_tools`](crate::turn::TurnRunnerBuilder::fetch_tools)) and registers what it gives, for this
/// turn. A tool whose name is taken does as its collision policy says: it replaces the one that is
/// there, stays away, or ends the turn.
///
/// A resumed turn asks again: tools are not kept with it.
#[must_use]
pub fn fetch_and_register_tools() -> FetchTools {
    FetchTools
}

impl Middleware<TurnContext> for FetchTools {
    fn handle(&self, ctx: TurnContext, next: Next<TurnContext>) -> MiddlewareFuture {
        Box::pin(async move {
            for tool in ctx.fetch_tools().await? {
                match tool.on_collision() {
                    OnCollision::Replace => drop(ctx.tools().overwrite(tool)),
                    OnCollision::Keep if ctx.tools().has(ToolName::as_str(tool.name())) => {}
                    OnCollision::Keep | OnCollision::Throw => ctx.tools().register(tool)?,
                }
            }
            next.run().await
        })
    }
}
