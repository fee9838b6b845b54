//! Providers of models: presets, the user's configuration and the environment.

mod presets;

use std::sync::Arc;

use anyhow::Result;
use haft::providers::Dialect;
use haft::providers::dialects::anthropic_messages::AnthropicMessages;
use haft::providers::dialects::chat_completions::ChatCompletions;
use haft::providers::dialects::ollama::Ollama;
use haft::providers::dialects::openai_responses::OpenAiResponses;
use haft::providers::transport::HttpTransport;
use serde_json::{Map, Value};

pub(crate) use self::presets::PRESETS;
use self::presets::{OLLAMA_PORT, ProviderPreset};
use crate::config::{DialectName, UserConfig};
use crate::environment::read_text;
use crate::user_error::UserError;

/// A provider with everything that a request to it needs.
#[derive(Clone, Debug)]
pub(crate) struct ProviderSpec {
    pub(crate) name: String,
    pub(crate) dialect: DialectName,
    /// The base URL; nothing for the default of the dialect.
    pub(crate) base_url: Option<String>,
    /// The environment variable with the API key.
    pub(crate) key_env: Option<String>,
    /// Whether the key is sent as a bearer token, although the dialect has a header of its own.
    pub(crate) has_bearer_key: bool,
    /// Whether requests without a key make no sense.
    pub(crate) needs_key: bool,
    /// Whether it is Azure OpenAI.
    pub(crate) is_azure: bool,
    /// Options of every request, without the headers.
    options: Map<String, Value>,
    /// Headers of every request.
    headers: Map<String, Value>,
}

impl ProviderSpec {
    /// Finds a provider by its name: a table of the configuration, or a preset. The environment overrides both.
    pub(crate) fn find(name: &str, config: &UserConfig) -> Result<Self> {
        let table = config.providers.get(name);
        let preset_name = table.and_then(|it| it.preset.as_deref()).unwrap_or(name);
        let preset = PRESETS.iter().find(|it| it.name == preset_name);
        if preset.is_none() && table.is_none_or(|it| it.preset.is_some()) {
            return Err(unknown_provider(preset_name, config).into());
        }
        let table = table.cloned().unwrap_or_default();
        // A provider under another name has its own address.
        let env_prefix = preset.filter(|it| it.name == name).and_then(|it| it.env_prefix);
        let url_from_env = env_prefix.and_then(read_base_url);
        let is_own_url = url_from_env.is_some() || table.base_url.is_some();
        let default_url = preset.and_then(|it| it.base_url).map(str::to_owned);
        let base_url = url_from_env.or(table.base_url).or(default_url);
        if base_url.is_none() && preset.is_none() {
            let error = UserError::new(format!("the provider `{name}` has no `base_url`"));
            let hint = format!("haft config set providers.{name}.base_url https://…/v1");
            return Err(error.hint(hint).into());
        }
        let is_azure = preset.is_some_and(|it| it.is_azure);
        let default_key = || preset.and_then(ProviderPreset::key_env);
        let mut key_env = table.key_env.clone().or_else(default_key);
        let dialect = table.dialect.or(preset.map(|it| it.dialect));
        let dialect = dialect.unwrap_or(DialectName::ChatCompletions);
        let has_no_key = key_env.as_deref().is_none_or(|it| read_text(it).is_none());
        let token = match dialect {
            _ if is_azure => Some(AZURE_TOKEN),
            DialectName::Anthropic => Some(ANTHROPIC_TOKEN),
            _ => None,
        };
        let token = token.filter(|it| table.key_env.is_none() && read_text(it).is_some());
        let token = token.filter(|_| has_no_key);
        let has_bearer_key = token.is_some();
        if let Some(token) = token {
            key_env = Some(token.to_owned());
        }
        let needs_key = is_azure || !is_own_url && preset.is_some_and(|it| !it.is_local);
        let mut headers = env_prefix.map(read_headers).unwrap_or_default();
        let mut options = table.options;
        if let Some(Value::Object(own)) = options.get("headers") {
            headers.extend(own.clone());
            options.remove("headers");
        }
        Ok(Self {
            name: name.to_owned(),
            dialect,
            base_url: base_url.map(|url| match is_azure {
                true => azure_url(&url),
                false => normalize_url(&url, dialect),
            }),
            key_env,
            has_bearer_key,
            needs_key,
            is_azure,
            options,
            headers,
        })
    }

    /// The options of a request: those of the provider, and those of an agent, which go before them.
    pub(crate) fn merge_options(&self, own: Map<String, Value>) -> Map<String, Value> {
        let mut options = self.options.clone();
        options.extend(own);
        self.add_headers(options)
    }

    /// Adds the headers of the provider to options. A header that the options have stays as it is.
    pub(crate) fn add_headers(&self, mut options: Map<String, Value>) -> Map<String, Value> {
        let mut headers = self.headers.clone();
        match options.get("headers") {
            Some(Value::Object(own)) => headers.extend(own.clone()),
            // The check of the options refuses it.
            Some(_) => return options,
            None => {}
        }
        if !headers.is_empty() {
            options.insert("headers".to_owned(), headers.into());
        }
        options
    }

    /// The names and values of the headers of every request.
    pub(crate) fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
    }

    /// The API key, if its variable is set.
    pub(crate) fn read_key(&self) -> Option<String> {
        read_text(self.key_env.as_deref()?)
    }

    /// The error of a provider whose key is not set.
    pub(crate) fn missing_key(&self) -> UserError {
        let variable = self.key_env.as_deref().unwrap_or("API_KEY");
        let error = UserError::new(format!("no API key: {variable} is not set"));
        let preset = PRESETS.iter().find(|it| it.name == self.name);
        match preset.and_then(|it| it.env_prefix) {
            Some(_) if self.is_azure => {
                error.hint(format!("set it, or {AZURE_TOKEN} for a token of Microsoft Entra ID"))
            }
            Some(prefix) => error.hint(format!(
                "set it to your key; for a server that needs no key, set {prefix}_BASE_URL"
            )),
            None => error.hint("set the variable, or name another one with `key_env`"),
        }
    }

    /// The dialect of the provider.
    pub(crate) fn new_dialect(&self) -> Arc<dyn Dialect> {
        let has_azure_key = self.is_azure && !self.has_bearer_key;
        match self.dialect {
            DialectName::ChatCompletions if has_azure_key => {
                Arc::new(ChatCompletions::new().azure_key())
            }
            DialectName::ChatCompletions => Arc::new(ChatCompletions::new()),
            DialectName::Responses if has_azure_key => Arc::new(OpenAiResponses::new().azure_key()),
            DialectName::Responses => Arc::new(OpenAiResponses::new()),
            DialectName::Anthropic if self.has_bearer_key => {
                Arc::new(AnthropicMessages::new().bearer_key())
            }
            DialectName::Anthropic => Arc::new(AnthropicMessages::new()),
            DialectName::Ollama => Arc::new(Ollama::new()),
        }
    }

    /// Returns an error if the provider has no address, because each of its customers has another one.
    pub(crate) fn require_url(&self) -> Result<(), UserError> {
        if !self.is_azure || self.base_url.is_some() {
            return Ok(());
        }
        let error = UserError::new(format!("the provider `{}` has no endpoint", self.name));
        let example = "such as https://NAME.openai.azure.com";
        Err(match self.is_preset() {
            true => error.hint(format!("set AZURE_OPENAI_ENDPOINT, {example}")),
            false => error.hint(format!("set `base_url` in the configuration, {example}")),
        })
    }

    fn is_preset(&self) -> bool {
        PRESETS.iter().any(|it| it.name == self.name)
    }

    /// The address that a person reads.
    pub(crate) fn display_url(&self) -> String {
        match self.require_url() {
            Ok(()) => self.url(),
            Err(_) if self.is_preset() => "address: AZURE_OPENAI_ENDPOINT".to_owned(),
            Err(_) => "no `base_url`".to_owned(),
        }
    }

    /// The base URL, the default of the dialect included.
    pub(crate) fn url(&self) -> String {
        self.base_url.clone().unwrap_or_else(|| self.new_dialect().base_url().to_owned())
    }

    /// Whether a key would be sent unencrypted to another machine.
    pub(crate) fn exposes_key(&self) -> bool {
        let url = self.url();
        url.starts_with("http://") && !is_loopback(&url)
    }

    /// A transport that uses the proxies of the environment; nothing where the usual one does as well.
    pub(crate) fn proxy_transport(&self) -> Result<Option<HttpTransport>> {
        let variables = ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"];
        let is_set =
            |name: &&str| read_text(name).is_some() || read_text(name.to_lowercase()).is_some();
        if !variables.iter().any(is_set) || is_loopback(&self.url()) {
            return Ok(None);
        }
        Ok(Some(HttpTransport::builder().proxy_from_env().build()?))
    }
}

/// The variable with a bearer token for Anthropic's API, which gateways use.
const ANTHROPIC_TOKEN: &str = "ANTHROPIC_AUTH_TOKEN";

/// The variable of Azure OpenAI with a token of Microsoft Entra ID.
const AZURE_TOKEN: &str = "AZURE_OPENAI_AD_TOKEN";

/// Reads the headers that the environment has for a provider.
fn read_headers(prefix: &str) -> Map<String, Value> {
    let variables: &[(&str, &str)] = match prefix {
        "OPENAI" => {
            &[("OPENAI_ORG_ID", "OpenAI-Organization"), ("OPENAI_PROJECT_ID", "OpenAI-Project")]
        }
        _ => &[],
    };
    let read = |(variable, header): &(&str, &str)| {
        Some(((*header).to_owned(), read_text(variable)?.into()))
    };
    variables.iter().filter_map(read).collect()
}

/// Reads the base URL that the environment has for a provider.
fn read_base_url(prefix: &str) -> Option<String> {
    let url = read_text(format!("{prefix}_BASE_URL"));
    let host = || (prefix == "OLLAMA").then(|| read_text("OLLAMA_HOST")).flatten();
    let endpoint =
        || (prefix == "AZURE_OPENAI").then(|| read_text("AZURE_OPENAI_ENDPOINT")).flatten();
    url.or_else(|| host().map(|host| ollama_url(&host))).or_else(endpoint)
}

/// The address of the API of a resource of Azure. The portal shows its endpoint, and people also copy the address itself.
fn azure_url(url: &str) -> String {
    let url = url.trim_end_matches('/');
    let url = url.strip_suffix("/openai/v1").unwrap_or(url);
    let url = url.strip_suffix("/openai").unwrap_or(url);
    format!("{url}/openai/v1")
}

/// The URL of `OLLAMA_HOST`, which may be a host, a port, both, or a URL. A server that listens on all addresses is
/// reached on this machine.
fn ollama_url(host: &str) -> String {
    let (scheme, rest, default_port) = match host.trim().trim_end_matches('/').split_once("://") {
        Some(("https", rest)) => ("https", rest, 443),
        Some((_, rest)) => ("http", rest, 80),
        None => ("http", host.trim().trim_end_matches('/'), OLLAMA_PORT),
    };
    let (authority, path) = match rest.split_once('/') {
        Some((authority, path)) => (authority, format!("/{path}")),
        None => (rest, String::new()),
    };
    let is_ipv6_without_port = authority.ends_with(']');
    let (name, port) = match authority.rsplit_once(':') {
        Some((name, port)) if !is_ipv6_without_port => (name, port.to_owned()),
        _ => (authority, default_port.to_string()),
    };
    let name = match name {
        "" | "0.0.0.0" => "127.0.0.1",
        "[::]" => "[::1]",
        name => name,
    };
    format!("{scheme}://{name}:{port}{path}")
}

/// Adds or removes the version of an API, so that the path of a request can be appended.
fn normalize_url(url: &str, dialect: DialectName) -> String {
    let trimmed = url.trim_end_matches('/');
    let has_path = trimmed.split_once("://").is_some_and(|(_, rest)| rest.contains('/'));
    match dialect {
        // The libraries of Anthropic append the version to any path.
        DialectName::Anthropic if !trimmed.ends_with("/v1") => format!("{trimmed}/v1"),
        DialectName::ChatCompletions | DialectName::Responses if !has_path => {
            format!("{trimmed}/v1")
        }
        _ => trimmed.to_owned(),
    }
}

/// Whether a URL leads to this machine, where no proxy is needed.
fn is_loopback(url: &str) -> bool {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = host.split('/').next().unwrap_or_default();
    ["localhost", "127.", "[::1]"].iter().any(|start| host.starts_with(start))
}

fn unknown_provider(name: &str, config: &UserConfig) -> UserError {
    let error = UserError::new(format!("unknown provider `{name}`"));
    let mut names: Vec<&str> = PRESETS.iter().map(|it| it.name).collect();
    names.extend(config.providers.keys().map(String::as_str).filter(|it| *it != name));
    match haft::schema::nearest(name, names.iter().copied()) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint(format!("known providers: {}", names.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::{azure_url, normalize_url, ollama_url};
    use crate::config::DialectName;

    #[test]
    fn the_host_of_ollama_has_many_forms() {
        for (host, url) in [
            ("127.0.0.1:11434", "http://127.0.0.1:11434"),
            ("0.0.0.0", "http://127.0.0.1:11434"),
            (":8080", "http://127.0.0.1:8080"),
            ("box", "http://box:11434"),
            ("http://box", "http://box:80"),
            ("https://box/", "https://box:443"),
            ("https://box:9/ollama", "https://box:9/ollama"),
            ("[::]:5", "http://[::1]:5"),
            ("[::1]", "http://[::1]:11434"),
        ] {
            assert_eq!(ollama_url(host), url, "{host}");
        }
    }

    #[test]
    fn the_endpoint_of_azure_may_have_the_path_of_its_api() {
        for url in ["https://h", "https://h/", "https://h/openai/", "https://h/openai/v1/"] {
            assert_eq!(azure_url(url), "https://h/openai/v1", "{url}");
        }
        let url = "https://gateway/team/openai/v1";
        assert_eq!(azure_url(url), url);
    }

    #[test]
    fn versions_are_added_as_each_api_expects() {
        use DialectName::{Anthropic, ChatCompletions};
        for (url, dialect, expected) in [
            ("http://h", ChatCompletions, "http://h/v1"),
            ("http://h/", ChatCompletions, "http://h/v1"),
            ("http://h/openai", ChatCompletions, "http://h/openai"),
            ("http://h", Anthropic, "http://h/v1"),
            ("http://h/api", Anthropic, "http://h/api/v1"),
            ("http://h/api/v1/", Anthropic, "http://h/api/v1"),
        ] {
            assert_eq!(normalize_url(url, dialect), expected, "{url}");
        }
    }
}
