//! Turns as an application runs them.

/// The methods of a store of approvals that has no standing ones.
macro_rules! no_grants {
    () => {
        fn insert_grant(
            &self,
            _: haft::turn::GrantId,
            _: String,
        ) -> haft::BoxFuture<'_, Result<(), haft::stores::StoreError>> {
            Box::pin(async { Ok(()) })
        }

        fn load_grants(
            &self,
        ) -> haft::BoxFuture<'_, Result<Vec<haft::turn::GrantRow>, haft::stores::StoreError>> {
            Box::pin(async { Ok(Vec::new()) })
        }

        fn revoke_grant(
            &self,
            _: haft::turn::GrantId,
        ) -> haft::BoxFuture<'_, Result<bool, haft::stores::StoreError>> {
            Box::pin(async { Ok(false) })
        }
    };
}

mod always_resume;
mod approvals;
#[cfg(feature = "sqlite")]
mod blocking;
mod calls;
pub(crate) mod conversations;
#[cfg(all(unix, feature = "sqlite"))]
mod crash;
mod definitions;
mod ends;
mod errand;
mod faults;
mod gates;
mod grants;
mod keep_list;
mod kept_lease;
mod loops;
mod lost_lease;
mod mistakes;
mod operator;
mod points;
mod polls;
mod queue;
mod resume;
mod scripts;
mod short_ways;
mod shown_history;
mod store_faults;
mod stress;
mod suspension;
mod times;
#[cfg(all(feature = "http", feature = "formats"))]
mod tool_block;
mod typed_answers;
mod unchecked;
mod waits;
#[cfg(feature = "sqlite")]
mod workers;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft::events::{Event, EventKind};
use haft::executors::{DispatchExecutor, ProposedCall, Step, StepContext, StepError};
use haft::records::Message;
use haft::turn::Timestamp;
use haft::turn::{Agent, AgentBuilder, Turn};

/// One step.
pub(crate) type StepFn = fn(&StepContext) -> Result<Step, StepError>;

/// Steps that are taken one after the other, by iteration.
pub(crate) fn steps<const N: usize>(all: [StepFn; N]) -> impl DispatchExecutor {
    move |ctx: StepContext| {
        let step = all.get(ctx.dispatch().iteration() as usize).copied();
        async move {
            match step {
                Some(step) => step(&ctx),
                None => Err(StepError::new("the script is over")),
            }
        }
    }
}

pub(crate) fn say(text: &'static str) -> impl DispatchExecutor {
    move |ctx: StepContext| async move { Ok(Step::done().say(ctx.message(text)?)) }
}

pub(crate) fn call(tool: &str, args: &str) -> ProposedCall {
    ProposedCall::new(tool, args)
}

pub(crate) fn input(agent: &Agent) -> Turn {
    let hello = Message::user_at("m-1", "hello", Timestamp::EPOCH).unwrap();
    agent.turn(hello).system("You help.")
}

/// The names of events in order, with the iteration where there is one.
#[derive(Clone, Default)]
pub(crate) struct Seen(Arc<Mutex<Vec<Event>>>);

impl Seen {
    pub(crate) fn observer(&self) -> impl Fn(&Event) + Send + Sync + 'static {
        let seen = Arc::clone(&self.0);
        move |event: &Event| seen.lock().unwrap().push(event.clone())
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn names(&self) -> String {
        let events = self.events();
        let names: Vec<_> = events.iter().map(|event| event.kind.name().to_string()).collect();
        names.join(" ")
    }

    pub(crate) fn errors(&self) -> Vec<String> {
        let events = self.events().into_iter();
        events
            .filter_map(|event| match event.kind {
                EventKind::Error(error) => {
                    Some(error.code.map_or_else(|| "-".to_owned(), |it| it.to_string()))
                }
                _ => None,
            })
            .collect()
    }
}

/// Lets time pass, which is paused and costs nothing.
#[expect(clippy::disallowed_methods, reason = "time is paused in these tests")]
pub(crate) async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}

/// Runs a future on a runtime of its own.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.unwrap().block_on(future)
}

pub(crate) fn agent(executor: impl DispatchExecutor + 'static) -> AgentBuilder {
    Agent::builder(executor)
}
