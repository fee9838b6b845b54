//! Media from the network.

mod address;
mod answer;
mod error;
mod fetcher;
mod policy;
mod resolver;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use haft_core::media::{MediaReader, ReaderDescriptor};
use haft_core::tool::ByteStream;
use reqwest::Url;
use serde_json::json;

use super::pull::stream;

pub use self::error::{FetchError, FetchPhase, RefusedUrl};
pub use self::fetcher::{Deadlines, Fetcher, FetcherBuilder};
pub use self::policy::UrlPolicy;

/// Reads what a URL answers to a GET request. Each stream asks anew; dropping a stream closes its
/// connection.
///
/// Made by a [`Fetcher`], which holds what may be asked and how long and large an answer may be. Only a
/// whole answer is a medium: a status other than 2xx, no content, partial content and compressed content
/// are errors.
#[derive(Clone)]
pub struct HttpReader {
    fetcher: Fetcher,
    url: Arc<Url>,
}

impl HttpReader {
    /// The tag of its descriptor. The locator is `{"url": "…"}`; it never has headers.
    pub const TAG: &'static str = "media:fetch";

    /// The URL, in its normal form.
    #[must_use]
    pub fn url(&self) -> &str {
        self.url.as_str()
    }
}

impl MediaReader for HttpReader {
    fn open(&self) -> ByteStream {
        let url = Arc::clone(&self.url);
        stream(answer::Reading::new(self.fetcher.clone(), url, answer::Request::Get))
    }

    /// Not known: the answer may be another one each time.
    fn byte_length(&self) -> Option<u64> {
        None
    }

    /// Nothing if the query of the URL has a signature or a token, which must not be stored. Keep the
    /// bytes instead, with [`store_media`](super::store_media).
    fn describe(&self) -> Option<ReaderDescriptor> {
        if has_secret(&self.url) {
            return None;
        }
        Some(ReaderDescriptor::new(Self::TAG, json!({ "url": self.url.as_str() })))
    }
}

impl fmt::Debug for HttpReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HttpReader({})", shown(&self.url))
    }
}

fn has_secret(url: &Url) -> bool {
    url.query_pairs().any(|(name, _)| {
        let name = name.to_ascii_lowercase();
        SECRETS.contains(&name.as_str()) || SIGNATURES.iter().any(|it| name.starts_with(it))
    })
}

/// A URL for people, bounded and without its query, where secrets may be.
fn shown(url: &Url) -> String {
    let query = if url.query().is_some() { "?…" } else { "" };
    let mut text = format!("{}{}", url.origin().ascii_serialization(), url.path());
    if text.len() > SHOWN {
        text = text.chars().take(SHOWN).collect();
        text.push('…');
    }
    text + query
}

/// Text that is not a URL, for people: bounded and without control characters.
fn shown_text(text: &str) -> String {
    let mut characters = text.chars();
    let mut out: String = characters.by_ref().take(SHOWN).flat_map(char::escape_debug).collect();
    if characters.next().is_some() {
        out.push('…');
    }
    out
}

const SHOWN: usize = 200;
/// Names of query parameters that grant access, in lower case.
const SECRETS: &[&str] = &[
    "access_token",
    "api_key",
    "apikey",
    "auth",
    "authorization",
    "key",
    "password",
    "secret",
    "sig",
    "signature",
    "token",
];
/// What the parameters of presigned URLs start with.
const SIGNATURES: &[&str] = &["x-amz-", "x-goog-"];
