//! Schemas and arguments: what a tool accepts, and what it was called with.
//!
//! [`json`] is the JSON type of arguments.

#[doc(inline)]
pub use haft_core::json;

#[doc(inline)]
pub use haft_core::schema::args::{
    ArgDefinitions, ArgValue, Args, Bound, DecodeError, FromArgs, IntegerArg, LengthArg, ListArg,
    NumericArg, RawArgs, Strictness, TextArg, ToolArgs,
};
#[doc(inline)]
pub use haft_core::schema::{
    AcceptedArgs, Annotations, AnyRules, ArrayRules, BooleanRules, Change, ChangeKind, Definitions,
    EnumRules, FaultLocation, Field, ForeignSchemaError, InputSchema, IntegerRules, MapRules,
    NumberRules, ObjectRules, ObjectSchema, Pattern, Presence, Problem, Problems, Rule, Schema,
    SchemaBuilder, SchemaFault, Shape, StringRules, TupleRules, UnionRules, UnknownFields,
    ValueSchema, any, array, boolean, integer, map, nearest, number, object, one_of, string, tuple,
    union,
};

#[cfg(feature = "schemars")]
#[doc(inline)]
pub use crate::serde_args::SerdeArgs;
