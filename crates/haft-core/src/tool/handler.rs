//! Plain functions as handlers.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use super::{AcceptedCall, IntoToolOutput, ToolFailure, ToolOutput};
use crate::BoxFuture;
use crate::schema::args::{Args, DecodeError, FromArgs};
use crate::schema::{InputSchema, SchemaFault, object};
use crate::tool::context::CallContext;

/// What a handler does for one call. One that is not async has done it already.
type HandlerFuture = BoxFuture<'static, Result<ToolOutput, ToolFailure>>;

fn ready<R: IntoToolOutput>(output: R) -> HandlerFuture {
    Box::pin(std::future::ready(output.into_tool_output()))
}

fn running<R: IntoToolOutput>(future: impl Future<Output = R> + Send + 'static) -> HandlerFuture {
    Box::pin(async move { future.await.into_tool_output() })
}

fn failed(error: DecodeError) -> HandlerFuture {
    ready(Err::<(), _>(error))
}

type HandlerFn = dyn Fn(&AcceptedCall) -> HandlerFuture + Send + Sync;

/// A handler with its signature forgotten. Only the executor calls it.
#[derive(Clone)]
pub struct Handler {
    run: Arc<HandlerFn>,
    input: Option<Result<InputSchema, Vec<SchemaFault>>>,
    /// Whether it does its work before it returns a future.
    blocks: bool,
    /// Whether its results are never large, by their type.
    is_small: bool,
    takes_nothing: bool,
}

impl Handler {
    fn new<A: FromArgs>(
        run: impl Fn(&AcceptedCall) -> HandlerFuture + Send + Sync + 'static,
    ) -> Self {
        let (run, input) = (Arc::new(run), A::input_schema());
        Self { run, input, blocks: false, is_small: false, takes_nothing: false }
    }

    /// Says that the handler takes no arguments.
    fn without_args(self) -> Self {
        Self { takes_nothing: true, ..self }
    }

    pub(super) fn takes_nothing(&self) -> bool {
        self.takes_nothing
    }

    /// A handler that is not async.
    fn blocking<A: FromArgs>(
        run: impl Fn(&AcceptedCall) -> HandlerFuture + Send + Sync + 'static,
    ) -> Self {
        Self { blocks: true, ..Self::new::<A>(run) }
    }

    /// Says what the handler returns.
    fn returning<R: IntoToolOutput>(self) -> Self {
        Self { is_small: R::IS_SMALL, ..self }
    }

    pub(super) fn is_small(&self) -> bool {
        self.is_small
    }

    pub(super) fn blocks(&self) -> bool {
        self.blocks
    }

    /// The schema that the handler's own argument type brings.
    pub(super) fn take_input(&mut self) -> Option<Result<InputSchema, Vec<SchemaFault>>> {
        self.input.take()
    }

    pub(super) fn run(&self, call: &AcceptedCall) -> HandlerFuture {
        (self.run)(call)
    }
}

impl fmt::Debug for Handler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handler")
    }
}

/// Functions and closures that can be handlers, async or not:
///
/// - `fn() -> R`, for tools without arguments
/// - `fn(A) -> R`
/// - `fn(A, &CallContext) -> R`
/// - `fn(A, CallContext) -> R` if async (a closure that returns an `async move` block, say)
///
/// where `A` is [`FromArgs`] and `R` is [`IntoToolOutput`].
///
/// An async handler is cloned for each call, and may use up what it captured. So a client is captured in the obvious way,
/// if it is `Clone`:
///
/// ```
/// use haft_core::schema::object;
/// use haft_core::{Args, Tool};
///
/// # #[derive(Clone)] struct Client;
/// # impl Client { async fn get(&self, _: &str) -> Result<String, std::io::Error> { Ok(String::new()) } }
/// let client = Client;
/// let status = Tool::builder("status")
///     .description("Returns the status of the service.")
///     .input(object())
///     .handler(async move |_: Args| client.get("/status").await)
///     .build()?;
/// # Ok::<(), haft_core::tool::InvalidTool>(())
/// ```
///
/// A function with `#[tool]` takes shared values as [`State`](super::State) instead.
#[diagnostic::on_unimplemented(
    message = "this cannot be the handler of a tool",
    label = "not a handler",
    note = "a handler is `fn(A) -> R` or `fn(A, &CallContext) -> R`, async or not (an async closure takes `CallContext` by value)",
    note = "`A` derives `ToolArgs`, or is `Args` or `serde_json::Value`; annotate it in closures: `|args: Weather| …`",
    note = "`R` is String, Vec<u8>, Bytes, ByteStream, Media, Vec<Media>, ArtifactDraft, SpooledArtifact, a list of these, Json<T>, or a Result of one of them with an error that converts to `ToolFailure`",
    note = "a future must be `Send`: hold no `Rc`, `RefCell` or std lock guard across an `.await`",
    note = "an async closure must be `Clone`: wrap what it captures in `Arc` if it is not",
    note = "a closure captures the values that calls share; `State<T>` is for functions with `#[tool]`"
)]
pub trait IntoHandler<Signature>: Send + Sync + 'static {
    /// Forgets the signature.
    fn into_handler(self) -> Handler;
}

/// The signatures that a handler can have. Each has its own implementation of [`IntoHandler`], and the compiler selects
/// the one that fits.
pub mod signature {
    /// `fn() -> R`
    #[derive(Debug)]
    #[non_exhaustive]
    pub struct WithoutArgs;
    /// `async fn() -> R`
    #[derive(Debug)]
    #[non_exhaustive]
    pub struct AsyncWithoutArgs;
    /// `fn(A) -> R`
    #[derive(Debug)]
    pub struct WithArgs<A>(std::marker::PhantomData<A>);
    /// `async fn(A) -> R`
    #[derive(Debug)]
    pub struct AsyncWithArgs<A>(std::marker::PhantomData<A>);
    /// `fn(A, &CallContext) -> R`
    #[derive(Debug)]
    pub struct WithContext<A>(std::marker::PhantomData<A>);
    /// `async fn(A, CallContext) -> R`
    #[derive(Debug)]
    pub struct AsyncWithContext<A>(std::marker::PhantomData<A>);
    /// `async fn(A, &CallContext) -> R`
    #[derive(Debug)]
    pub struct AsyncWithContextRef<A>(std::marker::PhantomData<A>);
}

/// A tool without arguments still has a schema: an object without fields.
struct NoArgs;

impl FromArgs for NoArgs {
    fn input_schema() -> Option<Result<InputSchema, Vec<SchemaFault>>> {
        Some(InputSchema::new(object()))
    }

    fn from_args(_: &Args) -> Result<Self, DecodeError> {
        Ok(Self)
    }
}

impl<F, R> IntoHandler<signature::WithoutArgs> for F
where
    F: Fn() -> R + Send + Sync + 'static,
    R: IntoToolOutput,
{
    fn into_handler(self) -> Handler {
        Handler::blocking::<NoArgs>(move |_| ready(self())).without_args().returning::<R>()
    }
}

impl<F, Fut, R> IntoHandler<signature::AsyncWithoutArgs> for F
where
    F: FnOnce() -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = R> + Send + 'static,
    R: IntoToolOutput + 'static,
{
    fn into_handler(self) -> Handler {
        Handler::new::<NoArgs>(move |_| running(self.clone()())).without_args().returning::<R>()
    }
}

impl<F, A, R> IntoHandler<signature::WithArgs<A>> for F
where
    F: Fn(A) -> R + Send + Sync + 'static,
    A: FromArgs,
    R: IntoToolOutput,
{
    fn into_handler(self) -> Handler {
        Handler::blocking::<A>(move |call| match A::from_args(call.args()) {
            Ok(args) => ready(self(args)),
            Err(error) => failed(error),
        })
        .returning::<R>()
    }
}

impl<F, A, Fut, R> IntoHandler<signature::AsyncWithArgs<A>> for F
where
    F: FnOnce(A) -> Fut + Clone + Send + Sync + 'static,
    A: FromArgs,
    Fut: Future<Output = R> + Send + 'static,
    R: IntoToolOutput + 'static,
{
    fn into_handler(self) -> Handler {
        Handler::new::<A>(move |call| match A::from_args(call.args()) {
            Ok(args) => running(self.clone()(args)),
            Err(error) => failed(error),
        })
        .returning::<R>()
    }
}

impl<F, A, R> IntoHandler<signature::WithContext<A>> for F
where
    F: Fn(A, &CallContext) -> R + Send + Sync + 'static,
    A: FromArgs,
    R: IntoToolOutput,
{
    fn into_handler(self) -> Handler {
        Handler::blocking::<A>(move |call| match A::from_args(call.args()) {
            Ok(args) => ready(self(args, &call.context())),
            Err(error) => failed(error),
        })
        .returning::<R>()
    }
}

impl<F, A, Fut, R> IntoHandler<signature::AsyncWithContext<A>> for F
where
    F: FnOnce(A, CallContext) -> Fut + Clone + Send + Sync + 'static,
    A: FromArgs,
    Fut: Future<Output = R> + Send + 'static,
    R: IntoToolOutput + 'static,
{
    fn into_handler(self) -> Handler {
        Handler::new::<A>(move |call| match A::from_args(call.args()) {
            Ok(args) => running(self.clone()(args, call.context())),
            Err(error) => failed(error),
        })
        .returning::<R>()
    }
}

/// An async function that borrows its context: the future may live as long as the borrow.
trait Borrowing<'c, A>: FnOnce(A, &'c CallContext) -> Self::Future {
    type Future: Future<Output: IntoToolOutput> + Send + 'c;
}

impl<'c, F, A, Fut> Borrowing<'c, A> for F
where
    F: FnOnce(A, &'c CallContext) -> Fut,
    Fut: Future + Send + 'c,
    Fut::Output: IntoToolOutput,
{
    type Future = Fut;
}

impl<F, A> IntoHandler<signature::AsyncWithContextRef<A>> for F
where
    F: for<'c> Borrowing<'c, A> + Clone + Send + Sync + 'static,
    A: FromArgs,
{
    fn into_handler(self) -> Handler {
        Handler::new::<A>(move |call| match A::from_args(call.args()) {
            Ok(args) => {
                let (run, ctx) = (self.clone(), call.context());
                Box::pin(async move { run(args, &ctx).await.into_tool_output() })
            }
            Err(error) => failed(error),
        })
        .returning::<<<F as Borrowing<'static, A>>::Future as Future>::Output>()
    }
}
