//! Formats: what can be asked of content of a kind.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use crate::BoxFuture;
use crate::artifact::{ArtifactKind, Budget, QueryOutput, SpooledArtifact};
use crate::cancel::Cancellation;
use crate::schema::args::{Args, FromArgs};
use crate::schema::{
    InputSchema, ObjectSchema, Problems, Schema, SchemaFault, object, one_of, string,
};
use crate::tool::ToolFailure;

/// What can be asked of content of some kinds.
///
/// A format is a list of queries. Each becomes a tool that the model sees while there is an artifact
/// that the format reads.
pub trait ArtifactFormat: fmt::Debug + Send + Sync + 'static {
    /// Whether it reads content of this kind.
    fn reads(&self, kind: &ArtifactKind) -> bool;

    /// Its queries, in the order in which the model sees them. Asked once.
    fn queries(&self) -> Vec<Query>;
}

/// One thing that can be asked. See [`Query::new`].
#[derive(Clone)]
pub struct Query {
    name: String,
    description: String,
    input: Option<Result<InputSchema, Vec<SchemaFault>>>,
    check: Option<Arc<Check>>,
    run: Arc<QueryFn>,
}

type QueryFn = dyn Fn(&Args, QueryContext) -> AnswerFuture + Send + Sync;
pub(super) type Check = dyn Fn(&Args) -> Result<(), Problems> + Send + Sync;
pub(super) type AnswerFuture = BoxFuture<'static, Result<QueryOutput, ToolFailure>>;

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
    pub fn ask(&self, args: &Args, asked: QueryContext) -> AnswerFuture {
        (self.run)(args, asked)
    }

    pub(super) fn checker(&self) -> Option<Arc<Check>> {
        self.check.clone()
    }

    /// The arguments with `callId` as the last of them.
    pub(super) fn schema_for(&self, handles: &Handles) -> Result<InputSchema, Vec<SchemaFault>> {
        let own = match &self.input {
            Some(input) => input.as_ref().map_err(Vec::clone)?.tree(),
            None => None,
        };
        let Some((root, definitions)) = own else {
            return InputSchema::new(handles.add_to(object()));
        };
        let root = handles.add_to(object().fields_of(root.clone()));
        InputSchema::with_definitions(root, definitions.clone())
    }
}

/// The handles that a schema accepts.
pub(super) enum Handles {
    Any,
    Live(Vec<String>),
}

impl Handles {
    fn add_to(&self, arguments: ObjectSchema) -> ObjectSchema {
        match self {
            Self::Any => arguments.field(CALL_ID, string().pattern(HANDLE_PATTERN).required()),
            Self::Live(handles) => {
                let handle = one_of(handles.iter().cloned());
                let handle = handle.description("Which artifact: its callId");
                arguments.field(CALL_ID, handle.required())
            }
        }
    }
}

/// What every handle matches, and nothing that could be mistaken for text.
const HANDLE_PATTERN: &str = "^[\\w.:#/-]+$";

/// The argument that names the artifact.
pub(super) const CALL_ID: &str = "callId";

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
