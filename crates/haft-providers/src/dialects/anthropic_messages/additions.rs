//! Tools that are added in the middle of a turn.
//!
//! Newer models bind their thinking to the tools of the request: a tool that is added while thinking is sent back is refused
//! with status 400, unless it is declared with `defer_loading` and made available by a `tool_addition` block at the point of
//! the conversation where it was added. The prefix before that point, tools included, stays cached.

use super::wire::{AddedTool, Block};
use crate::dialect::ModelRequest;
use crate::prompt::{AssistantThought, CallResult, OfferedTool, Prompt, PromptEntry};

/// The header that lists beta features.
pub(super) const BETA_HEADER: &str = "anthropic-beta";

/// The beta feature of `tool_addition`.
pub(super) const ADDITIONS_BETA: &str = "mid-conversation-tool-changes-2026-07-01";

/// The tools of a request that are loaded deferred.
#[derive(Debug)]
pub(super) struct ToolAdditions<'b> {
    deferred: Vec<DeferredTool<'b>>,
}

#[derive(Debug)]
struct DeferredTool<'b> {
    tool: &'b OfferedTool,
    is_announced: bool,
}

impl<'b> ToolAdditions<'b> {
    /// Those that were added after the model had reasoned, if the reasoning is sent back and the model has the feature.
    pub(super) fn of(request: &ModelRequest<'b>) -> Self {
        let prompt: &'b Prompt = request.prompt;
        if !has_tool_additions(request.model) || !prompt.timeline.iter().any(replays_thinking) {
            return Self { deferred: Vec::new() };
        }
        let is_late = |it: &&OfferedTool| it.added_at.is_some_and(|point| point.has_reasoned);
        let late = prompt.tools.iter().filter(is_late);
        Self { deferred: late.map(|tool| DeferredTool { tool, is_announced: false }).collect() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.deferred.is_empty()
    }

    pub(super) fn has(&self, wire_name: &str) -> bool {
        self.deferred.iter().any(|it| &*it.tool.wire_name == wire_name)
    }

    /// The blocks that add the tools which were added when these results were the last.
    pub(super) fn take_after(&mut self, results: &[CallResult]) -> Vec<Block<'b>> {
        let last_call = |tool: &OfferedTool| tool.added_at.and_then(|point| point.last_call);
        self.take(|tool| results.iter().any(|result| Some(result.id) == last_call(tool)))
    }

    /// The blocks that add all others, whose place is not in the timeline any more.
    pub(super) fn take_rest(&mut self) -> Vec<Block<'b>> {
        self.take(|_| true)
    }

    fn take(&mut self, is_due: impl Fn(&OfferedTool) -> bool) -> Vec<Block<'b>> {
        let mut blocks = Vec::new();
        for it in self.deferred.iter_mut().filter(|it| !it.is_announced && is_due(it.tool)) {
            it.is_announced = true;
            let tool = AddedTool::ToolReference { name: &it.tool.wire_name };
            blocks.push(Block::ToolAddition { tool });
        }
        blocks
    }
}

fn replays_thinking(entry: &PromptEntry) -> bool {
    let PromptEntry::Assistant(generation) = entry else { return false };
    generation.thoughts.iter().any(|it| matches!(it, AssistantThought::Opaque(_)))
}

/// Whether a model has the feature: those of the fifth generation on, by the first number of the name.
fn has_tool_additions(model: &str) -> bool {
    let Some((_, name)) = model.split_once("claude-") else { return false };
    let mut words = name.split(|it: char| !it.is_ascii_alphanumeric());
    words.find_map(|word| word.parse::<u32>().ok()).is_some_and(|major| (5..100).contains(&major))
}

#[cfg(test)]
mod tests {
    use super::has_tool_additions;

    #[test]
    fn the_generation_is_read_from_the_name() {
        for model in ["claude-opus-5", "claude-fable-5-1", "anthropic.claude-sonnet-5-5-v1:0"] {
            assert!(has_tool_additions(model), "{model}");
        }
        for model in ["claude-3-5-sonnet-20241022", "claude-opus-4-5", "claude-opus", "gpt-5"] {
            assert!(!has_tool_additions(model), "{model}");
        }
    }
}
