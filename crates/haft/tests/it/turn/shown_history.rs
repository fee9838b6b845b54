//! What a resumed turn shows of earlier turns.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft::executors::{Step, StepContext, StepError};
use haft::middleware::{HydrateConversation, hydrate_conversation};
use haft::records::Message;
use haft::stores::{MemoryStore, TurnStoreExt as _};
use haft::turn::{ManualClock, Timestamp, TurnOutcome};
use haft::{Agent, DispatchExecutor, Turn};

fn message(agent: &Agent, turn: &str) -> Turn {
    let message =
        Message::user_at(format!("{turn}-prompt"), format!("question {turn}"), Timestamp::EPOCH);
    agent.turn(message.unwrap()).system("You help.").id(turn).conversation("c")
}

#[derive(Default)]
struct World {
    store: Arc<MemoryStore>,
    clock: Arc<ManualClock>,
    /// The messages that the last step saw.
    seen: Arc<Mutex<Vec<String>>>,
    /// Whether the executor hangs.
    hangs: Arc<AtomicBool>,
    /// Whether the executor removes the first message before.
    removes: Arc<AtomicBool>,
}

impl World {
    fn executor(&self) -> impl DispatchExecutor + use<> {
        let seen = Arc::clone(&self.seen);
        let (hangs, removes) = (Arc::clone(&self.hangs), Arc::clone(&self.removes));
        move |ctx: StepContext| {
            let (seen, hangs, removes) =
                (Arc::clone(&seen), Arc::clone(&hangs), Arc::clone(&removes));
            async move {
                let turn = ctx.dispatch().turn();
                if removes.load(Ordering::SeqCst) {
                    let first = turn.messages().all().remove(0);
                    assert!(turn.delete_message(first.id()).await?);
                }
                let texts = turn.messages().all().into_iter();
                let texts = texts.filter_map(|it| Some(it.content()?.as_str().to_owned()));
                *seen.lock().unwrap() = texts.collect();
                if hangs.load(Ordering::SeqCst) {
                    // What the turn shows is journaled with its next commit.
                    turn.commit(Vec::new()).await?;
                    std::future::pending::<()>().await;
                }
                Ok::<_, StepError>(Step::done().say(ctx.message("Yes.")?))
            }
        }
    }

    fn agent(&self, hydrate: HydrateConversation) -> Agent {
        let built = Agent::builder(self.executor()).store(Arc::clone(&self.store) as _);
        let built = built.clock(Arc::clone(&self.clock) as _);
        built.turn_input("history", hydrate).build().unwrap()
    }

    async fn run(&self, agent: &Agent, turn: &str) {
        let report = message(agent, turn).report().await.unwrap();
        assert_eq!(report.outcome, TurnOutcome::Completed, "{:?}", report.error);
        self.clock.advance(Duration::from_secs(60));
    }

    /// Runs a turn whose process dies while the executor works, and resumes it after a change of the store.
    async fn interrupt(&self, agent: &Agent, turn: &str, change: impl AsyncFnOnce()) {
        self.hangs.store(true, Ordering::SeqCst);
        let died =
            tokio::time::timeout(Duration::from_secs(1), message(agent, turn).report()).await;
        assert!(died.is_err());
        self.hangs.store(false, Ordering::SeqCst);
        change().await;
        self.clock.advance(Duration::from_secs(3600));
        let report = agent.resume(turn).report().await.unwrap();
        assert_eq!(report.outcome, TurnOutcome::Completed, "{:?}", report.error);
    }

    fn seen(&self) -> String {
        self.seen.lock().unwrap().join(" | ")
    }
}

/// What is removed from a turn stays removed, also if the process dies at once.
#[tokio::test(start_paused = true)]
async fn an_earlier_record_that_was_removed_stays_removed() {
    let world = World::default();
    let agent = world.agent(hydrate_conversation());
    world.run(&agent, "one").await;
    world.removes.store(true, Ordering::SeqCst);
    world.interrupt(&agent, "two", async || world.removes.store(false, Ordering::SeqCst)).await;
    assert_eq!(world.seen(), "Yes. | question two");
}

/// A turn does not show older turns than it did in the place of those that were removed since.
#[tokio::test(start_paused = true)]
async fn turns_that_were_never_shown_do_not_replace_removed_ones() {
    let world = World::default();
    let agent = world.agent(hydrate_conversation().last_messages(4));
    for turn in ["one", "two", "three"] {
        world.run(&agent, turn).await;
    }
    world
        .interrupt(&agent, "four", async || {
            assert_eq!(world.seen(), "question three | Yes. | question four");
            assert!(world.store.remove("three".parse().unwrap()).await.unwrap());
        })
        .await;
    assert_eq!(world.seen(), "question four");
}
