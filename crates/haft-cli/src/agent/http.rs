//! Addresses of the web as tools.

mod template;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use haft::media::MediaReader as _;
use haft::readers::{Deadlines, Fetcher, UrlPolicy};
use haft::tool::Effect;
use haft::{Args, DispatchContext, Tool, ToolFailure, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use self::template::{Address, Header, Query, filled};
use super::command::{self, EffectWord};
use super::packs::anywhere;
use super::place::Fault;
use super::template::Arguments;

/// An address that the model may ask. The host is fixed, and a value never becomes more than one part of the
/// path or one value of the query.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct HttpTool {
    /// What the model reads when it chooses: what the tool does, and what it returns.
    description: String,
    /// How the address is asked.
    #[serde(default)]
    method: Method,
    /// The address, without a query. `{name}` stands for an argument of the call, in the path only.
    url: String,
    /// The query, by names. `{name}` stands for an argument; what names an absent one is left out.
    #[serde(default)]
    query: BTreeMap<String, String>,
    /// Headers of the request. `{env.NAME}` stands for a variable of the environment that `env` lists.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// The variables of the environment that headers may have. They are never printed.
    #[serde(default)]
    env: Vec<String>,
    /// The JSON that POST sends. A text that is `{name}` and nothing else becomes the argument as it is; inside
    /// other text it becomes text. All arguments, by their names, if not said.
    body: Option<Map<String, Value>>,
    /// The arguments of a call, by their names.
    #[serde(default)]
    args: Arguments,
    /// How long a request may take, in seconds; 30 if not said.
    #[serde(default = "half_a_minute")]
    timeout: u64,
    /// How many bytes an answer may have; 67108864 if not said.
    #[serde(default = "most_bytes")]
    max_bytes: u64,
    /// Allows addresses that are not public: this machine and private networks.
    #[serde(default)]
    private: bool,
    /// What asking does to the world; `read-only` for GET and `once` for POST if not said.
    effect: Option<EffectWord>,
    /// How the answer is read: `text`, `json`, `jsonl`, `ndjson`, `json5`, `markdown`, `csv`, `yaml` or `xml`;
    /// `text` if not said.
    artifact: Option<String>,
    /// The question that somebody has to say yes to before each request.
    approval: Option<String>,
}

/// How an address is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
enum Method {
    /// Asks for something.
    #[default]
    Get,
    /// Sends JSON.
    Post,
}

fn half_a_minute() -> u64 {
    30
}

fn most_bytes() -> u64 {
    haft::readers::MAX_BYTES
}

impl HttpTool {
    /// The tool of this name.
    pub(super) fn build(&self, name: &str) -> Result<Tool, Fault> {
        let endpoint = Arc::new(self.endpoint()?);
        let effect = match (self.effect, self.method) {
            (Some(word), _) => word.into(),
            (None, Method::Get) => Effect::ReadOnly,
            (None, Method::Post) => Effect::Once,
        };
        let mut tool = Tool::builder(name)
            .description(&self.description)
            .input(command::input(&self.args)?)
            .artifact(command::artifact(self.artifact.as_deref())?)
            .effect(effect)
            .timeout(endpoint.timeout)
            .handler(move |args: Args, ctx: DispatchContext| {
                let endpoint = Arc::clone(&endpoint);
                async move { endpoint.ask(&args, &ctx) }
            });
        if let Some(question) = &self.approval {
            tool = tool.requires_approval(question);
        }
        tool.build().map_err(|error| command::refused(&error))
    }

    fn endpoint(&self) -> Result<Endpoint, Fault> {
        if self.method == Method::Get && self.body.is_some() {
            let fault = Fault::at(["body"], "GET sends nothing");
            return Err(fault.hint("say `method = \"POST\"`, or use `query`"));
        }
        let address = Address::parse(&self.url, &self.args)?;
        let policy = UrlPolicy::public();
        let policy = if address.is_https() { policy } else { policy.allow_http() };
        let policy = if self.private { anywhere(policy) } else { policy };
        if address.is_number() {
            judged(&policy, &address)?;
        }
        if let Some(body) = &self.body {
            template::check(&Value::Object(body.clone()), &self.args)?;
        }
        Ok(Endpoint {
            method: self.method,
            query: Query::parse(&self.query, &self.args)?,
            headers: Header::parse(&self.headers, &self.env)?,
            body: self.body.clone().map(Value::Object),
            timeout: command::seconds(self.timeout)?,
            max_bytes: self.max_bytes,
            repeats: matches!(self.effect, Some(EffectWord::Idempotent)),
            address,
            policy,
            fetcher: OnceLock::new(),
        })
    }

    /// Whether it asks by itself.
    pub(super) const fn asks(&self) -> bool {
        self.approval.is_some()
    }

    /// What it needs from the environment, and does not find there now.
    pub(super) fn unset(&self) -> Option<Fault> {
        let absent = |name: &&String| std::env::var_os(name).is_none();
        let name = self.env.iter().find(absent)?;
        Some(Fault::at(["env"], format!("the variable `{name}` is not set")))
    }
}

/// What can be seen in an address alone is refused now, not when it is asked. Names are judged when they are
/// resolved.
fn judged(policy: &UrlPolicy, address: &Address) -> Result<(), Fault> {
    let guard = Fetcher::builder(policy.clone()).build().map_err(|it| Fault::at(["url"], it))?;
    let sample = address.sample();
    let read = guard.reader(&sample).map_err(|error| {
        let fault = Fault::at(["url"], error);
        fault.hint("`private = true` allows addresses that are not public")
    })?;
    // Origins are compared as text, and a number has many spellings.
    if read.url() == sample {
        return Ok(());
    }
    let what = format!("`{sample}` is another spelling of `{}`", read.url());
    Err(Fault::at(["url"], what).hint("write the address that is meant"))
}

/// An address with everything that it takes to ask it.
#[derive(Debug)]
struct Endpoint {
    method: Method,
    address: Address,
    query: Query,
    headers: Vec<Header>,
    body: Option<Value>,
    timeout: Duration,
    max_bytes: u64,
    /// Whether a request may come twice.
    repeats: bool,
    policy: UrlPolicy,
    /// Made when it is first needed, because making it takes long.
    fetcher: OnceLock<Fetcher>,
}

impl Endpoint {
    fn ask(&self, args: &Args, ctx: &DispatchContext) -> Result<ToolOutput, ToolFailure> {
        let args = args.to_value();
        let url = self.address.fill(&args)? + &self.query.fill(&args);
        // The fetcher asks for them when it sends. What is not set is told now.
        self.headers.iter().try_for_each(|header| header.fill().map(drop))?;
        let fetcher = self.fetcher()?;
        Ok(ToolOutput::Stream(match self.method {
            Method::Get => fetcher.reader(&url)?.open(),
            Method::Post => {
                let key = ctx.idempotency_key().filter(|_| self.repeats);
                let key = key.map(|it| ("idempotency-key".to_owned(), it.to_string()));
                let body = self.body.as_ref().map_or_else(|| args.clone(), |it| filled(it, &args));
                fetcher.post(&url, key.as_slice(), body.to_string())?
            }
        }))
    }

    fn fetcher(&self) -> Result<&Fetcher, ToolFailure> {
        if let Some(fetcher) = self.fetcher.get() {
            return Ok(fetcher);
        }
        let made = self.new_fetcher()?;
        Ok(self.fetcher.get_or_init(|| made))
    }

    /// Redirects stay on the host, and only its own origin gets the headers.
    fn new_fetcher(&self) -> Result<Fetcher, ToolFailure> {
        let policy = self.policy.clone().only_hosts([self.address.host()]).allow_redirects(3);
        let limits = Deadlines::default();
        let (origin, headers) = (self.address.origin().to_owned(), self.headers.clone());
        let fetcher = Fetcher::builder(policy)
            .max_bytes(self.max_bytes)
            .deadlines(limits.head(self.timeout).idle(self.timeout).total(self.timeout))
            .headers(move |asked| {
                let own = headers.iter().filter(|_| asked == origin);
                own.filter_map(|header| header.fill().ok()).collect()
            });
        Ok(fetcher.build()?)
    }
}
