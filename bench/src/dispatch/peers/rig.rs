//! rig 0.44: the erased tool of `rig-core` and the tool set of `rig-agent`.

use std::{convert::Infallible, future::Future, marker::PhantomData};

use rig_agent::tool::ToolSet;
use rig_core::tool::{ErasedTool, Tool, ToolContext, ToolResult};

use super::{Measured, now, schema};
use crate::measure::Variant;

/// `ErasedTool::execute`: text to `Args`, then the handler.
pub(super) fn erased<T: Measured>(text: &'static str) -> Variant {
    let tool = RigTool::<T>(PhantomData);
    let mut context = ToolContext::new();
    let work = move || now(ErasedTool::execute(&tool, text.to_owned(), &mut context));
    Variant::new("rig-core 0.44 erased tool", work, show)
}

/// `ToolSet::execute`: lookup, dispatch context and the same tool behind it.
pub(super) fn tool_set<T: Measured>(text: &'static str) -> Variant {
    let set = ToolSet::from_tools(vec![RigTool::<T>(PhantomData)]);
    let mut context = ToolContext::new();
    let work = move || now(set.execute(T::TOOL, text, &mut context));
    Variant::new("rig-agent 0.44 ToolSet", work, show)
}

fn show(result: Result<ToolResult, String>) -> String {
    match result {
        Ok(it) => it.output().as_text().map_or_else(|| format!("{it:?}"), str::to_owned),
        Err(error) => error,
    }
}

/// A tool of rig.
pub(crate) struct RigTool<T>(PhantomData<fn() -> T>);

/// The tool of a call.
pub(crate) fn rig_tool<T>() -> RigTool<T> {
    RigTool(PhantomData)
}

impl<T: Measured> Tool for RigTool<T> {
    const NAME: &'static str = T::TOOL;
    type Args = T;
    type Output = String;
    type Error = Infallible;

    fn description(&self) -> String {
        "Measured tool".to_owned()
    }

    fn parameters(&self) -> serde_json::Value {
        schema::<T>()
    }

    fn call(
        &self,
        _context: &mut ToolContext,
        args: T,
    ) -> impl Future<Output = Result<String, Infallible>> + Send {
        std::future::ready(Ok(args.handle()))
    }
}
