//! Who may use a page on this machine: a session, the right host, and no other web site.
//!
//! A page on loopback is reachable by every web site that the user opens and by every program of the machine. A token, which
//! only the one who started the server knows, is exchanged for a cookie that scripts cannot read and that no other site
//! sends. The host is checked because a name that an attacker controls can point to loopback (DNS rebinding), and the
//! origin because browsers send requests of other sites too.

use std::fmt;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use sha2::{Digest as _, Sha256};

use crate::error::ApiError;
use crate::extract::JsonBody;
use crate::wire::SessionRequest;

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
    hosts: Vec<String>,
    session: Option<SessionKeys>,
}

/// The token of a session and the value of its cookie.
struct SessionKeys {
    token: String,
    /// The name of the cookie has the port, because cookies of one host are shared by all of its ports.
    cookie_name: String,
    cookie: String,
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
        let hosts = ["127.0.0.1", "localhost", "[::1]"].map(|host| format!("{host}:{port}"));
        let cookie_name = format!("haft_session_{port}");
        let session = SessionKeys { token: random_text()?, cookie_name, cookie: random_text()? };
        Ok(Self { rules: Arc::new(GuardRules { hosts: hosts.into(), session: Some(session) }) })
    }

    /// Allows requests to these hosts without a token: the application has authenticated the client before. Host and origin
    /// are still checked. A host is written as in the address, with its port unless that is the default.
    #[must_use]
    pub fn behind_own_authentication(hosts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let hosts = hosts.into_iter().map(|it| it.into().to_lowercase()).collect();
        Self { rules: Arc::new(GuardRules { hosts, session: None }) }
    }

    /// The token, which a client exchanges for a cookie.
    #[must_use]
    pub fn token(&self) -> Option<&str> {
        self.rules.session.as_ref().map(|it| it.token.as_str())
    }

    /// Protects routes. `public` needs no session, only the right host; it has the page itself, which holds nothing. A client
    /// gets its session at `POST /session`.
    pub fn protect(&self, private: Router, public: Router) -> Router {
        let check_session =
            middleware::from_fn_with_state(Arc::clone(&self.rules), require_session);
        let check_host = middleware::from_fn_with_state(Arc::clone(&self.rules), require_host);
        let session = Router::new()
            .route("/session", post(begin_session))
            .with_state(Arc::clone(&self.rules));
        private.layer(check_session).merge(session).merge(public).layer(check_host)
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("hosts", &self.rules.hosts).finish_non_exhaustive()
    }
}

type Rules = State<Arc<GuardRules>>;

fn refuse(code: &str, message: &str) -> Response {
    ApiError::new(StatusCode::FORBIDDEN, code, message).into_response()
}

/// Refuses other hosts and other sites, and sets the headers that every response has.
async fn require_host(State(rules): Rules, request: Request, next: Next) -> Response {
    let mut response = match rules.check_origin(&request) {
        Ok(()) => next.run(request).await,
        Err((code, message)) => refuse(code, message),
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

async fn require_session(State(rules): Rules, request: Request, next: Next) -> Response {
    match &rules.session {
        Some(session) if !session.is_open(request.headers()) => {
            let message = "there is no session: open the address that `haft web` printed";
            ApiError::new(StatusCode::UNAUTHORIZED, "E_API_NO_SESSION", message).into_response()
        }
        _ => next.run(request).await,
    }
}

/// Exchanges the token for a cookie.
async fn begin_session(
    State(rules): Rules,
    JsonBody(request): JsonBody<SessionRequest>,
) -> Response {
    let Some(session) = &rules.session else { return StatusCode::NO_CONTENT.into_response() };
    if !is_same(&request.token, &session.token) {
        return refuse("E_API_WRONG_TOKEN", "the token is not that of this server");
    }
    let cookie =
        format!("{}={}; Path=/; HttpOnly; SameSite=Strict", session.cookie_name, session.cookie);
    let mut response = StatusCode::NO_CONTENT.into_response();
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

impl GuardRules {
    fn check_origin(&self, request: &Request) -> Result<(), (&'static str, &'static str)> {
        let headers = request.headers();
        let text = |name: &str| headers.get(name).and_then(|it| it.to_str().ok());
        let host = text("host").unwrap_or_default().to_lowercase();
        if !self.hosts.contains(&host) {
            return Err(("E_API_WRONG_HOST", "this server does not serve this host"));
        }
        if let Some(origin) = text("origin") {
            let named = origin.split_once("://").map_or("", |(_, host)| host).to_lowercase();
            if !self.hosts.contains(&named) {
                return Err(("E_API_WRONG_ORIGIN", "requests of other sites are refused"));
            }
        }
        let is_foreign = |site: &str| !matches!(site, "same-origin" | "none");
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        let is_navigation = is_read && text("sec-fetch-mode") == Some("navigate");
        if text("sec-fetch-site").is_some_and(is_foreign) && !is_navigation {
            return Err(("E_API_WRONG_ORIGIN", "requests of other sites are refused"));
        }
        if !is_read && !headers.contains_key(ACTION_HEADER) {
            return Err(("E_API_NO_ACTION_HEADER", "an action needs the header `x-haft-action`"));
        }
        Ok(())
    }
}

impl SessionKeys {
    /// Whether a request has the cookie, or the token as a bearer.
    fn is_open(&self, headers: &HeaderMap) -> bool {
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|it| it.to_str().ok());
        let mut pairs =
            cookies.flat_map(|it| it.split(';')).filter_map(|it| it.trim().split_once('='));
        let has_cookie =
            pairs.any(|(name, value)| name == self.cookie_name && is_same(value, &self.cookie));
        let bearer = headers.get(header::AUTHORIZATION).and_then(|it| it.to_str().ok());
        let bearer = bearer.and_then(|it| it.strip_prefix("Bearer "));
        has_cookie || bearer.is_some_and(|it| is_same(it, &self.token))
    }
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
