//! Connections of clients: how many there are, and how long each may take.
//!
//! Everybody who reaches a listener can open connections. Until a client has shown that it may use the server, its
//! connection is *unknown*: it has a short deadline, there are few of them, fewer of one address, and a new one takes the
//! place of the oldest. So a probe of the health of the server is served while somebody fills it with half requests.
//! The clients that are known are counted on their own.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use axum::Router;
use axum::extract::connect_info::Connected;
use axum::extract::{ConnectInfo, Request};
use axum::http::{HeaderValue, StatusCode, Version, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::serve::{IncomingStream, Listener};
use haft_http::address::requested_host;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::error::ApiError;

/// How long an unknown client may take from its connection, or from its last response, to a request that makes it known.
const MAX_UNKNOWN_TIME: Duration = Duration::from_secs(10);
/// How many connections of unknown clients are open at a time.
const MAX_UNKNOWN: usize = 512;
/// How many of them come from one address.
const MAX_UNKNOWN_OF_PEER: usize = 256;
/// How long an unknown client can send its request before another one may take its place.
const UNKNOWN_GRACE: Duration = Duration::from_millis(250);
/// How long a connection can be without a byte in either direction. Streams of events send something more often.
const MAX_IDLE: Duration = Duration::from_secs(120);
/// How long the client of a connection can take for a request: from its first byte to the first byte of the response, as far
/// as bytes of it still arrive. One that sends a byte now and then would hold its connection for ever.
const MAX_REQUEST_TIME: Duration = Duration::from_secs(120);
/// How long to wait after an error of the listener, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// Serves routes on a listener until the future is done. `max_known` is how many connections of known clients are open at a
/// time: those of which a request passed a [`Guard`](crate::Guard), the tokens of a service, or [`admit_connection`].
/// Connections of others are few and short.
///
/// # Errors
///
/// The listener cannot be used.
pub async fn serve_connections(
    listener: std::net::TcpListener,
    router: Router,
    max_known: usize,
    until: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = TcpListener::from_std(listener)?;
    let table = Arc::new(ConnectionTable::new(max_known));
    let router = router.layer(middleware::from_fn(require_one_host));
    let service = router.into_make_service_with_connect_info::<Connection>();
    axum::serve(ClientListener { listener, table }, service).with_graceful_shutdown(until).await
}

/// Counts the connection of a request as one of a known client, unless the response refuses the request. A layer for routes
/// that decide themselves whom they serve.
pub async fn admit_connection(request: Request, next: Next) -> Response {
    let connection = connection_of(&request);
    if let Err(error) = admit(&request) {
        return error.into_response();
    }
    let response = next.run(request).await;
    let is_refused = [StatusCode::BAD_REQUEST, StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN]
        .contains(&response.status());
    if let Some(connection) = connection.filter(|_| is_refused) {
        connection.table.expel(&connection.state);
    }
    response
}

/// Counts the connection of a request as one of a known client. There is none if the application has its own listener.
pub(crate) fn admit(request: &Request) -> Result<(), ApiError> {
    match connection_of(request) {
        Some(connection) if !connection.table.admit(&connection.state) => {
            let message = "too many connections are open";
            let status = StatusCode::SERVICE_UNAVAILABLE;
            Err(ApiError::new(status, "E_API_TOO_MANY_CONNECTIONS", message))
        }
        _ => Ok(()),
    }
}

fn connection_of(request: &Request) -> Option<Connection> {
    request.extensions().get::<ConnectInfo<Connection>>().map(|it| it.0.clone())
}

/// Refuses requests that do not say once whom they are for.
async fn require_one_host(request: Request, next: Next) -> Response {
    let host = requested_host(request.uri(), request.headers());
    let may_lack_host =
        request.version() == Version::HTTP_10 && !request.headers().contains_key(header::HOST);
    match host {
        Err(refusal) if !may_lack_host || request.uri().authority().is_some() => {
            let mut response = ApiError::from(refusal).into_response();
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            response
        }
        _ => next.run(request).await,
    }
}

/// The connections of a listener.
struct ConnectionTable {
    max_known: usize,
    open: Mutex<OpenConnections>,
}

#[derive(Default)]
struct OpenConnections {
    next: u64,
    known: usize,
    /// By number, so that the oldest is first.
    unknown: BTreeMap<u64, UnknownClient>,
}

struct UnknownClient {
    peer: IpAddr,
    since: Instant,
    state: Arc<ConnectionState>,
}

/// What a connection, its requests and the table share.
#[derive(Debug)]
struct ConnectionState {
    number: u64,
    peer: IpAddr,
    /// Locked after the table, if both are.
    standing: Mutex<Standing>,
}

#[derive(Debug)]
struct Standing {
    is_known: bool,
    /// Whether another client has taken its place.
    is_replaced: bool,
    waker: Option<Waker>,
}

impl ConnectionState {
    fn lock(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn replace(&self) {
        let mut standing = self.lock();
        standing.is_replaced = true;
        if let Some(waker) = standing.waker.take() {
            waker.wake();
        }
    }
}

impl ConnectionTable {
    fn new(max_known: usize) -> Self {
        Self { max_known: max_known.max(1), open: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, OpenConnections> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a connection of an unknown client, which takes the place of the oldest one if there are too many. The error says
    /// until when that one may stay.
    fn add(&self, peer: IpAddr, now: Instant) -> Result<Arc<ConnectionState>, Instant> {
        let mut open = self.lock();
        let mut of_peer = open.unknown.iter().filter(|(_, it)| it.peer == peer);
        let oldest_of_peer = of_peer.next().map(|(number, _)| *number);
        let replaced = match (oldest_of_peer, 1 + of_peer.count()) {
            (Some(oldest), MAX_UNKNOWN_OF_PEER..) => Some(oldest),
            _ if open.unknown.len() >= MAX_UNKNOWN => open.unknown.keys().next().copied(),
            _ => None,
        };
        if let Some(oldest) = replaced.and_then(|number| open.unknown.get(&number)) {
            let until = oldest.since + UNKNOWN_GRACE;
            if now < until {
                return Err(until);
            }
            oldest.state.replace();
        }
        replaced.and_then(|number| open.unknown.remove(&number));
        let number = open.next;
        open.next += 1;
        let standing = Standing { is_known: false, is_replaced: false, waker: None };
        let state = Arc::new(ConnectionState { number, peer, standing: Mutex::new(standing) });
        open.unknown.insert(number, UnknownClient { peer, since: now, state: Arc::clone(&state) });
        Ok(state)
    }

    /// Closes the oldest connection of an unknown client, and says whether there was one.
    fn close_oldest(&self) -> bool {
        let oldest = self.lock().unknown.pop_first();
        if let Some((_, client)) = &oldest {
            client.state.replace();
        }
        oldest.is_some()
    }

    /// Whether a connection is now one of a known client.
    fn admit(&self, state: &ConnectionState) -> bool {
        let mut open = self.lock();
        let mut standing = state.lock();
        if standing.is_known {
            return true;
        }
        if standing.is_replaced || open.known >= self.max_known {
            return false;
        }
        open.unknown.remove(&state.number);
        open.known += 1;
        standing.is_known = true;
        true
    }

    /// Counts a connection as one of an unknown client again.
    fn expel(&self, state: &Arc<ConnectionState>) {
        let mut open = self.lock();
        let mut standing = state.lock();
        if standing.is_known {
            open.known = open.known.saturating_sub(1);
            standing.is_known = false;
            let client =
                UnknownClient { peer: state.peer, since: Instant::now(), state: Arc::clone(state) };
            open.unknown.insert(state.number, client);
        }
    }

    /// Forgets a connection that is closed.
    fn remove(&self, state: &ConnectionState) {
        let mut open = self.lock();
        match state.lock().is_known {
            true => open.known = open.known.saturating_sub(1),
            false => drop(open.unknown.remove(&state.number)),
        }
    }
}

/// The connection of a request, as its handlers see it.
#[derive(Clone)]
struct Connection {
    table: Arc<ConnectionTable>,
    state: Arc<ConnectionState>,
}

impl Connected<IncomingStream<'_, ClientListener>> for Connection {
    fn connect_info(stream: IncomingStream<'_, ClientListener>) -> Self {
        stream.io().connection.clone()
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Connection({})", self.state.number)
    }
}

/// Accepts connections, and makes room for them.
struct ClientListener {
    listener: TcpListener,
    table: Arc<ConnectionTable>,
}

impl Listener for ClientListener {
    type Io = ClientStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let Ok((stream, address)) = self.listener.accept().await else {
                // Perhaps too many files are open.
                if !self.table.close_oldest() {
                    sleep_until(Instant::now() + ACCEPT_PAUSE).await;
                }
                tokio::task::yield_now().await;
                continue;
            };
            let peer = address.ip().to_canonical();
            let state = loop {
                match self.table.add(peer, Instant::now()) {
                    Ok(state) => break state,
                    Err(until) => sleep_until(until).await,
                }
            };
            let connection = Connection { table: Arc::clone(&self.table), state };
            return (ClientStream::new(stream, connection), address);
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

/// A connection that is closed when nothing happens on it, too little, or another one takes its place.
struct ClientStream {
    stream: TcpStream,
    connection: Connection,
    times: ClientTimes,
    deadline: Pin<Box<Sleep>>,
}

/// When something happened on a connection.
#[derive(Clone, Copy, Debug)]
struct ClientTimes {
    /// When the connection began, or a byte of a response was sent.
    written: Instant,
    /// When a byte was sent or received.
    active: Instant,
    /// When the first byte arrived after the last one that was sent.
    request_began: Option<Instant>,
}

impl ClientTimes {
    const fn new(now: Instant) -> Self {
        Self { written: now, active: now, request_began: None }
    }

    /// Notes that bytes of a request arrived, or fails if they have done so for too long.
    fn note_read(&mut self, now: Instant) -> io::Result<()> {
        self.active = now;
        let began = *self.request_began.get_or_insert(now);
        match now.saturating_duration_since(began) > MAX_REQUEST_TIME {
            true => Err(io::ErrorKind::TimedOut.into()),
            false => Ok(()),
        }
    }

    /// Notes that bytes of a response were sent.
    const fn note_written(&mut self, now: Instant) {
        *self = Self::new(now);
    }

    /// Until when something has to happen.
    fn deadline(&self, is_known: bool) -> Instant {
        match is_known {
            true => self.active + MAX_IDLE,
            false => self.written + MAX_UNKNOWN_TIME,
        }
    }
}

impl ClientStream {
    fn new(stream: TcpStream, connection: Connection) -> Self {
        let times = ClientTimes::new(Instant::now());
        let deadline = Box::pin(sleep_until(times.deadline(false)));
        Self { stream, connection, times, deadline }
    }

    /// Fails if the connection has to be closed. Otherwise the task is woken when it has to.
    fn check_deadline(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        let is_known = {
            let mut standing = self.connection.state.lock();
            if standing.is_replaced {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            if standing.waker.as_ref().is_none_or(|it| !it.will_wake(cx.waker())) {
                standing.waker = Some(cx.waker().clone());
            }
            standing.is_known
        };
        let until = self.times.deadline(is_known);
        if self.deadline.deadline() > until {
            self.deadline.as_mut().reset(until);
        }
        while self.deadline.as_mut().poll(cx).is_ready() {
            if until <= Instant::now() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.deadline.as_mut().reset(until);
        }
        Ok(())
    }
}

impl Drop for ClientStream {
    fn drop(&mut self) {
        self.connection.table.remove(&self.connection.state);
    }
}

impl AsyncRead for ClientStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check_deadline(cx)?;
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            self.times.note_read(Instant::now())?;
        }
        polled
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check_deadline(cx)?;
        let polled = Pin::new(&mut self.stream).poll_write(cx, buffer);
        if polled.is_ready() {
            self.times.note_written(Instant::now());
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
