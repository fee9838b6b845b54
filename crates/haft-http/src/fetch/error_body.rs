//! The bodies of responses that report an error.

use std::fmt;
use std::time::Duration;

use http::Response;
use http::header::CONTENT_TYPE;
use tokio::time::{Instant, timeout_at};

use super::preview;
use crate::{HttpBody, Scrubber};

/// The body of a response that reports an error: what the server says about it. It is untrusted text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorBody {
    /// There is no body.
    Empty,
    /// Text, of which at most the first 3 KiB are here.
    Text {
        /// The text.
        text: String,
        /// Whether there is more, which was not read.
        truncated: bool,
    },
    /// Something other than text.
    Binary {
        /// The content type that the server gives, if it gives one.
        content_type: Option<String>,
    },
    /// The body could not be read.
    Unreadable,
}

impl ErrorBody {
    /// Reads the body of a response as far as it is shown. The status says more than why its body cannot be read, so
    /// that this cannot fail.
    pub(super) async fn read(
        response: Response<HttpBody>,
        deadline: Instant,
        secrets: &Scrubber,
    ) -> Self {
        let content_type = response.headers().get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
        let content_type = content_type.map(preview);
        let deadline = deadline.min(Instant::now() + MAX_TIME);
        let mut body = response.into_body().without_byte_limit();
        let mut bytes = Vec::new();
        let mut is_complete = false;
        while bytes.len() <= MAX_TEXT {
            match timeout_at(deadline, body.chunk()).await {
                Ok(Ok(Some(chunk))) => bytes.extend_from_slice(&chunk),
                Ok(Ok(None)) => {
                    is_complete = true;
                    break;
                }
                Ok(Err(_)) | Err(_) => break,
            }
        }
        Self::from_start(&bytes, is_complete, content_type, secrets)
    }

    /// The body that begins with these bytes, without secrets.
    fn from_start(
        bytes: &[u8],
        is_complete: bool,
        content_type: Option<String>,
        secrets: &Scrubber,
    ) -> Self {
        if bytes.is_empty() {
            return if is_complete { Self::Empty } else { Self::Unreadable };
        }
        let truncated = !is_complete || bytes.len() > MAX_TEXT;
        let bytes = bytes.get(..MAX_TEXT).unwrap_or(bytes);
        let bytes = match truncated {
            true => secrets.scrub_prefix(bytes),
            false => secrets.scrub_bytes(bytes),
        };
        match decode_start(&bytes, truncated, content_type.as_deref()) {
            Some(text) => Self::Text { text: text.trim().to_owned(), truncated },
            None => Self::Binary { content_type },
        }
    }
}

/// Continues a sentence about the status.
impl fmt::Display for ErrorBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str(" and no body"),
            Self::Text { text, truncated: false } => write!(f, ": {text}"),
            Self::Text { text, truncated: true } => write!(f, ": {text}… (truncated)"),
            Self::Binary { content_type: Some(content_type) } => {
                write!(f, " and a body that is not text (`{content_type}`)")
            }
            Self::Binary { content_type: None } => f.write_str(" and a body that is not text"),
            Self::Unreadable => f.write_str(" and a body that could not be read"),
        }
    }
}

/// Decodes the start of a body, or returns `None` if it is not text.
fn decode_start(bytes: &[u8], truncated: bool, content_type: Option<&str>) -> Option<String> {
    if bytes.contains(&0) {
        return None;
    }
    match str::from_utf8(bytes) {
        Ok(text) => Some(text.to_owned()),
        // The bytes end within a character.
        Err(error) if truncated && error.error_len().is_none() => {
            bytes.get(..error.valid_up_to()).map(|it| String::from_utf8_lossy(it).into_owned())
        }
        Err(_) => {
            let name = content_type?.to_ascii_lowercase();
            let is_text =
                name.starts_with("text/") || name.contains("json") || name.contains("xml");
            is_text.then(|| String::from_utf8_lossy(bytes).into_owned())
        }
    }
}

/// The maximum number of bytes that are shown. With its address the message of a failing tool has room for them.
const MAX_TEXT: usize = 3 * 1024;
/// How long the body of an error is waited for.
const MAX_TIME: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::{ErrorBody, MAX_TEXT, Scrubber};

    #[track_caller]
    fn check(bytes: &[u8], is_complete: bool, content_type: Option<&str>, expected: &str) {
        let content_type = content_type.map(str::to_owned);
        let mut secrets = Scrubber::default();
        secrets.add("sk-hidden");
        let body = ErrorBody::from_start(bytes, is_complete, content_type, &secrets);
        assert_eq!(body.to_string(), expected);
    }

    #[test]
    fn text_is_quoted_and_everything_else_is_named() {
        check(b"", true, None, " and no body");
        check(b"", false, None, " and a body that could not be read");
        check(b"{\"error\":\"no such order\"}\n", true, None, ": {\"error\":\"no such order\"}");
        check(b"no key sk-hidden here", true, None, ": no key [redacted] here");
        check(b"no key sk-hid", false, None, ": no key [redacted]… (truncated)");
        check(b"half", false, None, ": half… (truncated)");
        check("Ende \u{fc}".as_bytes(), true, None, ": Ende \u{fc}");
        check(b"Ende \xc3", false, None, ": Ende… (truncated)");
        check(b"\x89PNG\0", true, Some("image/png"), " and a body that is not text (`image/png`)");
        check(b"\xff\xfe", true, None, " and a body that is not text");
        check(b"Gr\xfc\xdfe", true, Some("text/plain; charset=latin1"), ": Gr\u{fffd}\u{fffd}e");
    }

    #[test]
    fn a_long_body_is_truncated() {
        let ErrorBody::Text { text, truncated } =
            ErrorBody::from_start(&[b'x'; MAX_TEXT + 1], true, None, &Scrubber::default())
        else {
            panic!("it is text")
        };
        assert_eq!((text.len(), truncated), (MAX_TEXT, true));
        check(&[b'x'; MAX_TEXT], true, None, &format!(": {}", "x".repeat(MAX_TEXT)));
    }
}
