//! What a proof shows when it fails.

use std::fmt;

use haft_core::json::UnrepresentableValue;
use haft_core::schema::args::DecodeError;
use haft_core::schema::{Change, Problems, SchemaFault};

/// Two parts of a tool's definition that disagree, and the value that shows it.
///
/// Its text has everything needed to repeat the failure.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Disagreement {
    /// The schema cannot be built at all.
    Faulty {
        /// Every fault.
        faults: Vec<SchemaFault>,
    },
    /// The emitted text is not a JSON Schema.
    NotASchema {
        /// The emitted text.
        schema: String,
        /// What the reference says.
        reason: String,
    },
    /// One accepts what the other refuses.
    Verdict {
        /// The value.
        value: String,
        /// The emitted text.
        schema: String,
        /// Why the validator refused it, or `None` if it was accepted.
        problems: Option<Problems>,
        /// Why the JSON Schema refused it, or `None` if it was accepted.
        reference: Option<String>,
    },
    /// A text and the value it spells are validated differently.
    Spelling {
        /// The value.
        value: String,
        /// The text.
        text: String,
        /// The emitted text.
        schema: String,
    },
    /// Accepted arguments did not decode.
    Decode {
        /// The accepted arguments.
        value: String,
        /// The emitted text.
        schema: String,
        /// Why not.
        error: DecodeError,
    },
    /// A decoded value could not be written.
    Encode {
        /// The accepted arguments.
        value: String,
        /// Why not.
        error: UnrepresentableValue,
    },
    /// A decoded value was written as another one.
    RoundTrip {
        /// The accepted arguments.
        value: String,
        /// What they became.
        encoded: String,
        /// The emitted text.
        schema: String,
    },
    /// Coercion changed what was right, or left something wrong.
    Coercion {
        /// The value.
        value: String,
        /// What coercion made of it.
        coerced: String,
        /// What it says it did.
        changes: Vec<Change>,
        /// The emitted text.
        schema: String,
    },
    /// Every value was refused, or every value was accepted: nothing was proved.
    Vacuous {
        /// How many values were accepted.
        accepted: usize,
        /// How many were refused.
        refused: usize,
        /// The emitted text.
        schema: String,
    },
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Faulty { faults } => {
                f.write_str("the schema is faulty")?;
                faults.iter().try_for_each(|fault| write!(f, "\n- {fault}"))
            }
            Self::NotASchema { schema, reason } => {
                write!(f, "the emitted text is not a JSON Schema: {reason}\nschema: {schema}")
            }
            Self::Verdict { value, schema, problems, reference } => {
                write!(f, "validator and JSON Schema disagree\nvalue: {value}\nvalidator: ")?;
                match problems {
                    Some(problems) => write!(f, "refused\n{problems}")?,
                    None => f.write_str("accepted")?,
                }
                match reference {
                    Some(reason) => write!(f, "\nJSON Schema: refused: {reason}")?,
                    None => f.write_str("\nJSON Schema: accepted")?,
                }
                write!(f, "\nschema: {schema}")
            }
            Self::Spelling { value, text, schema } => {
                write!(
                    f,
                    "text and value are judged differently\nvalue: {value}\ntext: {text}\nschema: {schema}"
                )
            }
            Self::Decode { value, schema, error } => {
                write!(
                    f,
                    "accepted, but does not decode: {error}\nvalue: {value}\nschema: {schema}"
                )
            }
            Self::Encode { value, error } => {
                write!(f, "decoded, but does not encode: {error}\nvalue: {value}")
            }
            Self::RoundTrip { value, encoded, schema } => {
                write!(
                    f,
                    "decoding changed the value\naccepted: {value}\nencoded: {encoded}\nschema: {schema}"
                )
            }
            Self::Coercion { value, coerced, changes, schema } => {
                write!(
                    f,
                    "coercion is not sound\nvalue: {value}\ncoerced: {coerced}\nchanges: {changes:?}\nschema: {schema}"
                )
            }
            Self::Vacuous { accepted, refused, schema } => {
                write!(
                    f,
                    "nothing was proved: {accepted} accepted, {refused} refused; an `example` in the schema shows what a valid value is\nschema: {schema}"
                )
            }
        }
    }
}

impl std::error::Error for Disagreement {}
