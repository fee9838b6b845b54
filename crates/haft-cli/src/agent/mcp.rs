//! MCP servers whose tools the agent uses.

mod agent_servers;
mod oauth;
mod pin_file;
mod process;
mod token_file;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use haft::Tool;
use haft::stores::DirSpoolStore;
use haft::trust::TrustTier;
use haft_mcp::client::{
    ApprovalRule, HttpServer, McpClientError, McpEndpoint, McpOptions, McpTools, OAuthClient,
    PrefixPolicy, ProtocolChoice, ToolRules,
};
use schemars::JsonSchema;
use serde::Deserialize;

pub(super) use self::agent_servers::ConnectedServers;
pub(crate) use self::agent_servers::describe_problem;
use self::oauth::{OAuthTable, login_hint, token_error};
use self::pin_file::PinFile;
use self::process::ServerProcess;
use self::token_file::TokenFile;
use super::command::{INSTALL_HINT, find_program_problem, program_path, resolve_program};
use super::sandbox::{AgentSandbox, ProgramSandbox};
use super::source::AgentFileError;
use super::tool_keys::{EffectKey, parse_timeout};
use crate::environment;

/// An MCP server whose tools the agent uses: a program (`argv`) or an address (`url`).
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["argv"]}, {"required": ["url"]}]))]
pub(crate) struct McpServerTable {
    /// The program and its arguments. It runs as long as the agent does and speaks over its standard input and output.
    argv: Option<Vec<String>>,
    /// Working directory of the program; default: the agent's directory.
    dir: Option<PathBuf>,
    /// Environment variables that the program receives in addition to `PATH`: a list of names, whose values come from the
    /// environment of `haft`, or a table of names and values.
    #[serde(default)]
    env: ServerEnvironment,
    /// What differs from `[sandbox]` for this program, or `false`: it runs with all rights of the user.
    sandbox: Option<ProgramSandbox>,
    /// Address of a server that speaks streamable HTTP, such as `https://example.com/mcp`.
    url: Option<String>,
    /// Environment variable with the bearer token for `url`.
    token_env: Option<String>,
    /// Access to `url` by OAuth 2.1; `oauth = {}` uses the tokens of `haft mcp login AGENT NAME`.
    oauth: Option<OAuthTable>,
    /// Revision of the protocol; default: `auto`.
    #[serde(default)]
    protocol: ProtocolKey,
    /// Whether the names of the tools get the name of the server in front, as in `files_read`; default: `collision`, if the
    /// name is taken.
    #[serde(default)]
    prefix: PrefixKey,
    /// Origin of what the server returns: `public` or `private`; default: `public`. Neither is trusted.
    #[serde(default)]
    origin: OriginKey,
    /// Include only these tools, by the names that the server gives them.
    only: Option<Vec<String>>,
    /// Exclude these tools, by the names that the server gives them.
    #[serde(default)]
    except: Vec<String>,
    /// Effect of the calls, which decides whether they may be repeated after a crash; default: `once`. What the server says
    /// about it does not count.
    effect: Option<EffectKey>,
    /// Question that the user must approve before each call. By default only tools that the server calls destructive
    /// require approval.
    approval: Option<String>,
    /// Rules for single tools, by the names that the server gives them.
    #[serde(default)]
    tool: BTreeMap<String, McpToolTable>,
    /// Timeout in seconds of a call without progress; default: 60.
    #[serde(default = "default_timeout")]
    timeout: u64,
    /// Whether the agent runs without the server if the server cannot be used; default: false.
    #[serde(default)]
    optional: bool,
}

/// Rules for a tool of an MCP server.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct McpToolTable {
    /// Effect of a call.
    effect: Option<EffectKey>,
    /// Question that the user must approve before each call.
    approval: Option<String>,
}

/// The revision of the protocol.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
enum ProtocolKey {
    /// The newest one that the server knows.
    #[default]
    #[serde(rename = "auto")]
    Auto,
    /// The handshake of 2025-11-25 and earlier.
    #[serde(rename = "2025-11-25")]
    Initialize,
    /// Only 2026-07-28.
    #[serde(rename = "2026-07-28")]
    Discover,
}

/// When the names of tools get the name of the server in front.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum PrefixKey {
    /// If the name is taken.
    #[default]
    Collision,
    /// Always.
    Always,
    /// Never; a tool whose name is taken is left out.
    Never,
}

/// The environment of a server.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected a list of names, such as [\"API_KEY\"], whose values come from the environment of `haft`, \
                 or a table of names and values, such as { MODE = \"fast\" }"
)]
enum ServerEnvironment {
    /// Variables of this process.
    Inherited(Vec<String>),
    /// Variables with their values.
    Written(BTreeMap<String, String>),
}

impl Default for ServerEnvironment {
    fn default() -> Self {
        Self::Inherited(Vec::new())
    }
}

impl ServerEnvironment {
    fn inherited(&self) -> impl Iterator<Item = &String> {
        let names = match self {
            Self::Inherited(names) => names.as_slice(),
            Self::Written(_) => &[],
        };
        names.iter()
    }

    fn written(&self) -> impl Iterator<Item = (String, OsString)> {
        let values = match self {
            Self::Inherited(_) => None,
            Self::Written(values) => Some(values),
        };
        values.into_iter().flatten().map(|(name, value)| (name.clone(), value.into()))
    }
}

/// The origin of what a server returns.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum OriginKey {
    /// From the open web, or from anybody else.
    #[default]
    Public,
    /// From a private source, such as a mailbox or a database.
    Private,
}

fn default_timeout() -> u64 {
    60
}

impl McpServerTable {
    /// Whether the agent runs without the server if the server cannot be used.
    pub(super) const fn is_optional(&self) -> bool {
        self.optional
    }

    /// The command line, for the user; nothing for a server behind an address.
    pub(super) fn shown_command(&self) -> Option<String> {
        self.argv.as_ref().map(|argv| argv.join(" "))
    }

    /// The program and its arguments, and how they are confined; nothing for a server behind an address.
    pub(super) fn program(&self) -> Option<(&[String], Option<&ProgramSandbox>)> {
        Some((self.argv.as_deref()?, self.sandbox.as_ref()))
    }

    /// Checks the table without starting the server.
    pub(super) fn validate(&self, sandbox: &AgentSandbox) -> Result<(), AgentFileError> {
        parse_timeout(self.timeout)?;
        sandbox.policy(self.sandbox.as_ref(), sandbox.agent_dir())?;
        match (&self.argv, &self.url) {
            (Some(argv), None) if argv.first().is_none_or(String::is_empty) => {
                let error = AgentFileError::at(["argv"], "`argv` is empty");
                Err(error.hint("for example: argv = [\"npx\", \"-y\", \"some-mcp-server\"]"))
            }
            (Some(_), None) if self.token_env.is_some() => {
                let error = AgentFileError::at(["token_env"], "a program has no bearer token");
                Err(error.hint("pass it as an environment variable: env = [\"NAME\"]"))
            }
            (Some(_), None) if self.oauth.is_some() => {
                Err(AgentFileError::at(["oauth"], "a program is not reached by OAuth"))
            }
            (Some(_), None) => Ok(()),
            (None, Some(_)) if self.sandbox.is_some() => {
                let error = AgentFileError::at(["sandbox"], "only a program is confined");
                Err(error.hint("remove the key: a server behind an address is not on this machine"))
            }
            (None, Some(url)) if !url.starts_with("https://") && !url.starts_with("http://") => {
                let message = format!("`{url}` is neither http nor https");
                Err(AgentFileError::at(["url"], message))
            }
            (None, Some(_)) => self.validate_access(),
            (Some(_), Some(_)) => {
                let error = AgentFileError::at(["url"], "`argv` and `url` exclude each other");
                Err(error.hint("keep one of them"))
            }
            (None, None) => {
                let error = AgentFileError::whole_file("the server has neither `argv` nor `url`");
                Err(error.hint("add `argv = [\"PROGRAM\", …]` or `url = \"https://…\"`"))
            }
        }
    }

    /// Checks how requests to the address are authorized.
    fn validate_access(&self) -> Result<(), AgentFileError> {
        let Some(oauth) = &self.oauth else { return Ok(()) };
        if self.token_env.is_some() {
            let error = AgentFileError::at(["oauth"], "`token_env` and `oauth` exclude each other");
            return Err(error.hint("keep one of them"));
        }
        oauth.validate().and_then(|()| self.check_encryption())
    }

    /// Refuses to send secrets to another machine without encryption.
    fn check_encryption(&self) -> Result<(), AgentFileError> {
        match &self.url {
            Some(url) if url.starts_with("http://") && !is_this_machine(url) => {
                let message = "the token would be sent over unencrypted HTTP";
                Err(AgentFileError::at(["url"], message).hint("use https://"))
            }
            _ => Ok(()),
        }
    }

    /// The client for the login of the user, and the port that the browser is sent to.
    pub(super) fn login_client(
        &self,
        name: &str,
        agent_dir: &Path,
    ) -> Result<(OAuthClient, u16), AgentFileError> {
        let (oauth, url) = self.login_table()?;
        let tokens = TokenFile::new(agent_dir, name, url).map_err(|error| token_error(&error))?;
        Ok((oauth.client(url, tokens)?, oauth.redirect_port()))
    }

    /// What the server says when it refuses access without tokens, or with those that there are; nothing if it does not
    /// refuse, or cannot be reached.
    pub(super) async fn find_challenge(
        &self,
        name: &str,
        agent_dir: &Path,
        spools: Arc<DirSpoolStore>,
    ) -> Option<String> {
        let (oauth, url) = self.login_table().ok()?;
        let server = match oauth.authorize((name, url), agent_dir).await {
            Ok(server) => server,
            Err(_) => HttpServer::new(url),
        };
        let mut options = McpOptions::default();
        options.protocol = self.protocol.into();
        options.connect_timeout = CHALLENGE_TIMEOUT;
        let endpoint = McpEndpoint::http(server);
        match McpTools::connect_with(name, endpoint, spools, options).await {
            Err(McpClientError::Unauthorized { challenge, .. }) => Some(challenge),
            _ => None,
        }
    }

    /// Removes the tokens of the login, and returns whether there were any.
    pub(super) fn remove_tokens(
        &self,
        name: &str,
        agent_dir: &Path,
    ) -> Result<bool, AgentFileError> {
        let (_, url) = self.login_table()?;
        let tokens = TokenFile::new(agent_dir, name, url);
        tokens.and_then(|it| it.remove_file()).map_err(|error| token_error(&error))
    }

    /// What a login needs.
    fn login_table(&self) -> Result<(&OAuthTable, &str), AgentFileError> {
        let table = self.oauth.as_ref().filter(|it| it.has_login());
        table.zip(self.url.as_deref()).ok_or_else(|| {
            AgentFileError::whole_file("there is no login at this server")
                .hint("add `oauth = {}` to its table if it is protected by OAuth")
        })
    }

    /// Finds a program or a directory that this machine does not have.
    pub(super) fn find_problem(&self, agent_dir: &Path) -> Option<AgentFileError> {
        if let Some(dir) = &self.dir
            && !agent_dir.join(dir).is_dir()
        {
            let message = format!("`{}` is not a directory", dir.display());
            return Some(AgentFileError::at(["dir"], message));
        }
        let program = program_path(self.argv.as_ref()?.first()?, agent_dir);
        let message = find_program_problem(&program)?;
        Some(AgentFileError::at(["argv"], message).hint(INSTALL_HINT))
    }

    /// Finds an environment variable that the server needs and that is not set.
    pub(super) fn find_unset_variable(&self) -> Option<AgentFileError> {
        let names = self.env.inherited().map(|name| ("env", name));
        let names = names.chain(self.token_env.iter().map(|name| ("token_env", name)));
        let secret = self.oauth.as_ref().and_then(OAuthTable::secret_variable);
        let names = names.chain(secret.map(|name| ("oauth", name)));
        let (key, name) =
            names.into_iter().find(|(_, name)| environment::read_variable(name).is_none())?;
        Some(AgentFileError::at([key], format!("the environment variable `{name}` is not set")))
    }

    /// Starts the server, or connects to it, and lists its tools.
    pub(super) async fn connect(
        &self,
        name: &str,
        sandbox: &AgentSandbox,
        spools: Arc<DirSpoolStore>,
        pins: &PinFile,
    ) -> Result<McpTools, AgentFileError> {
        let agent_dir = sandbox.agent_dir();
        let mut options = McpOptions::default();
        options.protocol = self.protocol.into();
        options.prefix = match self.prefix {
            PrefixKey::Collision => PrefixPolicy::OnCollision,
            PrefixKey::Always => PrefixPolicy::Always,
            PrefixKey::Never => PrefixPolicy::Never,
        };
        options.tier = match self.origin {
            OriginKey::Public => TrustTier::ThirdPartyPublic,
            OriginKey::Private => TrustTier::ThirdPartyPrivate,
        };
        options.only.clone_from(&self.only);
        options.except.clone_from(&self.except);
        options.call_timeout = parse_timeout(self.timeout)?;
        options.max_call_time = options.max_call_time.max(options.call_timeout);
        options.connect_timeout = CONNECT_TIMEOUT;
        options.rules = rules(self.effect, self.approval.as_deref());
        let single = self
            .tool
            .iter()
            .map(|(tool, table)| (tool.clone(), rules(table.effect, table.approval.as_deref())));
        options.tool_rules = single.collect();
        options.pins = pins.of_server(name);
        let (endpoint, process) = match (&self.url, &self.oauth) {
            (Some(url), Some(oauth)) => {
                (McpEndpoint::http(oauth.authorize((name, url), agent_dir).await?), None)
            }
            _ => self.endpoint(sandbox)?,
        };
        let connected = McpTools::connect_with(name, endpoint, spools, options).await;
        connected.map_err(|error| match (&error, &self.oauth) {
            (McpClientError::Unauthorized { .. }, Some(oauth)) if oauth.has_login() => {
                let hint = login_hint(name, agent_dir);
                AgentFileError::whole_file(error.to_string()).hint(hint)
            }
            _ => explain_failure(&error, process.as_ref()),
        })
    }

    fn endpoint(
        &self,
        sandbox: &AgentSandbox,
    ) -> Result<(McpEndpoint, Option<ServerProcess>), AgentFileError> {
        let agent_dir = sandbox.agent_dir();
        if let Some(url) = &self.url {
            let mut server = HttpServer::new(url.as_str());
            if let Some(variable) = &self.token_env {
                let token =
                    environment::read_variable(variable).and_then(|it| it.into_string().ok());
                let token = token.ok_or_else(|| {
                    let message = format!("the environment variable `{variable}` is not set");
                    AgentFileError::at(["token_env"], message)
                })?;
                self.check_encryption()?;
                server = server.bearer_token(token);
            }
            return Ok((McpEndpoint::http(server), None));
        }
        let mut words = self.argv.iter().flatten();
        let program = words.next().map(String::as_str).unwrap_or_default();
        let names = self.env.inherited().map(String::as_str).chain(["PATH"]);
        let inherited =
            names.filter_map(|name| Some((name.to_owned(), environment::read_variable(name)?)));
        let env = inherited.chain(self.env.written());
        let dir = match &self.dir {
            Some(dir) => agent_dir.join(dir),
            None => agent_dir.to_owned(),
        };
        let policy = sandbox.policy(self.sandbox.as_ref(), &dir)?;
        let process = ServerProcess::new(
            resolve_program(&program_path(program, agent_dir)),
            words.cloned().collect(),
            dir,
            env.collect(),
        );
        // As it is written: where programs are found and what variables contain differ from process to process.
        let identity = format!("{:?} {:?} {:?}", self.argv, self.dir, self.env);
        let process = process.identified_by(identity).confined_by(policy);
        Ok((McpEndpoint::streams(process.clone()), Some(process)))
    }
}

impl From<ProtocolKey> for ProtocolChoice {
    fn from(key: ProtocolKey) -> Self {
        match key {
            ProtocolKey::Auto => Self::Auto,
            ProtocolKey::Initialize => Self::Initialize,
            ProtocolKey::Discover => Self::Discover,
        }
    }
}

fn rules(effect: Option<EffectKey>, approval: Option<&str>) -> ToolRules {
    let mut rules = ToolRules::default();
    rules.effect = effect.map(Into::into);
    rules.approval = approval.map(|question| ApprovalRule::Required(question.to_owned()));
    rules
}

/// Whether an address names this machine.
fn is_this_machine(url: &str) -> bool {
    let host = url.trim_start_matches("http://").split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
    matches!(host, "localhost" | "127.0.0.1" | "[::1]")
}

/// The error of a server that cannot be used, with the end of what the program wrote to standard error.
fn explain_failure(error: &McpClientError, process: Option<&ServerProcess>) -> AgentFileError {
    let mut message = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        message.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    let explained = AgentFileError::whole_file(message);
    let stderr = process.map(ServerProcess::stderr_tail).unwrap_or_default();
    match (error, stderr.trim()) {
        (McpClientError::Unauthorized { .. }, _) => {
            explained.hint(
                "set `token_env` to the name of a variable with a token, or add `oauth = {}` and log in",
            )
        }
        (_, "") => explained,
        (_, stderr) => explained.hint(format!("it wrote: {stderr}")),
    }
}

/// Adds the tools of a server to those of the agent, with names that are not taken.
fn add_tools(tools: &mut Vec<Tool>, server: &McpTools) {
    let added = server.tools(|name| tools.iter().any(|tool| tool.name().as_str() == name));
    tools.extend(added);
}

/// How long a server may take to start. A package runner may have to download it first.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(120);

/// How long a server may take to refuse access.
const CHALLENGE_TIMEOUT: Duration = Duration::from_secs(30);
