//! Which calls somebody has to allow.

use std::collections::BTreeSet;

use haft::Tool;
use schemars::JsonSchema;
use serde::Deserialize;

use super::place::Fault;

/// Which tools ask before each call, where it is not as the tools have it themselves.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Approvals {
    /// Tools that ask before each call.
    #[serde(default)]
    require: Vec<String>,
    /// Tools that do not ask, although they would otherwise: `write_file` and `edit_file` of the pack `files`.
    #[serde(default)]
    never: Vec<String>,
}

impl Approvals {
    /// A tool as this table has it.
    pub(super) fn settle(&self, tool: Tool) -> Result<Tool, Fault> {
        let listed = |list: &[String]| list.iter().any(|it| it == tool.name().as_str());
        if listed(&self.require) {
            let question = format!("May `{}` be called?", tool.name());
            tool.asking(question).map_err(|error| Fault::at(["approvals", "require"], error))
        } else if listed(&self.never) {
            Ok(tool.never_asking())
        } else {
            Ok(tool)
        }
    }

    /// Checks the names against the tools that there are, of which some have a question of their own.
    pub(super) fn check<'n>(
        &self,
        tools: impl Iterator<Item = &'n str> + Clone,
        own: &BTreeSet<&str>,
    ) -> Result<(), Fault> {
        let lists = [("require", &self.require), ("never", &self.never)];
        for (key, name) in
            lists.iter().flat_map(|(key, list)| list.iter().map(move |it| (*key, it)))
        {
            if !tools.clone().any(|it| it == name) {
                let fault = Fault::at(["approvals", key], format!("there is no tool `{name}`"));
                return Err(fault.known(name, tools));
            }
        }
        if let Some(name) = self.require.iter().find(|it| self.never.contains(it)) {
            let fault = Fault::at(["approvals", "never"], format!("`{name}` is in `require` too"));
            return Err(fault.hint("keep it in one of them"));
        }
        if let Some(name) = self.never.iter().find(|it| own.contains(it.as_str())) {
            let what = format!("`{name}` has an `approval` of its own");
            return Err(Fault::at(["approvals", "never"], what).hint("keep one of them"));
        }
        Ok(())
    }
}
