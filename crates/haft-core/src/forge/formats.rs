//! Forging: artifacts become tools that query them.

use crate::error::codes;
use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, OnceLock};

use super::facts::{describe_size, list_artifacts, name_artifacts};
use super::format::QueryAnswer;
use super::question::{BaseTool, CALL_ID, Handles};
use super::{ArtifactFormat, Query, QueryContext, Question};
use crate::artifact::{ArtifactKind, Budget, SpooledArtifact};
use crate::error::{Coded, ErrorCode};
use crate::json::ValueRef;
use crate::schema::args::Args;
use crate::schema::{FaultLocation, InputSchema, SchemaFault};
use crate::tool::context::CallContext;
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
    /// The four tools that every artifact has, with schemas that name no artifacts, once they were asked for.
    base: OnceLock<Vec<Tool>>,
}

#[derive(Clone)]
struct Known {
    format: Arc<dyn ArtifactFormat>,
    /// Its own tools.
    queries: Vec<Query>,
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
        Self { formats: Arc::new([]), budget: Budget::new(), base: OnceLock::new() }
    }

    /// Sets the maximum size of every result.
    #[must_use]
    pub fn budget(self, budget: Budget) -> Self {
        Self { budget, base: OnceLock::new(), ..self }
    }

    /// The maximum size of one result.
    #[must_use]
    pub fn answer_budget(&self) -> Budget {
        self.budget
    }

    /// Adds a format. Of several formats that read a kind, the one that was added last is asked first, and the model sees
    /// their own tools in the order in which they were added.
    ///
    /// # Errors
    ///
    /// An own tool is not sound, or its name is taken.
    pub fn with(self, format: impl ArtifactFormat) -> Result<Self, InvalidFormat> {
        let format: Arc<dyn ArtifactFormat> = Arc::new(format);
        let queries = format.tools();
        let mut faults = Vec::new();
        for (at, query) in queries.iter().enumerate() {
            if let Err(invalid) =
                self.own_tool(&format, query, &Handles::Any).and_then(ToolBuilder::build)
            {
                faults.extend(invalid.faults);
            }
            let of_others = self.formats.iter().flat_map(|known| &known.queries);
            let mut known = of_others.chain(queries.iter().take(at)).map(Query::name);
            let is_base = BaseTool::ALL.iter().any(|base| base.name() == query.name());
            if is_base || known.any(|known| known == query.name()) {
                let at = FaultLocation::Query(query.name().to_owned());
                faults.push(SchemaFault::new(at, "there is a query of this name already"));
            }
        }
        if !faults.is_empty() {
            return Err(InvalidFormat { format: format!("{format:?}"), faults });
        }
        Ok(self.push(Known { format, queries }))
    }

    /// Adds a format whose own tools are known to be valid, such as a built-in one, without checking them.
    ///
    /// [`Formats::forge`] fails if one of them is not a valid tool after all. Of two with one name, the model sees the one
    /// that was added last.
    #[must_use]
    pub fn with_unchecked(self, format: impl ArtifactFormat) -> Self {
        let queries = format.tools();
        self.push(Known { format: Arc::new(format), queries })
    }

    fn push(self, added: Known) -> Self {
        let formats = self.formats.iter().cloned().chain([added]).collect();
        Self { formats, base: OnceLock::new(), ..self }
    }

    /// The formats that read a kind, the one that is asked first in front.
    fn readers(&self, kind: &ArtifactKind) -> impl Iterator<Item = &Known> {
        self.formats.iter().rev().filter(move |known| known.format.reads(kind))
    }

    /// What `artifact_query` takes for content of this kind.
    #[must_use]
    pub fn query_form(&self, kind: &ArtifactKind) -> Option<&str> {
        self.readers(kind).find_map(|known| known.format.query_form())
    }

    /// The names of the tools that can be asked about content of this kind.
    #[must_use]
    pub fn tools_for(&self, kind: &ArtifactKind) -> Vec<&str> {
        let base = BaseTool::ALL.into_iter().filter(|base| self.has_answer(*base, kind));
        let mut names: Vec<&str> = base.map(BaseTool::name).collect();
        for known in self.formats.iter().filter(|known| known.format.reads(kind)) {
            names.extend(known.queries.iter().map(Query::name));
        }
        names
    }

    fn has_answer(&self, base: BaseTool, kind: &ArtifactKind) -> bool {
        base != BaseTool::Query || self.query_form(kind).is_some()
    }

    /// The tools that query artifacts of these kinds, in a fixed order: the four that every artifact has, and the own
    /// tools of formats that read one of the kinds. Their schemas name no artifacts, so that they are the same from the
    /// first request of a turn to the last; a handle is checked when the call is made. They are ephemeral and replace what
    /// has their name.
    ///
    /// ```
    /// use haft_core::artifact::ArtifactKind;
    /// use haft_core::forge::Formats;
    ///
    /// let tools = Formats::new().query_tools(&[ArtifactKind::TEXT])?;
    /// let names: Vec<_> = tools.iter().map(|tool| tool.name().as_str()).collect();
    /// assert_eq!(names, ["artifact_info", "artifact_read", "artifact_grep", "artifact_query"]);
    /// // Without artifacts there is nothing to ask.
    /// assert!(Formats::new().query_tools(&[])?.is_empty());
    /// # Ok::<(), haft_core::tool::InvalidTool>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A tool cannot be built. This does not happen with formats that [`Formats::with`] has accepted.
    pub fn query_tools(&self, kinds: &[ArtifactKind]) -> Result<Vec<Tool>, InvalidTool> {
        if kinds.is_empty() {
            return Ok(Vec::new());
        }
        let mut tools = self.base_tools()?.to_vec();
        for known in self.formats.iter() {
            if known.queries.is_empty() || !kinds.iter().any(|kind| known.format.reads(kind)) {
                continue;
            }
            for query in &known.queries {
                let reads = Arc::clone(&known.format);
                let tool = self.own_tool(&known.format, query, &Handles::Any)?;
                tools.push(tool.queried_kinds(move |kind| reads.reads(kind)).build()?);
            }
        }
        Ok(tools)
    }

    fn base_tools(&self) -> Result<&[Tool], InvalidTool> {
        if let Some(tools) = self.base.get() {
            return Ok(tools);
        }
        let tools = BaseTool::ALL.into_iter().map(|base| {
            // Without the tools, which would hold these formats.
            let formats = Self { base: OnceLock::new(), ..self.clone() };
            let tool = self.base_tool(base, &Handles::Any)?;
            tool.queried_kinds(move |kind| formats.has_answer(base, kind)).build()
        });
        let tools = tools.collect::<Result<Vec<_>, _>>()?;
        Ok(self.base.get_or_init(|| tools))
    }

    /// Forges the tools that query the artifacts of a turn: the four that every artifact has, and the own tools of formats
    /// that read at least one of them. Their argument `callId` accepts the handles of exactly the artifacts that the tool
    /// reads. The tools are ephemeral and replace tools of the same name. Without artifacts there are none.
    ///
    /// # Errors
    ///
    /// A tool cannot be built. This does not happen with formats that [`Formats::with`] has accepted.
    pub fn forge(&self, artifacts: &ArtifactSet) -> Result<ToolRegistry, InvalidTool> {
        let live = artifacts.all();
        let registry = ToolRegistry::default();
        if live.is_empty() {
            return Ok(registry);
        }
        let handles_of = |reads: &dyn Fn(&ArtifactKind) -> bool| -> Vec<String> {
            let read = live.iter().filter(|(_, artifact)| reads(artifact.kind()));
            read.map(|(handle, _)| handle.clone()).collect()
        };
        for base in BaseTool::ALL {
            let tool = self.base_tool(base, &Handles::Live(handles_of(&|_| true)))?;
            let queried: HashSet<_> =
                handles_of(&|kind| self.has_answer(base, kind)).into_iter().collect();
            registry.overwrite(tool.queried_handles(Arc::new(queried)))?;
        }
        for Known { format, queries } in self.formats.iter() {
            let handles = handles_of(&|kind| format.reads(kind));
            if handles.is_empty() {
                continue;
            }
            let queried = Arc::new(handles.iter().cloned().collect::<HashSet<_>>());
            let handles = Handles::Live(handles);
            for query in queries {
                let tool = self.own_tool(format, query, &handles)?;
                registry.overwrite(tool.queried_handles(Arc::clone(&queried)))?;
            }
        }
        Ok(registry)
    }

    /// The builder of one of the four tools.
    fn base_tool(&self, base: BaseTool, handles: &Handles) -> Result<ToolBuilder, InvalidTool> {
        let formats = Self { base: OnceLock::new(), ..self.clone() };
        let tool = query_tool((base.name(), base.description()), base.schema(handles))?;
        Ok(tool.handler(move |args: Args, ctx: CallContext| {
            let formats = formats.clone();
            async move { formats.answer(base, &args, &ctx).await }
        }))
    }

    /// The builder of an own tool of a format.
    fn own_tool(
        &self,
        format: &Arc<dyn ArtifactFormat>,
        query: &Query,
        handles: &Handles,
    ) -> Result<ToolBuilder, InvalidTool> {
        let (asked, reader, budget) = (query.clone(), Arc::clone(format), self.budget);
        let tool = query_tool((query.name(), query.description()), query.schema_for(handles))?;
        let mut tool = tool.handler(move |args: Args, ctx: CallContext| {
            let (query, format) = (asked.clone(), Arc::clone(&reader));
            async move {
                match find_artifact(&args, &ctx, |kind| format.reads(kind)) {
                    Ok(artifact) => {
                        finish(query.ask(&args, query_context(&artifact, budget, &ctx)), &artifact)
                            .await
                    }
                    Err(refusal) => Ok(ToolOutput::Text(refusal)),
                }
            }
        });
        if let Some(check) = query.checker() {
            tool = tool.validator(move |args: Args| std::future::ready(check(&args)));
        }
        Ok(tool)
    }

    /// Asks the artifact that the handle names now, not the one it named when the tool was forged.
    async fn answer(
        &self,
        base: BaseTool,
        args: &Args,
        ctx: &CallContext,
    ) -> Result<ToolOutput, ToolFailure> {
        let question = base.question(args);
        if let Question::Info { skip } = question
            && args.root().get(CALL_ID).is_none()
        {
            return Ok(list_artifacts(skip, ctx, self.budget));
        }
        let artifact = match find_artifact(args, ctx, |_| true) {
            Ok(artifact) => artifact,
            Err(refusal) => return Ok(ToolOutput::Text(refusal)),
        };
        let asked = query_context(&artifact, self.budget, ctx);
        let answer = self.ask(&question, &asked);
        if let Question::Info { skip } = question {
            let handle = args.root().get(CALL_ID).and_then(ValueRef::as_str).unwrap_or_default();
            let mut text = String::new();
            if skip == 0 {
                text = describe_size(handle, &artifact).await;
                text.push('\n');
            }
            match answer {
                Some(answer) => match answer.await {
                    Ok(answer) => text.push_str(answer.as_str()),
                    // The size is known although the content cannot be read in its format.
                    Err(failure) => text.push_str(&format!("[{}]", failure.message())),
                },
                None => text.push_str("It is read by lines."),
            }
            text.push('\n');
            text.push_str(&self.advice(artifact.kind()));
            return Ok(ToolOutput::Answer { text, label: artifact.label() });
        }
        match answer {
            Some(answer) => finish(answer, &artifact).await,
            None => {
                let (kind, advice) = (artifact.kind(), self.advice(artifact.kind()));
                let name = base.name();
                Ok(ToolOutput::Text(format!(
                    "Error: `{name}` cannot be asked this about {kind}; {advice}"
                )))
            }
        }
    }

    /// The answer of the format that understands a question.
    fn ask(&self, question: &Question, asked: &QueryContext) -> Option<QueryAnswer> {
        self.readers(asked.artifact.kind()).find_map(|known| known.format.answer(question, asked))
    }

    /// How content of a kind is asked.
    fn advice(&self, kind: &ArtifactKind) -> String {
        match self.query_form(kind) {
            Some(form) => format!("artifact_query takes {form}"),
            None => "artifact_grep takes a regular expression, artifact_read takes line numbers"
                .to_owned(),
        }
    }
}

/// The builder of a tool that queries artifacts, without what it runs.
fn query_tool(
    (name, description): (&str, &str),
    input: Result<InputSchema, Vec<SchemaFault>>,
) -> Result<ToolBuilder, InvalidTool> {
    let input = input.map_err(|faults| InvalidTool { tool: name.to_owned(), faults })?;
    let tool = Tool::builder(name).description(description).input_schema(input).artifact_query();
    Ok(tool.ephemeral().on_collision(OnCollision::Replace).effect(ToolEffect::ReadOnly))
}

/// The artifact that the arguments name, if the tool reads its kind; else a refusal.
fn find_artifact(
    args: &Args,
    ctx: &CallContext,
    reads: impl Fn(&ArtifactKind) -> bool,
) -> Result<SpooledArtifact, String> {
    let handle = args.root().get(CALL_ID).and_then(ValueRef::as_str).unwrap_or_default();
    let shown = crate::schema::excerpt(handle);
    let why = match ctx.artifacts().get(handle) {
        Some(artifact) if reads(artifact.kind()) => return Ok(artifact),
        Some(artifact) => {
            let kind = artifact.kind();
            format!("the artifact with id `{shown}` is {kind}, which this tool does not read")
        }
        None => format!("there is no artifact with id `{shown}` in this turn"),
    };
    Err(format!("Error: {why}; {}", name_artifacts(ctx.artifacts(), reads)))
}

fn query_context(artifact: &SpooledArtifact, budget: Budget, ctx: &CallContext) -> QueryContext {
    let cancellation = ctx.cancellation().clone();
    QueryContext { artifact: artifact.clone(), budget, cancellation }
}

/// The answer as the output of a tool, trusted as far as its artifact.
async fn finish(
    answer: QueryAnswer,
    artifact: &SpooledArtifact,
) -> Result<ToolOutput, ToolFailure> {
    Ok(ToolOutput::Answer { text: answer.await?.into_string(), label: artifact.label() })
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
