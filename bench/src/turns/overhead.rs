//! What the loop adds to a turn that is alone: from the end of one step to the beginning of the next.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use haft::executors::StepContext;
use haft::stores::MemoryStore;
use haft::turn::Agent;
use tokio::runtime::Runtime;

use super::table::{Bound, Entry, Table};
use super::workload::{self, count, forecast, now, one};

/// When the last step ended, and what lay between steps.
#[derive(Debug, Default)]
struct Steps {
    ended: Option<Instant>,
    between: Vec<Duration>,
}

/// Runs turns one after the other. The time between two steps is that of one iteration: keeping the step,
/// its call with its handler, keeping the result, and everything that comes before the next step.
pub(crate) fn measure(runtime: &Runtime) -> Result<Table, String> {
    let steps = Arc::new(Mutex::new(Steps::default()));
    let agent = agent(&steps)?;
    let all = runtime.spawn(async move {
        for _ in 0..TURNS {
            one(&agent).await?;
        }
        Ok::<_, String>(())
    });
    runtime.block_on(all).map_err(|error| error.to_string())??;
    let mut between = std::mem::take(&mut lock(&steps).between);
    // The first ones warm up.
    let mut between = between.split_off(between.len() / 10);
    between.sort();
    let at = |part: f64| {
        let at = (between.len() as f64 * part) as usize;
        between.get(at).map_or(f64::NAN, |it| it.as_secs_f64() * 1e6)
    };
    let entries = vec![
        Entry::new("haft, median", at(0.5)),
        Entry::new("haft, p99", at(0.99)).aim(Bound::AtMost(200.0)),
        Entry::new("haft, p99.9", at(0.999)),
    ];
    Ok(Table::new("turns/overhead", "µs between two steps of a turn that is alone", entries))
}

fn agent(steps: &Arc<Mutex<Steps>>) -> Result<Agent, String> {
    let steps = Arc::clone(steps);
    let executor = move |ctx: StepContext| {
        let steps = Arc::clone(&steps);
        async move {
            let began = now();
            let step = workload::step(&ctx);
            let mut steps = lock(&steps);
            if let Some(ended) = steps.ended.filter(|_| ctx.dispatch().iteration() > 0) {
                steps.between.push(began - ended);
            }
            steps.ended = Some(now());
            step
        }
    };
    let agent = Agent::builder(executor).store(Arc::new(MemoryStore::new()));
    let agent = agent.tool(forecast()?).observer(|event: &haft::events::Event| count(event));
    agent.build().map_err(|error| error.to_string())
}

fn lock(steps: &Mutex<Steps>) -> std::sync::MutexGuard<'_, Steps> {
    steps.lock().unwrap_or_else(PoisonError::into_inner)
}

const TURNS: usize = 10_000;
