//! The tasks that the calls of one step run on.

use std::collections::HashMap;
use std::sync::Arc;

use haft_core::call::ToolCall;
use haft_core::context::RecordError;
use haft_core::tool::Tool;
use tokio::sync::Semaphore;
use tokio::task::{self, JoinSet};
use tokio::time::{Instant, timeout_at};

use super::super::deadline::TaskTimer;
use super::super::gates::RunningCall;
use super::super::task::in_current_trace;
use super::{CallRunner, CallTask};

/// A call of a step, and its tool if there is one.
pub(super) struct StepCall {
    pub(super) call: Arc<ToolCall>,
    pub(super) tool: Option<Tool>,
}

/// The calls of a step that run, each on a task of its own.
pub(super) struct CallTasks<'c> {
    calls: &'c CallRunner,
    slots: Arc<Semaphore>,
    tasks: JoinSet<Result<(), RecordError>>,
    running: HashMap<task::Id, EndedCall<'c>>,
}

/// A call that has ended. It counts as running until this is dropped.
#[derive(Default)]
pub(super) struct EndedCall<'c>(Option<(usize, RunningCall<'c>)>);

impl EndedCall<'_> {
    /// Its place in the queue.
    pub(super) fn place(&self) -> Option<usize> {
        self.0.as_ref().map(|(at, _)| *at)
    }
}

impl<'c> CallTasks<'c> {
    pub(super) fn new(calls: &'c CallRunner, slots: Arc<Semaphore>) -> Self {
        Self { calls, slots, tasks: JoinSet::new(), running: HashMap::new() }
    }

    pub(super) fn spawn_all(&mut self, ready: Vec<(usize, StepCall)>) {
        for (at, StepCall { call, tool }) in ready {
            // The call counts from now on, and not from the first poll of its task.
            let running = self.calls.shared.waits.begin_call(call.id());
            let (calls, slots) = (self.calls.clone(), Arc::clone(&self.slots));
            let task = self.tasks.spawn(in_current_trace(async move {
                let timer = TaskTimer::default();
                let task = CallTask { slots: Some(&slots), timer: &timer };
                calls.execute_and_store(&call, tool, task).await
            }));
            self.running.insert(task.id(), EndedCall(Some((at, running))));
        }
    }

    /// Waits until a call has ended, and returns whether its record is stored. Returns `None` if no call is left or the
    /// time is up.
    pub(super) async fn join_next(
        &mut self,
        until: Option<Instant>,
    ) -> Option<(Result<(), RecordError>, EndedCall<'c>)> {
        let joined = match until {
            None => self.tasks.join_next_with_id().await,
            Some(until) => timeout_at(until, self.tasks.join_next_with_id()).await.ok().flatten(),
        };
        let (task, stored) = match joined? {
            Ok(ended) => ended,
            Err(panic) => (panic.id(), self.calls.log_panic(&panic.to_string())),
        };
        Some((stored, self.running.remove(&task).unwrap_or_default()))
    }
}
