//! Which calls somebody has to allow.

use std::collections::BTreeSet;

use haft::tools::Leave;
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
    /// The same for packs, which make their tools ask.
    pub(super) fn leave(&self) -> Leave {
        let mut leave = Leave::default();
        for name in &self.require {
            leave = leave.ask(name, question(name));
        }
        for name in &self.never {
            leave = leave.never_ask(name);
        }
        leave
    }

    /// The question of a tool of the agent file, if this table makes it ask.
    pub(super) fn question(&self, name: &str) -> Option<String> {
        self.require.iter().any(|it| it == name).then(|| question(name))
    }

    /// Checks the names against the tools that there are, of which some have a question of their own, and some
    /// only compute.
    pub(super) fn check<'n>(
        &self,
        tools: impl Iterator<Item = &'n str> + Clone,
        own: &BTreeSet<&str>,
        computing: &BTreeSet<String>,
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
        if let Some(name) = self.require.iter().find(|it| computing.contains(*it)) {
            let what = format!("`{name}` only computes, so that there is nothing to allow");
            let fault = Fault::at(["approvals", "require"], what);
            return Err(fault.hint("leave the tool out with `except` if it is not wanted"));
        }
        Ok(())
    }
}

fn question(name: &str) -> String {
    format!("May `{name}` be called?")
}
