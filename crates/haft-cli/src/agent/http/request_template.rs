//! Templates of URLs, queries, headers and bodies.

use std::collections::{BTreeMap, BTreeSet};

use haft::ToolFailure;
use serde_json::Value;

use crate::agent::arguments::Arguments;
use crate::agent::source::AgentFileError;
use crate::agent::template::{Piece, expand_template, parse_pieces, parse_template, value_to_text};
use crate::environment;

/// A URL with a fixed origin and a path of templates.
#[derive(Debug)]
pub(super) struct UrlTemplate {
    /// Scheme, host and port, without the default port.
    origin: String,
    host: String,
    /// The segments of the path.
    path: Vec<Vec<Piece>>,
}

impl UrlTemplate {
    pub(super) fn parse(url: &str, args: &Arguments) -> Result<Self, AgentFileError> {
        let error_at_url = |what: &str| AgentFileError::at(["url"], format!("`{url}` {what}"));
        let Some((scheme @ ("https" | "http"), rest)) = url.split_once("://") else {
            return Err(error_at_url("does not start with `https://` or `http://`"));
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.contains(['{', '}']) {
            let error = error_at_url("has a placeholder in its host");
            return Err(error.hint("the host must be fixed"));
        }
        if authority.contains('@') {
            // The message omits the URL, because it may contain a password.
            let error = AgentFileError::at(["url"], "the URL contains a user name or a password");
            return Err(error.hint("use `headers` with an environment variable"));
        }
        let is_invalid = |it: char| !it.is_ascii_alphanumeric() && !"-._:[]".contains(it);
        if authority.is_empty() || authority.contains(is_invalid) {
            return Err(error_at_url("has no valid host"));
        }
        if path.contains(['?', '#', '\\']) || path.chars().any(char::is_control) {
            let error = error_at_url("has a query, a fragment or an invalid character");
            return Err(error.hint("set query parameters in `query`"));
        }
        let path = path.split('/').map(|segment| parse_template(segment, args, &["url"]));
        let path: Vec<_> = path.collect::<Result<_, _>>()?;
        for piece in path.iter().flatten() {
            let Some(name) = piece.argument_name() else { continue };
            if args.get(name).is_some_and(|it| !it.is_always_set() || !it.is_scalar()) {
                let message = "an argument in the path must be set in every call, and be neither a list nor an object";
                let error = AgentFileError::at(["args", name], message);
                return Err(error.hint("set `required = true` or a `default`"));
            }
        }
        let authority = authority.to_ascii_lowercase();
        let default_port = if scheme == "https" { ":443" } else { ":80" };
        let authority = authority.strip_suffix(default_port).unwrap_or(&authority);
        let host = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => {
                if port.parse::<u16>().map_or(true, |it| it.to_string() != port) {
                    return Err(error_at_url("has an invalid port"));
                }
                host
            }
            _ => authority,
        };
        Ok(Self { origin: format!("{scheme}://{authority}"), host: host.to_owned(), path })
    }

    pub(super) fn is_https(&self) -> bool {
        self.origin.starts_with("https:")
    }

    /// Whether the host is an IP address in any spelling that URL parsers accept.
    pub(super) fn is_ip_address(&self) -> bool {
        let last = self.host.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
        self.host.starts_with('[') || last.starts_with(|it: char| it.is_ascii_digit())
    }

    pub(super) fn origin(&self) -> &str {
        &self.origin
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// A URL of the origin, for the check against a policy.
    pub(super) fn sample(&self) -> String {
        format!("{}/", self.origin)
    }

    /// The arguments that the path uses.
    pub(super) fn argument_names(&self) -> impl Iterator<Item = &str> {
        self.path.iter().flatten().filter_map(Piece::argument_name)
    }

    /// Expands the URL for a call. A value stays within its path segment, or the call fails.
    pub(super) fn expand(&self, args: &Value) -> Result<String, ToolFailure> {
        let mut url = self.origin.clone();
        for segment in &self.path {
            url.push('/');
            let mut text = String::new();
            for piece in segment {
                match piece {
                    Piece::Text(fixed) => text.push_str(fixed),
                    Piece::Placeholder(name) => {
                        text.push_str(&percent_encode(&segment_value(name, args)?));
                    }
                }
            }
            let has_value = segment.iter().any(|it| matches!(it, Piece::Placeholder(_)));
            if has_value && is_dot_segment(&text) {
                return Err(ToolFailure::new("a value must not be `.` or `..`"));
            }
            url.push_str(&text);
        }
        Ok(url)
    }
}

/// Whether servers and libraries interpret a segment as a step in the path, even if it is percent-encoded.
fn is_dot_segment(segment: &str) -> bool {
    let plain = segment.to_ascii_lowercase().replace("%2e", ".");
    plain.is_empty() || plain == "." || plain == ".."
}

/// The value of an argument, if it can be part of a path segment.
fn segment_value(name: &str, args: &Value) -> Result<String, ToolFailure> {
    let text = args.get(name).map(value_to_text).unwrap_or_default();
    if text.is_empty() {
        return Err(ToolFailure::new(format!("`{name}` must not be empty")));
    }
    if text.contains(['/', '\\']) || text.chars().any(char::is_control) {
        return Err(ToolFailure::new(format!(
            "`{name}` is one part of a path: it must not contain `/`, `\\` or control characters"
        )));
    }
    Ok(text)
}

/// The query parameters of a URL.
#[derive(Debug)]
pub(super) struct QueryTemplate(Vec<(String, Vec<Piece>)>);

impl QueryTemplate {
    pub(super) fn parse(
        query: &BTreeMap<String, String>,
        args: &Arguments,
    ) -> Result<Self, AgentFileError> {
        let parameters = query
            .iter()
            .map(|(name, text)| Ok((name.clone(), parse_template(text, args, &["query", name])?)));
        parameters.collect::<Result<_, _>>().map(Self)
    }

    /// The arguments that the parameters use.
    pub(super) fn argument_names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|(_, template)| template).filter_map(Piece::argument_name)
    }

    /// Expands the query with its `?`. Empty if all parameters are omitted.
    pub(super) fn expand(&self, args: &Value) -> String {
        let mut query = String::new();
        for (name, template) in &self.0 {
            for value in expand_template(template, args) {
                query.push(if query.is_empty() { '?' } else { '&' });
                query.push_str(&percent_encode(name));
                query.push('=');
                query.push_str(&percent_encode(&value));
            }
        }
        query
    }
}

/// A request header whose value may contain environment variables.
#[derive(Clone, Debug)]
pub(super) struct HeaderTemplate {
    name: String,
    value: Vec<Piece>,
}

impl HeaderTemplate {
    pub(super) fn parse(
        headers: &BTreeMap<String, String>,
        env: &[String],
    ) -> Result<Vec<Self>, AgentFileError> {
        let mut all = Vec::new();
        for (name, text) in headers {
            let error_at_header = |message: String| AgentFileError::at(["headers", name], message);
            let is_token = |it: char| it.is_ascii_alphanumeric() || "-_".contains(it);
            if name.is_empty() || !name.chars().all(is_token) {
                return Err(error_at_header(format!("`{name}` is not a valid header name")));
            }
            if RESERVED_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
                return Err(error_at_header(format!("the HTTP client sets `{name}` itself")));
            }
            if text.chars().any(|it| it.is_control() && it != '\t') {
                let message = "the value must not contain control characters";
                return Err(error_at_header(message.to_owned()));
            }
            let mut value = parse_pieces(text).map_err(error_at_header)?;
            for piece in &mut value {
                let Piece::Placeholder(placeholder) = piece else { continue };
                let Some(variable) = placeholder.strip_prefix("env.") else {
                    let message = format!("`{{{placeholder}}}` is not an environment variable");
                    let hint = "use `{env.NAME}`; headers cannot contain arguments";
                    return Err(error_at_header(message).hint(hint));
                };
                if !env.iter().any(|it| it == variable) {
                    let message = format!("the variable `{variable}` is not listed in `env`");
                    let hint = format!("add it: env = [\"{variable}\"]");
                    return Err(error_at_header(message).hint(hint));
                }
                *piece = Piece::Placeholder(variable.to_owned());
            }
            all.push(Self { name: name.clone(), value });
        }
        Ok(all)
    }

    /// Reads the environment variables of the header, and returns its name and value. An error does not contain the
    /// value.
    pub(super) fn read_env(&self) -> Result<(String, String), ToolFailure> {
        let mut value = String::new();
        for piece in &self.value {
            match piece {
                Piece::Text(text) => value.push_str(text),
                Piece::Placeholder(name) => {
                    let found =
                        environment::read_variable(name).and_then(|it| it.into_string().ok());
                    let found = found.filter(|it| !it.is_empty()).ok_or_else(|| {
                        ToolFailure::new(format!(
                            "the variable `{name}`, which the request needs, is not set"
                        ))
                    })?;
                    value.push_str(&found);
                }
            }
        }
        Ok((self.name.clone(), value))
    }
}

/// Headers that the HTTP client sets, or that change where the request goes.
const RESERVED_HEADERS: &[&str] = &[
    "accept-encoding",
    "connection",
    "content-length",
    "host",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Validates the templates of a body.
pub(super) fn validate_body(body: &Value, args: &Arguments) -> Result<(), AgentFileError> {
    match body {
        Value::String(text) => parse_template(text, args, &["body"]).map(drop),
        Value::Array(items) => items.iter().try_for_each(|it| validate_body(it, args)),
        Value::Object(members) => members.values().try_for_each(|it| validate_body(it, args)),
        _ => Ok(()),
    }
}

/// The JSON body of a request.
#[derive(Debug)]
pub(super) enum BodyTemplate {
    /// The body of the agent file.
    Fixed(Value),
    /// An object with all arguments but these, which are elsewhere in the request.
    ArgumentsExcept(BTreeSet<String>),
}

impl BodyTemplate {
    /// Expands the body for a call.
    pub(super) fn expand(&self, args: &Value) -> Value {
        match (self, args) {
            (Self::Fixed(body), _) => expand_body(body, args),
            (Self::ArgumentsExcept(used), Value::Object(args)) => {
                let rest = args.iter().filter(|(name, _)| !used.contains(*name));
                rest.map(|(name, value)| (name.clone(), value.clone())).collect()
            }
            (Self::ArgumentsExcept(_), _) => args.clone(),
        }
    }
}

/// Expands a part of the body for a call. Members whose argument is absent are omitted.
fn expand_body(body: &Value, args: &Value) -> Value {
    match body {
        Value::String(text) => {
            let pieces = parse_pieces(text).unwrap_or_default();
            if let [Piece::Placeholder(name)] = pieces.as_slice() {
                return args.get(name).cloned().unwrap_or_default();
            }
            expand_template(&pieces, args).pop().map_or(Value::Null, Value::String)
        }
        Value::Array(items) => items.iter().map(|it| expand_body(it, args)).collect(),
        Value::Object(members) => {
            let members = members.iter().map(|(name, it)| (name, it, expand_body(it, args)));
            let given = members.filter(|(_, it, expanded)| !expanded.is_null() || it.is_null());
            given.map(|(name, _, expanded)| (name.clone(), expanded)).collect()
        }
        other => other.clone(),
    }
}

/// Percent-encodes everything but letters, digits, `-`, `_`, `.` and `~`.
fn percent_encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests;
