//! Formats: what can be asked of content of a kind.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use super::question::{Handles, Question};
use crate::BoxFuture;
use crate::artifact::{ArtifactKind, Budget, QueryOutput, SpooledArtifact};
use crate::cancel::Cancellation;
use crate::schema::args::{Args, FromArgs};
use crate::schema::{InputSchema, Problems, Schema, SchemaFault, object};
use crate::tool::ToolFailure;

/// How content of some kinds is queried.
///
/// Every artifact has the same four tools: `artifact_info`, `artifact_read`, `artifact_grep` and `artifact_query`. A
/// format answers their questions for its kinds. It may also bring tools of its own.
pub trait ArtifactFormat: fmt::Debug + Send + Sync + 'static {
    /// Whether it reads content of this kind.
    fn reads(&self, kind: &ArtifactKind) -> bool;

    /// Answers a question. `None` leaves it to the formats that were added before, of which the one for text reads
    /// every kind: it answers [`Question::Read`] for lines and [`Question::Grep`].
    ///
    /// A failure is words for the model: what was wrong, where, and what to ask instead.
    fn answer(&self, question: &Question, ctx: &QueryContext) -> Option<QueryAnswer>;

    /// What `artifact_query` takes for this content, with an example, as a clause such as "a JSONPath such as
    /// `$.name`"; `None` if the format does not answer [`Question::Query`]. The model reads it in the answer of
    /// `artifact_info`, and in refusals of `artifact_query`.
    fn query_form(&self) -> Option<&str> {
        None
    }

    /// Tools of its own, in the order in which the model sees them. Asked once.
    fn tools(&self) -> Vec<Query> {
        Vec::new()
    }
}

/// The answer to a question, once it is found.
pub type QueryAnswer = BoxFuture<'static, Result<QueryOutput, ToolFailure>>;

/// A query tool that a format brings in addition to the four that every artifact has. See [`Query::new`].
#[derive(Clone)]
pub struct Query {
    name: String,
    description: String,
    input: Option<Result<InputSchema, Vec<SchemaFault>>>,
    check: Option<Arc<Check>>,
    run: Arc<QueryFn>,
}

type QueryFn = dyn Fn(&Args, QueryContext) -> QueryAnswer + Send + Sync;
pub(super) type Check = dyn Fn(&Args) -> Result<(), Problems> + Send + Sync;

/// The artifact that a query reads, and the bounds of its result.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct QueryContext {
    /// The artifact.
    pub artifact: SpooledArtifact,
    /// The maximum size of the result.
    pub budget: Budget,
    /// Is cancelled when the result is no longer needed.
    pub cancellation: Cancellation,
}

impl Query {
    /// A query: the name of its tool, what the model reads when it chooses, and what runs.
    ///
    /// The first parameter is what the model gives in addition to the artifact: a type that derives `ToolArgs`,
    /// or [`Args`] together with [`Query::input`]. The field `callId` is added when the tool is forged.
    /// A failure is words for the model: what was wrong, where, and what to do instead.
    pub fn new<A, F, Fut>(name: impl Into<String>, description: impl Into<String>, run: F) -> Self
    where
        A: FromArgs,
        F: Fn(A, QueryContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<QueryOutput, ToolFailure>> + Send + 'static,
    {
        Self {
            name: name.into(),
            description: description.into(),
            input: A::input_schema(),
            check: None,
            run: Arc::new(move |args, asked| match A::from_args(args) {
                Ok(args) => Box::pin(run(args, asked)),
                Err(error) => Box::pin(async move { Err(error.into()) }),
            }),
        }
    }

    /// The schema of the arguments, for a query that takes [`Args`].
    #[must_use]
    pub fn input(mut self, schema: impl Into<Schema>) -> Self {
        self.input = Some(InputSchema::new(schema));
        self
    }

    /// Checks arguments beyond their schema before anything is read: a pattern or a path that cannot be
    /// understood is refused as an argument.
    #[must_use]
    pub fn check(
        mut self,
        check: impl Fn(&Args) -> Result<(), Problems> + Send + Sync + 'static,
    ) -> Self {
        self.check = Some(Arc::new(check));
        self
    }

    /// The name of its tool.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the model reads when it chooses.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Asks.
    #[must_use]
    pub fn ask(&self, args: &Args, asked: QueryContext) -> QueryAnswer {
        (self.run)(args, asked)
    }

    pub(super) fn checker(&self) -> Option<Arc<Check>> {
        self.check.clone()
    }

    /// The arguments with `callId` in front of them.
    pub(super) fn schema_for(&self, handles: &Handles) -> Result<InputSchema, Vec<SchemaFault>> {
        let own = match &self.input {
            Some(input) => input.as_ref().map_err(Vec::clone)?.tree(),
            None => None,
        };
        let call_id = handles.field(true);
        let Some((root, definitions)) = own else {
            return InputSchema::new(call_id);
        };
        let root = call_id.fields_of(object().fields_of(root.clone()));
        InputSchema::with_definitions(root, definitions.clone())
    }
}

impl QueryContext {
    /// About an artifact, with the default budget.
    #[must_use]
    pub fn new(artifact: SpooledArtifact) -> Self {
        Self { artifact, budget: Budget::new(), cancellation: Cancellation::new() }
    }
}

impl fmt::Debug for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Query({})", self.name)
    }
}
