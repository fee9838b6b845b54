//! Connections of clients that are slow, many, or both.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use axum::Router;
use axum::middleware;
use axum::routing::get;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::{
    ClientTimes, ConnectionTable, MAX_UNKNOWN, MAX_UNKNOWN_OF_PEER, UNKNOWN_GRACE,
    admit_connection, serve_connections,
};

#[test]
fn a_client_that_sends_a_byte_now_and_then_is_left() {
    let start = Instant::now();
    let after = |seconds: u64| start + Duration::from_secs(seconds);
    let mut slow = ClientTimes::new(start);
    for seconds in [0, 50, 100, 120] {
        slow.note_read(after(seconds)).unwrap();
    }
    // Each byte came in time for a connection that is idle, and together they took too long.
    assert_eq!(slow.note_read(after(121)).unwrap_err().kind(), ErrorKind::TimedOut);

    // A client that gets responses can go on for as long as it likes.
    let mut busy = ClientTimes::new(start);
    for seconds in (0..1000).step_by(100) {
        busy.note_read(after(seconds)).unwrap();
        busy.note_written(after(seconds));
    }
}

#[test]
fn bytes_give_time_to_known_clients_only() {
    let start = Instant::now();
    let after = |seconds: u64| start + Duration::from_secs(seconds);
    let mut times = ClientTimes::new(start);
    assert_eq!(times.deadline(false), after(10));
    times.note_read(after(9)).unwrap();
    assert_eq!((times.deadline(false), times.deadline(true)), (after(10), after(129)));
    times.note_written(after(9));
    assert_eq!((times.deadline(false), times.deadline(true)), (after(19), after(129)));
}

fn peer(number: usize) -> IpAddr {
    Ipv4Addr::from(u32::try_from(number).unwrap()).into()
}

#[test]
fn a_new_client_takes_the_place_of_the_oldest_unknown_one() {
    let start = Instant::now();
    let later = start + UNKNOWN_GRACE;
    let table = ConnectionTable::new(2);
    let known = table.add(peer(1), start).unwrap();
    assert!(table.admit(&known));
    let oldest = table.add(peer(1), start).unwrap();
    for _ in 1..MAX_UNKNOWN_OF_PEER {
        table.add(peer(1), start).unwrap();
    }
    assert_eq!(table.add(peer(1), start).unwrap_err(), later, "it has a moment for its request");
    assert!(!oldest.lock().is_replaced);
    let newest = table.add(peer(1), later).unwrap();
    assert!(oldest.lock().is_replaced && !table.admit(&oldest));
    assert!(!known.lock().is_replaced && !newest.lock().is_replaced);
    // Others are not concerned, until there are too many of all.
    let other = table.add(peer(2), later).unwrap();
    for number in MAX_UNKNOWN_OF_PEER + 1..MAX_UNKNOWN {
        table.add(peer(number), later).unwrap();
    }
    assert_eq!(table.lock().unknown.len(), MAX_UNKNOWN);
    table.add(peer(MAX_UNKNOWN), later).unwrap();
    assert_eq!(table.lock().unknown.len(), MAX_UNKNOWN);
    assert!(!other.lock().is_replaced);

    // Known clients have a bound of their own, and those that are closed or expelled count no more.
    assert!(table.admit(&other) && !table.admit(&newest));
    table.expel(&known);
    assert!(table.admit(&newest) && !table.admit(&known));
    table.remove(&other);
    assert!(table.admit(&known) && table.admit(&known));
    table.remove(&known);
    table.remove(&newest);
    assert_eq!(table.lock().known, 0);
    // Files that are open are missing: the oldest goes.
    let count = table.lock().unknown.len();
    assert!(table.close_oldest());
    assert_eq!(table.lock().unknown.len(), count - 1);
}

/// A server with a route for everybody, one that keeps its clients, and one that refuses them.
async fn start() -> (SocketAddr, JoinSet<()>) {
    let refuse = async || axum::http::StatusCode::UNAUTHORIZED;
    let admitting = Router::new()
        .route("/known", get(async || "known"))
        .route("/refused", get(refuse))
        .layer(middleware::from_fn(admit_connection));
    let router = Router::new().route("/health", get(async || "well")).merge(admitting);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        serve_connections(listener, router, 2, std::future::pending()).await.unwrap();
    });
    (address, tasks)
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream
}

/// Sends a request, and returns the status of the response, or 0 if the connection was closed.
fn ask(stream: &mut TcpStream, path: &str) -> u16 {
    if write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").is_err() {
        return 0;
    }
    let mut response = Vec::new();
    let mut buffer = [0; 1024];
    while !response.windows(4).any(|it| it == b"\r\n\r\n") {
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return 0,
            Ok(count) => response.extend_from_slice(&buffer[..count]),
        }
    }
    String::from_utf8(response).unwrap().split(' ').nth(1).unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_requests_of_one_address_take_nobody_off_the_air() {
    let (address, tasks) = start().await;
    let check = move || {
        let mut known = connect(address);
        assert_eq!(ask(&mut known, "/known"), 200);
        let mut half: Vec<TcpStream> = Vec::new();
        for _ in 0..MAX_UNKNOWN_OF_PEER + 20 {
            let mut stream = connect(address);
            stream.write_all(b"GET /known HTTP/1.1\r\nHost: x\r\n").unwrap();
            half.push(stream);
        }
        // A probe from the same address is served, and so is whoever is known.
        assert_eq!(ask(&mut connect(address), "/health"), 200);
        assert_eq!(ask(&mut connect(address), "/known"), 200);
        assert_eq!(ask(&mut known, "/known"), 200);
        // The oldest ones made room.
        assert_eq!(half[0].read(&mut [0; 16]).unwrap_or(0), 0);
    };
    tokio::task::spawn_blocking(check).await.unwrap();
    drop(tasks);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn probes_are_outside_of_the_bound_of_known_clients() {
    let (address, tasks) = start().await;
    let check = move || {
        let mut refused: Vec<TcpStream> = (0..3).map(|_| connect(address)).collect();
        for stream in &mut refused {
            assert_eq!(ask(stream, "/refused"), 401, "it does not count");
        }
        let mut all: Vec<TcpStream> = (0..3).map(|_| connect(address)).collect();
        let statuses: Vec<u16> = all.iter_mut().map(|it| ask(it, "/known")).collect();
        assert_eq!(statuses, [200, 200, 503]);
        assert_eq!(ask(&mut connect(address), "/health"), 200);
        assert_eq!(ask(&mut all[0], "/known"), 200);
    };
    tokio::task::spawn_blocking(check).await.unwrap();
    drop(tasks);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_says_once_whom_it_is_for() {
    let (address, tasks) = start().await;
    let check = move || {
        let send = |head: &str| {
            let mut stream = connect(address);
            write!(stream, "{head}\r\nConnection: close\r\n\r\n").unwrap();
            let mut response = String::new();
            stream.read_to_string(&mut response).unwrap();
            response.split(' ').nth(1).unwrap().parse::<u16>().unwrap()
        };
        assert_eq!(send("GET /health HTTP/1.1\r\nHost: any.example"), 200);
        assert_eq!(send("GET /health HTTP/1.0"), 200, "a simple probe");
        assert_eq!(send("GET /health HTTP/1.1"), 400);
        assert_eq!(send("GET /health HTTP/1.1\r\nHost: a\r\nHost: b"), 400);
        assert_eq!(send("GET http://a/health HTTP/1.1\r\nHost: a"), 400);
        assert_eq!(send("GET http://a/health HTTP/1.0"), 400);
    };
    tokio::task::spawn_blocking(check).await.unwrap();
    drop(tasks);
}
