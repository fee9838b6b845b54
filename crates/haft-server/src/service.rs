//! The API as a service for several tenants.
//!
//! Every request has a token, and a token belongs to a tenant. Each tenant has an [`Api`] of its own, whose agent, agents and
//! caches reach nothing but the tenant's view of the stores ([`OpenStores::for_tenant`]). A handler cannot read without a
//! scope, because it has no store without one.

mod failures;
mod limits;
#[cfg(test)]
mod tests;
mod tokens;

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Json, Router};
use haft::stores::OpenStores;
use http_body_util::Limited;
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tower_service::Service as _;

use self::failures::FailureListener;
use self::limits::CountedBody;
use self::tokens::TokenCheck;
use crate::agents::AgentError;
use crate::api::{Api, ApiBuilder};
use crate::connections::{admit, serve_connections};
use crate::error::{ApiError, list_causes};
use crate::openapi;
use crate::shared::TokenActor;

pub use self::failures::ServiceFailure;
pub use self::limits::ServiceLimits;
pub use self::tokens::{NewToken, TokenError, TokenFile, TokenInfo};

/// How long streams stay open after the service was told to stop.
const STOP_GRACE: Duration = Duration::from_secs(5);

/// An API for the tenants of a store, behind tokens. Cheap to clone.
///
/// ```
/// use haft::stores::{OpenStores, StoreOptions};
/// use haft::turn::StoredTurns;
/// use haft_server::{Api, NewToken, TenantScope, TenantService};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let stores = OpenStores::open(&"memory:".parse()?, StoreOptions::default()).await?;
/// let build_api =
///     |scope: &TenantScope| Ok(Api::builder(StoredTurns::of_stores(scope.stores())));
/// let token = NewToken::generate("shop", "checkout service")?;
/// let service = TenantService::builder(stores, build_api).token(token).build();
/// let app: axum::Router = service.router();
/// # let _ = app;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct TenantService {
    shared: Arc<ServiceShared>,
}

/// Builds a [`TenantService`].
#[must_use = "a builder does nothing until `build` is called"]
pub struct TenantServiceBuilder {
    stores: OpenStores,
    build_api: Box<BuildApi>,
    file: Option<TokenFile>,
    tokens: Vec<NewToken>,
    limits: ServiceLimits,
    failures: FailureListener,
}

/// A tenant, and all that its API can reach.
#[derive(Clone, Debug)]
pub struct TenantScope {
    tenant: Arc<str>,
    stores: OpenStores,
}

impl TenantScope {
    /// The name of the tenant; empty for turns that were stored without one.
    #[must_use]
    pub fn tenant(&self) -> &str {
        &self.tenant
    }

    /// The stores as the tenant sees them.
    #[must_use]
    pub const fn stores(&self) -> &OpenStores {
        &self.stores
    }
}

type BuildApi = dyn Fn(&TenantScope) -> Result<ApiBuilder, AgentError> + Send + Sync;

struct ServiceShared {
    stores: OpenStores,
    build_api: Box<BuildApi>,
    tokens: TokenCheck,
    limits: ServiceLimits,
    failures: FailureListener,
    /// As many as there are tenants with tokens, which the operator creates.
    tenants: Mutex<HashMap<Arc<str>, TenantEntry>>,
}

/// What a tenant has.
#[derive(Clone)]
struct TenantEntry {
    router: Router,
    requests: Arc<Semaphore>,
    streams: Arc<Semaphore>,
}

impl TenantService {
    /// Starts a service on stores. The closure builds the API of a tenant when its first request comes, from the stores of
    /// that tenant alone.
    pub fn builder(
        stores: OpenStores,
        build_api: impl Fn(&TenantScope) -> Result<ApiBuilder, AgentError> + Send + Sync + 'static,
    ) -> TenantServiceBuilder {
        let build_api = Box::new(build_api);
        let limits = ServiceLimits::default();
        let failures = FailureListener::default();
        TenantServiceBuilder { stores, build_api, file: None, tokens: Vec::new(), limits, failures }
    }

    /// The routes: the API below `/v1`, and `/health` and `/openapi.json`, which need no token.
    pub fn router(&self) -> Router {
        let api = Router::new().fallback(serve_tenant).with_state(Arc::clone(&self.shared));
        Router::new()
            .route("/health", get(async || Json(Value::Object(serde_json::Map::new()))))
            .route("/openapi.json", get(async || Json(openapi::service_document())))
            .nest("/v1/", api)
            .fallback(async || ApiError::not_found("there is no such resource"))
            .layer(middleware::from_fn(set_headers))
    }

    /// Serves the routes on a listener until the future is done. Requests that are being served then have a few seconds.
    ///
    /// # Errors
    ///
    /// The listener cannot be used.
    pub async fn serve(
        &self,
        listener: std::net::TcpListener,
        until: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<()> {
        let (stopping, stopped) = oneshot::channel::<()>();
        let until = async move {
            until.await;
            let _ = stopping.send(());
        };
        let connections = self.shared.limits.connections;
        let server = serve_connections(listener, self.router(), connections, until);
        let grace = async move {
            let _ = stopped.await;
            tokio::time::sleep_until(tokio::time::Instant::now() + STOP_GRACE).await;
        };
        tokio::select! {
            served = server => served,
            // A client that follows a turn would keep the service for as long as it likes.
            () = grace => Ok(()),
        }
    }
}

impl TenantServiceBuilder {
    /// Accepts the tokens of a file, which can change while the service runs.
    pub fn token_file(mut self, file: TokenFile) -> Self {
        self.file = Some(file);
        self
    }

    /// Accepts a token that is stored nowhere.
    pub fn token(mut self, token: NewToken) -> Self {
        self.tokens.push(token);
        self
    }

    /// Sets the limits.
    pub const fn limits(mut self, limits: ServiceLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Calls the closure with every failure of the service itself, such as a store that cannot be reached. Tenants see its
    /// code alone: the cause can name files and servers of the operator.
    pub fn on_failure(
        mut self,
        listener: impl Fn(&ServiceFailure) + Send + Sync + 'static,
    ) -> Self {
        self.failures = FailureListener::new(listener);
        self
    }

    /// Builds the service.
    #[must_use]
    pub fn build(self) -> TenantService {
        let Self { stores, build_api, file, tokens, limits, failures } = self;
        let tokens = TokenCheck::new(file, &tokens);
        let tenants = Mutex::default();
        let shared = ServiceShared { stores, build_api, tokens, limits, failures, tenants };
        TenantService { shared: Arc::new(shared) }
    }
}

impl fmt::Debug for TenantService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TenantService")
            .field("stores", &self.shared.stores)
            .field("limits", &self.shared.limits)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for TenantServiceBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TenantServiceBuilder").finish_non_exhaustive()
    }
}

impl ServiceShared {
    /// The tenant's part of the service, which is built by its first request.
    fn entry(&self, tenant: &str) -> Result<TenantEntry, ApiError> {
        if let Some(entry) = self.lock().get(tenant) {
            return Ok(entry.clone());
        }
        let tenant: Arc<str> = tenant.into();
        let stores = self.stores.for_tenant(&tenant);
        let scope = TenantScope { tenant: Arc::clone(&tenant), stores };
        let api = (self.build_api)(&scope)?;
        let api: Api = api.of_tenant(&tenant, self.limits.unfinished_turns).build();
        let permits = |count: usize| Arc::new(Semaphore::new(count.min(Semaphore::MAX_PERMITS)));
        let entry = TenantEntry {
            router: api.router(),
            requests: permits(self.limits.requests),
            streams: permits(self.limits.streams),
        };
        // Of two first requests at the same time, the entry of the first one counts.
        Ok(self.lock().entry(tenant).or_insert(entry).clone())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, TenantEntry>> {
        self.tenants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type SharedService = State<Arc<ServiceShared>>;

/// Passes a request to the routes of the tenant whose token it has.
async fn serve_tenant(State(service): SharedService, mut request: Request) -> Response {
    let found = match bearer(request.headers()) {
        Some(text) => service.tokens.find_token(text).await,
        None => Ok(None),
    };
    let token = match found {
        Ok(Some(token)) => token,
        Ok(None) => return unauthorized(),
        Err(error) => {
            let status = StatusCode::SERVICE_UNAVAILABLE;
            let error = ApiError::new(status, "E_API_TOKENS", list_causes(&error));
            return service.failures.hide_cause(error.into_response(), "");
        }
    };
    if let Err(error) = admit(&request) {
        return error.into_response();
    }
    let mut entry = match service.entry(&token.tenant) {
        Ok(entry) => entry,
        Err(error) => return service.failures.hide_cause(error.into_response(), &token.tenant),
    };
    let Ok(permit) = Arc::clone(&entry.requests).try_acquire_owned() else {
        return too_many_requests("too many requests of this tenant are being served");
    };
    request.extensions_mut().insert(TokenActor(token.name.as_str().into()));
    let request = request.map(|body| Body::new(Limited::new(body, service.limits.body_bytes)));
    // A router is always ready, and it does not fail.
    let Ok(response) = entry.router.call(request).await;
    let response = service.failures.hide_cause(response, &token.tenant);
    count_response(response, permit, &entry.streams)
}

/// Makes a response count until it was sent: as a request, or as a stream if it is one.
fn count_response(
    response: Response,
    permit: OwnedSemaphorePermit,
    streams: &Arc<Semaphore>,
) -> Response {
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let permit = match kind.is_some_and(|it| it.starts_with("text/event-stream")) {
        false => permit,
        true => match Arc::clone(streams).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => return too_many_requests("too many streams of this tenant are open"),
        },
    };
    response.map(|body| Body::new(CountedBody::new(body, permit)))
}

/// The token of a request.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

fn unauthorized() -> Response {
    let message = "send a valid token: `Authorization: Bearer TOKEN`";
    let error = ApiError::new(StatusCode::UNAUTHORIZED, "E_API_TOKEN", message);
    let mut response = error.into_response();
    let challenge = HeaderValue::from_static("Bearer");
    response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    response
}

fn too_many_requests(message: &str) -> Response {
    let status = StatusCode::TOO_MANY_REQUESTS;
    let error = ApiError::new(status, "E_API_TOO_MANY_REQUESTS", message);
    let mut response = error.into_response();
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

/// Sets the headers that every response has: nothing is cached, guessed or shown in a frame.
async fn set_headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}
