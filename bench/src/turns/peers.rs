//! The same turn by the loops of peers: a scripted model that yields once, two calls of the same tool, an answer.
//!
//! Each peer runs its documented loop with what it needs to run at all. None of them writes a journal, renews a lease,
//! validates arguments against their limits, derives a key of a call, or has a deadline per step and call; what a row has in
//! addition is in its name.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use adk_core::{
    AdkError, Content, Llm, LlmRequest, LlmResponse, LlmResponseStream, Part, SessionId, UserId,
};
use adk_runner::Runner;
use adk_session::{CreateRequest, InMemorySessionService, SessionService};
use adk_tool::FunctionTool;
use futures_core::Stream;
use rig_agent::{Agent, AgentBuilder};
use rig_core::completion::CompletionRequest;
use rig_core::driver::{Exchange, Model, Opened, Opening, Transport};
use rig_core::operation::Finish;
use rig_core::test_utils::{MockFrame, MockScript, MockStreamEvent};
use serde_json::Value;
use tokio::task::yield_now;

use super::workload::{ANSWER, CALLS, Turns};
use crate::dispatch::{Call as _, Forecast, rig_tool};

/// The names of the rows, which say what a peer does beyond the loop.
pub(super) const RIG: &str = "rig-agent 0.44, in memory, keeps nothing";
pub(super) const ADK: &str = "adk-runner 2.3, session in memory";

type Running = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// The arguments of the call of a step; nothing if it answers.
fn arguments(step: usize) -> Option<Value> {
    CALLS.get(step).and_then(|args| serde_json::from_str(args).ok())
}

/// Gives what it has, one after the other.
struct Items<T>(std::vec::IntoIter<T>);

impl<T: Unpin> Stream for Items<T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<T>> {
        Poll::Ready(self.0.next())
    }
}

/// The agent of rig.
struct RigTurns(Agent);

#[derive(Clone)]
struct ScriptedRig;

impl Transport<MockScript> for ScriptedRig {
    fn send(&self, request: CompletionRequest, _: Exchange) -> Opening<MockFrame> {
        // A question, and then a call and its result for each step.
        let step = request.chat_history.len().saturating_sub(1) / 2;
        let said = match arguments(step) {
            Some(args) => MockStreamEvent::tool_call(format!("call-{step}"), Forecast::TOOL, args),
            None => MockStreamEvent::text(ANSWER),
        };
        let end = MockStreamEvent::FinalResponse(Finish::default());
        let frames = vec![Ok(MockFrame::Event(said)), Ok(MockFrame::Event(end))];
        Opening::new(async {
            yield_now().await;
            Ok(Opened::new(Items(frames.into_iter())))
        })
    }
}

/// Turns of rig's agent loop.
pub(super) fn rig() -> Arc<dyn Turns> {
    let model = Model::new(MockScript::new("scripted"), ScriptedRig).erase();
    let agent = AgentBuilder::new(model).preamble("You help.").tool(rig_tool::<Forecast>());
    Arc::new(RigTurns(agent.build()))
}

impl Turns for RigTurns {
    fn run(self: Arc<Self>) -> Running {
        Box::pin(async move {
            let asked = self.0.prompt("What about the weather?").max_turns(5);
            let response = asked.await.map_err(text)?;
            if response.output() == ANSWER { Ok(()) } else { Err(format!("{response:?}")) }
        })
    }
}

/// The runner of adk-rust, with its sessions.
struct AdkTurns {
    runner: Runner,
    sessions: Arc<InMemorySessionService>,
}

const APP: &str = "haft-bench";
const USER: &str = "user";

struct ScriptedAdk;

type Responding<'a> =
    Pin<Box<dyn Future<Output = Result<LlmResponseStream, AdkError>> + Send + 'a>>;

impl Llm for ScriptedAdk {
    fn name(&self) -> &str {
        "scripted"
    }

    fn generate_content<'s, 'a>(&'s self, request: LlmRequest, _stream: bool) -> Responding<'a>
    where
        's: 'a,
        Self: 'a,
    {
        Box::pin(async move {
            yield_now().await;
            let parts = request.contents.iter().flat_map(|it| &it.parts);
            let step = parts.filter(|it| matches!(it, Part::FunctionResponse { .. })).count();
            let mut content = Content::new("model");
            content.parts.push(match arguments(step) {
                Some(args) => Part::FunctionCall {
                    name: Forecast::TOOL.to_owned(),
                    args,
                    id: Some(format!("call-{step}")),
                    thought_signature: None,
                },
                None => Part::Text { text: ANSWER.to_owned() },
            });
            let responses = vec![Ok(LlmResponse::new(content))];
            Ok(Box::pin(Items(responses.into_iter())) as LlmResponseStream)
        })
    }
}

/// Turns of adk-rust's runner.
///
/// # Errors
///
/// When its agent or runner cannot be built.
pub(super) fn adk() -> Result<Arc<dyn Turns>, String> {
    let tool =
        FunctionTool::new(Forecast::TOOL, "Says what the weather will be.", |_, args| async {
            let args: Forecast =
                serde_json::from_value(args).map_err(|it| AdkError::tool(text(it)))?;
            Ok(Value::String(args.handle()))
        });
    let agent = adk_agent::LlmAgentBuilder::new("helper").instruction("You help.");
    let agent = agent.model(Arc::new(ScriptedAdk)).tool(Arc::new(tool)).build().map_err(text)?;
    let sessions = Arc::new(InMemorySessionService::new());
    let runner = Runner::builder().app_name(APP).agent(Arc::new(agent));
    let service = Arc::clone(&sessions) as Arc<dyn SessionService>;
    let runner = runner.session_service(service).build().map_err(text)?;
    Ok(Arc::new(AdkTurns { runner, sessions }))
}

impl Turns for AdkTurns {
    fn run(self: Arc<Self>) -> Running {
        Box::pin(async move {
            let request = CreateRequest {
                app_name: APP.to_owned(),
                user_id: USER.to_owned(),
                session_id: None,
                state: Default::default(),
            };
            let session = self.sessions.create(request).await.map_err(text)?;
            let id = SessionId::try_from(session.id()).map_err(text)?;
            let user = UserId::try_from(USER).map_err(text)?;
            let asked = Content::new("user").with_text("What about the weather?");
            let mut events = self.runner.run(user, id, asked).await.map_err(text)?;
            let mut said = false;
            while let Some(event) = poll_fn(|cx| events.as_mut().poll_next(cx)).await {
                let event = event.map_err(text)?;
                let content = event.llm_response.content.iter().flat_map(|it| &it.parts);
                let is_answer = |it: &Part| matches!(it, Part::Text { text } if text == ANSWER);
                said |= content.into_iter().any(is_answer);
            }
            if said { Ok(()) } else { Err("the runner gave no answer".to_owned()) }
        })
    }
}
