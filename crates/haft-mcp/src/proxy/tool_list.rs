//! The list of tools: those of the servers, then the query tools.

use haft_core::Tool;
use serde_json::{Value, json};

use super::tool_filter::ToolFilter;
use crate::server::{DefinitionOptions, define_query};

/// A tool of a server, as the client calls it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Route {
    /// The server.
    pub(super) upstream: usize,
    /// The name that the server knows.
    pub(super) name: String,
}

/// Decides what clients see of the tools of servers.
pub(super) struct ToolLister<'p> {
    pub(super) filter: &'p ToolFilter,
    /// The names of query tools, which no other tool may have.
    pub(super) reserved: &'p [Tool],
}

impl ToolLister<'_> {
    /// The name under which the client sees a tool, or `None` if it must not use it. `taken` says which names others
    /// have.
    pub(super) fn shown_name(
        &self,
        name: &str,
        prefix: &str,
        taken: impl Fn(&str) -> bool,
    ) -> Option<String> {
        if !self.filter.admits(name) {
            return None;
        }
        let is_taken =
            |name: &str| taken(name) || self.reserved.iter().any(|it| it.name().as_str() == name);
        if !is_taken(name) {
            return Some(name.to_owned());
        }
        let prefixed = format!("{prefix}_{name}");
        (!is_taken(&prefixed)).then_some(prefixed)
    }

    /// The definition of a tool for the client: that of the server, without its output schema. Clients check structured
    /// results against that schema, and a stored result has none.
    pub(super) fn define(mut definition: Value, shown: &str) -> Value {
        if let Some(fields) = definition.as_object_mut() {
            fields.remove("outputSchema");
            fields.insert("name".to_owned(), shown.into());
        }
        definition
    }
}

/// The definitions of the query tools.
pub(super) fn query_definitions(queries: &[Tool], options: &DefinitionOptions) -> Vec<Value> {
    let define = |tool: &Tool| {
        serde_json::to_value(define_query(tool, options)).unwrap_or_else(|_| json!({}))
    };
    queries.iter().map(define).collect()
}
