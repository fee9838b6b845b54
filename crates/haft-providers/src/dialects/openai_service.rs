//! What the dialects of OpenAI have in common: their addresses and keys.

/// The header with which a key is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum KeyHeader {
    /// `Authorization: Bearer`
    #[default]
    Bearer,
    /// `api-key`, as Azure OpenAI expects it.
    Azure,
}

impl KeyHeader {
    /// The default base address. Azure has none: that of a resource must be given, and no key may go anywhere else.
    pub(super) const fn base_url(self) -> &'static str {
        match self {
            Self::Bearer => "https://api.openai.com/v1",
            Self::Azure => "https://azure-openai-endpoint.invalid/openai/v1",
        }
    }

    /// The headers that carry a key.
    pub(super) fn headers(self, key: &str) -> Vec<(&'static str, String)> {
        match self {
            Self::Bearer => vec![("authorization", format!("Bearer {key}"))],
            Self::Azure => vec![("api-key", key.to_owned())],
        }
    }
}

/// Whether a host is OpenAI itself or Azure, and not another service with a compatible API.
pub(super) fn is_own_host(host: &str) -> bool {
    host == "api.openai.com"
        || [".openai.azure.com", ".services.ai.azure.com"].iter().any(|it| host.ends_with(it))
}

#[cfg(test)]
mod tests {
    use crate::dialect::Dialect;
    use crate::dialects::chat_completions::ChatCompletions;
    use crate::dialects::openai_responses::OpenAiResponses;

    #[test]
    fn keys_of_azure_have_their_own_header() {
        let key = [("api-key", "k".to_owned())];
        let chat = ChatCompletions::new().azure_key();
        assert_eq!(chat.auth_headers("k"), key);
        assert_eq!(OpenAiResponses::new().azure_key().auth_headers("k"), key);
        assert!(chat.base_url().contains(".invalid/"), "no key goes to another service");
        let token = ChatCompletions::new();
        assert_eq!(token.auth_headers("t"), [("authorization", "Bearer t".to_owned())]);
    }

    #[test]
    fn azure_is_the_service_itself() {
        let chat = ChatCompletions::new();
        assert!(chat.is_own_service("api.openai.com"));
        assert!(chat.is_own_service("my-resource.openai.azure.com"));
        assert!(!chat.is_own_service("openai.azure.com.example.org"));
        assert!(!chat.is_own_service("localhost"));
    }
}
