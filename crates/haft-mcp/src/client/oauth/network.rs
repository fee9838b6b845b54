//! How the requests of OAuth reach the servers.

use std::sync::Arc;

use bytes::Bytes;
use haft_http::HttpClient;
use rmcp::transport::AuthorizationManager;
use rmcp::transport::auth::{AuthError, OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRequest};

/// Which client sends the requests, and which addresses it may reach.
#[derive(Clone, Default)]
pub(super) struct OAuthNetwork {
    /// The client of the program. Without it, `rmcp` makes one that checks every address.
    pub(super) client: Option<HttpClient>,
    pub(super) addresses: ServerAddresses,
}

/// Where an authorization server may be that the MCP server names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ServerAddresses {
    /// On the public Internet, or where the MCP server itself is.
    #[default]
    Public,
    PublicOrPrivate,
}

impl OAuthNetwork {
    pub(super) async fn manager(&self, url: &str) -> Result<AuthorizationManager, AuthError> {
        match (&self.client, self.addresses) {
            (Some(client), _) => {
                let client = Arc::new(OAuthRequests(client.clone()));
                AuthorizationManager::new_with_oauth_http_client(url, client).await
            }
            (None, ServerAddresses::Public) => AuthorizationManager::new(url).await,
            (None, ServerAddresses::PublicOrPrivate) => {
                AuthorizationManager::new_allowing_private_addresses(url).await
            }
        }
    }
}

/// Sends requests by the client of the program, within its limits. No redirect is followed; where one is expected, `rmcp`
/// sends the next request itself.
struct OAuthRequests(HttpClient);

impl OAuthHttpClient for OAuthRequests {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let response = self.0.send(request.request.map(Bytes::from)).await?;
            let (head, mut body) = response.into_parts();
            let mut bytes = Vec::new();
            while let Some(chunk) = body.chunk().await? {
                if bytes.len() + chunk.len() > MAX_RESPONSE {
                    return Err("the response of the authorization server is too large".into());
                }
                bytes.extend_from_slice(&chunk);
            }
            Ok(http::Response::from_parts(head, bytes))
        })
    }
}

/// The maximum number of bytes of a response.
const MAX_RESPONSE: usize = 1024 * 1024;
