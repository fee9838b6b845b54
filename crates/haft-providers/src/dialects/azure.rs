//! Azure OpenAI: the APIs of OpenAI at addresses of their own.
//!
//! A resource of Azure has an endpoint, which is the base URL, and deployments, which take the place of models:
//!
//! ```
//! use haft_providers::Provider;
//! use haft_providers::dialects::azure::AzureOpenAi;
//! use haft_providers::dialects::chat_completions::ChatCompletions;
//!
//! let dialect = ChatCompletions::new().azure(AzureOpenAi::new());
//! let model = Provider::builder(dialect, "my-deployment")
//!     .base_url("https://my-resource.openai.azure.com")
//!     .key("…")
//!     .build()?;
//! assert_eq!(model.model(), "my-deployment");
//! # Ok::<(), haft_providers::ProviderError>(())
//! ```

use std::fmt::Write as _;

/// How the addresses and the key of Azure OpenAI differ from those of OpenAI.
///
/// Without a version, or with one that is not a date (`v1`, `preview`), requests go to `/openai/v1`. With the date of
/// an older API they go to `/openai/deployments/{deployment}`.
///
/// ```
/// use haft_providers::dialects::azure::AzureOpenAi;
///
/// assert_eq!(AzureOpenAi::new().path("/models"), "/openai/v1/models");
/// let dated = AzureOpenAi::new().api_version("2024-10-21");
/// assert_eq!(dated.path("/models"), "/openai/models?api-version=2024-10-21");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AzureOpenAi {
    version: Option<String>,
    has_bearer_key: bool,
}

impl AzureOpenAi {
    /// The API at `/openai/v1`, with the key in the header `api-key`.
    #[must_use]
    pub const fn new() -> Self {
        Self { version: None, has_bearer_key: false }
    }

    /// Sets the version of the API, as the variable `OPENAI_API_VERSION` has it.
    #[must_use]
    pub fn api_version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// Sends the key as `Authorization: Bearer`: it is a token of Microsoft Entra ID.
    #[must_use]
    pub const fn bearer_key(mut self) -> Self {
        self.has_bearer_key = true;
        self
    }

    /// The path of something that belongs to the resource and not to a deployment, behind its endpoint.
    #[must_use]
    pub fn path(&self, path: &str) -> String {
        match self.is_dated() {
            true => self.add_version(format!("/openai{path}")),
            false => self.add_version(format!("/openai/v1{path}")),
        }
    }

    /// The path of something that belongs to a deployment. The newer API finds the deployment in the body.
    pub(super) fn deployment_path(&self, deployment: &str, path: &str) -> String {
        match self.is_dated() {
            true => {
                let deployment = encode_segment(deployment);
                self.add_version(format!("/openai/deployments/{deployment}{path}"))
            }
            false => self.path(path),
        }
    }

    /// The headers that carry the key.
    pub(super) fn auth_headers(&self, key: &str) -> Vec<(&'static str, String)> {
        match self.has_bearer_key {
            true => vec![("authorization", format!("Bearer {key}"))],
            false => vec![("api-key", key.to_owned())],
        }
    }

    /// Whether the version is the date of an API with deployments in its paths.
    fn is_dated(&self) -> bool {
        let first = self.version.as_deref().and_then(|it| it.chars().next());
        first.is_some_and(|it| it.is_ascii_digit())
    }

    fn add_version(&self, mut path: String) -> String {
        if let Some(version) = &self.version {
            path.push_str("?api-version=");
            path.push_str(&encode_segment(version));
        }
        path
    }
}

/// The base address of a dialect of OpenAI. Azure has none: that of a resource must be given, and no key may go
/// anywhere else.
pub(super) const fn base_url(azure: Option<&AzureOpenAi>) -> &'static str {
    match azure {
        Some(_) => "https://azure-openai-endpoint.invalid",
        None => "https://api.openai.com/v1",
    }
}

/// Whether the host of a dialect of OpenAI is Azure or OpenAI itself, and not another service with a compatible API.
pub(super) fn is_own_service(azure: Option<&AzureOpenAi>, host: &str) -> bool {
    azure.is_some() || host == "api.openai.com"
}

/// The headers with which a dialect of OpenAI sends its key.
pub(super) fn auth_headers(azure: Option<&AzureOpenAi>, key: &str) -> Vec<(&'static str, String)> {
    match azure {
        Some(azure) => azure.auth_headers(key),
        None => vec![("authorization", format!("Bearer {key}"))],
    }
}

/// Escapes what has a meaning in a path or a query.
fn encode_segment(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::AzureOpenAi;
    use crate::dialect::{Delivery, Dialect};
    use crate::dialects::chat_completions::ChatCompletions;
    use crate::dialects::openai_responses::OpenAiResponses;

    #[track_caller]
    fn check(azure: AzureOpenAi, chat: &str, responses: &str) {
        let dialect = ChatCompletions::new().azure(azure.clone());
        assert_eq!(dialect.path("my deployment/1", Delivery::Streamed), chat);
        let dialect = OpenAiResponses::new().azure(azure);
        assert_eq!(dialect.path("my deployment/1", Delivery::Streamed), responses);
    }

    #[test]
    fn paths_follow_the_version() {
        check(AzureOpenAi::new(), "/openai/v1/chat/completions", "/openai/v1/responses");
        check(
            AzureOpenAi::new().api_version("preview"),
            "/openai/v1/chat/completions?api-version=preview",
            "/openai/v1/responses?api-version=preview",
        );
        check(
            AzureOpenAi::new().api_version("2025-03-01-preview"),
            "/openai/deployments/my%20deployment%2F1/chat/completions?api-version=2025-03-01-preview",
            "/openai/responses?api-version=2025-03-01-preview",
        );
    }

    #[test]
    fn keys_have_their_own_header_and_tokens_are_bearer_tokens() {
        let key = [("api-key", "k".to_owned())];
        assert_eq!(ChatCompletions::new().azure(AzureOpenAi::new()).auth_headers("k"), key);
        assert_eq!(OpenAiResponses::new().azure(AzureOpenAi::new()).auth_headers("k"), key);
        let token = ChatCompletions::new().azure(AzureOpenAi::new().bearer_key());
        assert_eq!(token.auth_headers("t"), [("authorization", "Bearer t".to_owned())]);
        assert!(token.base_url().ends_with(".invalid"), "no key goes to another service");
    }
}
