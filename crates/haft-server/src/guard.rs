//! Who may use a page on this machine: who knows its token, at the right address, and no other web site.
//!
//! A page on loopback is reachable by every web site that the user opens and by every program of the machine. A token, which
//! only the one who started the server knows, is sent with every request. It is a header that the page sets: what a browser
//! sends by itself, such as a cookie, it also sends to other ports of the host, so that nothing of that kind counts. The
//! host is checked because a name that an attacker controls can point to loopback (DNS rebinding), and the origin because
//! browsers send requests of other sites too.

use std::fmt;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use haft_http::address::{AddressPolicy, AddressRefusal, InvalidAddress};
use sha2::{Digest as _, Sha256};

use crate::connections::admit;
use crate::error::ApiError;

/// The header that every action has. A form of another site cannot set it.
const ACTION_HEADER: &str = "x-haft-action";

/// Protects routes.
///
/// ```
/// use haft_server::Guard;
///
/// let guard = Guard::loopback(4983)?;
/// assert_eq!(guard.token().map(str::len), Some(64));
/// let app = guard.protect(axum::Router::new(), axum::Router::new());
/// # let _ = app;
/// # Ok::<(), haft_server::NoRandomNumbers>(())
/// ```
#[derive(Clone)]
pub struct Guard {
    rules: Arc<GuardRules>,
}

struct GuardRules {
    policy: AddressPolicy,
    token: Option<String>,
}

/// The operating system gave no random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the operating system gave no random numbers for a token")]
#[non_exhaustive]
pub struct NoRandomNumbers;

impl Guard {
    /// Allows requests to loopback on this port, from clients that know the token.
    ///
    /// # Errors
    ///
    /// There are no random numbers for the token.
    pub fn loopback(port: u16) -> Result<Self, NoRandomNumbers> {
        let (policy, token) = (AddressPolicy::loopback(Some(port)), Some(random_text()?));
        Ok(Self { rules: Arc::new(GuardRules { policy, token }) })
    }

    /// Allows requests to loopback on this port, from clients that know this token. A server that has the same one after a
    /// restart goes on with the pages that are open.
    #[must_use]
    pub fn loopback_with_token(port: u16, token: &[u8; 32]) -> Self {
        let policy = AddressPolicy::loopback(Some(port));
        Self { rules: Arc::new(GuardRules { policy, token: Some(hex::encode(token)) }) }
    }

    /// Allows requests to these hosts without a token: the application has authenticated the client before. Host and origin
    /// are still checked. A host is written as in the address; one without a port is meant at every port.
    ///
    /// # Errors
    ///
    /// One of them is no host.
    pub fn behind_own_authentication(
        hosts: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Self, InvalidAddress> {
        let mut policy = AddressPolicy::behind_proxy();
        for host in hosts {
            policy = policy.allow_host(host.as_ref().parse()?);
        }
        Ok(Self { rules: Arc::new(GuardRules { policy, token: None }) })
    }

    /// The token, which clients send as `Authorization: Bearer TOKEN`.
    #[must_use]
    pub fn token(&self) -> Option<&str> {
        self.rules.token.as_deref()
    }

    /// Protects routes. `public` needs no token, only the right host; it has the page itself, which holds nothing.
    pub fn protect(&self, private: Router, public: Router) -> Router {
        let check_token = middleware::from_fn_with_state(Arc::clone(&self.rules), require_token);
        let check_host = middleware::from_fn_with_state(Arc::clone(&self.rules), require_host);
        private.layer(check_token).merge(public).layer(check_host)
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("policy", &self.rules.policy).finish_non_exhaustive()
    }
}

type Rules = State<Arc<GuardRules>>;

/// Refuses other hosts and other sites, and sets the headers that every response has.
async fn require_host(State(rules): Rules, request: Request, next: Next) -> Response {
    let mut response = match rules.check_request(&request) {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let own = HeaderValue::from_static("same-origin");
    headers.insert("cross-origin-resource-policy", own.clone());
    headers.insert("cross-origin-opener-policy", own);
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

async fn require_token(State(rules): Rules, request: Request, next: Next) -> Response {
    if let Some(token) = &rules.token
        && !has_token(request.headers(), token)
    {
        let message = "there is no session: open the address that `haft web` printed";
        let status = StatusCode::UNAUTHORIZED;
        return ApiError::new(status, "E_API_NO_SESSION", message).into_response();
    }
    match admit(&request) {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    }
}

impl GuardRules {
    fn check_request(&self, request: &Request) -> Result<(), ApiError> {
        self.policy.check(request).map_err(ApiError::from)?;
        let headers = request.headers();
        let text = |name: &str| headers.get(name).and_then(|it| it.to_str().ok());
        let is_foreign = |site: &str| !matches!(site, "same-origin" | "none");
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        let is_navigation = is_read && text("sec-fetch-mode") == Some("navigate");
        if text("sec-fetch-site").is_some_and(is_foreign) && !is_navigation {
            return Err(AddressRefusal::Origin.into());
        }
        if !is_read && !headers.contains_key(ACTION_HEADER) {
            let message = "an action needs the header `x-haft-action`";
            return Err(ApiError::new(StatusCode::FORBIDDEN, "E_API_NO_ACTION_HEADER", message));
        }
        Ok(())
    }
}

impl From<AddressRefusal> for ApiError {
    fn from(refusal: AddressRefusal) -> Self {
        let (status, code) = match refusal {
            AddressRefusal::Host => (StatusCode::FORBIDDEN, "E_API_WRONG_HOST"),
            AddressRefusal::Origin => (StatusCode::FORBIDDEN, "E_API_WRONG_ORIGIN"),
            _ => (StatusCode::BAD_REQUEST, "E_API_INVALID_REQUEST"),
        };
        Self::new(status, code, refusal.to_string())
    }
}

/// Whether a request has the token as a bearer.
fn has_token(headers: &HeaderMap, token: &str) -> bool {
    let bearer = headers.get(header::AUTHORIZATION).and_then(|it| it.to_str().ok());
    let bearer = bearer.and_then(|it| it.strip_prefix("Bearer "));
    bearer.is_some_and(|it| is_same(it, token))
}

/// Compares two secrets by their hashes, so that the time does not say how much of them is equal.
fn is_same(one: &str, two: &str) -> bool {
    Sha256::digest(one) == Sha256::digest(two)
}

fn random_text() -> Result<String, NoRandomNumbers> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|_| NoRandomNumbers)?;
    Ok(hex::encode(bytes))
}
