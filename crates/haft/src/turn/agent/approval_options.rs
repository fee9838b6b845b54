//! Options of an agent about approvals.

use std::sync::Arc;

use haft_core::gate::ApprovalStore;

use super::AgentBuilder;

impl AgentBuilder {
    /// Remembers approvals (default: nothing does). Without it an approval counts again if the store is rolled back to a
    /// state before the call started, and every call is asked for: nobody can give standing approvals
    /// ([`Gatekeeper::approve_always`](crate::turn::Gatekeeper::approve_always)).
    pub fn approvals(mut self, approvals: Arc<dyn ApprovalStore>) -> Self {
        self.approvals = Some(approvals);
        self
    }

    /// Names the agent whose turns this agent runs. A standing approval for an agent holds for all agents that give the
    /// agent the same name, so the name must be one that only the application chooses, such as the path of the agent.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use haft::executors::ScriptExecutor;
    /// use haft::stores::DirApprovals;
    /// use haft::turn::{StandingApproval, TurnOutcome};
    /// use haft::{Agent, Tool};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let dir = tempfile::tempdir()?;
    /// let deploy = Tool::builder("deploy").description("Deploys.").requires_approval("May I?");
    /// let script = r#"{"steps": [{"call": {"deploy": {}}}, {"say": "{{ last.deploy }}"}]}"#;
    /// let agent = Agent::builder(ScriptExecutor::parse(script)?)
    ///     .tool(deploy.handler(|| "done").build()?)
    ///     .approvals(Arc::new(DirApprovals::new(dir.path())))
    ///     .identity("/agents/shop")
    ///     .build()?;
    /// let turn = tokio::spawn(agent.turn("Go!").system("You deploy.").report());
    /// let gate = loop {
    ///     match agent.gates().open_gates(None).await?.pop() {
    ///         Some(gate) => break gate,
    ///         None => tokio::task::yield_now().await,
    ///     }
    /// };
    /// agent.gates().approve_always(&gate.id, StandingApproval::for_agent(), "Ada").await?;
    /// turn.await??;
    /// // Later turns do not ask.
    /// let report = agent.turn("Again!").system("You deploy.").report().await?;
    /// assert_eq!(report.outcome, TurnOutcome::Completed);
    /// assert_eq!(agent.gates().grants().await?.len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn identity(mut self, identity: impl Into<Arc<str>>) -> Self {
        self.identity = Some(identity.into());
        self
    }
}
