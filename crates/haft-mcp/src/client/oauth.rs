//! Access to servers by OAuth 2.1.

mod credentials;
mod network;

use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use haft_core::BoxFuture;
use haft_http::reqwest::Url;
use haft_http::{HttpClient, Secret};
use rmcp::transport::AuthorizationManager;
use rmcp::transport::auth::{
    AuthError, AuthorizationCallback, AuthorizationRequest, CredentialStore as _,
    OAuthClientConfig, OAuthState, WWWAuthenticateParams,
};
use tokio::time::timeout;

use self::credentials::{ProgramCredentials, UserCredentials};
use self::network::{OAuthNetwork, ServerAddresses};
use super::connection::error_text;

/// How access to a server is obtained by OAuth 2.1: a user logs in once, or a program has credentials of its own.
///
/// ```no_run
/// use std::sync::Arc;
///
/// use haft_mcp::client::{HttpServer, McpEndpoint, McpTools, OAuthClient, TokenStore};
///
/// # async fn connect(tokens: Arc<dyn TokenStore>, callback: &str) -> Result<(), Box<dyn std::error::Error>> {
/// let url = "https://tracker.example.com/mcp";
/// let oauth = OAuthClient::login(url, tokens).scopes(["read"]);
/// // Once: the user opens the page, which sends the browser to the redirect address.
/// let login = oauth.start_login("http://127.0.0.1:8123/callback").await?;
/// println!("{}", login.page());
/// login.finish(callback).await?;
/// // From then on: tokens are refreshed when they expire.
/// let server = HttpServer::new(url).authorization(oauth.authorize().await?);
/// # let spools = Arc::new(haft_stores::MemorySpoolStore::new());
/// let tools = McpTools::connect("tracker", McpEndpoint::http(server), spools).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct OAuthClient {
    url: String,
    grant: Grant,
    scopes: Vec<String>,
    challenge: Option<String>,
    network: OAuthNetwork,
}

#[derive(Clone)]
enum Grant {
    Login { tokens: Arc<dyn TokenStore>, registered: Option<(String, Option<Secret>)> },
    ClientCredentials { id: String, secret: Secret },
}

/// Where the tokens of a login are stored, as a text that only this crate reads. It gives access in the name of the
/// user, so that only the user may be able to read it.
pub trait TokenStore: Send + Sync {
    /// Reads the tokens. Returns `None` if there are none.
    fn load(&self) -> BoxFuture<'_, io::Result<Option<String>>>;

    /// Replaces the tokens.
    fn save(&self, tokens: String) -> BoxFuture<'_, io::Result<()>>;

    /// Removes the tokens.
    fn remove(&self) -> BoxFuture<'_, io::Result<()>>;

    /// Keeps other processes from refreshing the tokens until the guard is dropped: servers may accept a refresh token
    /// only once. By default there is no lock.
    fn lock(&self) -> BoxFuture<'_, io::Result<Box<dyn Send>>> {
        Box::pin(async { Ok(Box::new(()) as Box<dyn Send>) })
    }
}

/// Access was not obtained.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OAuthError {
    /// There are no tokens, or the server does not accept them any more.
    #[error("the user has to log in")]
    LoginRequired,
    /// The user or the server refused.
    #[error("access was refused: {0}")]
    Refused(String),
    /// The server does not answer as OAuth 2.1 requires.
    #[error("the authorization failed: {0}")]
    Failed(String),
    /// The server did not respond in time.
    #[error("the authorization server did not respond within {} seconds", .0.as_secs())]
    Timeout(Duration),
}

impl OAuthClient {
    /// Access of a user, who logs in once with [`start_login`](Self::start_login).
    #[must_use]
    pub fn login(url: impl Into<String>, tokens: Arc<dyn TokenStore>) -> Self {
        let grant = Grant::Login { tokens, registered: None };
        Self::new(url.into(), grant)
    }

    /// Access of a program by the id and the secret that it was given. Tokens are only in memory, and a new one is
    /// obtained before the old one expires.
    #[must_use]
    pub fn client_credentials(
        url: impl Into<String>,
        client_id: impl Into<String>,
        secret: impl Into<Secret>,
    ) -> Self {
        let grant = Grant::ClientCredentials { id: client_id.into(), secret: secret.into() };
        Self::new(url.into(), grant)
    }

    fn new(url: String, grant: Grant) -> Self {
        let network = OAuthNetwork::default();
        Self { url, grant, scopes: Vec::new(), challenge: None, network }
    }

    /// Sends all requests of discovery, registration and tokens by this client, with its certificates, proxy, resolver and
    /// limits. It decides which addresses a name may have; a private address that a server names as a number is refused.
    #[must_use]
    pub fn client(mut self, client: HttpClient) -> Self {
        self.network.client = Some(client);
        self
    }

    /// Lets the authorization server be at a private address, as in the network of a company. By default it has to be at a
    /// public one, or where the MCP server itself is. A client that was set with [`client`](Self::client) decides itself.
    #[must_use]
    pub fn allow_private_addresses(mut self) -> Self {
        self.network.addresses = ServerAddresses::PublicOrPrivate;
        self
    }

    /// The client that the operator has registered at the authorization server, for a login. By default the client
    /// registers itself.
    #[must_use]
    pub fn registered(mut self, client_id: impl Into<String>, secret: Option<Secret>) -> Self {
        if let Grant::Login { registered, .. } = &mut self.grant {
            *registered = Some((client_id.into(), secret));
        }
        self
    }

    /// What access is asked for. By default it is what the server names.
    #[must_use]
    pub fn scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// What the server said when it refused access, which is in
    /// [`McpClientError::Unauthorized`](super::McpClientError::Unauthorized): where its authorization server is
    /// described, and what access it asks for. Servers may say that nowhere else.
    #[must_use]
    pub fn challenge(mut self, challenge: impl Into<String>) -> Self {
        self.challenge = Some(challenge.into());
        self
    }

    /// Begins a login. The page of the login sends the browser to the redirect address, which must be of this machine.
    ///
    /// # Errors
    ///
    /// The server has no login, or does not respond.
    pub async fn start_login(&self, redirect_url: &str) -> Result<OAuthLogin, OAuthError> {
        let Grant::Login { registered, tokens } = &self.grant else {
            return Err(OAuthError::Failed(
                "a program with credentials does not log in".to_owned(),
            ));
        };
        let mut request = AuthorizationRequest::new(redirect_url)
            .with_client_name("haft")
            .with_scopes(self.requested_scopes(tokens).await)
            .with_initial_scope_selection();
        if let Some(challenge) = &self.challenge {
            request = request.with_challenge(challenge);
        }
        if let Some((id, secret)) = registered {
            request = request.with_preregistered_client(id);
            if let Some(secret) = secret {
                request = request.with_client_secret(secret.expose());
            }
        }
        let login = bound(Box::pin(async {
            let mut state = OAuthState::Unauthorized(self.manager().await?);
            state.start_authorization(request).await?;
            let page = state.get_authorization_url().await?;
            Ok(OAuthLogin { state, page })
        }))
        .await?;
        if is_login_page(&login.page) {
            return Ok(login);
        }
        let reason = "the server names a login page that is neither https nor on this machine";
        Err(OAuthError::Failed(reason.to_owned()))
    }

    /// What to ask for: what the operator says; or what was granted before and what the server misses, so that a login
    /// for more access loses none. Nothing if the server is to name it.
    async fn requested_scopes(&self, tokens: &Arc<dyn TokenStore>) -> Vec<String> {
        let url = Url::parse(&self.url).ok();
        let Some((challenge, url)) = self.challenge.as_ref().zip(url) else {
            return self.scopes.clone();
        };
        let refusal = WWWAuthenticateParams::parse(challenge, &url);
        if !self.scopes.is_empty() || !refusal.is_insufficient_scope() {
            return self.scopes.clone();
        }
        let stored = UserCredentials(Arc::clone(tokens)).load().await.ok().flatten();
        let mut scopes = stored.map(|it| it.granted_scopes).unwrap_or_default();
        for missing in refusal.scope.iter().flat_map(|it| it.split_whitespace()) {
            if !scopes.iter().any(|it| it == missing) {
                scopes.push(missing.to_owned());
            }
        }
        scopes
    }

    /// Obtains access: with the tokens of the login, or with the credentials of the program.
    ///
    /// # Errors
    ///
    /// [`OAuthError::LoginRequired`] if the user has to log in first; or the server does not respond or refuses.
    pub async fn authorize(&self) -> Result<AuthorizationManager, OAuthError> {
        bound(Box::pin(async {
            let mut manager = self.manager().await?;
            if let Grant::Login { registered, .. } = &self.grant {
                if !manager.initialize_from_store().await? {
                    return Err(AuthError::AuthorizationRequired);
                }
                if let Some((id, Some(secret))) = registered {
                    let config = OAuthClientConfig::new(id, UNUSED_REDIRECT);
                    manager.configure_client(config.with_client_secret(secret.expose()))?;
                }
            }
            // An expired token is refreshed now, so that a login that is over is noticed here.
            manager.get_access_token().await?;
            Ok(manager)
        }))
        .await
    }

    async fn manager(&self) -> Result<AuthorizationManager, AuthError> {
        let mut manager = self.network.manager(&self.url).await?;
        match &self.grant {
            Grant::Login { tokens, .. } => {
                manager.set_credential_store(UserCredentials(Arc::clone(tokens)));
            }
            Grant::ClientCredentials { id, secret } => {
                let url = self.url.clone();
                let scopes = self.scopes.clone();
                let client = (id.clone(), secret.clone());
                let store = ProgramCredentials::new(url, client, scopes, self.network.clone());
                manager.set_credential_store(store);
            }
        }
        Ok(manager)
    }
}

impl fmt::Debug for OAuthClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthClient")
            .field("url", &self.url)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}

/// A login that has begun.
#[must_use = "the login ends with `finish`"]
pub struct OAuthLogin {
    state: OAuthState,
    page: String,
}

impl OAuthLogin {
    /// The address of the page where the user logs in.
    #[must_use]
    pub fn page(&self) -> &str {
        &self.page
    }

    /// Ends the login with the address that the browser was sent to, and stores the tokens.
    ///
    /// # Errors
    ///
    /// The user did not agree, the address belongs to another login, or the server does not respond.
    pub async fn finish(mut self, callback_url: &str) -> Result<(), OAuthError> {
        if let Some(reason) = refusal(callback_url) {
            return Err(OAuthError::Refused(reason));
        }
        AuthorizationCallback::from_redirect_url(callback_url).map_err(OAuthError::from)?;
        bound(Box::pin(self.state.handle_callback_url(callback_url))).await
    }
}

impl fmt::Debug for OAuthLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OAuthLogin")
    }
}

/// Whether a user can be sent to an address that a server names: a browser or a desktop runs what `javascript:` and
/// `file:` name.
pub(super) fn is_login_page(address: &str) -> bool {
    let is_http = address.starts_with("https://") || address.starts_with("http://");
    is_http && !haft_http::uri::is_exposed(address)
}

/// What the server says in the address if the user did not agree.
fn refusal(callback_url: &str) -> Option<String> {
    let query = callback_url.split_once('?')?.1;
    let error = query.split('&').find_map(|pair| pair.strip_prefix("error="))?;
    let is_word = |ch: char| ch.is_ascii_alphanumeric() || ch == '_';
    Some(error.chars().take_while(|ch| is_word(*ch)).take(64).collect())
}

impl From<AuthError> for OAuthError {
    fn from(error: AuthError) -> Self {
        match error {
            AuthError::AuthorizationRequired | AuthError::TokenRefreshRejected(_) => {
                Self::LoginRequired
            }
            error => Self::Failed(error_text(&error)),
        }
    }
}

/// Bounds the time of an exchange with the servers.
async fn bound<T>(work: impl Future<Output = Result<T, AuthError>>) -> Result<T, OAuthError> {
    match timeout(MAX_TIME, work).await {
        Ok(done) => done.map_err(OAuthError::from),
        Err(_) => Err(OAuthError::Timeout(MAX_TIME)),
    }
}

/// How long the servers may take. Discovery asks several addresses.
const MAX_TIME: Duration = Duration::from_secs(60);

/// A client has a redirect address, also if nothing is sent there.
const UNUSED_REDIRECT: &str = "http://127.0.0.1/callback";
