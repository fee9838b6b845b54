//! Errors of the HTTP library as errors of this crate.

use std::error::Error;
use std::io;
use std::time::Duration;

use super::HttpError;
use crate::HttpPhase;
#[cfg(feature = "fetch")]
use crate::refusal::find_refusal;

impl HttpError {
    /// The error of a request that got no response.
    pub(crate) fn without_response(error: reqwest::Error, host: String, connect: Duration) -> Self {
        #[cfg(feature = "fetch")]
        if let Some(why) = find_refusal(&error) {
            return Self::Refused { host, why };
        }
        let error = error.without_url();
        let reason = describe_cause(&error);
        if error.is_builder() {
            return Self::Malformed { reason };
        }
        if !error.is_connect() {
            return Self::Broken { host, received: 0, reason };
        }
        if error.is_timeout() {
            Self::Timeout { host, phase: HttpPhase::Connect, limit: connect }
        } else if is_untrusted(&error) {
            Self::Tls { host, reason }
        } else {
            Self::Connect { host, reason }
        }
    }

    /// The error of a body that broke.
    pub(crate) fn broken_body(error: reqwest::Error, host: String, received: u64) -> Self {
        Self::Broken { host, received, reason: describe_cause(&error.without_url()) }
    }
}

/// What an error of the HTTP library and its causes say: on one line, without repetitions, at most 300 characters.
pub(crate) fn describe_cause(error: &reqwest::Error) -> String {
    let mut messages: Vec<String> = Vec::new();
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
        if !messages.iter().any(|it| it.contains(&text)) {
            messages.push(text);
        }
        next = error.source();
    }
    let text = messages.join(": ");
    text.chars().filter(|it| !it.is_control()).take(MAX_REASON).collect()
}

/// Whether a handshake failed, which is the only thing that connecting calls invalid data.
fn is_untrusted(error: &reqwest::Error) -> bool {
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = next {
        next = match error.downcast_ref::<io::Error>() {
            Some(error) if error.kind() == io::ErrorKind::InvalidData => return true,
            // What it wraps is not its source, but has the same source.
            Some(error) => error.get_ref().map(|it| it as _),
            None => error.source(),
        };
    }
    false
}

const MAX_REASON: usize = 300;
