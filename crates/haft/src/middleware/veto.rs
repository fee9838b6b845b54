//! Results that the model must not see.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use haft_core::BoxFuture;
use haft_core::call::ToolCall;
use haft_core::context::DispatchContext;
use haft_core::event::LogLevel;
use haft_core::pipeline::{BoxError, Middleware, Next};

use super::{completed_calls, with_notice};

/// What a check says of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// The model may see the results.
    Pass,
    /// The model sees a notice instead.
    Veto {
        /// Why, in words for the model.
        reason: String,
    },
}

impl Verdict {
    /// The model sees a notice with this reason instead.
    ///
    /// ```
    /// use haft::middleware::Verdict;
    ///
    /// assert_eq!(Verdict::veto("spam"), Verdict::Veto { reason: "spam".into() });
    /// ```
    #[must_use]
    pub fn veto(reason: impl Into<String>) -> Self {
        Self::Veto { reason: reason.into() }
    }
}

type Check = dyn Fn(Arc<ToolCall>) -> BoxFuture<'static, Result<Verdict, BoxError>> + Send + Sync;

/// See [`safety_veto`].
#[derive(Clone)]
pub struct SafetyVeto {
    check: Arc<Check>,
}

/// For the output of a dispatch: looks at every call that has ended in the iteration, and puts a notice
/// in the place of what the check vetoes, before the model sees it. The effect of the call has happened
/// and stays; artifacts of it cannot be queried any more. A check that fails ends the turn: what was not
/// checked is not shown.
///
/// ```
/// use haft::executors::ScriptExecutor;
/// use haft::middleware::{Verdict, safety_veto};
/// use haft::{Agent, Tool};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let secret = Tool::builder("secret").description("Tells.").handler(|| "hunter2").build()?;
/// let script = r#"{"steps": [{"call": {"secret": {}}}, {"say": "{{ last.secret }}"}]}"#;
/// let agent = Agent::builder(ScriptExecutor::parse(script)?)
///     .tool(secret)
///     .dispatch_output("veto", safety_veto(|_| async { Ok(Verdict::veto("it is a password")) }))
///     .build()?;
/// let report = agent.turn([]).system("You help.").report().await?;
/// assert!(report.text().contains("it is a password") && !report.text().contains("hunter2"));
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn safety_veto<F, Fut>(check: F) -> SafetyVeto
where
    F: Fn(Arc<ToolCall>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Verdict, BoxError>> + Send + 'static,
{
    SafetyVeto { check: Arc::new(move |call| Box::pin(check(call))) }
}

impl Middleware<DispatchContext> for SafetyVeto {
    fn handle(
        &self,
        ctx: DispatchContext,
        next: Next<DispatchContext>,
    ) -> BoxFuture<'static, Result<(), BoxError>> {
        let check = Arc::clone(&self.check);
        Box::pin(async move {
            let calls: Vec<_> = completed_calls(&ctx).collect();
            for call in calls {
                if let Verdict::Veto { reason } = check(Arc::clone(&call)).await? {
                    let notice = format!("what `{}` gave was withheld: {reason}", call.tool());
                    ctx.log(LogLevel::Warn, "safety-veto", &notice, None);
                    ctx.turn()
                        .store_tool_call(with_notice(&call, notice, ctx.clock().now()))
                        .await?;
                }
            }
            next.run().await
        })
    }
}

impl fmt::Debug for SafetyVeto {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SafetyVeto")
    }
}
