//! Notifies objects of gates that were settled elsewhere.

use std::sync::Arc;
use std::time::Duration;

use haft::stores::{StoreChange, StoreChangeKind, TurnId, TurnStore, TurnStoreExt as _};
use tokio::time::{Instant, sleep_until};
use url::Url;

/// How long a request to Restate may take.
const REQUEST_TIME: Duration = Duration::from_secs(10);
/// How often a request is sent.
const ATTEMPTS: u32 = 3;

/// Settlements cannot be forwarded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ForwardError {
    /// The address of Restate cannot be used.
    #[error("`{ingress}` is not the address of an ingress, such as http://127.0.0.1:8080")]
    Address {
        /// The address.
        ingress: String,
    },
    /// The client cannot be built.
    #[error("cannot create an HTTP client")]
    Client(#[source] reqwest::Error),
}

/// Listens to a store and wakes the objects of turns whose gates were settled or that are to be cancelled, whichever
/// process did that: `haft approve`, the inspector, or another server. Runs until it is dropped. Any number of
/// processes can do it; an object that is woken twice checks its gates twice.
///
/// A settlement that is not reported, because neither this process nor Restate could be reached, is found by the object
/// itself within minutes.
///
/// # Errors
///
/// The address cannot be used.
pub async fn forward_settlements(
    store: Arc<dyn TurnStore>,
    ingress: &str,
) -> Result<(), ForwardError> {
    let invalid = || ForwardError::Address { ingress: ingress.to_owned() };
    let ingress: Url = ingress.parse().map_err(|_| invalid())?;
    if ingress.cannot_be_a_base() {
        return Err(invalid());
    }
    let client = reqwest::Client::builder().timeout(REQUEST_TIME);
    let client = client.build().map_err(ForwardError::Client)?;
    let mut changes = store.listen();
    loop {
        let change = changes.next_change().await;
        if let StoreChange::Turn {
            turn,
            kind: StoreChangeKind::GateSettled | StoreChangeKind::CancelRequested,
        } = change
        {
            wake_turn(&*store, &client, &ingress, turn).await;
        }
    }
}

/// Wakes the object of a turn. One that cannot be reached looks itself after a while.
async fn wake_turn(store: &dyn TurnStore, client: &reqwest::Client, ingress: &Url, turn: TurnId) {
    let Ok(Some(summary)) = store.summary(turn.clone()).await else { return };
    let Some(url) = summary.conversation.and_then(|it| wake_url(ingress, &it)) else { return };
    for attempt in 1..=ATTEMPTS {
        let sent = client.post(url.clone()).json(turn.as_str()).send().await;
        if sent.is_ok_and(|response| !response.status().is_server_error()) {
            return;
        }
        sleep_until(Instant::now() + Duration::from_millis(200) * attempt).await;
    }
}

/// The address of the handler `wake`. Names of conversations can be any text.
fn wake_url(ingress: &Url, conversation: &str) -> Option<Url> {
    let mut url = ingress.clone();
    url.path_segments_mut().ok()?.pop_if_empty().extend([
        "HaftConversation",
        conversation,
        "wake",
        "send",
    ]);
    Some(url)
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_of_conversations_are_one_part_of_the_address() {
        let ingress = "http://127.0.0.1:8080".parse().unwrap();
        let url = super::wake_url(&ingress, "a/b ?ü").unwrap();
        let expected = "http://127.0.0.1:8080/HaftConversation/a%2Fb%20%3F%C3%BC/wake/send";
        assert_eq!(url.as_str(), expected);
    }
}
