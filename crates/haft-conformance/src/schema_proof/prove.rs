//! The proof itself.

use jsonschema::Validator;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::compare::is_same_after_round_trip;
use super::disagreement::Disagreement;
use super::generate::Generator;
use super::sketch::approximate_schema;
use super::spell::spell_json;
use haft_core::json::{Document, JsonWriter, UnrepresentableValue};
use haft_core::schema::args::{Args, DecodeError, RawArgs, Strictness, ToolArgs};
use haft_core::schema::{ChangeKind, Definitions, InputSchema, Problems, Schema};

/// How a proof is run.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ProofOptions {
    /// How many values are drawn.
    pub values: usize,
    /// Where the draw starts. The same seed draws the same values.
    pub seed: u64,
}

impl Default for ProofOptions {
    fn default() -> Self {
        Self { values: 500, seed: 0 }
    }
}

impl ProofOptions {
    /// Draws this many values.
    #[must_use]
    pub const fn values(mut self, values: usize) -> Self {
        self.values = values;
        self
    }

    /// Sets the seed of the generator.
    #[must_use]
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }
}

/// The number of values that a successful proof covered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Agreement {
    /// Values drawn.
    pub values: usize,
    /// Values that every reader accepted.
    pub accepted: usize,
    /// Values that every reader refused.
    pub refused: usize,
}

/// Decodes accepted arguments and writes them again.
type RoundTrip<'d> =
    &'d dyn Fn(&Args) -> Result<Result<Document, UnrepresentableValue>, DecodeError>;

/// Proves that the schema, the validator and the decoder of a type agree. See the
/// [crate documentation](crate) for what that means.
///
/// # Errors
///
/// The first value on which they disagree, and what each of them says about it.
pub fn prove<T: ToolArgs>(options: ProofOptions) -> Result<Agreement, Disagreement> {
    let input = InputSchema::of::<T>().map_err(|faults| Disagreement::Faulty { faults })?;
    let round_trip = |args: &Args| {
        let value = T::decode(args.root())?;
        let mut out = JsonWriter::new();
        Ok(value.encode(&mut out).map(|()| out.finish()))
    };
    agreement(&input, Some(&round_trip), options)
}

/// Proves that a schema's validator and its JSON Schema agree, for a handler that takes the arguments as they are. A
/// schema from another source has no validator of its own: there the proof shows that the adapter decides as the
/// `jsonschema` crate does.
///
/// # Errors
///
/// As [`prove`].
pub fn prove_schema(input: &InputSchema, options: ProofOptions) -> Result<Agreement, Disagreement> {
    agreement(input, None, options)
}

/// Proves that a type which derives serde takes everything that a JSON Schema from another source accepts, such as the
/// schema that schemars makes for it.
///
/// # Errors
///
/// As [`prove`]. The two commonly disagree: JSON Schema counts `3.0` as an integer, and ranges are
/// often stated without being enforced.
pub fn prove_serde<T: DeserializeOwned>(
    schema: Value,
    options: ProofOptions,
) -> Result<Agreement, Disagreement> {
    let text = schema.to_string();
    let input = InputSchema::from_json_schema(schema)
        .map_err(|error| Disagreement::NotASchema { schema: text, reason: error.to_string() })?;
    let round_trip = |args: &Args| match T::deserialize(args.to_value()) {
        Ok(_) => Ok(Ok(args.document().clone())),
        Err(error) => Err(DecodeError::new(format!("what serde takes: {error}"))),
    };
    agreement(&input, Some(&round_trip), options)
}

/// The proof behind [`prove`], [`prove_schema`] and [`prove_serde`], for a decoder of your own:
/// `round_trip` decodes accepted arguments and writes them again.
///
/// # Errors
///
/// As [`prove`].
pub(super) fn agreement(
    input: &InputSchema,
    round_trip: Option<RoundTrip<'_>>,
    options: ProofOptions,
) -> Result<Agreement, Disagreement> {
    let (root, definitions) = match input.tree() {
        Some((root, definitions)) => (root.clone(), definitions.clone()),
        None => approximate_schema(&input.json_schema()),
    };
    let proof = RunningProof {
        input,
        reference: reference_validator(input)?,
        root,
        definitions,
        round_trip,
    };
    let mut generator = Generator::new(options.seed);
    let mut agreement = Agreement { values: options.values, accepted: 0, refused: 0 };
    for at in 0..options.values {
        let drawn = match at {
            // Once at least, so that every proof refuses something.
            1 => Some(json!([])),
            at if at % 3 == 0 => generator.valid(&proof.root, &proof.definitions),
            _ => None,
        };
        let value = drawn.unwrap_or_else(|| generator.near_miss(&proof.root, &proof.definitions));
        let text = spell_json(&value, &mut generator.random);
        if proof.check_value(&value, &text)? {
            agreement.accepted += 1;
        } else {
            agreement.refused += 1;
        }
    }
    let Agreement { accepted, refused, .. } = agreement;
    if accepted == 0 || refused == 0 {
        let schema = proof.schema_text();
        return Err(Disagreement::Vacuous { accepted, refused, schema });
    }
    Ok(agreement)
}

struct RunningProof<'p> {
    input: &'p InputSchema,
    reference: Validator,
    root: Schema,
    definitions: Definitions,
    round_trip: Option<RoundTrip<'p>>,
}

impl RunningProof<'_> {
    /// Whether the value is accepted, if all agree about it.
    fn check_value(&self, value: &Value, text: &str) -> Result<bool, Disagreement> {
        let raw = RawArgs::text(text);
        let strict = self.validate(&raw, Strictness::Strict);
        self.same_verdict(value, &strict)?;
        let as_value = self.validate(&RawArgs::value(value), Strictness::Strict);
        let same = match (&strict, &as_value) {
            (Ok((text, _)), Ok((value, _))) => text == value,
            (Err(text), Err(value)) => is_same_refusal(text, value),
            _ => false,
        };
        if !same {
            let value = value.to_string();
            let text = text.to_owned();
            return Err(Disagreement::Spelling { value, text, schema: self.schema_text() });
        }
        let coerced = self.validate(&raw, Strictness::Coerce);
        match (strict, coerced) {
            (Ok((strict, _)), coerced) => {
                self.left_alone(text, &strict, coerced)?;
                self.check_round_trip(&strict)?;
                Ok(true)
            }
            (Err(_), Ok((args, kinds))) => {
                self.check_coerced(text, &args, &kinds)?;
                self.check_round_trip(&args)?;
                Ok(false)
            }
            (Err(_), Err(_)) => Ok(false),
        }
    }

    fn validate(&self, raw: &RawArgs, strictness: Strictness) -> ProofVerdict {
        let accepted = self.input.accept("proof", raw, strictness)?;
        Ok((accepted.args, accepted.changes))
    }

    fn same_verdict(&self, value: &Value, strict: &ProofVerdict) -> Result<(), Disagreement> {
        if strict.is_ok() == self.reference.is_valid(value) {
            return Ok(());
        }
        Err(Disagreement::Verdict {
            value: value.to_string(),
            schema: self.schema_text(),
            problems: strict.as_ref().err().cloned(),
            reference: self.reference.validate(value).err().map(|error| error.to_string()),
        })
    }

    /// Coercion of accepted arguments does what strict validation does, and that only adds defaults.
    fn left_alone(
        &self,
        text: &str,
        strict: &Args,
        coerced: ProofVerdict,
    ) -> Result<(), Disagreement> {
        let (args, changes) = match coerced {
            Ok(coerced) => coerced,
            Err(problems) => {
                return Err(self.unsound_coercion(text, &problems.to_string(), Vec::new()));
            }
        };
        let only_defaults = changes.iter().all(|it| it.kind == ChangeKind::Default);
        if args == *strict && only_defaults {
            return Ok(());
        }
        Err(self.unsound_coercion(text, &args.to_string(), changes))
    }

    /// What coercion made is accepted as it is.
    fn check_coerced(
        &self,
        text: &str,
        args: &Args,
        changes: &ArgumentChanges,
    ) -> Result<(), Disagreement> {
        let raw = RawArgs::from(args.clone());
        let again = self.validate(&raw, Strictness::Strict);
        let stays = again.is_ok_and(|(again, more)| again == *args && more.is_empty());
        if stays && !changes.is_empty() {
            return Ok(());
        }
        Err(self.unsound_coercion(text, &args.to_string(), changes.clone()))
    }

    fn check_round_trip(&self, args: &Args) -> Result<(), Disagreement> {
        let Some(round_trip) = self.round_trip else { return Ok(()) };
        let value = args.to_string();
        let encoded = match round_trip(args) {
            Ok(Ok(encoded)) => encoded,
            Ok(Err(error)) => return Err(Disagreement::Encode { value, error }),
            Err(error) => {
                return Err(Disagreement::Decode { value, schema: self.schema_text(), error });
            }
        };
        if is_same_after_round_trip(&self.root, &self.definitions, args.root(), encoded.root()) {
            return Ok(());
        }
        let encoded = encoded.root().to_string();
        Err(Disagreement::RoundTrip { value, encoded, schema: self.schema_text() })
    }

    fn unsound_coercion(
        &self,
        text: &str,
        coerced: &str,
        changes: ArgumentChanges,
    ) -> Disagreement {
        let value = text.to_owned();
        let coerced = coerced.to_owned();
        Disagreement::Coercion { value, coerced, changes, schema: self.schema_text() }
    }

    fn schema_text(&self) -> String {
        self.input.json_schema_text().to_owned()
    }
}

type ArgumentChanges = Vec<haft_core::schema::Change>;

type ProofVerdict = Result<(Args, ArgumentChanges), Problems>;

/// Whether two refusals name the same rules at the same places. Members may come in another order.
fn is_same_refusal(a: &Problems, b: &Problems) -> bool {
    let places = |problems: &Problems| {
        let mut places: Vec<_> = problems
            .list
            .iter()
            .map(|it| (it.pointer.clone(), it.expected.clone(), it.found.clone()))
            .collect();
        places.sort_unstable();
        places
    };
    // Of a longer list, which ones are shown depends on the order of members.
    a.left_out == b.left_out && (a.left_out > 0 || places(a) == places(b))
}

/// The emitted text, read by the `jsonschema` crate.
fn reference_validator(input: &InputSchema) -> Result<Validator, Disagreement> {
    let schema = input.json_schema_text();
    let broken = |reason: String| Disagreement::NotASchema { schema: schema.to_owned(), reason };
    let value = Document::parse(schema).map_err(|error| broken(error.to_string()))?;
    jsonschema::options()
        .offline()
        .build(&value.root().to_value())
        .map_err(|error| broken(error.to_string()))
}
