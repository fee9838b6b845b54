//! The OpenAPI document, generated from the wire types.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::wire;

/// One operation of the API.
pub(crate) struct Operation {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    summary: &'static str,
    /// The type of the query, which becomes parameters.
    query: Option<Type>,
    request: Option<Type>,
    response: Body,
}

/// Adds a type to the document and returns its schema.
type Type = fn(&mut SchemaGenerator) -> Value;

/// What a response has.
enum Body {
    Json(Type),
    /// Server-sent events: their names, and the types of their data.
    Events(&'static [(&'static str, Type)]),
    /// Bytes.
    Bytes,
}

fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    generator.subschema_for::<T>().to_value()
}

const fn get(path: &'static str, summary: &'static str, response: Body) -> Operation {
    Operation { method: "get", path, summary, query: None, request: None, response }
}

const fn post(
    path: &'static str,
    summary: &'static str,
    request: Type,
    response: Body,
) -> Operation {
    Operation { method: "post", path, summary, query: None, request: Some(request), response }
}

impl Operation {
    const fn query(mut self, query: Type) -> Self {
        self.query = Some(query);
        self
    }
}

/// Every operation.
pub(crate) const OPERATIONS: [Operation; 38] = [
    get("/", "Describes the server.", Body::Json(of::<wire::ServerInfo>)),
    get("/openapi.json", "Returns this document.", Body::Json(of::<Value>)),
    get(
        "/events",
        "Streams the changes of the newest turns.",
        Body::Events(&[("list", of::<wire::ListChange>)]),
    ),
    get("/turns", "Lists turns, newest first.", Body::Json(of::<wire::TurnPage>))
        .query(of::<wire::TurnFilter>),
    post(
        "/turns",
        "Submits a turn for the workers.",
        of::<wire::SubmitRequest>,
        Body::Json(of::<wire::StartedTurn>),
    ),
    get("/counts", "Counts turns by their states.", Body::Json(of::<wire::TurnCounts>))
        .query(of::<wire::TurnFilter>),
    get("/conversations", "Lists conversations.", Body::Json(of::<wire::ConversationPage>))
        .query(of::<wire::TurnFilter>),
    get(
        "/turns/{turn}",
        "Returns a turn with a window of its timeline.",
        Body::Json(of::<wire::TurnDetail>),
    )
    .query(of::<wire::RowRange>),
    get("/turns/{turn}/facts", "Returns the facts of a turn.", Body::Json(of::<wire::TurnFacts>)),
    get("/turns/{turn}/rows", "Reads rows of the timeline.", Body::Json(of::<wire::RowPage>))
        .query(of::<wire::RowRange>),
    get("/turns/{turn}/matches", "Finds rows by words.", Body::Json(of::<wire::RowMatches>))
        .query(of::<wire::RowSearch>),
    get("/turns/{turn}/steps", "Lists steps.", Body::Json(of::<wire::StepPage>))
        .query(of::<LineQuery>),
    get("/turns/{turn}/calls", "Lists calls.", Body::Json(of::<wire::CallPage>))
        .query(of::<wire::CallFilter>),
    get(
        "/turns/{turn}/events",
        "Streams the changes of a turn.",
        Body::Events(&[
            ("change", of::<wire::TurnChange>),
            ("reset", of::<wire::TurnDetail>),
            ("end", of::<wire::StreamEnd>),
        ]),
    ),
    get("/turns/{turn}/calls/{record}", "Returns a call.", Body::Json(of::<wire::CallView>)),
    get(
        "/turns/{turn}/steps/{step}/request",
        "Renders what the model saw.",
        Body::Json(of::<wire::RequestView>),
    ),
    get(
        "/turns/{turn}/steps/{step}/response",
        "Returns what the model responded.",
        Body::Json(of::<wire::ResponseView>),
    ),
    get(
        "/turns/{turn}/artifacts",
        "Lists the artifacts of a turn.",
        Body::Json(of::<Vec<wire::ArtifactRow>>),
    ),
    get(
        "/turns/{turn}/artifacts/{handle}",
        "Returns an artifact.",
        Body::Json(of::<wire::ArtifactRow>),
    )
    .query(of::<wire::ArtifactOptions>),
    get(
        "/turns/{turn}/artifacts/{handle}/content",
        "Returns bytes, whole or by range.",
        Body::Bytes,
    ),
    get("/turns/{turn}/artifacts/{handle}/lines", "Reads lines.", Body::Json(of::<wire::LinePage>))
        .query(of::<LineQuery>),
    get(
        "/turns/{turn}/artifacts/{handle}/search",
        "Searches lines.",
        Body::Events(&[("matches", of::<wire::SearchPage>), ("end", of::<wire::SearchEnd>)]),
    )
    .query(of::<SearchQuery>),
    get(
        "/turns/{turn}/artifacts/{handle}/outline",
        "Lists headings.",
        Body::Json(of::<Vec<wire::OutlineRow>>),
    ),
    get(
        "/turns/{turn}/artifacts/{handle}/rows",
        "Reads rows of a table.",
        Body::Json(of::<wire::CsvPage>),
    )
    .query(of::<LineQuery>),
    post(
        "/turns/{turn}/artifacts/{handle}/query",
        "Queries an artifact by a tool.",
        of::<wire::ArtifactQuery>,
        Body::Json(of::<wire::QueryResult>),
    ),
    get("/turns/{turn}/media/{name}", "Returns a medium.", Body::Bytes),
    post(
        "/turns/{turn}/cancel",
        "Cancels a turn.",
        of::<wire::ReasonRequest>,
        Body::Json(of::<wire::StartedTurn>),
    ),
    post(
        "/turns/{turn}/resume",
        "Resumes a turn.",
        of::<wire::ReasonRequest>,
        Body::Json(of::<wire::StartedTurn>),
    ),
    post(
        "/turns/{turn}/fork",
        "Forks a turn.",
        of::<wire::ForkRequest>,
        Body::Json(of::<wire::StartedTurn>),
    ),
    get("/gates", "Lists the open gates.", Body::Json(of::<Vec<wire::GateView>>)),
    post(
        "/gates/{gate}/check",
        "Validates a value.",
        of::<wire::GateProposal>,
        Body::Json(of::<wire::GateCheck>),
    ),
    post(
        "/gates/{gate}/decision",
        "Decides a gate.",
        of::<wire::GateDecisionRequest>,
        Body::Json(of::<wire::GateView>),
    ),
    get("/grants", "Lists the standing approvals.", Body::Json(of::<Vec<wire::GrantRow>>)),
    post(
        "/grants/{grant}/revoke",
        "Revokes a standing approval.",
        of::<wire::ReasonRequest>,
        Body::Json(of::<Vec<wire::GrantRow>>),
    ),
    get("/agents", "Lists agents.", Body::Json(of::<Vec<wire::AgentRow>>)),
    get("/agents/{agent}", "Returns an agent with its tools.", Body::Json(of::<wire::AgentDetail>)),
    post(
        "/agents/{agent}/tools/{tool}/calls",
        "Calls a tool in a new turn.",
        of::<wire::ToolCallRequest>,
        Body::Json(of::<wire::StartedTurn>),
    ),
    post(
        "/replays",
        "Replays a recording.",
        of::<wire::ReplayRequest>,
        Body::Json(of::<wire::StartedTurn>),
    ),
];

/// Which lines or rows.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used; the handler reads the same fields")]
struct LineQuery {
    /// The first one, counted from 0.
    start: Option<u64>,
    /// How many.
    count: Option<u64>,
}

/// What to search for.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used; the handler reads the same fields")]
struct SearchQuery {
    /// A regular expression.
    pattern: String,
    /// Whether the case of letters does not matter.
    ignore_case: Option<bool>,
    /// The line to begin with, counted from 0.
    start: Option<u64>,
}

/// The document of a service for tenants: below a prefix, and with tokens.
#[cfg(feature = "service")]
pub(crate) fn service_document() -> Value {
    let mut document = document();
    let parts = document.as_object_mut();
    if let Some(parts) = parts {
        // The document is also served above the prefix.
        parts.insert("servers".to_owned(), json!([{ "url": "/v1" }]));
        parts.insert("security".to_owned(), json!([{ "token": [] }]));
        if let Some(components) = parts.get_mut("components").and_then(Value::as_object_mut) {
            let schemes = json!({ "token": { "type": "http", "scheme": "bearer" } });
            components.insert("securitySchemes".to_owned(), schemes);
        }
    }
    document
}

/// The document.
pub(crate) fn document() -> Value {
    let settings = SchemaSettings::openapi3().with_transform(RecursiveTransform(bound_integers));
    let mut generator = settings.into_generator();
    let problem = of::<wire::ApiProblem>(&mut generator);
    let mut paths = Map::new();
    for operation in &OPERATIONS {
        let described = operation.describe(&mut generator, &problem);
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        if let Some(path) = path.as_object_mut() {
            path.insert(operation.method.to_owned(), described);
        }
    }
    let schemas: Map<String, Value> = generator.take_definitions(true).into_iter().collect();
    json!({
        "openapi": "3.0.3",
        "info": {
            "title": "Haft",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Turns of agents: their timelines, requests, artifacts and gates.",
        },
        // Relative to the address of this document.
        "servers": [{ "url": "." }],
        "paths": paths,
        "components": { "schemas": schemas },
    })
}

impl Operation {
    fn describe(&self, generator: &mut SchemaGenerator, problem: &Value) -> Value {
        let content = |kind: &str, schema: &Value| json!({ kind: { "schema": schema } });
        let ok = match &self.response {
            Body::Json(schema) => json!({
                "description": "The result.", "content": content("application/json", &schema(generator)),
            }),
            Body::Events(events) => json!({
                "description": "Server-sent events. A client that sends `Last-Event-ID` continues after that event.",
                "content": content("text/event-stream", &describe_events(events, generator)),
            }),
            Body::Bytes => json!({
                "description": "The bytes.",
                "content": content("application/octet-stream", &json!({"type": "string", "format": "binary"})),
            }),
        };
        let mut described = json!({
            "summary": self.summary,
            "operationId": self.id(),
            "parameters": self.parameters(generator),
            "responses": {
                "200": ok,
                "default": { "description": "Why it failed.", "content": content("application/json", problem) },
            },
        });
        if let (Some(request), Some(described)) = (self.request, described.as_object_mut()) {
            let body = json!({ "required": true, "content": content("application/json", &request(generator)) });
            described.insert("requestBody".to_owned(), body);
        }
        described
    }

    /// The method and the words of the path, as one name.
    fn id(&self) -> String {
        let words = self.path.split(['/', '{', '}', '.']).filter(|it| !it.is_empty());
        words.fold(self.method.to_owned(), |id, word| id + "_" + word)
    }

    fn parameters(&self, generator: &mut SchemaGenerator) -> Vec<Value> {
        let in_path = self.path.split('/').filter_map(|it| it.strip_prefix('{')?.strip_suffix('}'));
        let mut parameters: Vec<Value> = in_path
            .map(|name| json!({"name": name, "in": "path", "required": true, "schema": path_schema(name)}))
            .collect();
        let Some(query) = self.query else { return parameters };
        let schema = query(generator);
        let name = schema.get("$ref").and_then(Value::as_str).and_then(|it| it.rsplit('/').next());
        let schema =
            name.and_then(|name| generator.definitions().get(name)).cloned().unwrap_or(schema);
        let Ok(mut schema) = Schema::try_from(schema) else { return parameters };
        // What becomes parameters is not among the schemas that the generator transforms at the end.
        generator.transforms_mut().for_each(|it| it.transform(&mut schema));
        let required = schema.get("required").cloned().unwrap_or_default();
        let is_required =
            |name: &str| required.as_array().is_some_and(|all| all.iter().any(|it| it == name));
        for (name, field) in
            schema.get("properties").and_then(Value::as_object).into_iter().flatten()
        {
            parameters.push(json!({"name": name, "in": "query", "required": is_required(name), "schema": field}));
        }
        parameters
    }
}

/// The schema of a parameter in the path.
fn path_schema(name: &str) -> Value {
    match name {
        "turn" | "gate" => json!({
            "type": "string", "minLength": 1, "maxLength": wire::MAX_ID_CHARS, "pattern": wire::ID_PATTERN,
        }),
        "step" => {
            json!({ "type": "integer", "format": "uint32", "minimum": 1, "maximum": u32::MAX })
        }
        _ => json!({ "type": "string", "minLength": 1 }),
    }
}

/// The schema of one event. Its data is text, so the type of what the text says is an extension for readers.
fn describe_events(events: &[(&str, Type)], generator: &mut SchemaGenerator) -> Value {
    let names: Vec<&str> = events.iter().map(|(name, _)| *name).collect();
    let data: Map<String, Value> =
        events.iter().map(|(name, data)| ((*name).to_owned(), data(generator))).collect();
    json!({
        "type": "object",
        "required": ["event", "data"],
        "properties": {
            "event": { "type": "string", "enum": names },
            "id": { "type": "string" },
            "data": { "type": "string", "description": "JSON of the type that `x-data` names for the event." },
        },
        "x-data": data,
    })
}

/// Says how large integers can be: the formats of Rust's types are no limits to other languages.
fn bound_integers(schema: &mut Schema) {
    let bounds = match schema.get("format").and_then(Value::as_str) {
        Some("uint8") => (0, u64::from(u8::MAX)),
        Some("uint16") => (0, u64::from(u16::MAX)),
        Some("uint32") => (0, u64::from(u32::MAX)),
        Some("int32") => (i64::from(i32::MIN), i32::MAX.unsigned_abs().into()),
        Some("int64") => (i64::MIN, i64::MAX.unsigned_abs()),
        Some("uint" | "uint64") => (0, u64::MAX),
        _ => return,
    };
    if let Some(schema) = schema.as_object_mut() {
        schema.entry("minimum").or_insert_with(|| bounds.0.into());
        schema.entry("maximum").or_insert_with(|| bounds.1.into());
    }
}

#[cfg(test)]
mod tests;
