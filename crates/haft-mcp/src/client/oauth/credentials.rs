//! The credentials of a client, as `rmcp` asks for them.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_core::BoxFuture;
use haft_http::Secret;
use rmcp::transport::auth::{
    AuthError, ClientCredentialsConfig, CredentialRefreshGuard, CredentialStore, OAuthState,
    StoredCredentials,
};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::TokenStore;
use super::network::OAuthNetwork;

type AuthFuture<'a, T> = BoxFuture<'a, Result<T, AuthError>>;

/// The tokens of a login.
pub(super) struct UserCredentials(pub(super) Arc<dyn TokenStore>);

// The methods are written as `async_trait` declares them.
impl CredentialStore for UserCredentials {
    fn load<'s, 'f>(&'s self) -> AuthFuture<'f, Option<StoredCredentials>>
    where
        's: 'f,
        Self: 'f,
    {
        Box::pin(async {
            let Some(text) = self.0.load().await.map_err(|error| store_error(&error))? else {
                return Ok(None);
            };
            // Tokens of another version are as good as none: the user logs in again.
            Ok(serde_json::from_str(&text).ok())
        })
    }

    fn save<'s, 'f>(&'s self, credentials: StoredCredentials) -> AuthFuture<'f, ()>
    where
        's: 'f,
        Self: 'f,
    {
        Box::pin(async move {
            let text = serde_json::to_string(&credentials);
            let text = text.map_err(|error| AuthError::CredentialStoreError(error.to_string()))?;
            self.0.save(text).await.map_err(|error| store_error(&error))
        })
    }

    fn clear<'s, 'f>(&'s self) -> AuthFuture<'f, ()>
    where
        's: 'f,
        Self: 'f,
    {
        Box::pin(async { self.0.remove().await.map_err(|error| store_error(&error)) })
    }

    fn acquire_refresh_guard<'s, 'f>(&'s self) -> AuthFuture<'f, Option<CredentialRefreshGuard>>
    where
        's: 'f,
        Self: 'f,
    {
        Box::pin(async {
            let guard = self.0.lock().await.map_err(|error| store_error(&error))?;
            Ok(Some(CredentialRefreshGuard::new(guard)))
        })
    }
}

fn store_error(error: &io::Error) -> AuthError {
    AuthError::CredentialStoreError(format!("the tokens cannot be read or written: {error}"))
}

/// The credentials of a program. A token is obtained when it is needed and before the last one expires.
pub(super) struct ProgramCredentials {
    url: String,
    client: (String, Secret),
    scopes: Vec<String>,
    network: OAuthNetwork,
    current: Mutex<Option<(StoredCredentials, Instant)>>,
    /// Lets one caller obtain a token while the others wait for it.
    obtaining: Semaphore,
}

impl ProgramCredentials {
    pub(super) fn new(
        url: String,
        client: (String, Secret),
        scopes: Vec<String>,
        network: OAuthNetwork,
    ) -> Self {
        let current = Mutex::new(None);
        Self { url, client, scopes, network, current, obtaining: Semaphore::new(1) }
    }

    /// The token, unless it ends soon.
    fn find_unexpired(&self) -> Option<StoredCredentials> {
        let current = self.lock_current();
        let (credentials, until) = current.as_ref()?;
        (Instant::now() < *until).then(|| credentials.clone())
    }

    fn lock_current(&self) -> MutexGuard<'_, Option<(StoredCredentials, Instant)>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Obtains a token, and says how long it is used.
    async fn obtain_token(&self) -> Result<(StoredCredentials, Duration), AuthError> {
        let (id, secret) = &self.client;
        let config = ClientCredentialsConfig::ClientSecret {
            client_id: id.clone(),
            client_secret: secret.expose().to_owned(),
            scopes: self.scopes.clone(),
            resource: Some(self.url.clone()),
        };
        let mut state = OAuthState::Unauthorized(self.network.manager(&self.url).await?);
        state.authenticate_client_credentials(config).await?;
        let (id, token) = state.get_credentials().await?;
        let lifetime = serde_json::to_value(&token).ok();
        let lifetime = lifetime.and_then(|it| it.get("expires_in")?.as_u64());
        let lifetime = Duration::from_secs(lifetime.unwrap_or(DEFAULT_LIFETIME));
        // Without the time at which it came, because it is replaced here and not by a refresh token.
        let credentials = StoredCredentials::new(id, token, self.scopes.clone(), None);
        Ok((credentials, lifetime.saturating_sub(MARGIN).max(lifetime / 2)))
    }
}

impl CredentialStore for ProgramCredentials {
    fn load<'s, 'f>(&'s self) -> AuthFuture<'f, Option<StoredCredentials>>
    where
        's: 'f,
        Self: 'f,
    {
        Box::pin(async {
            // The semaphore is never closed.
            let _permit = self.obtaining.acquire().await;
            if let Some(credentials) = self.find_unexpired() {
                return Ok(Some(credentials));
            }
            let obtained =
                tokio::time::timeout(super::MAX_TIME, Box::pin(self.obtain_token())).await;
            let late =
                |_| AuthError::InternalError("the server did not respond in time".to_owned());
            let (credentials, usable) = obtained.map_err(late)??;
            *self.lock_current() = Some((credentials.clone(), Instant::now() + usable));
            Ok(Some(credentials))
        })
    }

    fn save<'s, 'f>(&'s self, _: StoredCredentials) -> AuthFuture<'f, ()>
    where
        's: 'f,
        Self: 'f,
    {
        Box::pin(async { Ok(()) })
    }

    fn clear<'s, 'f>(&'s self) -> AuthFuture<'f, ()>
    where
        's: 'f,
        Self: 'f,
    {
        Box::pin(async {
            *self.lock_current() = None;
            Ok(())
        })
    }
}

/// How long a token is taken to be valid if the server does not say so, in seconds.
const DEFAULT_LIFETIME: u64 = 3600;

/// How long before its end a token is replaced.
const MARGIN: Duration = Duration::from_secs(60);
