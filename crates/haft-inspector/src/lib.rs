//! The inspector: a page that shows what an agent did, why, and what it cost, and lets a person act.
//!
//! An [`Inspector`] serves the page and the API of [`haft_server`] below it. `haft web` runs one on loopback; an application
//! mounts one in its own axum application, over any store, read-only or acting:
//!
//! ```
//! use haft_inspector::Inspector;
//! use haft_server::{Api, Guard};
//! # fn agent() -> Result<haft::Agent, Box<dyn std::error::Error>> {
//! #     let script = haft::executors::ScriptExecutor::parse(r#"{"steps": [{"say": "Hello!"}]}"#)?;
//! #     Ok(haft::Agent::builder(script).build()?)
//! # }
//!
//! // People may look. Their requests were authenticated by the application before they get here.
//! let api = Api::builder(agent()?.stored_turns().clone()).build();
//! let guard = Guard::behind_own_authentication(["agents.example.com"])?;
//! let app: axum::Router = axum::Router::new().nest("/inspector", Inspector::new(&api, &guard).router());
//! # let _ = app;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The page is at `/inspector`, and its API at `/inspector/api`. An inspector that may act also decides gates, and
//! cancels and resumes turns; the records show who did it. With the hub that observes the agents of this process, text
//! appears while a model writes it. The following inspector runs on loopback, behind its own token:
//!
//! ```no_run
//! use haft::events::EventHub;
//! use haft_inspector::Inspector;
//! use haft_server::{Access, Api, Guard, TokenPrices};
//! # fn agent(hub: EventHub) -> Result<haft::Agent, Box<dyn std::error::Error>> {
//! #     let script = haft::executors::ScriptExecutor::parse(r#"{"steps": [{"say": "Hello!"}]}"#)?;
//! #     Ok(haft::Agent::builder(script).observer(hub).build()?)
//! # }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let hub = EventHub::new();
//! let agent = agent(hub.clone())?;
//! let api = Api::builder(agent.stored_turns().clone())
//!     .agent(agent)
//!     .access(Access::Act)
//!     .hub(hub)
//!     .actor("Ada")
//!     .prices("openai:gpt-5", TokenPrices::per_million(1.25, 10.0))
//!     .build();
//! let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
//! let guard = Guard::loopback(listener.local_addr()?.port())?;
//! println!("http://{}/#token={}", listener.local_addr()?, guard.token().unwrap_or_default());
//! Inspector::new(&api, &guard).serve(listener).await?;
//! # Ok(())
//! # }
//! ```
//!
//! The page consists of plain ES modules and custom elements, which are embedded in the program. It needs no build step,
//! loads nothing from other hosts, and never shows content as markup:
//! its content security policy allows no inline script or style.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod assets;

use std::fmt;

use axum::Router;
use axum::body::Body;
use axum::extract::{OriginalUri, Path};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use haft_server::{Api, Guard, serve_connections};

/// How many connections of pages and programs are open at a time.
const MAX_CONNECTIONS: usize = 1024;

/// What the page may do: run its own modules, use its own style sheet, talk to its own server and show pictures that it has
/// read there. A picture that an element reads by its address would come without the token of the page.
/// Trusted types without a policy make it impossible for a script to turn text into markup.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types 'none'";

/// The page and its API.
#[derive(Clone)]
pub struct Inspector {
    router: Router,
}

impl Inspector {
    /// Puts a page in front of an API, both behind a guard.
    #[must_use]
    pub fn new(api: &Api, guard: &Guard) -> Self {
        let page = Router::new().route("/", get(send_page)).route("/web/{file}", get(send_file));
        let api = guard.protect(api.router(), Router::new());
        let router = guard.protect(Router::new(), page).nest("/api", api);
        Self { router }
    }

    /// The routes, to be served or mounted at any path, where the page then is.
    pub fn router(self) -> Router {
        self.router
    }

    /// Serves the routes on a listener until the future is dropped. The page is at `/`.
    ///
    /// # Errors
    ///
    /// The listener cannot be used.
    pub async fn serve(self, listener: std::net::TcpListener) -> std::io::Result<()> {
        serve_connections(listener, self.router, MAX_CONNECTIONS, std::future::pending()).await
    }
}

impl fmt::Debug for Inspector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inspector").finish_non_exhaustive()
    }
}

/// Sends the page, whose addresses begin with the path at which it is mounted.
async fn send_page(OriginalUri(uri): OriginalUri) -> Response {
    let mut response = Body::from(assets::page_at(uri.path())).into_response();
    set_headers(&mut response, "text/html; charset=utf-8");
    response
}

async fn send_file(Path(file): Path<String>, request: HeaderMap) -> Response {
    let Some(asset) = assets::find_asset(&file) else {
        return (StatusCode::NOT_FOUND, "there is no such file").into_response();
    };
    let tag = asset.tag();
    let known = request.get(header::IF_NONE_MATCH);
    let mut response = match known.is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => Body::from(asset.text).into_response(),
    };
    set_headers(&mut response, asset.media_type());
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

fn set_headers(response: &mut Response, media_type: &'static str) {
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers
        .insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(CONTENT_SECURITY_POLICY));
    // The file is asked for every time and sent again only if it changed: a new version of the program has new files.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
}
