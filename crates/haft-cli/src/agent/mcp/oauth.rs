//! Access to MCP servers by OAuth, as the agent file describes it.

use std::io;
use std::path::Path;
use std::sync::Arc;

use haft_mcp::client::{HttpServer, OAuthClient, OAuthError};
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::source::AgentFileError;
use super::token_file::TokenFile;
use crate::environment;
use crate::shell_word::quote_word;

/// How access to an MCP server is obtained by OAuth 2.1.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OAuthTable {
    /// Who gets access; default: `login`, the user, with `haft mcp login AGENT NAME`.
    #[serde(default)]
    flow: OAuthFlow,
    /// Id of the client at the authorization server; default: the client registers itself.
    client_id: Option<String>,
    /// Environment variable with the secret of the client.
    client_secret_env: Option<String>,
    /// Access to ask for; default: what the server names.
    #[serde(default)]
    scopes: Vec<String>,
    /// Port of this machine that the login page sends the browser to; default: any free port.
    redirect_port: Option<u16>,
}

/// Who gets access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum OAuthFlow {
    /// The user, who logs in once with `haft mcp login AGENT NAME`.
    #[default]
    Login,
    /// This program, with `client_id` and `client_secret_env`.
    ClientCredentials,
}

impl OAuthTable {
    /// Checks the table without asking the server.
    pub(super) fn validate(&self) -> Result<(), AgentFileError> {
        let has_secret = self.client_secret_env.is_some();
        if self.flow == OAuthFlow::ClientCredentials && !(has_secret && self.client_id.is_some()) {
            let error = AgentFileError::at(
                ["oauth", "flow"],
                "a program gets access with `client_id` and `client_secret_env`",
            );
            return Err(error.hint("add both keys, or remove `flow`: then the user logs in"));
        }
        if has_secret && self.client_id.is_none() {
            let message = "a secret belongs to a client: `client_id` is missing";
            return Err(AgentFileError::at(["oauth", "client_secret_env"], message));
        }
        Ok(())
    }

    pub(super) const fn secret_variable(&self) -> Option<&String> {
        self.client_secret_env.as_ref()
    }

    /// Whether the user has to log in.
    pub(super) fn has_login(&self) -> bool {
        self.flow == OAuthFlow::Login
    }

    /// The port that the login page sends the browser to; 0 for any free port.
    pub(super) const fn redirect_port(&self) -> u16 {
        match self.redirect_port {
            Some(port) => port,
            None => 0,
        }
    }

    /// The client of a server.
    pub(super) fn client(
        &self,
        url: &str,
        tokens: TokenFile,
    ) -> Result<OAuthClient, AgentFileError> {
        let secret = match &self.client_secret_env {
            Some(name) => Some(read_variable(name)?),
            None => None,
        };
        let client = match (self.flow, &self.client_id, secret) {
            (OAuthFlow::ClientCredentials, Some(id), Some(secret)) => {
                OAuthClient::client_credentials(url, id, secret)
            }
            (_, Some(id), secret) => {
                let client = OAuthClient::login(url, Arc::new(tokens));
                client.registered(id, secret.map(Into::into))
            }
            (_, None, _) => OAuthClient::login(url, Arc::new(tokens)),
        };
        Ok(client.scopes(self.scopes.iter().cloned()))
    }

    /// The server, with access to it.
    pub(super) async fn authorize(
        &self,
        server: (&str, &str),
        agent_dir: &Path,
    ) -> Result<HttpServer, AgentFileError> {
        let (name, url) = server;
        let tokens = TokenFile::new(agent_dir, name, url).map_err(|error| token_error(&error))?;
        match self.client(url, tokens)?.authorize().await {
            Ok(manager) => Ok(HttpServer::new(url).authorization(manager)),
            Err(error) => {
                let message = format!("there is no access to the server: {error}");
                let error = match error {
                    OAuthError::LoginRequired => {
                        AgentFileError::at(["oauth"], message).hint(login_hint(name, agent_dir))
                    }
                    _ => AgentFileError::at(["oauth"], message),
                };
                Err(error)
            }
        }
    }
}

/// How the user gets access to a server.
pub(super) fn login_hint(name: &str, agent_dir: &Path) -> String {
    let dir = agent_dir.to_string_lossy();
    format!("log in: haft mcp login {} {}", quote_word(&dir), quote_word(name))
}

/// The error of a directory for tokens that cannot be used.
pub(super) fn token_error(error: &io::Error) -> AgentFileError {
    AgentFileError::at(["oauth"], format!("the tokens cannot be stored: {error}"))
}

fn read_variable(name: &str) -> Result<String, AgentFileError> {
    let value = environment::read_variable(name).and_then(|it| it.into_string().ok());
    value.filter(|it| !it.is_empty()).ok_or_else(|| {
        let message = format!("the environment variable `{name}` is not set");
        AgentFileError::at(["oauth", "client_secret_env"], message)
    })
}
