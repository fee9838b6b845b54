//! JSON Schemas of types whose JSON is written by hand: texts of a certain form, and JSON of any kind.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::artifact::ArtifactKind;
use crate::call::{CallId, RecordId};
use crate::clock::Timestamp;
use crate::error::ErrorCode;
use crate::event::BoundedText;
use crate::gate::GrantId;
use crate::id::ToolName;
use crate::schema::args::Args;
use crate::store::TurnId;

macro_rules! describe {
    ($($name:ident: $schema:tt;)*) => {$(
        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn schema_id() -> Cow<'static, str> {
                concat!(module_path!(), "::", stringify!($name)).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    )*};
}

describe! {
    ArtifactKind: {
        "description": "How content is queried: `text`, `json`, `csv`, `markdown` and so on.",
        "type": "string",
        "pattern": "^[a-z0-9-]{1,32}$",
    };
    BoundedText: {
        "description": "Text that is cut if it is long; it then ends with a note.",
        "type": "string",
    };
    CallId: {
        "description": "The SHA-256 of the canonical JSON of a tool's name and its arguments.",
        "type": "string",
        "pattern": "^[0-9a-f]{64}$",
    };
    ErrorCode: {
        "description": "A stable code.",
        "type": "string",
        "pattern": "^E_[A-Z0-9_]+$",
    };
    GrantId: {
        "description": "The id of a standing approval.",
        "type": "string",
        "pattern": "^[0-9a-f]{16}$",
    };
    RecordId: {
        "description": "The id of a call, and for a repeated call `#` and which of the equal calls of the turn it is.",
        "type": "string",
        "pattern": "^[0-9a-f]{64}(#[1-9][0-9]*)?$",
    };
    Timestamp: {
        "description": "A time in UTC with microseconds.",
        "type": "string",
        "format": "date-time",
        "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6}Z$",
    };
    ToolName: {
        "description": "The name of a tool.",
        "type": "string",
        "minLength": 1,
    };
    TurnId: {
        "description": "The id of a turn.",
        "type": "string",
        "minLength": 1,
        "maxLength": 200,
    };
}

impl JsonSchema for Args {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Args".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "The arguments of a call: usually an object." })
    }
}
