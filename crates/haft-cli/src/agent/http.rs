//! Tools that send a request to an HTTP endpoint.

mod request_template;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use haft::media::{FetchDeadlines, FetchRequest, Fetcher, HttpMethod, UrlPolicy};
use haft::tools::ToolEffect;
use haft::{Args, CallContext, Tool, ToolFailure, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use self::request_template::{
    BodyTemplate, HeaderTemplate, QueryTemplate, UrlTemplate, validate_body,
};
use super::arguments::Arguments;
use super::packs::allow_all_networks;
use super::source::{AgentFileError, ErrorList};
use super::template::parse_template;
use super::tool_keys::{
    EffectKey, explain_invalid_tool, input_schema, parse_artifact_kind, parse_timeout,
};
use crate::environment;

/// An HTTP endpoint that the model may call. The host is fixed, and a value never becomes more than one path segment
/// or one query value.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct HttpTool {
    /// Description that the model reads when it selects a tool: what the tool does and what it returns.
    description: String,
    /// HTTP method; default: `GET`.
    #[serde(default)]
    method: Method,
    /// URL without a query. `{name}` inserts an argument of the call, in the path only.
    url: String,
    /// Query parameters, by name. `{name}` inserts an argument; a parameter whose argument is absent is omitted.
    #[serde(default)]
    query: BTreeMap<String, String>,
    /// Request headers. `{env.NAME}` inserts an environment variable that `env` lists.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// Environment variables that headers may use. Their values are never printed.
    #[serde(default)]
    env: Vec<String>,
    /// JSON body of the request. A string that consists of `{name}` becomes the argument itself; inside other text,
    /// `{name}` inserts the argument as text. Default for POST, PUT and PATCH: an object with the arguments that neither
    /// `url` nor `query` uses.
    body: Option<Map<String, Value>>,
    /// The arguments of a call, by name.
    #[serde(default)]
    args: Arguments,
    /// Timeout in seconds; default: 30.
    #[serde(default = "default_timeout")]
    timeout: u64,
    /// Maximum size of a response in bytes; default: 67108864.
    #[serde(default = "default_max_bytes")]
    max_bytes: u64,
    /// Allows addresses that are not public: this machine and private networks.
    #[serde(default)]
    private: bool,
    /// Effect of a call, which decides whether it may be repeated after a crash; default: `read-only` for GET, HEAD and
    /// OPTIONS, `idempotent` for PUT and DELETE, `once` for POST and PATCH.
    effect: Option<EffectKey>,
    /// Artifact kind of the response: `text`, `json`, `jsonl`, `markdown`, `csv`, `yaml` or `xml`;
    /// default: `text`.
    artifact: Option<String>,
    /// Question that the user must approve before each call.
    approval: Option<String>,
}

/// HTTP method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
enum Method {
    /// Requests a resource.
    #[default]
    Get,
    /// Requests the status and the headers of a resource.
    Head,
    /// Requests what can be done with a resource, as headers.
    Options,
    /// Sends a JSON body.
    Post,
    /// Creates or replaces a resource.
    Put,
    /// Changes a part of a resource.
    Patch,
    /// Deletes a resource.
    Delete,
}

impl From<Method> for HttpMethod {
    fn from(method: Method) -> Self {
        match method {
            Method::Get => Self::Get,
            Method::Head => Self::Head,
            Method::Options => Self::Options,
            Method::Post => Self::Post,
            Method::Put => Self::Put,
            Method::Patch => Self::Patch,
            Method::Delete => Self::Delete,
        }
    }
}

/// The effect of a request, as the specification of HTTP defines it for the method.
fn effect_of(method: HttpMethod) -> ToolEffect {
    match method {
        _ if method.is_read_only() => ToolEffect::ReadOnly,
        _ if method.is_idempotent() => ToolEffect::Idempotent,
        _ => ToolEffect::Once,
    }
}

fn default_timeout() -> u64 {
    30
}

fn default_max_bytes() -> u64 {
    haft::media::MAX_BYTES
}

impl HttpTool {
    /// Builds the tool under this name.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the table.
    pub(super) fn build(&self, name: &str) -> Result<Tool, Vec<AgentFileError>> {
        let mut errors = ErrorList::default();
        let endpoint = errors.take_all(self.endpoint());
        let input = errors.take_all(input_schema(&self.args));
        let artifact = errors.take(parse_artifact_kind(self.artifact.as_deref()));
        let ((endpoint, input), artifact) = errors.finish(endpoint.zip(input).zip(artifact))?;
        let endpoint = Arc::new(endpoint);
        let method = HttpMethod::from(self.method);
        let effect = self.effect.map_or_else(|| effect_of(method), ToolEffect::from);
        let mut tool = Tool::builder(name)
            .description(&self.description)
            .input(input)
            .artifact(artifact)
            .effect(effect)
            .timeout(endpoint.timeout)
            .definition_part("method", method.as_str())
            .definition_part("url", &self.url)
            .definition_part("query", &self.query)
            .definition_part("headers", &self.headers)
            .definition_part("body", &self.body)
            .definition_part("private", self.private)
            .handler(move |args: Args, ctx: CallContext| {
                let endpoint = Arc::clone(&endpoint);
                async move { endpoint.send_request(&args, &ctx) }
            });
        if let Some(question) = &self.approval {
            tool = tool.requires_approval(question);
        }
        tool.build().map_err(|error| explain_invalid_tool(&error))
    }

    fn endpoint(&self) -> Result<Endpoint, Vec<AgentFileError>> {
        let mut errors = ErrorList::default();
        let url = errors.take(self.url_with_policy());
        errors.take(self.check_body());
        let query = errors.take(QueryTemplate::parse(&self.query, &self.args));
        let headers = errors.take(HeaderTemplate::parse(&self.headers, &self.env));
        let timeout = errors.take(parse_timeout(self.timeout));
        let parts = url.zip(query).zip(headers).zip(timeout);
        let ((((url, policy), query), headers), timeout) = errors.finish(parts)?;
        Ok(Endpoint {
            method: self.method.into(),
            body: self.body_template(&url, &query),
            query,
            headers,
            timeout,
            max_bytes: self.max_bytes,
            sends_idempotency_key: self.sends_idempotency_key(),
            url,
            policy,
            fetcher: OnceLock::new(),
        })
    }

    /// The URL, and which addresses it may lead to.
    fn url_with_policy(&self) -> Result<(UrlTemplate, UrlPolicy), AgentFileError> {
        let url = UrlTemplate::parse(&self.url, &self.args)?;
        let policy = UrlPolicy::public();
        let policy = if url.is_https() { policy } else { policy.allow_http() };
        let policy = if self.private { allow_all_networks(policy) } else { policy };
        if url.is_ip_address() {
            validate_ip_address(&policy, &url)?;
        }
        Ok((url, policy))
    }

    fn check_body(&self) -> Result<(), AgentFileError> {
        let Some(body) = &self.body else { return Ok(()) };
        let method = HttpMethod::from(self.method);
        if method.is_read_only() {
            let message = format!("a {} request has no body", method.as_str());
            let error = AgentFileError::at(["body"], message);
            return Err(error.hint("set `method = \"POST\"`, or use `query`"));
        }
        validate_body(&Value::Object(body.clone()), &self.args)
    }

    /// The template of the body, or `None` if the request has none.
    fn body_template(&self, url: &UrlTemplate, query: &QueryTemplate) -> Option<BodyTemplate> {
        let used = || url.argument_names().chain(query.argument_names()).map(str::to_owned);
        match (&self.body, self.method) {
            (Some(body), _) => Some(BodyTemplate::Fixed(Value::Object(body.clone()))),
            (None, Method::Post | Method::Put | Method::Patch) => {
                Some(BodyTemplate::ArgumentsExcept(used().collect()))
            }
            (None, _) => None,
        }
    }

    /// Whether a request carries an idempotency key: it may be repeated, although its method does not say so.
    fn sends_idempotency_key(&self) -> bool {
        self.effect == Some(EffectKey::Idempotent) && !HttpMethod::from(self.method).is_idempotent()
    }

    /// Finds a placeholder of the approval question that is no argument.
    pub(super) fn find_unknown_placeholder(&self) -> Option<AgentFileError> {
        parse_template(self.approval.as_deref()?, &self.args, &["approval"]).err()
    }

    /// Whether the tool has its own approval question.
    pub(super) const fn has_approval_question(&self) -> bool {
        self.approval.is_some()
    }

    /// Finds an environment variable that the tool needs and that is not set.
    pub(super) fn find_unset_variable(&self) -> Option<AgentFileError> {
        let is_unset = |name: &&String| environment::read_variable(name).is_none();
        let name = self.env.iter().find(is_unset)?;
        let message = format!("the environment variable `{name}` is not set");
        Some(AgentFileError::at(["env"], message))
    }
}

/// Applies the policy to an IP address when the file is read. A host name is checked when a request resolves it.
fn validate_ip_address(policy: &UrlPolicy, url: &UrlTemplate) -> Result<(), AgentFileError> {
    let fetcher = Fetcher::builder(policy.clone()).build();
    let fetcher = fetcher.map_err(|error| AgentFileError::at(["url"], error))?;
    let sample = url.sample();
    let reader = fetcher.reader(&sample).map_err(|error| {
        let error = AgentFileError::at(["url"], error);
        error.hint("`private = true` allows addresses that are not public")
    })?;
    // Origins are compared as text, and an IP address has many spellings.
    if reader.url() == sample {
        return Ok(());
    }
    let message = format!("`{sample}` is another spelling of `{}`", reader.url());
    Err(AgentFileError::at(["url"], message).hint("use the canonical spelling"))
}

/// A validated endpoint.
#[derive(Debug)]
struct Endpoint {
    method: HttpMethod,
    url: UrlTemplate,
    query: QueryTemplate,
    headers: Vec<HeaderTemplate>,
    body: Option<BodyTemplate>,
    timeout: Duration,
    max_bytes: u64,
    /// Whether a request carries an idempotency key.
    sends_idempotency_key: bool,
    policy: UrlPolicy,
    /// Created by the first request, because creating it is slow.
    fetcher: OnceLock<Fetcher>,
}

impl Endpoint {
    fn send_request(&self, args: &Args, ctx: &CallContext) -> Result<ToolOutput, ToolFailure> {
        let args = args.to_value();
        let url = self.url.expand(&args)? + &self.query.expand(&args);
        // The fetcher reads the headers again when it sends. A variable that is not set is reported now.
        self.headers.iter().try_for_each(|header| header.read_env().map(drop))?;
        let mut request = FetchRequest::new(self.method);
        if self.sends_idempotency_key {
            let key = ctx.idempotency_key();
            request = request.header("idempotency-key", key.to_string());
        }
        if let Some(body) = &self.body {
            request = request.json(body.expand(&args).to_string());
        }
        Ok(ToolOutput::Stream(self.init_fetcher()?.send(&url, request)?))
    }

    /// Returns the fetcher, and creates it if this is the first request.
    fn init_fetcher(&self) -> Result<&Fetcher, ToolFailure> {
        if let Some(fetcher) = self.fetcher.get() {
            return Ok(fetcher);
        }
        let fetcher = self.new_fetcher()?;
        Ok(self.fetcher.get_or_init(|| fetcher))
    }

    /// Redirects stay on the host, and only requests to the origin of the URL carry the headers.
    fn new_fetcher(&self) -> Result<Fetcher, ToolFailure> {
        let policy = self.policy.clone().only_hosts([self.url.host()]).allow_redirects(3);
        let limits = FetchDeadlines::default();
        let origin = self.url.origin().to_owned();
        let headers = self.headers.clone();
        let fetcher = Fetcher::builder(policy)
            .max_bytes(self.max_bytes)
            .deadlines(limits.head(self.timeout).idle(self.timeout).total(self.timeout))
            .headers(move |requested| {
                let sent = headers.iter().filter(|_| requested == origin);
                sent.filter_map(|header| header.read_env().ok()).collect()
            });
        Ok(fetcher.build()?)
    }
}
