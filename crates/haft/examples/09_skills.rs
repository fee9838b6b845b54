//! Skills: a call loads tools in the middle of a turn. They last for the turn, are added behind the tools that the model
//! knows, and survive an interruption because their source registers them again.
#![expect(clippy::print_stdout, reason = "an example prints")]

use haft::executors::ScriptExecutor;
use haft::middleware::Next;
use haft::turn::{Agent, TurnContext};
use haft::{CallContext, Tool, ToolArgs};

/// Where the stash of the turn says which skills are loaded.
const LOADED: &str = "skills.loaded";

#[derive(ToolArgs)]
struct Skill {
    /// The name of the skill
    #[arg(example = "billing")]
    name: String,
}

#[derive(ToolArgs)]
struct Order {
    /// The number of the order
    order: u32,
}

/// The tools of a skill. A real program reads them from files or asks a server.
fn tools_of(skill: &str) -> Result<Vec<Tool>, Box<dyn std::error::Error + Send + Sync>> {
    let tool = match skill {
        "billing" => Tool::builder("refund_order")
            .description("Refunds an order.")
            .handler(|args: Order| format!("order {} is refunded", args.order)),
        "shipping" => Tool::builder("track_order")
            .description("Tells where an order is.")
            .handler(|args: Order| format!("order {} is on its way", args.order)),
        _ => return Err(format!("there is no skill `{skill}`").into()),
    };
    Ok(vec![tool.build()?])
}

/// Registers the tools of a skill for the rest of the turn, and remembers that it is loaded.
fn load_skill(skill: Skill, ctx: &CallContext) -> Result<String, haft::ToolFailure> {
    let failed = |error: &dyn std::fmt::Display| haft::ToolFailure::new(error.to_string());
    let tools = tools_of(&skill.name).map_err(|error| failed(&error))?;
    let names: Vec<String> = tools.iter().map(|tool| tool.name().to_string()).collect();
    for tool in tools {
        ctx.tools().overwrite(tool)?;
    }
    let mut loaded: Vec<String> = ctx.stash().get_as(LOADED)?.unwrap_or_default();
    loaded.push(skill.name);
    ctx.stash().set(LOADED, loaded)?;
    Ok(format!("You can call {} now.", names.join(", ")))
}

/// The source of the tools: in a turn that another process began, it registers what was loaded.
async fn restore_skills(
    ctx: TurnContext,
    next: Next<TurnContext>,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    for skill in ctx.stash().get_as::<Vec<String>>(LOADED)?.unwrap_or_default() {
        for tool in tools_of(&skill)? {
            ctx.tools().overwrite(tool)?;
        }
    }
    next.run().await?;
    Ok(())
}

const SCRIPT: &str = r#"
steps:
  - call:
      refund_order: {order: 7}
  - call:
      load_skill: {name: billing}
  - call:
      refund_order: {order: 7}
  - say: "{{ last.load_skill }} {{ last.refund_order }}."
"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let load_skill = Tool::builder("load_skill")
        .description("Loads the tools of a skill: `billing` or `shipping`.")
        .handler(load_skill)
        .build()?;
    let agent = Agent::builder(ScriptExecutor::parse(SCRIPT)?)
        .system("You help with orders.")
        .tool(load_skill)
        .turn_input("restore-skills", restore_skills)
        .build()?;
    let answer = agent.turn("Where is my order?").await?;
    for call in &answer.report.calls {
        match &call.error {
            Some(error) => println!("{} failed: {}", call.tool(), error.message),
            None => println!("{} succeeded", call.tool()),
        }
    }
    println!("{answer}");
    Ok(())
}
