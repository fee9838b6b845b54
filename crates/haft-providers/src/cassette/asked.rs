//! A request as it is recorded and compared.

use std::collections::BTreeMap;
use std::fmt;

use haft_core::json::{Document, canonical_text};
use haft_core::media::encode_base64;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::differ;
use crate::transport::scrub::Scrubber;
use crate::transport::{Headers, Request, path_and_query, redacted};

/// A request without credentials.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Asked {
    method: String,
    url: String,
    headers: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<Payload>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Payload {
    Json(Value),
    Text(String),
    Base64(String),
}

impl Asked {
    pub(super) fn of(request: &Request, scrubber: &Scrubber) -> Self {
        let body = scrubber.bytes(&request.body);
        Self {
            method: request.method.as_str().to_owned(),
            url: scrubber.text(&redacted(&request.url)),
            headers: headers(&request.headers, scrubber),
            body: (!body.is_empty()).then(|| Payload::of(body)),
        }
    }

    /// In which way another request is not this one.
    pub(super) fn difference(&self, other: &Self) -> Option<String> {
        let (path, other_path) = (path_and_query(&self.url), path_and_query(&other.url));
        if self.method != other.method || path != other_path {
            return Some(format!("recorded {self}"));
        }
        if let (Some(Payload::Json(a)), Some(Payload::Json(b))) = (&self.body, &other.body) {
            return differ::first(&document(a), &document(b));
        }
        (self.body != other.body).then(|| "the bodies differ".to_owned())
    }
}

/// Method and path.
impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, path_and_query(&self.url))
    }
}

impl Payload {
    fn of(body: Vec<u8>) -> Self {
        let text = match String::from_utf8(body) {
            Ok(text) => text,
            Err(error) => return Self::Base64(encode_base64(error.as_bytes())),
        };
        // As JSON only if that says the same: it cannot for integers of any size.
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

/// Headers that say something about the content, without credentials.
pub(super) fn headers(headers: &Headers, scrubber: &Scrubber) -> BTreeMap<String, String> {
    let mut out = BTreeMap::<String, String>::new();
    for (name, value) in headers.shown() {
        let (name, value) = (name.to_ascii_lowercase(), scrubber.text(value));
        if OF_THE_MOMENT.contains(&name.as_str()) {
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

/// What is about the connection, or differs each time.
const OF_THE_MOMENT: &[&str] =
    &["connection", "content-length", "idempotency-key", "keep-alive", "transfer-encoding"];
