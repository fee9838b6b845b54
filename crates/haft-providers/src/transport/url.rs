//! URLs for people and for files: what grants access is not in them.

use std::net::IpAddr;

use super::headers::REDACTED;

/// The host and port of a URL, for messages. Nothing else of a URL is safe to tell.
pub(crate) fn host(url: &str) -> String {
    let authority = parts(url).authority;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    host.chars().filter(|it| !it.is_control()).take(MAX_HOST).collect()
}

/// Whether what is sent to a URL can be read on the way: it goes over plain http, and not to this machine.
pub(crate) fn is_exposed(url: &str) -> bool {
    let Parts { scheme, .. } = parts(url.trim_start());
    !scheme.eq_ignore_ascii_case("https://") && !is_loopback(&host(url.trim_start()))
}

/// Whether a host, with or without a port, is this machine.
fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    match name.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => name == "localhost" || name.ends_with(".localhost"),
    }
}

/// A URL with neither a user, nor values of parameters that grant access, nor a fragment.
pub(crate) fn redacted(url: &str) -> String {
    let Parts { scheme, authority, path, query } = parts(url);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let mut out = format!("{scheme}{host}{path}");
    push_query(query, &mut out);
    out
}

/// Path and query of a URL, without values of parameters that grant access.
pub(crate) fn path_and_query(url: &str) -> String {
    let Parts { path, query, .. } = parts(url);
    let mut out = if path.is_empty() { "/".to_owned() } else { path.to_owned() };
    push_query(query, &mut out);
    out
}

/// The values of a URL that grant access, as they are written there.
pub(crate) fn secrets(url: &str) -> impl Iterator<Item = &str> {
    let Parts { authority, query, .. } = parts(url);
    let user = authority.rsplit_once('@').map(|(user, _)| user);
    let user = user.into_iter().flat_map(|user| user.split(':'));
    let pairs = query.unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
    user.chain(pairs.filter(|(name, _)| grants_access(name)).map(|(_, value)| value))
}

struct Parts<'a> {
    /// With `://`; empty if there is none.
    scheme: &'a str,
    authority: &'a str,
    path: &'a str,
    query: Option<&'a str>,
}

/// Takes any text apart: what is printed may be no URL at all.
fn parts(url: &str) -> Parts<'_> {
    let url = url.split_once('#').map_or(url, |(url, _)| url);
    let (url, query) = url.split_once('?').map_or((url, None), |(url, it)| (url, Some(it)));
    let start = url.find("://").map_or(0, |at| at + 3);
    let (scheme, rest) = url.split_at_checked(start).unwrap_or(("", url));
    let end = rest.find('/').unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
    Parts { scheme, authority, path, query }
}

fn push_query(query: Option<&str>, out: &mut String) {
    let Some(query) = query else { return };
    for (at, pair) in query.split('&').enumerate() {
        out.push(if at == 0 { '?' } else { '&' });
        match pair.split_once('=') {
            Some((name, _)) if grants_access(name) => {
                out.push_str(name);
                out.push('=');
                out.push_str(REDACTED);
            }
            _ => out.push_str(pair),
        }
    }
}

fn grants_access(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    let known = ["key", "auth", "authorization", "sig", "signature", "token", "secret", "code"];
    let endings = ["_key", "apikey", "_token", "_secret", "_signature", "_credential", "password"];
    known.contains(&name.as_str()) || endings.iter().any(|it| name.ends_with(it))
}

/// The longest name that DNS has, and a port.
const MAX_HOST: usize = 260;
