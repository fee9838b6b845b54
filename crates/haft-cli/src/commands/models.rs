//! `haft models`

use std::future::poll_fn;
use std::pin::Pin;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};
use axum::http::HeaderName;
use axum::http::header::CONTENT_TYPE;
use axum::http::response::Parts;
use bytes::Bytes;
use futures_core::Stream as _;
use haft::providers::ResponseExcerpt;
use haft::providers::transport::{Body, HttpTransport, Request, Secret, Transport as _};
use haft::turn::PriceTable;
use serde_json::Value;

use crate::args::ModelsArgs;
use crate::config::{DialectName, UserConfig};
use crate::model_providers::{PRESETS, ProviderSpec};
use crate::output::{ModelLine, PrintedPrices, ProviderLine, to_line};
use crate::terminal::{Terminal, TextRole, print_line, sanitize};
use crate::user_error::{FailureCode, UserError};

pub(super) async fn list_models(args: &ModelsArgs, terminal: &Terminal) -> Result<ExitCode> {
    let config = UserConfig::read()?;
    let Some(name) = &args.provider else { return list_providers(&config, args.json, terminal) };
    let spec = ProviderSpec::find(name.trim_end_matches(':'), &config)?;
    let spinner = terminal.start_spinner(&format!("asking {}", spec.display_url()));
    let models = fetch_models(&spec, args.plain_http).await?;
    drop(spinner);
    let mut text = String::new();
    for model in &models {
        let full = format!("{}:{model}", spec.name);
        if args.json {
            let prices = config.prices_of_model(&spec.name, model).map(PrintedPrices::from);
            let line = ModelLine { model: full, provider: &spec.name, id: model, prices };
            text.push_str(&to_line(&line)?);
        } else {
            text.push_str(&format!("{}\n", sanitize(&full)));
        }
    }
    if models.is_empty() && !args.json {
        print_line(format_args!("`{}` lists no models", sanitize(&spec.name)));
        return Ok(FailureCode::NotFound.into());
    }
    super::print_text(&text)?;
    if spec.is_azure && !args.json {
        print_line(format_args!(
            "Azure lists models, and requests name deployments: {}:DEPLOYMENT",
            sanitize(&spec.name)
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// Lists the providers, and whether their keys are set.
fn list_providers(config: &UserConfig, as_json: bool, terminal: &Terminal) -> Result<ExitCode> {
    let mut names: Vec<&str> = config.providers.keys().map(String::as_str).collect();
    names.extend(PRESETS.iter().map(|it| it.name).filter(|it| !config.providers.contains_key(*it)));
    let mut text = String::new();
    for name in names {
        let spec = ProviderSpec::find(name, config)?;
        let has_key = spec.read_key().is_some();
        if as_json {
            let line = ProviderLine {
                provider: name,
                dialect: spec.dialect.as_str(),
                base_url: spec.require_url().is_ok().then(|| spec.url()),
                key_variable: spec.key_env.as_deref(),
                has_key,
                needs_key: spec.needs_key,
            };
            text.push_str(&to_line(&line)?);
            continue;
        }
        let variable = spec.key_env.as_deref().unwrap_or_default();
        let (role, key) = match (has_key, spec.needs_key) {
            (true, _) => (TextRole::Success, format!("{variable} is set")),
            (false, true) => (TextRole::Muted, format!("needs {variable}")),
            (false, false) => (TextRole::Muted, "needs no key".to_owned()),
        };
        let key = terminal.style_stdout(role, format!("{key:<28}"));
        let name = terminal.style_stdout(TextRole::Key, format!("{:<17}", sanitize(name)));
        // Addresses come last: they are long, and a narrow terminal breaks only those lines that need it.
        text.push_str(&format!("{name} {key} {}\n", sanitize(&spec.display_url())));
    }
    super::print_text(&text)?;
    if !as_json {
        let model = sanitize(config.model.as_deref().unwrap_or("none"));
        print_line(format_args!("default model: {model}; `haft models PROVIDER` lists its models"));
        let table = PriceTable::bundled();
        print_line(format_args!(
            "costs are counted by the prices of {} ({}), or by yours: `haft config`",
            table.date(),
            table.source()
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// How long a provider may take to list its models.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The longest list of models, in bytes.
const MAX_LIST: usize = 16 << 20;

/// Asks a provider for the models that it offers.
pub(super) async fn fetch_models(spec: &ProviderSpec, plain_http: bool) -> Result<Vec<String>> {
    let path = match spec.dialect {
        DialectName::Ollama => "/api/tags",
        DialectName::Anthropic => "/models?limit=1000",
        DialectName::ChatCompletions | DialectName::Responses => "/models",
    };
    spec.require_url()?;
    let url = format!("{}{path}", spec.url());
    let mut request = Request::get(url).body(Bytes::new()).context("the base URL is not a URL")?;
    let dialect = spec.new_dialect();
    let key = spec.read_key();
    // A header may be a key.
    let has_secret = key.is_some() || spec.headers().next().is_some();
    if has_secret && spec.exposes_key() && !plain_http {
        let error = UserError::new("API keys and headers are not sent over unencrypted HTTP");
        return Err(error.hint("use https, or --plain-http if you trust the network").into());
    }
    if let Some(key) = key {
        for (name, value) in dialect.auth_headers(&key) {
            request.headers_mut().insert(name, Secret::new(value).to_header_value()?);
        }
    } else if spec.needs_key {
        return Err(spec.missing_key().into());
    }
    for (name, value) in dialect.headers() {
        request.headers_mut().insert(name, Secret::new(value).to_header_value()?);
    }
    for (name, value) in spec.headers() {
        let header = HeaderName::try_from(name);
        let header = header.with_context(|| format!("`{name}` is not the name of a header"))?;
        request.headers_mut().insert(header, Secret::new(value).to_header_value()?);
    }
    let transport = match spec.proxy_transport()? {
        Some(transport) => transport,
        None => HttpTransport::builder().total_timeout(TIMEOUT).build()?,
    };
    let response = tokio::time::timeout(TIMEOUT, transport.send(request.clone())).await;
    let response = response.map_err(|_| UserError::new("no response in 30 seconds"))??;
    let (head, body) = response.into_parts();
    let body = read_body(body).await?;
    if !head.status.is_success() {
        let text: String = String::from_utf8_lossy(&body).chars().take(300).collect();
        let status = head.status;
        return Err(
            UserError::new(format!("`{}` responded with {status}: {text}", spec.name)).into()
        );
    }
    let list = serde_json::from_slice(&body).ok();
    let models = list.as_ref().and_then(parse_models);
    models.ok_or_else(|| no_model_list(spec, &request, &head, &body).into())
}

/// The error of a response that is no list of models, because the address is that of another service.
fn no_model_list(
    spec: &ProviderSpec,
    request: &Request<Bytes>,
    head: &Parts,
    body: &[u8],
) -> UserError {
    let content_type = head.headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let response = ResponseExcerpt::new(request, head.status.as_u16(), content_type, body);
    UserError::new(format!("{response}, which is no list of models")).hint(format!(
        "check the base URL of `{}`, which is {}",
        spec.name,
        spec.display_url()
    ))
}

/// The names in a list of models, sorted; `None` if it is no such list.
fn parse_models(list: &Value) -> Option<Vec<String>> {
    let items = list.get("data").or_else(|| list.get("models"))?.as_array()?;
    let name = |item: &Value| {
        let name = item.get("id").or_else(|| item.get("name"))?.as_str()?;
        // Gemini lists `models/gemini-…`, and takes the name without the prefix.
        Some(name.strip_prefix("models/").unwrap_or(name).to_owned())
    };
    let mut names: Vec<String> = items.iter().filter_map(name).collect();
    names.sort();
    Some(names)
}

async fn read_body(mut body: Body) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while let Some(chunk) = poll_fn(|cx| Pin::new(&mut body).poll_next(cx)).await {
        bytes.extend_from_slice(&chunk?);
        if bytes.len() > MAX_LIST {
            return Err(UserError::new("the list of models is too long").into());
        }
    }
    Ok(bytes)
}
