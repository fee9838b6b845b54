//! Forging: artifacts become tools that query them.

use crate::error::codes;
use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, OnceLock};

use super::format::{AnswerFuture, CALL_ID, Handles};
use super::list_tool::{artifact_list, live_handles};
use super::{ArtifactFormat, Query, QueryContext};
use crate::artifact::{ArtifactKind, Budget, SpooledArtifact};
use crate::error::{Coded, ErrorCode};
use crate::json::ValueRef;
use crate::schema::args::Args;
use crate::schema::{FaultLocation, SchemaFault};
use crate::tool::context::DispatchContext;
use crate::tool::registry::ToolRegistry;
use crate::tool::{
    ArtifactSet, InvalidTool, OnCollision, Tool, ToolBuilder, ToolEffect, ToolFailure, ToolOutput,
};

/// The artifact formats of an application, and the forge that makes query tools from them.
///
/// ```
/// use haft_core::forge::Formats;
/// use haft_core::tool::ArtifactSet;
///
/// let formats = Formats::new();
/// // Without artifacts there is nothing to ask.
/// assert!(formats.forge(&ArtifactSet::new())?.is_empty());
/// # Ok::<(), haft_core::tool::InvalidTool>(())
/// ```
#[derive(Clone)]
pub struct Formats {
    formats: Arc<[Known]>,
    budget: Budget,
}

#[derive(Clone)]
struct Known {
    format: Arc<dyn ArtifactFormat>,
    queries: Vec<Query>,
    /// The tools whose schemas name no artifacts, once they were asked for.
    tools: OnceLock<Vec<Tool>>,
}

impl Known {
    fn new(format: Arc<dyn ArtifactFormat>, queries: Vec<Query>) -> Self {
        Self { format, queries, tools: OnceLock::new() }
    }
}

/// A format that cannot be used, with every reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the format {format} was refused: {}", .faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
#[non_exhaustive]
pub struct InvalidFormat {
    /// The format.
    pub format: String,
    /// Everything that is wrong with its queries.
    pub faults: Vec<SchemaFault>,
}

impl Coded for InvalidFormat {
    fn code(&self) -> ErrorCode {
        codes::INVALID_INITIAL_TOOL_VALUE
    }
}

impl Formats {
    /// No formats yet.
    #[must_use]
    pub fn new() -> Self {
        Self { formats: Arc::new([]), budget: Budget::new() }
    }

    /// Sets the maximum size of every result.
    #[must_use]
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        let anew = |it: &Known| Known::new(Arc::clone(&it.format), it.queries.clone());
        self.formats = self.formats.iter().map(anew).collect();
        self
    }

    /// The maximum size of one result.
    #[must_use]
    pub fn answer_budget(&self) -> Budget {
        self.budget
    }

    /// Adds a format. The model sees the queries of formats in the order in which they were added.
    ///
    /// # Errors
    ///
    /// A query is not a sound tool, or its name is taken by a query of another format.
    pub fn with(self, format: impl ArtifactFormat) -> Result<Self, InvalidFormat> {
        let format: Arc<dyn ArtifactFormat> = Arc::new(format);
        let queries = format.queries();
        let mut faults = Vec::new();
        for (at, query) in queries.iter().enumerate() {
            let tool = forged(query, &Handles::Any, self.budget, &format);
            if let Err(invalid) = tool.and_then(ToolBuilder::build) {
                faults.extend(invalid.faults);
            }
            let known = self.queries().chain(queries.iter().take(at));
            if known.into_iter().any(|known| known.name() == query.name()) {
                let at = FaultLocation::Query(query.name().to_owned());
                faults.push(SchemaFault::new(at, "there is a query of this name already"));
            }
        }
        if !faults.is_empty() {
            return Err(InvalidFormat { format: format!("{format:?}"), faults });
        }
        Ok(self.push(Known::new(format, queries)))
    }

    /// Adds a format whose queries are known to be valid, such as a built-in one, without checking them.
    ///
    /// [`Formats::forge`] fails if a query is not a valid tool after all. Of two queries with one name,
    /// the model sees the one that was added last.
    #[must_use]
    pub fn with_unchecked(self, format: impl ArtifactFormat) -> Self {
        let queries = format.queries();
        self.push(Known::new(Arc::new(format), queries))
    }

    fn push(mut self, added: Known) -> Self {
        self.formats = self.formats.iter().cloned().chain([added]).collect();
        self
    }

    /// The queries that can be asked of an artifact.
    pub fn queries_of(&self, artifact: &SpooledArtifact) -> impl Iterator<Item = &Query> {
        let formats = self.formats.iter().filter(|known| known.format.reads(artifact.kind()));
        formats.flat_map(|known| &known.queries)
    }

    /// The tools that query artifacts of these kinds, in a fixed order: `artifact_list` and one per query. Their schemas
    /// name no artifacts, so that they are the same from the first request of a turn to the last; a handle is checked
    /// when the call is made. They are ephemeral, replace what has their name, and are built once.
    ///
    /// ```
    /// use haft_core::artifact::ArtifactKind;
    /// use haft_core::forge::Formats;
    ///
    /// // Without formats there is nothing to ask.
    /// assert!(Formats::new().query_tools(&[ArtifactKind::TEXT])?.is_empty());
    /// # Ok::<(), haft_core::tool::InvalidTool>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A tool cannot be built. This does not happen with queries that [`Formats::with`] has accepted.
    pub fn query_tools(&self, kinds: &[ArtifactKind]) -> Result<Vec<Tool>, InvalidTool> {
        let mut tools = Vec::new();
        for known in self.formats.iter() {
            if !kinds.iter().any(|kind| known.format.reads(kind)) {
                continue;
            }
            if tools.is_empty() {
                tools.push(artifact_list(self.budget)?);
            }
            tools.extend_from_slice(self.stable_tools(known)?);
        }
        Ok(tools)
    }

    fn stable_tools<'k>(&self, known: &'k Known) -> Result<&'k [Tool], InvalidTool> {
        if let Some(tools) = known.tools.get() {
            return Ok(tools);
        }
        let mut tools = Vec::new();
        for query in &known.queries {
            let reads = Arc::clone(&known.format);
            let tool = forged(query, &Handles::Any, self.budget, &known.format)?;
            tools.push(tool.queried_kinds(move |kind| reads.reads(kind)).build()?);
        }
        Ok(known.tools.get_or_init(|| tools))
    }

    /// Forges the tools that query the artifacts of a turn: one for each query that applies to at least one artifact,
    /// whose argument `callId` accepts the handles of exactly those artifacts. The tools are ephemeral and replace tools
    /// of the same name.
    ///
    /// # Errors
    ///
    /// A tool cannot be built. This does not happen with queries that [`Formats::with`] has accepted.
    pub fn forge(&self, artifacts: &ArtifactSet) -> Result<ToolRegistry, InvalidTool> {
        let live = artifacts.all();
        let registry = ToolRegistry::new();
        for Known { format, queries, .. } in self.formats.iter() {
            let read = live.iter().filter(|(_, artifact)| format.reads(artifact.kind()));
            let handles: Vec<String> = read.map(|(handle, _)| handle.clone()).collect();
            if handles.is_empty() {
                continue;
            }
            let queried = Arc::new(handles.iter().cloned().collect::<HashSet<_>>());
            let handles = Handles::Live(handles);
            for query in queries {
                let tool = forged(query, &handles, self.budget, format)?;
                registry.overwrite(tool.queried_handles(Arc::clone(&queried)).build()?);
            }
        }
        Ok(registry)
    }

    /// The queries of all formats.
    ///
    /// ```
    /// assert_eq!(haft_core::forge::Formats::new().queries().count(), 0);
    /// ```
    pub fn queries(&self) -> impl Iterator<Item = &Query> {
        self.formats.iter().flat_map(|known| &known.queries)
    }
}

/// The builder of the tool of a query.
fn forged(
    query: &Query,
    handles: &Handles,
    budget: Budget,
    format: &Arc<dyn ArtifactFormat>,
) -> Result<ToolBuilder, InvalidTool> {
    let input = query
        .schema_for(handles)
        .map_err(|faults| InvalidTool { tool: query.name().to_owned(), faults })?;
    let asked = ForgedQuery { query: query.clone(), format: Arc::clone(format), budget };
    let mut tool = Tool::builder(query.name())
        .description(query.description())
        .input_schema(input)
        .artifact_query()
        .ephemeral()
        .on_collision(OnCollision::Replace)
        .effect(ToolEffect::ReadOnly)
        .handler(move |args: Args, ctx: DispatchContext| {
            let asked = asked.clone();
            async move { asked.answer(&args, &ctx).await }
        });
    if let Some(check) = query.checker() {
        tool = tool.validator(move |args: Args| std::future::ready(check(&args)));
    }
    Ok(tool)
}

/// What a forged tool runs.
#[derive(Clone)]
struct ForgedQuery {
    query: Query,
    format: Arc<dyn ArtifactFormat>,
    budget: Budget,
}

impl ForgedQuery {
    /// Asks the artifact that the handle names now, not the one it named when the tool was forged.
    async fn answer(&self, args: &Args, ctx: &DispatchContext) -> Result<ToolOutput, ToolFailure> {
        let handle = args.root().get(CALL_ID).and_then(ValueRef::as_str).unwrap_or_default();
        let reads = |kind: &ArtifactKind| self.format.reads(kind);
        let artifact = match ctx.artifacts().get(handle) {
            Some(artifact) if reads(artifact.kind()) => artifact,
            found => {
                let shown = crate::schema::excerpt(handle);
                let why = match found {
                    Some(artifact) => format!(
                        "the artifact with id `{shown}` is {}, which this tool does not read",
                        artifact.kind()
                    ),
                    None => format!("there is no artifact with id `{shown}` in this turn"),
                };
                let live = live_handles(ctx.artifacts(), reads);
                return Ok(ToolOutput::Text(format!("Error: {why}; {live}")));
            }
        };
        let label = artifact.label();
        let (budget, cancellation) = (self.budget, ctx.cancellation().clone());
        let asked = QueryContext { artifact, budget, cancellation };
        let asking: AnswerFuture = self.query.ask(args, asked);
        Ok(ToolOutput::Answer { text: asking.await?.into_string(), label })
    }
}

impl Default for Formats {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Formats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.formats.iter().map(|known| &known.format)).finish()
    }
}
