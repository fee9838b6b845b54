use std::future::{pending, poll_fn, ready};
use std::net::{IpAddr, Ipv4Addr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_core::Stream as _;
use haft_core::media::MediaReader as _;
use haft_core::tool::ToolFailure;

use super::resolver::Lookup;
use super::{FetchDeadlines, FetchError, Fetcher, HttpPhase, HttpReader, UrlPolicy, UrlRefusal};

/// Nobody listens there.
const ALLOWED: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

async fn failure(lookup: Arc<Lookup>, deadlines: FetchDeadlines) -> ToolFailure {
    let policy = UrlPolicy::public().allow_http();
    let fetcher = Fetcher::builder(policy).lookup(lookup).deadlines(deadlines).build().unwrap();
    fail(&fetcher.reader("http://name.example:1/").unwrap()).await
}

async fn fail(reader: &HttpReader) -> ToolFailure {
    let mut stream = reader.open();
    poll_fn(|cx| Pin::new(&mut stream).poll_next(cx)).await.unwrap().unwrap_err()
}

fn cause(failure: &ToolFailure) -> &FetchError {
    failure.source().unwrap().downcast_ref().unwrap()
}

/// There is one look-up per connection, and its answer is what is checked and used: there is no second
/// one that could differ.
#[tokio::test]
async fn a_name_that_changes_its_address_gains_nothing() {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://name.example:{}/", listener.local_addr().unwrap().port());
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let lookup: Arc<Lookup> = Arc::new(move |_| {
        let first = count.fetch_add(1, Ordering::Relaxed) == 0;
        let address = if first { ALLOWED } else { Ipv4Addr::LOCALHOST };
        Box::pin(ready(Ok(vec![address.into()])))
    });
    let policy = UrlPolicy::public().allow_http().allow_network(ALLOWED, 32);
    let fetcher = Fetcher::builder(policy).lookup(lookup).build().unwrap();
    let reader = fetcher.reader(&url).unwrap();

    let failure = fail(&reader).await;
    assert!(matches!(cause(&failure), FetchError::Unreachable { .. }), "{failure:?}");
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    let failure = fail(&reader).await;
    let FetchError::Refused { why: UrlRefusal::Address { sort, address }, .. } = cause(&failure)
    else {
        panic!("{failure:?}")
    };
    assert_eq!((*sort, *address), ("loopback", IpAddr::from(Ipv4Addr::LOCALHOST)));
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

/// An address that is refused is not connected to when another one is allowed: the listener there gets
/// nothing, also if the allowed one does not answer.
#[tokio::test]
async fn only_the_allowed_addresses_of_a_name_are_used() {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let policy = UrlPolicy::public().allow_http().allow_network(ALLOWED, 32);
    let lookup: Arc<Lookup> =
        Arc::new(move |_| Box::pin(ready(Ok(vec![Ipv4Addr::LOCALHOST.into(), ALLOWED.into()]))));
    let fetcher = Fetcher::builder(policy).lookup(lookup).build().unwrap();
    let failure = fail(&fetcher.reader(&format!("http://name.example:{port}/")).unwrap()).await;
    assert!(matches!(cause(&failure), FetchError::Unreachable { .. }), "{failure:?}");
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

#[tokio::test]
async fn a_name_without_addresses_is_unreachable() {
    let unknown: Arc<Lookup> =
        Arc::new(|_| Box::pin(ready(Err(std::io::ErrorKind::NotFound.into()))));
    let empty: Arc<Lookup> = Arc::new(|_| Box::pin(ready(Ok(Vec::new()))));
    for lookup in [empty, unknown] {
        let failure = failure(lookup, FetchDeadlines::default()).await;
        assert!(matches!(cause(&failure), FetchError::Unreachable { .. }), "{failure:?}");
    }
}

#[tokio::test]
async fn looking_up_a_name_counts_as_connecting() {
    let never: Arc<Lookup> = Arc::new(|_| Box::pin(pending()));
    let deadlines = FetchDeadlines::default().connect(Duration::from_millis(20));
    let failure = failure(never, deadlines).await;
    let FetchError::Timeout { phase, .. } = cause(&failure) else { panic!("{failure:?}") };
    assert_eq!(*phase, HttpPhase::Connect);
}
