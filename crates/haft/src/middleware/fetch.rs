//! Tools that are fetched for each turn.

use haft_core::BoxFuture;
use haft_core::context::TurnContext;
use haft_core::pipeline::{BoxError, Middleware, Next};
use haft_core::tool::{OnCollision, Tool, ToolName};

/// See [`fetch_and_register_tools`].
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct FetchTools;

/// For the input of a turn: asks the application's source of tools
/// ([`fetch_tools`](crate::turn::AgentBuilder::fetch_tools)) and registers the returned tools for this turn. If a
/// name is taken, the collision policy of the tool applies: it replaces the existing tool, is left out, or ends the
/// turn.
///
/// A resumed turn asks again, because tools are not stored with it.
///
/// ```
/// use haft::executors::{Step, StepContext, StepError};
/// use haft::middleware::{BoxError, fetch_and_register_tools};
/// use haft::turn::{ToolSource, TurnContext};
/// use haft::{Agent, BoxFuture, Tool};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// struct Catalog(Tool);
/// impl ToolSource for Catalog {
///     fn fetch(&self, _: TurnContext) -> BoxFuture<'static, Result<Vec<Tool>, BoxError>> {
///         let tools = vec![self.0.clone()];
///         Box::pin(async { Ok(tools) })
///     }
/// }
/// let now = Tool::builder("now").description("Tells the time.").handler(|| "noon").build()?;
/// let agent = Agent::builder(async |ctx: StepContext| {
///     let known = ctx.dispatch().turn().tools().has("now");
///     Ok::<_, StepError>(Step::done().say(ctx.message(known.to_string())?))
/// })
/// .fetch_tools(Catalog(now))
/// .turn_input("tools", fetch_and_register_tools())
/// .build()?;
/// assert_eq!(agent.turn([]).system("You play.").report().await?.text(), "true");
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn fetch_and_register_tools() -> FetchTools {
    FetchTools
}

impl Middleware<TurnContext> for FetchTools {
    fn handle(
        &self,
        ctx: TurnContext,
        next: Next<TurnContext>,
    ) -> BoxFuture<'static, Result<(), BoxError>> {
        Box::pin(async move {
            for tool in ctx.fetch_tools().await? {
                register_tool(&ctx, tool)?;
            }
            next.run().await
        })
    }
}

/// Registers a tool for a turn as its collision policy says.
fn register_tool(ctx: &TurnContext, tool: Tool) -> Result<(), BoxError> {
    match tool.on_collision() {
        OnCollision::Replace => drop(ctx.tools().overwrite(tool)?),
        OnCollision::Keep if ctx.tools().has(ToolName::as_str(tool.name())) => {}
        OnCollision::Keep | OnCollision::Throw => ctx.tools().register(tool)?,
    }
    Ok(())
}
