//! Addresses, queries, headers and bodies with places for arguments.

use std::collections::BTreeMap;

use haft::ToolFailure;
use serde_json::Value;

use crate::agent::place::Fault;
use crate::agent::template::{Arguments, Piece, parsed, pieces, text_of, values};

/// An address: an origin that is fixed, and the parts of a path.
#[derive(Debug)]
pub(super) struct Address {
    /// Scheme, host and port, as origins are written.
    origin: String,
    host: String,
    /// The parts between the slashes.
    path: Vec<Vec<Piece>>,
}

impl Address {
    pub(super) fn parse(url: &str, args: &Arguments) -> Result<Self, Fault> {
        let wrong = |what: &str| Fault::at(["url"], format!("`{url}` {what}"));
        let Some((scheme @ ("https" | "http"), rest)) = url.split_once("://") else {
            return Err(wrong("does not begin with `https://` or `http://`"));
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.contains(['{', '}']) {
            return Err(wrong("has an argument in its host").hint("the host is fixed"));
        }
        if authority.contains('@') {
            // It is not shown, because a password is in it.
            let fault = Fault::at(["url"], "the address has a user name or a password");
            return Err(fault.hint("use `headers` with a variable of the environment"));
        }
        let odd = |it: char| !it.is_ascii_alphanumeric() && !"-._:[]".contains(it);
        if authority.is_empty() || authority.contains(odd) {
            return Err(wrong("has no host that can be asked"));
        }
        if path.contains(['?', '#', '\\']) || path.chars().any(char::is_control) {
            return Err(wrong("has more than a path").hint("put what follows `?` into `query`"));
        }
        let path = path.split('/').map(|part| parsed(part, args, &["url"]));
        let path: Vec<_> = path.collect::<Result<_, _>>()?;
        for piece in path.iter().flatten() {
            let Piece::Hole(name) = piece else { continue };
            if args.get(name).is_some_and(|it| !it.always() || it.is_list()) {
                let what = "a part of the path is one value that every call has";
                let fault = Fault::at(["args", name.as_str()], what);
                return Err(fault.hint("make it `required = true`, or give it a `default`"));
            }
        }
        let authority = authority.to_ascii_lowercase();
        let usual = if scheme == "https" { ":443" } else { ":80" };
        let short = authority.strip_suffix(usual).unwrap_or(&authority);
        let host = match short.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => {
                if port.parse::<u16>().map_or(true, |it| it.to_string() != port) {
                    return Err(wrong("has a port that is no number, or begins with a zero"));
                }
                host
            }
            _ => short,
        };
        Ok(Self { origin: format!("{scheme}://{short}"), host: host.to_owned(), path })
    }

    pub(super) fn is_https(&self) -> bool {
        self.origin.starts_with("https:")
    }

    /// Whether its host is, or is read as, a number instead of a name.
    pub(super) fn is_number(&self) -> bool {
        let last = self.host.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
        self.host.starts_with('[') || last.starts_with(|it: char| it.is_ascii_digit())
    }

    pub(super) fn origin(&self) -> &str {
        &self.origin
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// An address as it could be, to be judged.
    pub(super) fn sample(&self) -> String {
        format!("{}/", self.origin)
    }

    /// The address of a call. A value stays one part of the path, or the call fails.
    pub(super) fn fill(&self, args: &Value) -> Result<String, ToolFailure> {
        let mut url = self.origin.clone();
        for part in &self.path {
            url.push('/');
            let mut text = String::new();
            for piece in part {
                match piece {
                    Piece::Text(fixed) => text.push_str(fixed),
                    Piece::Hole(name) => text.push_str(&encoded(&value(name, args)?)),
                }
            }
            let holes = part.iter().any(|it| matches!(it, Piece::Hole(_)));
            if holes && is_dots(&text) {
                return Err(ToolFailure::new("a value must not be `.` or `..`"));
            }
            url.push_str(&text);
        }
        Ok(url)
    }
}

/// Servers and libraries read these as steps in the path, also when they are encoded.
fn is_dots(part: &str) -> bool {
    let plain = part.to_ascii_lowercase().replace("%2e", ".");
    plain.is_empty() || plain == "." || plain == ".."
}

/// A value that can be a part of a path.
fn value(name: &str, args: &Value) -> Result<String, ToolFailure> {
    let text = args.get(name).map(text_of).unwrap_or_default();
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

/// The query of an address.
#[derive(Debug)]
pub(super) struct Query(Vec<(String, Vec<Piece>)>);

impl Query {
    pub(super) fn parse(query: &BTreeMap<String, String>, args: &Arguments) -> Result<Self, Fault> {
        let all = query
            .iter()
            .map(|(name, text)| Ok((name.clone(), parsed(text, args, &["query", name])?)));
        all.collect::<Result<_, _>>().map(Self)
    }

    /// With its `?`; nothing if all of it is left out.
    pub(super) fn fill(&self, args: &Value) -> String {
        let mut query = String::new();
        for (name, template) in &self.0 {
            for value in values(template, args) {
                query.push(if query.is_empty() { '?' } else { '&' });
                query.push_str(&encoded(name));
                query.push('=');
                query.push_str(&encoded(&value));
            }
        }
        query
    }
}

/// A header, whose value may have variables of the environment in it.
#[derive(Clone, Debug)]
pub(super) struct Header {
    name: String,
    value: Vec<Piece>,
}

impl Header {
    pub(super) fn parse(
        headers: &BTreeMap<String, String>,
        env: &[String],
    ) -> Result<Vec<Self>, Fault> {
        let mut all = Vec::new();
        for (name, text) in headers {
            let wrong = |what: String| Fault::at(["headers", name], what);
            let token = |it: char| it.is_ascii_alphanumeric() || "-_".contains(it);
            if name.is_empty() || !name.chars().all(token) {
                return Err(wrong(format!("`{name}` cannot be the name of a header")));
            }
            if OURS.contains(&name.to_ascii_lowercase().as_str()) {
                return Err(wrong(format!("`{name}` follows from the request")));
            }
            if text.chars().any(|it| it.is_control() && it != '\t') {
                return Err(wrong("a value must not contain control characters".to_owned()));
            }
            let mut value = pieces(text).map_err(wrong)?;
            for piece in &mut value {
                let Piece::Hole(hole) = piece else { continue };
                let Some(variable) = hole.strip_prefix("env.") else {
                    let fault = wrong(format!("`{{{hole}}}` is no variable of the environment"));
                    return Err(fault.hint("write `{env.NAME}`; arguments cannot be headers"));
                };
                if !env.iter().any(|it| it == variable) {
                    let fault = wrong(format!("the variable `{variable}` is not listed in `env`"));
                    return Err(fault.hint(format!("add it: env = [\"{variable}\"]")));
                }
                *piece = Piece::Hole(variable.to_owned());
            }
            all.push(Self { name: name.clone(), value });
        }
        Ok(all)
    }

    /// The header of a request. What fails does not tell the value.
    pub(super) fn fill(&self) -> Result<(String, String), ToolFailure> {
        let mut value = String::new();
        for piece in &self.value {
            match piece {
                Piece::Text(text) => value.push_str(text),
                Piece::Hole(name) => {
                    let found = std::env::var_os(name).and_then(|it| it.into_string().ok());
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

/// Headers that follow from the request, or that change where it goes.
const OURS: &[&str] = &[
    "accept-encoding",
    "connection",
    "content-length",
    "host",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Checks the templates of a body.
pub(super) fn check(body: &Value, args: &Arguments) -> Result<(), Fault> {
    match body {
        Value::String(text) => parsed(text, args, &["body"]).map(drop),
        Value::Array(items) => items.iter().try_for_each(|it| check(it, args)),
        Value::Object(members) => members.values().try_for_each(|it| check(it, args)),
        _ => Ok(()),
    }
}

/// The body of a call. Members whose argument is absent are left out.
pub(super) fn filled(body: &Value, args: &Value) -> Value {
    match body {
        Value::String(text) => {
            let pieces = pieces(text).unwrap_or_default();
            if let [Piece::Hole(name)] = pieces.as_slice() {
                return args.get(name).cloned().unwrap_or_default();
            }
            values(&pieces, args).pop().map_or(Value::Null, Value::String)
        }
        Value::Array(items) => items.iter().map(|it| filled(it, args)).collect(),
        Value::Object(members) => {
            let members = members.iter().map(|(name, it)| (name, it, filled(it, args)));
            let given = members.filter(|(_, it, filled)| !filled.is_null() || it.is_null());
            given.map(|(name, _, filled)| (name.clone(), filled)).collect()
        }
        other => other.clone(),
    }
}

/// Everything but letters, digits and `-`, `_`, `.`, `~` as `%XX`.
fn encoded(text: &str) -> String {
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
