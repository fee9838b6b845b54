//! Packs of tools, as an agent meets them.

mod data;
mod escapes;
mod files;
mod math;
mod memory;
mod packs;
#[cfg(unix)]
mod protected;
mod text;
mod time;
#[cfg(feature = "http")]
mod web;

use std::sync::Arc;

use haft::tools::{InvalidTool, ToolOutput};
use haft::turn::{ManualClock, Timestamp};
use haft::{DispatchContext, Tool};
use serde_json::Value;

/// A pack with a context.
struct Bench {
    tools: Vec<Tool>,
    ctx: DispatchContext,
}

impl Bench {
    /// It is noon of a Saturday.
    fn new(pack: Result<Vec<Tool>, InvalidTool>) -> Self {
        let now: Timestamp = "2026-01-31T12:00:00.000000Z".parse().unwrap();
        let clock = Arc::new(ManualClock::new(now));
        let ctx = DispatchContext::builder("turn-1").clock(clock).build();
        Self { tools: pack.unwrap(), ctx }
    }

    fn tool(&self, name: &str) -> &Tool {
        let found = self.tools.iter().find(|it| it.name().as_str() == name);
        found.unwrap_or_else(|| panic!("no tool {name}"))
    }

    async fn output(&self, name: &str, args: Value) -> Result<ToolOutput, String> {
        let call = self.tool(name).executor(&self.ctx).call(args.to_string().as_str()).await;
        call.outcome.map_err(|error| error.to_string())
    }

    /// The text of an answer, or of a failure after `failed: `.
    async fn text(&self, name: &str, args: Value) -> String {
        match self.output(name, args).await {
            Ok(ToolOutput::Text(text) | ToolOutput::Answer { text, .. }) => text,
            Ok(other) => panic!("not text: {other:?}"),
            Err(error) => format!("failed: {error}"),
        }
    }

    async fn json(&self, name: &str, args: Value) -> Value {
        let text = self.text(name, args).await;
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("not JSON: {text}"))
    }

    /// A call that fails, with these words among others.
    async fn fails(&self, name: &str, args: Value, words: &str) {
        let shown = args.to_string();
        match self.output(name, args).await {
            Err(error) => assert!(error.contains(words), "{shown}: {error}"),
            Ok(output) => panic!("{shown}: {output:?}"),
        }
    }
}
