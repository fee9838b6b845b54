//! Agents and their tools.

use axum::Json;
use axum::extract::State;
use haft::Tool;
use haft::artifacts::tokens::{Encoding, HeuristicTally};
use haft::executors::{ProposedCall, Step, StepContext};
use haft::tools::ToolEffect;
use std::sync::Arc;

use super::Shared;
use super::actions::start_turn;
use crate::agents::{AgentPurpose, HostedAgent};
use crate::error::{ApiError, ApiResult};
use crate::extract::{JsonBody, PathParams};
use crate::shared::ApiShared;
use crate::timeline::model_name;
use crate::wire::{AgentDetail, AgentRow, StartedTurn, ToolCallRequest, ToolRow};

pub(super) async fn list_agents(State(shared): Shared) -> ApiResult<Vec<AgentRow>> {
    let Some(agents) = &shared.agents else { return Ok(Json(Vec::new())) };
    let mut rows = Vec::new();
    for name in agents.list_agents().await? {
        // An agent whose file is broken still stands in the list; opening it says what is wrong.
        let row = match agents.load_agent(&name, AgentPurpose::List).await {
            Ok(agent) => agent_row(name, &*agent),
            Err(error) => AgentRow { name, description: Some(error.to_string()), model: None },
        };
        rows.push(row);
    }
    Ok(Json(rows))
}

fn agent_row(name: String, agent: &dyn HostedAgent) -> AgentRow {
    let executor = agent.executor(None, AgentPurpose::Show).ok();
    let model = executor.map(|it| model_name(&it.description()));
    AgentRow { name, description: agent.description(), model }
}

pub(super) async fn load_agent(
    shared: &ApiShared,
    name: &str,
    purpose: AgentPurpose,
) -> Result<Arc<dyn HostedAgent>, ApiError> {
    let agents = shared.agent_source()?;
    if !agents.list_agents().await?.iter().any(|it| it == name) {
        return Err(ApiError::not_found(format!("there is no agent `{name}`")));
    }
    Ok(agents.load_agent(name, purpose).await?)
}

pub(super) async fn show_agent(
    State(shared): Shared,
    PathParams(name): PathParams<String>,
) -> ApiResult<AgentDetail> {
    let agent = load_agent(&shared, &name, AgentPurpose::Show).await?;
    let tools: Vec<ToolRow> = agent.tools().iter().map(tool_row).collect();
    let system_prompt = agent.system_prompt();
    let of_tools: u64 = tools.iter().map(|it| it.estimated_tokens).sum();
    let estimated_tokens = of_tools + estimate_tokens(&system_prompt);
    Ok(Json(AgentDetail {
        agent: agent_row(name, &*agent),
        system_prompt,
        tools,
        estimated_tokens,
    }))
}

fn tool_row(tool: &Tool) -> ToolRow {
    let schema = tool.input_schema().json_schema_text();
    let definition = format!("{} {} {schema}", tool.name(), tool.description());
    let effect = match tool.effect() {
        ToolEffect::ReadOnly => "read-only",
        ToolEffect::Idempotent => "idempotent",
        _ => "once",
    };
    ToolRow {
        name: tool.name().to_string(),
        description: tool.description().to_owned(),
        schema: serde_json::from_str(schema).unwrap_or_default(),
        effect: effect.to_owned(),
        approval: tool.requires_approval().map(str::to_owned),
        estimated_tokens: estimate_tokens(&definition),
    }
}

/// An estimate that no table of tokens is needed for.
fn estimate_tokens(text: &str) -> u64 {
    let mut tally = HeuristicTally::new(Encoding::O200kBase);
    tally.push(text);
    tally.finish().tokens
}

/// Calls a tool as the only call of a turn, so that validation, approval, limits and the record are those of a model's
/// call.
pub(super) async fn call_tool(
    State(shared): Shared,
    PathParams((name, tool)): PathParams<(String, String)>,
    JsonBody(request): JsonBody<ToolCallRequest>,
) -> ApiResult<StartedTurn> {
    shared.check_access()?;
    let agent = load_agent(&shared, &name, AgentPurpose::Run).await?;
    if !agent.tools().iter().any(|it| it.name().as_str() == tool) {
        return Err(ApiError::not_found(format!("agent `{name}` has no tool `{tool}`")));
    }
    let arguments = request.arguments.to_string();
    let title = format!("Try {tool}");
    let executor = move |ctx: StepContext| {
        let call = ProposedCall::new(tool.as_str(), arguments.as_str());
        let is_first = ctx.dispatch().iteration() == 0;
        async move { Ok(if is_first { Step::new().call(call) } else { Step::done() }) }
    };
    let built = agent.build_agent(Arc::new(executor), agent.tools())?;
    Ok(Json(start_turn(&shared, agent.prepare_turn(built.turn(title))?).await?))
}
