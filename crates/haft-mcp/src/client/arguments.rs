//! Arguments of calls as the protocol has them.

use haft_core::Args;
use serde_json::{Map, Value};

/// The arguments of a call as an object.
pub(super) fn to_object(args: &Args) -> Map<String, Value> {
    match args.to_value() {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}
