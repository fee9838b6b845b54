//! One client and its servers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use haft_core::cancel::Cancellation;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, BufReader};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::ProxyShared;
use super::connection::{Address, MAX_WAITING, Upstream, connect_streams, write_lines};
use super::envelope::{
    Envelope, INTERNAL_ERROR, INVALID_PARAMS, RequestKey, error_response, line, raw_line, set,
};
use super::tool_list::{Route, ToolLister};
use crate::server::ConnectionError;
use crate::transport::{RawReader, SpooledParts};

/// The longest message of a client, in bytes.
const MAX_CLIENT_LINE: u64 = 64 * 1024 * 1024;

/// How many requests may wait for a server.
const MAX_PENDING: usize = 10_000;

/// A client and its servers.
pub(super) struct Session {
    pub(super) shared: ProxyShared,
    client: mpsc::Sender<Bytes>,
    upstreams: Vec<Connection>,
    state: Mutex<State>,
    tasks: Mutex<JoinSet<()>>,
    pub(super) next_id: AtomicU64,
}

struct Connection {
    name: String,
    sender: mpsc::Sender<Bytes>,
}

#[derive(Default)]
pub(super) struct State {
    /// Requests that servers have not answered.
    pub(super) pending: HashMap<(usize, RequestKey), Pending>,
    /// The tools by the names that the client knows.
    routes: HashMap<String, Route>,
    /// Requests of servers that the client has not answered, by the id that the client sees.
    pub(super) asked: HashMap<String, (usize, Value)>,
    /// Queries that run.
    queries: HashMap<RequestKey, Cancellation>,
}

/// A request that waits for a server.
pub(super) enum Pending {
    /// A request of the client, whose response is passed on unchanged if it fits.
    Passed {
        /// The method, or the tool of a call.
        name: String,
    },
    List {
        is_first: bool,
    },
    /// The proxy asked.
    Own(oneshot::Sender<Value>),
}

impl Session {
    /// Serves a client until it closes its end.
    pub(super) async fn run(
        shared: ProxyShared,
        upstreams: Vec<Upstream>,
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Result<(), ConnectionError> {
        let mut tasks = JoinSet::new();
        let (client, lines) = mpsc::channel(MAX_WAITING);
        tasks.spawn(write_lines(output, lines));
        let mut connections = Vec::new();
        let mut receivers = Vec::new();
        for Upstream { name, address } in upstreams {
            let parts = SpooledParts::new(Arc::clone(&shared.spools));
            let reader = RawReader::new(parts, shared.read_limits).verbatim();
            let (sender, receiver) = match address {
                Address::Streams(output, input) => {
                    connect_streams(&mut tasks, reader, output, input)
                }
                #[cfg(feature = "http")]
                Address::Http(address) => {
                    let parts = SpooledParts::new(Arc::clone(&shared.spools));
                    super::http_connection::connect_http(
                        &mut tasks,
                        address,
                        parts,
                        shared.read_limits,
                    )
                }
            };
            connections.push(Connection { name, sender });
            receivers.push(receiver);
        }
        let session = Arc::new(Self {
            shared,
            client,
            upstreams: connections,
            state: Mutex::default(),
            tasks: Mutex::default(),
            next_id: AtomicU64::new(0),
        });
        for (upstream, receiver) in receivers.into_iter().enumerate() {
            tasks.spawn(Arc::clone(&session).receive(upstream, receiver));
        }
        let cleaner = Arc::clone(&session);
        session.spawn(async move { cleaner.clean_up().await });
        session.read_client(input).await
        // Dropping the tasks ends the connections.
    }

    pub(super) fn shared(&self) -> &ProxyShared {
        &self.shared
    }

    pub(super) fn upstream_count(&self) -> usize {
        self.upstreams.len()
    }

    pub(super) fn upstream_name(&self, upstream: usize) -> &str {
        self.upstreams.get(upstream).map_or("?", |it| it.name.as_str())
    }

    pub(super) fn query_definitions(&self) -> &[Value] {
        &self.shared.definitions
    }

    pub(super) fn is_single(&self) -> bool {
        self.upstreams.len() == 1
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs work next to the session, and ends with it.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(work);
    }

    pub(super) async fn clean_up(&self) {
        if let Err(error) = self.shared.catalog.clean_up().await {
            tracing::warn!(%error, "old results of the MCP proxy could not be removed");
        }
    }

    /// Sends a message to the client. Does nothing if the client has disconnected.
    pub(super) async fn send_client(&self, line: Bytes) {
        let _ = self.client.send(line).await;
    }

    pub(super) async fn send_upstream(&self, upstream: usize, line: Bytes) -> Result<(), String> {
        let ended = || format!("the server `{}` has ended", self.upstream_name(upstream));
        let connection = self.upstreams.get(upstream).ok_or_else(ended)?;
        connection.sender.send(line).await.map_err(|_| ended())
    }

    async fn read_client(
        self: &Arc<Self>,
        input: impl AsyncRead + Send + Unpin,
    ) -> Result<(), ConnectionError> {
        let mut input = BufReader::new(input);
        let mut message = Vec::new();
        loop {
            message.clear();
            let read = (&mut input).take(MAX_CLIENT_LINE).read_until(b'\n', &mut message).await;
            match read {
                Ok(0) => return Ok(()),
                Ok(_) if message.len() as u64 >= MAX_CLIENT_LINE => {
                    let reason =
                        format!("a message of the client has more than {MAX_CLIENT_LINE} bytes");
                    return Err(ConnectionError { reason });
                }
                Ok(_) if message.iter().all(u8::is_ascii_whitespace) => {}
                Ok(_) => self.handle_client(&message).await,
                Err(error) => return Err(ConnectionError { reason: error.to_string() }),
            }
        }
    }

    /// Handles a message of the client.
    async fn handle_client(self: &Arc<Self>, message: &[u8]) {
        let Ok(envelope) = Envelope::parse(message) else {
            let error = json!({"code": -32700, "message": "the message is not JSON-RPC"});
            return self
                .send_client(line(&json!({"jsonrpc": "2.0", "id": null, "error": error})))
                .await;
        };
        match (envelope.method.as_deref(), envelope.key()) {
            (Some("tools/call"), Some(id)) => self.handle_call(id, &envelope, message).await,
            (Some(method), Some(id)) if !self.is_single() => {
                let method = method.to_owned();
                let params = envelope.params_value();
                self.spawn(Arc::clone(self).answer_merged(id, method, params));
            }
            (Some("tools/list"), Some(id)) => {
                let is_first = envelope.params_value().get("cursor").is_none();
                self.pass_request(0, id, Pending::List { is_first }, raw_line(message.to_vec()))
                    .await;
            }
            (Some(method), Some(id)) => {
                let pending = Pending::Passed { name: method.to_owned() };
                self.pass_request(0, id, pending, raw_line(message.to_vec())).await;
            }
            (Some("notifications/cancelled"), None) => self.cancel(&envelope, message).await,
            (Some(_), None) => self.broadcast(message).await,
            (None, id) => self.pass_reply(id, message).await,
        }
    }

    /// Sends a request to a server, or tells the client why not.
    async fn pass_request(&self, upstream: usize, id: RequestKey, pending: Pending, line: Bytes) {
        let is_full = {
            let mut state = self.state();
            let is_full = state.pending.len() >= MAX_PENDING;
            if !is_full {
                state.pending.insert((upstream, id.clone()), pending);
            }
            is_full
        };
        let sent = match is_full {
            true => Err("too many requests wait for an answer".to_owned()),
            false => self.send_upstream(upstream, line).await,
        };
        if let Err(why) = sent {
            self.state().pending.remove(&(upstream, id.clone()));
            self.send_client(error_response(&id, INTERNAL_ERROR, &why)).await;
        }
    }

    async fn broadcast(&self, message: &[u8]) {
        for upstream in 0..self.upstream_count() {
            let _ = self.send_upstream(upstream, raw_line(message.to_vec())).await;
        }
    }

    /// Cancels a query, or tells the server that works on the request.
    async fn cancel(&self, envelope: &Envelope<'_>, message: &[u8]) {
        let params = envelope.params_value();
        let Some(id) = params.get("requestId").map(RequestKey::of_value) else { return };
        let (query, upstream) = {
            let mut state = self.state();
            let query = state.queries.remove(&id);
            let upstream = state.pending.keys().find(|(_, key)| *key == id).map(|(it, _)| *it);
            (query, upstream)
        };
        if let Some(query) = query {
            query.cancel("the client cancelled the query");
        } else if let Some(upstream) = upstream {
            let _ = self.send_upstream(upstream, raw_line(message.to_vec())).await;
        }
    }

    /// Passes the reply of the client to the server that asked.
    async fn pass_reply(&self, id: Option<RequestKey>, message: &[u8]) {
        if self.is_single() {
            return self.broadcast(message).await;
        }
        let Some(id) = id else { return };
        let asked = self.state().asked.remove(id.as_json());
        if let (Some((upstream, own)), Ok(mut reply)) =
            (asked, serde_json::from_slice::<Value>(message))
        {
            set(&mut reply, "id", own);
            let _ = self.send_upstream(upstream, line(&reply)).await;
        }
    }

    /// Handles `tools/call`: a query is answered here, and everything else passed on.
    async fn handle_call(
        self: &Arc<Self>,
        id: RequestKey,
        envelope: &Envelope<'_>,
        message: &[u8],
    ) {
        let mut params = envelope.params_value();
        let name = params.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        if let Some(query) = self.shared.queries.find(&name) {
            let args = params.get_mut("arguments").map(Value::take).filter(|it| !it.is_null());
            let cancellation = Cancellation::new();
            self.state().queries.insert(id.clone(), cancellation.clone());
            let args = args.unwrap_or_else(|| json!({}));
            return self.spawn(Arc::clone(self).answer_query(
                id,
                query.clone(),
                args,
                cancellation,
            ));
        }
        let route = match self.find_route(&name, &params).await {
            Ok(route) => route,
            Err(why) => return self.send_client(error_response(&id, INVALID_PARAMS, &why)).await,
        };
        let mut sent = raw_line(message.to_vec());
        if route.name != name {
            set(&mut params, "name", route.name.as_str());
            if let Ok(mut whole) = serde_json::from_slice::<Value>(message) {
                set(&mut whole, "params", params);
                sent = line(&whole);
            }
        }
        let pending = Pending::Passed { name: route.name };
        self.pass_request(route.upstream, id, pending, sent).await;
    }

    /// The server and the name of a tool.
    async fn find_route(&self, name: &str, params: &Value) -> Result<Route, String> {
        let unknown = || format!("unknown tool `{}`", crate::answer_limits::start_of(name, 128));
        let known = self.state().routes.get(name).cloned();
        if known.is_none() && !self.is_single() {
            let meta = params.get("_meta").cloned();
            self.list_tools(&meta.map_or_else(|| json!({}), |meta| json!({"_meta": meta}))).await?;
            return self.state().routes.get(name).cloned().ok_or_else(unknown);
        }
        match known {
            Some(route) => Ok(route),
            None if self.shared.filter.admits(name) => {
                Ok(Route { upstream: 0, name: name.to_owned() })
            }
            None => Err(unknown()),
        }
    }

    pub(super) fn clear_routes(&self) {
        self.state().routes.clear();
    }

    /// The definition of a tool for the client, or `None` if the client must not use it. Its name leads to its server
    /// from now on.
    pub(super) fn route_tool(&self, upstream: usize, definition: Value) -> Option<Value> {
        let name = definition.get("name").and_then(Value::as_str)?.to_owned();
        let lister = self.lister();
        let mut state = self.state();
        let shown = lister.shown_name(&name, self.upstream_name(upstream), |it| {
            state
                .routes
                .get(it)
                .is_some_and(|route| route.upstream != upstream || route.name != name)
        })?;
        state.routes.insert(shown.clone(), Route { upstream, name });
        drop(state);
        Some(ToolLister::define(definition, &shown))
    }

    fn lister(&self) -> ToolLister<'_> {
        let ProxyShared { filter, queries, .. } = &self.shared;
        ToolLister { filter, reserved: queries.tools() }
    }

    /// Registers a request of the proxy, and returns its id and its answer.
    pub(super) fn register_own_request(
        &self,
        upstream: usize,
    ) -> (String, oneshot::Receiver<Value>) {
        let id = format!("haft-proxy-{}", self.next_id.fetch_add(1, Ordering::Relaxed));
        let (sender, receiver) = oneshot::channel();
        let key = RequestKey::of_value(&Value::String(id.clone()));
        self.state().pending.insert((upstream, key), Pending::Own(sender));
        (id, receiver)
    }

    pub(super) fn end_query(&self, id: &RequestKey) {
        self.state().queries.remove(id);
    }
}
