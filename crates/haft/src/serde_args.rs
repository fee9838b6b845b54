//! Types that already derive serde and schemars, as arguments.

use haft_core::args::{Args, DecodeError};
use haft_core::schema::{FaultLocation, InputSchema, SchemaFault};
use haft_core::{ArgValue as _, FromArgs};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

/// Arguments of a type that derives `serde::Deserialize` and `schemars::JsonSchema`.
///
/// Use it for types that you cannot change. The schema is schemars' and is enforced as such; the value is decoded by
/// serde, and the two can disagree: JSON Schema counts `3.0` as an integer and serde does not, and schemars states
/// ranges that serde does not enforce. If they disagree, the call fails as a defect of the tool. Run
/// `haft_conformance::prove_serde` on such a type in a test, and prefer `#[derive(ToolArgs)]` for types of your own, which
/// cannot disagree.
///
/// ```
/// use haft::{DispatchContext, Tool};
/// use haft::schema::SerdeArgs;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Point {
///     x: f64,
///     y: f64,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let norm = Tool::builder("norm")
///     .description("The distance of a point from the origin.")
///     .handler(|SerdeArgs(point): SerdeArgs<Point>| point.x.hypot(point.y).to_string())
///     .build()?;
/// let ctx = DispatchContext::builder("turn-1").build();
/// let done = norm.executor(&ctx).call(r#"{"x": 3, "y": 4}"#).await;
/// assert!(matches!(done.outcome?, haft::ToolOutput::Text(text) if text == "5"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a wrapper that handlers take apart")]
pub struct SerdeArgs<T>(pub T);

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema + Send + 'static> FromArgs for SerdeArgs<T> {
    fn input_schema() -> Option<Result<InputSchema, Vec<SchemaFault>>> {
        let schema = schemars::schema_for!(T).to_value();
        let input = InputSchema::from_json_schema(schema);
        Some(
            input
                .map_err(|error| vec![SchemaFault::new(FaultLocation::input(), error.to_string())]),
        )
    }

    fn from_args(args: &Args) -> Result<Self, DecodeError> {
        let value = serde_json::Value::decode(args.root())?;
        T::deserialize(value)
            .map(Self)
            .map_err(|error| DecodeError::new(format!("what serde takes: {error}")))
    }
}
