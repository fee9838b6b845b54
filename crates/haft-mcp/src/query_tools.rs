//! The tools that query stored results, as a client sees them.

use std::sync::Arc;
use std::time::Duration;

use haft_core::artifact::{ArtifactKind, Budget, SpooledArtifact};
use haft_core::cancel::Cancellation;
use haft_core::forge::Formats;
use haft_core::json::ValueRef;
use haft_core::tool::{ArtifactSet, InvalidTool, Invocation, ToolOutput};
use haft_core::{DispatchContext, RawArgs, Tool};
use tokio::time::timeout;

use crate::answer_limits::AnswerLimits;

/// The name of the tool that describes a stored result, and lists all of them if it names none.
pub(crate) const INFO_TOOL: &str = "artifact_info";

/// The argument that names a stored result.
const CALL_ID: &str = "callId";

/// How long one query may take.
const QUERY_DEADLINE: Duration = Duration::from_secs(60);

/// The query tools of a server: the same from the first list to the last, whatever results there are.
#[derive(Clone, Debug)]
pub(crate) struct QueryTools {
    formats: Formats,
    tools: Vec<Tool>,
    limits: AnswerLimits,
}

/// The answer to a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QueryAnswer {
    /// The text, within the limits.
    pub(crate) text: String,
    pub(crate) is_error: bool,
}

impl QueryTools {
    /// The tools that query results of these kinds.
    pub(crate) fn new(
        formats: &Formats,
        kinds: &[ArtifactKind],
        limits: AnswerLimits,
    ) -> Result<Self, InvalidTool> {
        // A query that is not cut afterwards says itself how to go on.
        let room = Budget::new().bytes((limits.bytes / 2).min(limits.tokens * 2));
        let formats = formats.clone().budget(room);
        let tools = formats.query_tools(kinds)?;
        Ok(Self { formats, tools, limits })
    }

    /// The tools, in a fixed order.
    pub(crate) fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// The tool of this name.
    pub(crate) fn find(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.name().as_str() == name)
    }

    /// The names of the tools that can be asked about a result.
    pub(crate) fn names_for(&self, artifact: &SpooledArtifact) -> Vec<&str> {
        self.formats.tools_for(artifact.kind())
    }

    /// Runs a query on the results that the caller may see.
    pub(crate) async fn run(
        &self,
        tool: &Tool,
        args: RawArgs,
        artifacts: Arc<ArtifactSet>,
        cancellation: Cancellation,
    ) -> QueryAnswer {
        let ctx = DispatchContext::builder("mcp-query").artifacts(artifacts);
        let executor = tool.executor(&ctx.cancellation(cancellation).build());
        match timeout(QUERY_DEADLINE, executor.call(args)).await {
            Ok(done) => self.answer(&done),
            Err(_) => {
                let seconds = QUERY_DEADLINE.as_secs();
                self.refuse(&format!(
                    "the query took longer than {seconds} seconds; ask about a smaller part"
                ))
            }
        }
    }

    fn answer(&self, done: &Invocation) -> QueryAnswer {
        match &done.outcome {
            Ok(ToolOutput::Answer { text, .. }) => {
                QueryAnswer { text: self.limits.cut(text), is_error: false }
            }
            // A query that cannot be answered says so as text.
            Ok(ToolOutput::Text(text)) => self.refuse(text),
            Ok(_) => self.refuse("the query returned no text"),
            Err(error) => self.refuse(&error.to_string()),
        }
    }

    /// The answer to a query that was refused.
    pub(crate) fn refuse(&self, why: &str) -> QueryAnswer {
        QueryAnswer { text: self.limits.cut_error(why), is_error: true }
    }
}

/// Whether a call lists stored results.
pub(crate) fn is_list(tool: &Tool, args: &RawArgs) -> bool {
    tool.name().as_str() == INFO_TOOL && handle_of(args).is_none()
}

/// The handle that the arguments of a query name.
pub(crate) fn handle_of(args: &RawArgs) -> Option<String> {
    let handle = args.document()?.root().get(CALL_ID).and_then(ValueRef::as_str)?;
    Some(handle.to_owned())
}

/// The beginning of a stored result, whole lines if there are any.
pub(crate) async fn read_preview(artifact: &SpooledArtifact, limits: AnswerLimits) -> String {
    let room = PREVIEW_BYTES.min(limits.bytes / 4);
    let Ok(start) = artifact.reader().read_at(0, room).await else { return String::new() };
    let text = String::from_utf8_lossy(&start);
    let text = text.trim_end_matches(char::REPLACEMENT_CHARACTER);
    let lines = text.rfind('\n').filter(|_| artifact.reader().byte_length() > room as u64);
    let text = lines.and_then(|end| text.get(..end)).unwrap_or(text);
    let limits = limits.tokens(limits.tokens / 4);
    limits.longest_start(text).to_owned()
}

/// How many bytes of a large result are shown with its handle.
const PREVIEW_BYTES: usize = 2 * 1024;
