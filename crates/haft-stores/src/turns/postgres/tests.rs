//! What a store sends to its server.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use haft_core::store::{
    ClaimFilter, LeaseRequest, NewTurn, Row, RowKind, StoreChange, StoreWrite, SummaryUpdate,
    TurnId, TurnStatus, TurnStore, TurnStoreExt as _,
};
use haft_testkit::PostgresServer;

use super::{PostgresOptions, PostgresStore};

/// What went through a relay.
#[derive(Debug, Default)]
struct Traffic {
    connections: AtomicU64,
    statements: AtomicU64,
    /// How often a client had to wait for the server before it went on.
    round_trips: AtomicU64,
    /// Requests without a reply so far.
    pending: AtomicI64,
}

impl Traffic {
    /// The statements and the round trips since the last call.
    fn take(&self) -> (u64, u64) {
        let take = |it: &AtomicU64| it.swap(0, Ordering::SeqCst);
        (take(&self.statements), take(&self.round_trips))
    }

    /// Counts a message of a client.
    fn count_request(&self, kind: u8) {
        if kind == b'E' || kind == b'Q' {
            self.statements.fetch_add(1, Ordering::SeqCst);
        }
        if (kind == b'S' || kind == b'Q') && self.pending.fetch_add(1, Ordering::SeqCst) == 0 {
            self.round_trips.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Counts a message of the server.
    fn count_reply(&self, kind: u8) {
        if kind == b'Z' {
            self.pending.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Passes connections on to a server, and returns the address to connect to.
fn start_relay(server: &PostgresServer, traffic: &Arc<Traffic>) -> String {
    let url = server.url();
    let port = url.rsplit_once(':').unwrap().1.split_once('/').unwrap().0;
    let target = format!("127.0.0.1:{port}");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let relayed = url.replace(port, &listener.local_addr().unwrap().port().to_string());
    let traffic = Arc::clone(traffic);
    thread::spawn(move || {
        for client in listener.incoming() {
            let client = client.unwrap();
            let server = TcpStream::connect(&target).unwrap();
            traffic.connections.fetch_add(1, Ordering::SeqCst);
            let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            let counts = Arc::clone(&traffic);
            // The first message of a client has no kind.
            thread::spawn(move || pass_on((from, to), true, |kind| counts.count_request(kind)));
            let counts = Arc::clone(&traffic);
            thread::spawn(move || {
                pass_on((server, client), false, |kind| counts.count_reply(kind))
            });
        }
    });
    relayed
}

/// Passes messages on until the connection ends. All that have arrived are counted before they are passed on.
fn pass_on((mut from, mut to): (TcpStream, TcpStream), mut is_first: bool, count: impl Fn(u8)) {
    let mut waiting = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        waiting.extend_from_slice(&buffer[..read]);
        let mut at = 0;
        loop {
            let head = usize::from(!is_first);
            let Some(length) = waiting.get(at + head..at + head + 4) else { break };
            let length = u32::from_be_bytes(length.try_into().unwrap()) as usize + head;
            if waiting.len() < at + length {
                break;
            }
            if !is_first {
                count(waiting[at]);
            }
            is_first = false;
            at += length;
        }
        if to.write_all(&waiting[..at]).is_err() {
            break;
        }
        waiting.drain(..at);
    }
    let _ = to.shutdown(Shutdown::Both);
}

/// Runs a future on one thread, so that what is sent together is written together.
fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn turn(name: &str) -> TurnId {
    name.parse().unwrap()
}

fn holder() -> LeaseRequest {
    LeaseRequest::new("worker", Duration::from_secs(100))
}

fn put(kind: RowKind, id: &str) -> StoreWrite {
    StoreWrite::Put(Row::new(kind, id, "{}"))
}

/// The commits of a turn of two steps, of which the first one calls a tool.
fn commits_of_a_turn() -> [Vec<StoreWrite>; 3] {
    let entry = |text: &str| StoreWrite::Journal(text.into());
    let summary = || StoreWrite::Summary(SummaryUpdate::default().tool("look"));
    [
        vec![entry("resumed"), entry("step"), summary(), put(RowKind::ToolCall, "call")],
        vec![put(RowKind::ToolCall, "call")],
        vec![
            entry("iterated"),
            entry("step"),
            put(RowKind::Message, "message"),
            entry("ended"),
            StoreWrite::Status(TurnStatus::Completed),
        ],
    ]
}

#[test]
fn a_turn_takes_few_statements_and_round_trips() {
    let Some(server) = PostgresServer::start() else { return };
    let traffic = Arc::new(Traffic::default());
    let url = start_relay(&server, &traffic);
    run(async {
        let options = PostgresOptions::default().connections(1);
        let store = PostgresStore::connect_with(&url, [7; 32], options).await.unwrap();
        // The first turns prepare the statements of the connection.
        for round in 0..3 {
            let ids = [turn(&format!("a{round}")), turn(&format!("b{round}"))];
            for id in &ids {
                let new = NewTurn::new(id.clone()).agent("shop");
                store.enqueue(new.writes(vec![put(RowKind::Message, "m")])).await.unwrap();
            }
            let is_measured = round == 2;
            let check = |what: &str, most: (u64, u64)| {
                let (statements, trips) = traffic.take();
                let is_few = statements <= most.0 && trips <= most.1;
                assert!(is_few || !is_measured, "{what}: {statements} statements, {trips} trips");
            };
            let _ = traffic.take();
            let leases = store.claim_turns(ClaimFilter::default(), holder(), 8).await.unwrap();
            check("a claim of two turns", (6, 3));
            assert_eq!(leases.len(), 2);
            for lease in leases {
                let stored = store.load(lease.turn.clone()).await.unwrap().unwrap();
                check("a load", (6, 1));
                assert_eq!(stored.rows.len(), 1);
                for writes in commits_of_a_turn() {
                    store.commit(lease.clone(), writes).await.unwrap();
                    check("a commit", (12, 2));
                }
                store.release(lease.clone()).await.unwrap();
                check("a release", (5, 2));
                let stored = store.load(lease.turn).await.unwrap().unwrap();
                assert_eq!((stored.rows.len(), stored.journal.len()), (3, 5));
                let _ = traffic.take();
            }
        }
    });
}

#[test]
fn two_thousand_listeners_share_one_connection() {
    let Some(server) = PostgresServer::start() else { return };
    let traffic = Arc::new(Traffic::default());
    let url = start_relay(&server, &traffic);
    run(async {
        let options = || PostgresOptions::default().connections(1);
        let store = PostgresStore::connect_with(&url, [7; 32], options()).await.unwrap();
        let mut listeners: Vec<_> = (0..2000).map(|_| store.listen()).collect();
        let other = PostgresStore::connect_with(&server.url(), [7; 32], options()).await.unwrap();
        // The connection that listens tells so.
        assert_eq!(listeners[0].next_change().await, StoreChange::Unknown);
        other.enqueue(NewTurn::new(turn("a"))).await.unwrap();
        let told = StoreChange::Turn {
            turn: turn("a"),
            kind: haft_core::store::StoreChangeKind::Claimable,
        };
        for listener in &mut listeners {
            // A listener is told that anything may have changed when its connection is made.
            while listener.next_change().await != told {}
        }
        assert_eq!(traffic.connections.load(Ordering::SeqCst), 2);
    });
}

#[test]
fn a_transaction_that_is_given_up_leaves_nothing() {
    let Some(server) = PostgresServer::start() else { return };
    run(async {
        let options = PostgresOptions::default().connections(1);
        let store = PostgresStore::connect_with(&server.url(), [7; 32], options).await.unwrap();
        let lease = store.create(NewTurn::new(turn("a")), holder()).await.unwrap();
        for polls in 0..6 {
            let writes = vec![put(RowKind::Message, &format!("m{polls}"))];
            let mut commit = store.commit(lease.clone(), writes);
            for _ in 0..polls {
                let polled = std::future::poll_fn(|cx| {
                    std::task::Poll::Ready(commit.as_mut().poll(cx).is_ready())
                });
                if polled.await {
                    break;
                }
                tokio::task::yield_now().await;
            }
            drop(commit);
            // Nothing of it is in the way of what follows on the same connection.
            store.load(turn("a")).await.unwrap().unwrap();
            store.renew(lease.clone()).await.unwrap();
        }
        let mut lost = lease.clone();
        lost.epoch += 1;
        assert!(store.commit(lost, vec![put(RowKind::Message, "lost")]).await.is_err());
        let stored = store.load(turn("a")).await.unwrap().unwrap();
        assert!(stored.rows.iter().all(|row| row.id != "lost"));
        store.commit(lease, vec![put(RowKind::Message, "last")]).await.unwrap();
    });
}
