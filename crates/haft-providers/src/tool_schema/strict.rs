//! The subset of JSON Schema that constrained decoding takes, as OpenAI defines it.
//!
//! Every object is closed and every property required. A property that may be absent accepts `null` instead,
//! which the validator of the tool then takes for absent.

use haft_core::args::Strictness;
use haft_core::json::{Document, JsonWriter, ValueRef};
use haft_core::schema::InputSchema;

use super::{LoweredSchema, child_pointer, left_out_note, shown_text};
use crate::dialect::{NoteTopic, RequestNote};

/// Limits of the subset: the smallest that were published, so that every model takes what stays within.
const MAX_LEVELS: usize = 5;
const MAX_PROPERTIES: usize = 100;
const MAX_CHOICES: usize = 500;

/// Longest text of examples and defaults that moves into a description.
const MAX_WORDS: usize = 200;

/// Keywords that are copied.
const KEPT: [&str; 7] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
];

const FORMATS: [&str; 9] =
    ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"];

/// Keywords that restrict nothing, or that the walk writes at their place.
const SILENT: [&str; 15] = [
    "type",
    "required",
    "additionalProperties",
    "description",
    "default",
    "examples",
    "$defs",
    "definitions",
    "$schema",
    "$id",
    "$anchor",
    "$comment",
    "deprecated",
    "readOnly",
    "writeOnly",
];

/// Why a schema cannot be put into the strict subset.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the schema has no strict form: {what} (at {})", if pointer.is_empty() { "the root" } else { pointer })]
#[non_exhaustive]
pub struct NotStrict {
    /// Where.
    pub pointer: String,
    /// What the subset cannot say.
    pub what: &'static str,
}

/// The schema in the strict subset, if it has a form there that loses nothing but constraints which the
/// validator of the tool enforces anyway.
///
/// ```
/// use haft_core::args::Strictness;
/// use haft_core::schema::{InputSchema, map, object, string};
/// use haft_providers::tool_schema::lower_strict;
///
/// let city = InputSchema::new(object().field("city", string().required())).unwrap();
/// assert!(lower_strict(&city, Strictness::Coerce).is_ok());
/// let tags = InputSchema::new(object().field("tags", map(string()).required())).unwrap();
/// assert!(lower_strict(&tags, Strictness::Coerce).is_err(), "the subset has no maps");
/// ```
///
/// # Errors
///
/// A tool without coercion must not get `null` for an absent property; maps, tuples and values of any type cannot be
/// expressed; the schema is too large.
pub fn lower_strict(
    schema: &InputSchema,
    strictness: Strictness,
) -> Result<LoweredSchema, NotStrict> {
    let unreadable = |_| NotStrict { pointer: String::new(), what: "it is not JSON" };
    let doc = Document::parse(&shown_text(schema)).map_err(unreadable)?;
    let absent = match (strictness, schema.tree().is_some()) {
        (Strictness::Strict, _) => AbsentValue::Never,
        (_, true) => AbsentValue::AsNull,
        (_, false) => AbsentValue::AsNullIfTyped,
    };
    let mut walk = StrictLowering { absent, notes: Vec::new(), properties: 0, choices: 0 };
    let mut out = JsonWriter::new();
    walk.root(doc.root(), &mut out)?;
    Ok(LoweredSchema { text: out.finish().root().to_string(), notes: walk.notes })
}

/// Whether the validator takes `null` for absent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AbsentValue {
    Never,
    AsNull,
    /// Only where the schema names one type.
    AsNullIfTyped,
}

/// Whether `null` is accepted in addition to what a schema accepts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NullSupport {
    Unchanged,
    Added,
}

struct StrictLowering {
    absent: AbsentValue,
    notes: Vec<RequestNote>,
    properties: usize,
    choices: usize,
}

/// A place in a schema.
#[derive(Clone, Copy)]
struct SchemaPosition<'p> {
    pointer: &'p str,
    level: usize,
    null: NullSupport,
}

impl SchemaPosition<'_> {
    fn fault(self, what: &'static str) -> NotStrict {
        NotStrict { pointer: self.pointer.to_owned(), what }
    }
}

type StrictResult = Result<(), NotStrict>;

impl StrictLowering {
    fn root(&mut self, root: ValueRef<'_>, out: &mut JsonWriter) -> StrictResult {
        let place = SchemaPosition { pointer: "", level: 1, null: NullSupport::Unchanged };
        if root.get("type").and_then(ValueRef::as_str) != Some("object") {
            return Err(place.fault("its root is not an object"));
        }
        if ["anyOf", "oneOf", "$ref", "enum", "const", "not"]
            .iter()
            .any(|it| root.get(it).is_some())
        {
            return Err(place.fault("its root has alternatives"));
        }
        if root.get("$defs").is_some() && root.get("definitions").is_some() {
            return Err(place.fault("it has two sets of definitions"));
        }
        out.try_object(|out| {
            self.members(root, place, out)?;
            for keyword in ["$defs", "definitions"] {
                let Some(all) = root.get(keyword).filter(|it| !it.is_empty()) else { continue };
                let at = child_pointer("", keyword);
                out.key("$defs").try_object(|out| {
                    for (name, schema) in all.members() {
                        let pointer = child_pointer(&at, name);
                        out.key(name);
                        let place = SchemaPosition { pointer: &pointer, ..place };
                        self.schema(schema, place, out)?;
                    }
                    Ok(())
                })?;
            }
            Ok(())
        })?;
        if self.properties > MAX_PROPERTIES || self.choices > MAX_CHOICES {
            return Err(place.fault("it is too large"));
        }
        Ok(())
    }

    fn schema(
        &mut self,
        schema: ValueRef<'_>,
        place: SchemaPosition<'_>,
        out: &mut JsonWriter,
    ) -> StrictResult {
        if place.level > MAX_LEVELS {
            return Err(place.fault("it nests too deeply"));
        }
        out.try_object(|out| {
            if let Some(reference) = schema.get("$ref") {
                self.reference(reference, schema, place, out)
            } else if let Some(all) = schema.get("anyOf").or_else(|| schema.get("oneOf")) {
                self.alternatives(all, schema, place, out)
            } else {
                self.members(schema, place, out)
            }
        })
        .map(drop)
    }

    /// Lowers a reference. Other keywords next to it are left out.
    fn reference(
        &mut self,
        reference: ValueRef<'_>,
        schema: ValueRef<'_>,
        place: SchemaPosition<'_>,
        out: &mut JsonWriter,
    ) -> StrictResult {
        let name = reference.as_str().and_then(|it| {
            it.strip_prefix("#/$defs/").or_else(|| it.strip_prefix("#/definitions/"))
        });
        let target = match (name, reference.as_str()) {
            (Some(name), _) if !name.contains('/') => format!("#/$defs/{name}"),
            (_, Some("#")) => "#".to_owned(),
            _ => return Err(place.fault("it refers to something that is no definition")),
        };
        self.leave_out(schema, &["$ref"], place);
        match place.null {
            NullSupport::Unchanged => {
                out.key("$ref").string(&target);
            }
            NullSupport::Added => {
                out.key("anyOf").array(|out| {
                    out.object(|out| {
                        out.key("$ref").string(&target);
                    });
                    null_type(out);
                });
                write_description(schema, place.null, out);
            }
        }
        Ok(())
    }

    fn alternatives(
        &mut self,
        all: ValueRef<'_>,
        schema: ValueRef<'_>,
        place: SchemaPosition<'_>,
        out: &mut JsonWriter,
    ) -> StrictResult {
        if ["properties", "items", "allOf"].iter().any(|it| schema.get(it).is_some()) {
            return Err(place.fault("it has alternatives beside other rules"));
        }
        if schema.get("oneOf").is_some() {
            self.notes.push(left_out_note("oneOf", place.pointer));
        }
        self.leave_out(schema, &["anyOf", "oneOf"], place);
        out.key("anyOf").try_array(|out| {
            for (n, schema) in all.elements().enumerate() {
                let pointer = child_pointer(&child_pointer(place.pointer, "anyOf"), &n.to_string());
                let below =
                    SchemaPosition { pointer: &pointer, null: NullSupport::Unchanged, ..place };
                self.schema(schema, below, out)?;
            }
            if place.null == NullSupport::Added {
                null_type(out);
            }
            Ok(())
        })?;
        write_description(schema, place.null, out);
        Ok(())
    }

    fn members(
        &mut self,
        schema: ValueRef<'_>,
        place: SchemaPosition<'_>,
        out: &mut JsonWriter,
    ) -> StrictResult {
        let types = types(schema).ok_or_else(|| place.fault("it accepts values of any kind"))?;
        out.key("type");
        match (types.as_slice(), place.null) {
            ([only], NullSupport::Unchanged) => {
                out.string(only);
            }
            (several, null) => {
                out.array(|out| {
                    for name in several {
                        out.string(name);
                    }
                    if null == NullSupport::Added {
                        out.string("null");
                    }
                });
            }
        }
        write_description(schema, place.null, out);
        for (keyword, value) in schema.members() {
            self.keyword(keyword, value, place, out)?;
        }
        if types.contains(&"object") {
            self.object(schema, place, out)?;
        }
        let any_items = schema.get("items").is_none_or(|it| it.as_bool().is_some());
        if types.contains(&"array") && any_items {
            return Err(place.fault("it has lists of any values"));
        }
        Ok(())
    }

    fn keyword(
        &mut self,
        keyword: &str,
        value: ValueRef<'_>,
        place: SchemaPosition<'_>,
        out: &mut JsonWriter,
    ) -> StrictResult {
        match keyword {
            "enum" => {
                self.choices += value.len();
                out.key("enum").array(|out| {
                    for choice in value.elements() {
                        out.view(choice);
                    }
                    if place.null == NullSupport::Added {
                        out.null();
                    }
                });
            }
            "const" if place.null == NullSupport::Added => {
                out.key("enum").array(|out| {
                    out.view(value).null();
                });
            }
            "const" | "title" => {
                out.key(keyword).view(value);
            }
            "items" => {
                let pointer = child_pointer(place.pointer, "items");
                out.key("items");
                let below =
                    SchemaPosition { pointer: &pointer, null: NullSupport::Unchanged, ..place };
                self.schema(value, below, out)?;
            }
            "pattern" if value.as_str().is_some_and(is_plain) => {
                out.key("pattern").view(value);
            }
            "format" if value.as_str().is_some_and(|it| FORMATS.contains(&it)) => {
                out.key("format").view(value);
            }
            "properties" => {}
            "prefixItems" => return Err(place.fault("it has lists with places of their own")),
            "patternProperties" => return Err(place.fault("it has names by pattern")),
            "allOf" => return Err(place.fault("it is made of several schemas")),
            kept if KEPT.contains(&kept) => {
                out.key(kept).view(value);
            }
            silent if SILENT.contains(&silent) => {}
            other => self.notes.push(left_out_note(other, place.pointer)),
        }
        Ok(())
    }

    fn object(
        &mut self,
        schema: ValueRef<'_>,
        place: SchemaPosition<'_>,
        out: &mut JsonWriter,
    ) -> StrictResult {
        let rest = schema.get("additionalProperties");
        let closed = rest.and_then(ValueRef::as_bool) == Some(false);
        if rest.is_some_and(|it| it.as_bool().is_none()) {
            return Err(place.fault("it has free names"));
        }
        let properties = schema.get("properties").filter(|it| !it.is_empty());
        if properties.is_none() && !closed {
            return Err(place.fault("it has free names"));
        }
        if !closed {
            let what =
                format!("further properties of {} cannot be sent", location_name(place.pointer));
            self.notes.push(RequestNote::new(NoteTopic::SchemaNarrowed, what));
        }
        let required = |name: &str| {
            schema
                .get("required")
                .is_some_and(|it| it.elements().any(|it| it.as_str() == Some(name)))
        };
        let properties: Vec<(&str, ValueRef<'_>)> =
            properties.into_iter().flat_map(ValueRef::members).collect();
        let unknown = schema.get("required").is_some_and(|it| {
            let known =
                |it: ValueRef<'_>| properties.iter().any(|(name, _)| it.as_str() == Some(name));
            !it.elements().all(known)
        });
        if unknown {
            return Err(place.fault("it requires a property that it does not describe"));
        }
        self.properties += properties.len();
        out.key("properties").try_object(|out| {
            for (name, below) in &properties {
                let pointer = child_pointer(&child_pointer(place.pointer, "properties"), name);
                let level = place.level + 1;
                let mut place =
                    SchemaPosition { pointer: &pointer, level, null: NullSupport::Unchanged };
                if !required(name) {
                    place.null = self.optional(*below, place)?;
                }
                out.key(name);
                self.schema(*below, place, out)?;
            }
            Ok(())
        })?;
        out.key("required").array(|out| {
            for (name, _) in &properties {
                out.string(name);
            }
        });
        out.key("additionalProperties").boolean(false);
        Ok(())
    }

    /// Decides how an absent property is represented: strict schemas have no optional properties, only `null`.
    fn optional(
        &mut self,
        schema: ValueRef<'_>,
        place: SchemaPosition<'_>,
    ) -> Result<NullSupport, NotStrict> {
        if accepts_null(schema) {
            let what = format!("{} is `null` where it could be absent", place.pointer);
            self.notes.push(RequestNote::new(NoteTopic::SchemaNarrowed, what));
            return Ok(NullSupport::Unchanged);
        }
        let typed = schema.get("type").is_some_and(|it| it.as_str().is_some());
        match self.absent {
            AbsentValue::AsNull => Ok(NullSupport::Added),
            AbsentValue::AsNullIfTyped if typed => Ok(NullSupport::Added),
            AbsentValue::AsNullIfTyped | AbsentValue::Never => {
                Err(place.fault("it may be absent, and the tool does not take null for that"))
            }
        }
    }

    /// Notes the keywords that restrict and are not part of the lowered schema.
    fn leave_out(&mut self, schema: ValueRef<'_>, said: &[&str], place: SchemaPosition<'_>) {
        for (keyword, _) in schema.members() {
            let silent = SILENT.contains(&keyword) || keyword == "title";
            if !said.contains(&keyword) && !silent {
                self.notes.push(left_out_note(keyword, place.pointer));
            }
        }
    }
}

/// The types that a schema names, or that its values have.
fn types(schema: ValueRef<'_>) -> Option<Vec<&str>> {
    if let Some(kind) = schema.get("type") {
        return match kind.as_str() {
            Some(one) => Some(vec![one]),
            None => Some(kind.elements().filter_map(ValueRef::as_str).collect()),
        };
    }
    let values: Vec<ValueRef<'_>> = match (schema.get("enum"), schema.get("const")) {
        (Some(all), _) => all.elements().collect(),
        (None, Some(one)) => vec![one],
        (None, None) => return None,
    };
    let mut types = Vec::new();
    for value in values {
        let name = match value.as_number() {
            Some(number) if number.is_integer() => "integer",
            _ => value.kind().name(),
        };
        if !types.contains(&name) {
            types.push(name);
        }
    }
    Some(types).filter(|it| !it.contains(&"object") && !it.contains(&"array"))
}

/// Whether a schema says by itself that it accepts `null`.
fn accepts_null(schema: ValueRef<'_>) -> bool {
    let is_null = |it: ValueRef<'_>| it.is_null();
    let by_type = schema.get("type").map(|it| {
        it.as_str() == Some("null") || it.elements().any(|it| it.as_str() == Some("null"))
    });
    let by_value = schema.get("enum").map(|it| it.elements().any(is_null));
    let by_const = schema.get("const").map(is_null);
    let by_choice = schema.get("anyOf").map(|it| it.elements().any(accepts_null));
    let all = [by_type, by_value, by_const, by_choice];
    all.contains(&Some(true)) && !all.contains(&Some(false))
}

/// The description, with what the subset has no keyword for.
fn write_description(schema: ValueRef<'_>, null: NullSupport, out: &mut JsonWriter) {
    let mut text =
        schema.get("description").and_then(ValueRef::as_str).unwrap_or_default().to_owned();
    let mut add = |line: String| {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&line);
    };
    if let Some(value) = schema.get("default") {
        add(format!("Default: {}", value.to_string().chars().take(MAX_WORDS).collect::<String>()));
    }
    if let Some(values) = schema.get("examples").filter(|it| !it.is_empty()) {
        let all: Vec<String> = values.elements().map(|it| it.to_string()).collect();
        add(format!("Examples: {}", all.join(", ").chars().take(MAX_WORDS).collect::<String>()));
    }
    if null == NullSupport::Added {
        add("null leaves it out.".to_owned());
    }
    if !text.is_empty() {
        out.key("description").string(&text);
    }
}

/// Whether a pattern needs nothing that readers of patterns disagree on.
fn is_plain(pattern: &str) -> bool {
    let groups = pattern.replace("(?:", "");
    !["(?", r"\p", r"\P", r"\A", r"\z", r"\Z", r"\b", r"\B", "&&", "--", "[["]
        .iter()
        .any(|it| groups.contains(it))
}

fn null_type(out: &mut JsonWriter) {
    out.object(|out| {
        out.key("type").string("null");
    });
}

fn location_name(pointer: &str) -> &str {
    if pointer.is_empty() { "the root" } else { pointer }
}
