//! Providers that need no configuration.

use crate::config::DialectName;

/// A provider that is known by name.
#[derive(Debug)]
pub(crate) struct ProviderPreset {
    pub(crate) name: &'static str,
    pub(crate) dialect: DialectName,
    /// The base URL; nothing for the default of the dialect.
    pub(crate) base_url: Option<&'static str>,
    /// The start of the names of its variables: `OPENAI` in `OPENAI_API_KEY` and `OPENAI_BASE_URL`.
    pub(crate) env_prefix: Option<&'static str>,
    /// Whether it is a server on this machine, which needs no key.
    pub(crate) is_local: bool,
    /// Whether it is Azure OpenAI, where every customer has an endpoint.
    pub(crate) is_azure: bool,
}

impl ProviderPreset {
    /// The environment variable with the API key.
    pub(crate) fn key_env(&self) -> Option<String> {
        self.env_prefix.map(|prefix| format!("{prefix}_API_KEY"))
    }

    const fn hosted(name: &'static str, url: &'static str, prefix: &'static str) -> Self {
        Self {
            name,
            dialect: DialectName::ChatCompletions,
            base_url: Some(url),
            env_prefix: Some(prefix),
            is_local: false,
            is_azure: false,
        }
    }

    const fn local(name: &'static str, url: &'static str, prefix: &'static str) -> Self {
        let hosted = Self::hosted(name, url, prefix);
        Self { is_local: true, ..hosted }
    }

    const fn of_dialect(name: &'static str, dialect: DialectName, prefix: &'static str) -> Self {
        Self {
            name,
            dialect,
            base_url: None,
            env_prefix: Some(prefix),
            is_local: false,
            is_azure: false,
        }
    }

    const fn azure(name: &'static str, dialect: DialectName) -> Self {
        let hosted = Self::of_dialect(name, dialect, "AZURE_OPENAI");
        Self { is_azure: true, ..hosted }
    }
}

/// The port on which Ollama listens.
pub(super) const OLLAMA_PORT: u16 = 11434;

/// All presets. Those without a dialect of their own speak Chat Completions.
pub(crate) const PRESETS: &[ProviderPreset] = &[
    ProviderPreset::of_dialect("openai", DialectName::ChatCompletions, "OPENAI"),
    ProviderPreset::of_dialect("openai-responses", DialectName::Responses, "OPENAI"),
    ProviderPreset::of_dialect("anthropic", DialectName::Anthropic, "ANTHROPIC"),
    ProviderPreset {
        name: "ollama",
        dialect: DialectName::Ollama,
        base_url: Some("http://localhost:11434"),
        env_prefix: Some("OLLAMA"),
        is_local: true,
        is_azure: false,
    },
    ProviderPreset::azure("azure", DialectName::ChatCompletions),
    ProviderPreset::azure("azure-responses", DialectName::Responses),
    ProviderPreset::hosted(
        "gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI",
    ),
    ProviderPreset::hosted("groq", "https://api.groq.com/openai/v1", "GROQ"),
    ProviderPreset::hosted("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER"),
    ProviderPreset::hosted("mistral", "https://api.mistral.ai/v1", "MISTRAL"),
    ProviderPreset::hosted("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK"),
    ProviderPreset::hosted("together", "https://api.together.xyz/v1", "TOGETHER"),
    ProviderPreset::hosted("fireworks", "https://api.fireworks.ai/inference/v1", "FIREWORKS"),
    ProviderPreset::hosted("cerebras", "https://api.cerebras.ai/v1", "CEREBRAS"),
    ProviderPreset::hosted("xai", "https://api.x.ai/v1", "XAI"),
    ProviderPreset::local("lmstudio", "http://localhost:1234/v1", "LMSTUDIO"),
    ProviderPreset::local("llamacpp", "http://localhost:8080/v1", "LLAMACPP"),
    ProviderPreset::local("vllm", "http://localhost:8000/v1", "VLLM"),
];
