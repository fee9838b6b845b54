//! The approval rules of the agent file.

use std::collections::BTreeSet;

use haft::Tool;
use schemars::JsonSchema;
use serde::Deserialize;

use super::source::AgentFileError;

/// Approval rules that override the defaults of the tools.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Approvals {
    /// Tools that require approval before each call.
    #[serde(default)]
    require: Vec<String>,
    /// Tools that run without approval although they require it by default: `write_file` and `edit_file` of the pack
    /// `files`.
    #[serde(default)]
    never: Vec<String>,
}

impl Approvals {
    /// Returns the tool with the approval rule of this table.
    pub(super) fn apply(&self, tool: Tool) -> Result<Tool, AgentFileError> {
        let is_listed = |list: &[String]| list.iter().any(|it| it == tool.name().as_str());
        if is_listed(&self.require) {
            let question = format!("May `{}` be called?", tool.name());
            let asking = tool.with_approval(question);
            asking.map_err(|error| AgentFileError::at(["approvals", "require"], error))
        } else if is_listed(&self.never) {
            Ok(tool.without_approval())
        } else {
            Ok(tool)
        }
    }

    /// Finds names that are no tools of the agent, and rules that contradict each other.
    pub(super) fn find_errors<'n>(
        &self,
        tools: &(impl Iterator<Item = &'n str> + Clone),
        with_own_question: &BTreeSet<&str>,
    ) -> Vec<AgentFileError> {
        let mut errors = Vec::new();
        let lists = [("require", &self.require), ("never", &self.never)];
        for (key, name) in
            lists.iter().flat_map(|(key, list)| list.iter().map(move |it| (*key, it)))
        {
            if !tools.clone().any(|it| it == name) {
                let message = format!("there is no tool `{name}`");
                let error = AgentFileError::at(["approvals", key], message);
                errors.push(error.suggest(name, tools.clone()));
            }
        }
        for name in self.require.iter().filter(|it| self.never.contains(it)) {
            let message = format!("`{name}` is also in `require`");
            let error = AgentFileError::at(["approvals", "never"], message);
            errors.push(error.hint("keep it in one of the lists"));
        }
        for name in self.never.iter().filter(|it| with_own_question.contains(it.as_str())) {
            let message = format!("`{name}` sets its own `approval`");
            let error = AgentFileError::at(["approvals", "never"], message);
            errors.push(error.hint("remove one of the two"));
        }
        errors
    }
}
