//! The API: what it serves, and its routes.

use std::fmt;
use std::sync::{Arc, Mutex};

use axum::Router;
use haft::Agent;
use haft::events::EventHub;
use haft::turn::{Clock, StoredTurns, SystemClock, TokenPrices};
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::agents::AgentSource;
use crate::feed::Feeds;
use crate::open_artifacts::OpenArtifacts;
use crate::prices::PriceList;
use crate::shared::{Access, ApiShared};
use crate::turn_cache::TurnCache;
use crate::{openapi, routes};

/// How many turns can be unfinished before no more can be submitted.
const DEFAULT_UNFINISHED_TURNS: usize = 256;

/// The HTTP API of stored turns. Cheap to clone.
///
/// ```
/// use haft::executors::ScriptExecutor;
/// use haft::Agent;
/// use haft_server::Api;
///
/// let script = ScriptExecutor::parse(r#"{"steps": [{"say": "Hello!"}]}"#)?;
/// let agent = Agent::builder(script).build()?;
/// let api = Api::builder(agent.stored_turns().clone()).store_name("support").build();
/// let app: axum::Router = axum::Router::new().nest("/haft", api.router());
/// # let _ = app;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Api {
    shared: Arc<ApiShared>,
}

/// Builds an [`Api`].
#[must_use = "a builder does nothing until `build` is called"]
pub struct ApiBuilder {
    shared: ApiShared,
}

impl Api {
    /// Starts an API on stored turns. By default it is read-only.
    pub fn builder(turns: StoredTurns) -> ApiBuilder {
        let shared = ApiShared {
            turns,
            agent: None,
            hub: None,
            agents: None,
            access: Access::ReadOnly,
            store_name: "store".to_owned(),
            actor: "the inspector".to_owned(),
            clock: Arc::new(SystemClock::new()),
            prices: PriceList::default(),
            cache: TurnCache::default(),
            feeds: Feeds::default(),
            artifacts: OpenArtifacts::default(),
            running: Mutex::default(),
            tenant: String::new(),
            max_unfinished_turns: DEFAULT_UNFINISHED_TURNS,
            document: openapi::document,
            submissions: Semaphore::new(1),
        };
        ApiBuilder { shared }
    }

    /// The routes, without any protection: put them behind a [`Guard`](crate::Guard), or behind the authentication of the
    /// application.
    pub fn router(&self) -> Router {
        routes::router(Arc::clone(&self.shared))
    }

    /// The OpenAPI document of the routes.
    #[must_use]
    pub fn openapi() -> Value {
        openapi::document()
    }
}

impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api").field("store", &self.shared.store_name).finish_non_exhaustive()
    }
}

impl fmt::Debug for ApiBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiBuilder").finish_non_exhaustive()
    }
}

impl ApiBuilder {
    /// Sets what clients may do.
    pub fn access(mut self, access: Access) -> Self {
        self.shared.access = access;
        self
    }

    /// Resumes the turns whose agent is not known with this agent, and renders their requests. It is one on the same stores.
    pub fn agent(mut self, agent: Agent) -> Self {
        self.shared.agent = Some(agent);
        self
    }

    /// Streams the events of this hub, which observes the agents of this process. Turns of other processes are followed by
    /// reading the store.
    pub fn hub(mut self, hub: EventHub) -> Self {
        self.shared.hub = Some(hub);
        self
    }

    /// Adds agents, so that turns can be forked, recordings replayed and tools called.
    pub fn agents(mut self, agents: Arc<dyn AgentSource>) -> Self {
        self.shared.agents = Some(agents);
        self
    }

    /// Sets the name of the store that clients show.
    pub fn store_name(mut self, name: impl Into<String>) -> Self {
        self.shared.store_name = name.into();
        self
    }

    /// Sets the name under which decisions are recorded.
    pub fn actor(mut self, name: impl Into<String>) -> Self {
        self.shared.actor = name.into();
        self
    }

    /// Sets the prices of a model, as `PROVIDER:MODEL`, so that turns show what they cost. Models without prices of your
    /// own have those of [`PriceTable`](haft::turn::PriceTable), if it lists them.
    ///
    /// ```
    /// # use haft::executors::ScriptExecutor;
    /// # use haft::Agent;
    /// use haft_server::{Api, TokenPrices};
    ///
    /// # let script = ScriptExecutor::parse(r#"{"steps": [{"say": "Hello!"}]}"#)?;
    /// # let agent = Agent::builder(script).build()?;
    /// let prices = TokenPrices::per_million(3.0, 15.0).cached(0.3);
    /// let api = Api::builder(agent.stored_turns().clone()).prices("anthropic:claude-sonnet", prices).build();
    /// # let _ = api;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prices(mut self, model: impl Into<String>, prices: TokenPrices) -> Self {
        self.shared.prices.insert(model.into(), prices);
        self
    }

    /// Sets the clock.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.shared.clock = clock;
        self
    }

    /// Serves one tenant of a service.
    #[cfg(feature = "service")]
    pub(crate) fn of_tenant(mut self, tenant: &str, max_unfinished_turns: usize) -> Self {
        tenant.clone_into(&mut self.shared.tenant);
        self.shared.max_unfinished_turns = max_unfinished_turns;
        self.shared.document = openapi::service_document;
        self
    }

    /// Builds the API.
    #[must_use]
    pub fn build(self) -> Api {
        Api { shared: Arc::new(self.shared) }
    }
}
