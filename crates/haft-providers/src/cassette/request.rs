//! A request as it is recorded and compared.

use std::collections::BTreeMap;
use std::fmt;

use bytes::Bytes;
use haft_core::json::{Document, ValueKind, ValueRef, canonical_text};
use haft_core::media::encode_base64;
use haft_http::{Scrubber, redact};
use http::{HeaderMap, Request};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A request without credentials.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RecordedRequest {
    method: String,
    url: String,
    headers: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<RecordedBody>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RecordedBody {
    Json(Value),
    Text(String),
    Base64(String),
}

impl RecordedRequest {
    pub(super) fn new(request: &Request<Bytes>, scrubber: &Scrubber) -> Self {
        let body = scrubber.scrub_bytes(request.body());
        Self {
            method: request.method().as_str().to_owned(),
            url: scrubber.scrub_text(&redact::url(&request.uri().to_string())),
            headers: recorded_headers(request.headers(), scrubber),
            body: (!body.is_empty()).then(|| RecordedBody::new(body)),
        }
    }

    /// How another request differs from this one.
    pub(super) fn difference(&self, other: &Self) -> Option<String> {
        let (path, other_path) =
            (redact::path_and_query(&self.url), redact::path_and_query(&other.url));
        if self.method != other.method || path != other_path {
            return Some(format!("recorded {self}"));
        }
        if let (Some(RecordedBody::Json(a)), Some(RecordedBody::Json(b))) =
            (&self.body, &other.body)
        {
            return first_difference(&document(a), &document(b));
        }
        (self.body != other.body).then(|| "the bodies differ".to_owned())
    }
}

/// Method and path.
impl fmt::Display for RecordedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, redact::path_and_query(&self.url))
    }
}

impl RecordedBody {
    fn new(body: Vec<u8>) -> Self {
        let text = match String::from_utf8(body) {
            Ok(text) => text,
            Err(error) => return Self::Base64(encode_base64(error.as_bytes())),
        };
        // As JSON only if no information is lost, as it is for integers of any size.
        let value = Document::parse(&text).ok().and_then(|doc| {
            let value: Value = serde_json::from_str(&text).ok()?;
            let same = canonical_text(document(&value).root()) == canonical_text(doc.root());
            same.then_some(value)
        });
        value.map_or(Self::Text(text), Self::Json)
    }
}

fn document(value: &Value) -> Document {
    Document::parse_owned(value.to_string()).unwrap_or_default()
}

/// The headers that describe the content, without credentials.
pub(super) fn recorded_headers(
    headers: &HeaderMap,
    scrubber: &Scrubber,
) -> BTreeMap<String, String> {
    let mut out = BTreeMap::<String, String>::new();
    for (name, value) in redact::headers(headers) {
        let (name, value) = (name.to_owned(), scrubber.scrub_text(&value));
        if VOLATILE_HEADERS.contains(&name.as_str()) {
            continue;
        }
        let all = out.entry(name).or_default();
        if !all.is_empty() {
            all.push_str(", ");
        }
        all.push_str(&value);
    }
    out
}

/// Headers that describe the connection, or that differ each time.
const VOLATILE_HEADERS: &[&str] =
    &["connection", "content-length", "idempotency-key", "keep-alive", "transfer-encoding"];

/// The first location at which a document differs from the recorded one, and how; `None` if they are the same value.
fn first_difference(recorded: &Document, sent: &Document) -> Option<String> {
    if canonical_text(recorded.root()) == canonical_text(sent.root()) {
        return None;
    }
    let mut pointer = String::new();
    descend(recorded.root(), sent.root(), &mut pointer)
}

fn descend(recorded: ValueRef<'_>, sent: ValueRef<'_>, pointer: &mut String) -> Option<String> {
    let length = pointer.len();
    match (recorded.kind(), sent.kind()) {
        (ValueKind::Object, ValueKind::Object) => {
            let added = sent.members().filter(|(key, _)| recorded.get(key).is_none());
            let keys = recorded.members().map(|(key, _)| key).chain(added.map(|(key, _)| key));
            for key in keys {
                push_pointer(pointer, key);
                let difference = difference_at(recorded.get(key), sent.get(key), pointer);
                if difference.is_some() {
                    return difference;
                }
                pointer.truncate(length);
            }
            None
        }
        (ValueKind::Array, ValueKind::Array) => {
            for at in 0..recorded.len().max(sent.len()) {
                push_pointer(pointer, &at.to_string());
                let difference = difference_at(recorded.item(at), sent.item(at), pointer);
                if difference.is_some() {
                    return difference;
                }
                pointer.truncate(length);
            }
            None
        }
        _ => difference_at(Some(recorded), Some(sent), pointer),
    }
}

fn difference_at(
    recorded: Option<ValueRef<'_>>,
    sent: Option<ValueRef<'_>>,
    at: &mut String,
) -> Option<String> {
    let texts = (recorded.map(canonical_text), sent.map(canonical_text));
    if texts.0 == texts.1 {
        return None;
    }
    if let (Some(recorded), Some(sent)) = (recorded, sent)
        && recorded.kind() == sent.kind()
        && matches!(recorded.kind(), ValueKind::Object | ValueKind::Array)
    {
        return descend(recorded, sent, at);
    }
    Some(format!("at `{at}` recorded {}, sent {}", shorten(texts.0), shorten(texts.1)))
}

fn push_pointer(pointer: &mut String, key: &str) {
    pointer.push('/');
    pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
}

fn shorten(text: Option<String>) -> String {
    let Some(text) = text else { return "nothing".to_owned() };
    let cut = text.char_indices().nth(SHOWN).map(|(at, _)| at);
    match cut.and_then(|at| text.get(..at)) {
        Some(beginning) => format!("`{beginning}…`"),
        None => format!("`{text}`"),
    }
}

const SHOWN: usize = 80;
