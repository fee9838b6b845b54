//! How much work turns make as they, their history and their store grow: operations are counted, and never time.
//!
//! Each test does the same at two sizes and compares the counts. `haft-bench growth` measures the times.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use haft::executors::{ProposedCall, Step, StepContext, StepError};
use haft::middleware::hydrate_conversation;
use haft::records::Message;
use haft::stores::{
    KeyScan, MemorySpoolStore, ReaderDescriptor, SpoolError, SpoolKey, SpoolPayload, SpoolReader,
    SpoolStore, TurnStore as _,
};
use haft::tools::ToolEffect;
use haft::turn::{Agent, AgentBuilder, Limits, Timestamp, Turn, TurnOutcome};
use haft::{BoxFuture, DispatchExecutor, Tool, ToolRegistry};
use serde_json::json;

use crate::turn::conversations::CountingStore;

/// Fails if the cost grows faster than the size, apart from a fifth for what is done once or in steps.
fn assert_linear(what: &str, sizes: [usize; 2], costs: [usize; 2]) {
    let [small, large] = sizes;
    let most = costs[0] * large / small * 6 / 5;
    assert!(costs[1] <= most, "{what}: {} at {small}, {} at {large}", costs[0], costs[1]);
}

/// A tool whose result is an artifact.
fn log_tool(name: &str) -> Tool {
    let tool = Tool::builder(name).description("Reads the log.").effect(ToolEffect::ReadOnly);
    tool.handler(|| "a line of the log in which nothing happens\n".repeat(200)).build().unwrap()
}

/// Calls the tool `log` in so many iterations.
fn calling(calls: usize) -> impl DispatchExecutor {
    move |ctx: StepContext| async move {
        Ok::<_, StepError>(match ctx.dispatch().iteration() as usize {
            at if at < calls => Step::new().call(ProposedCall::new("log", "{}")),
            _ => Step::done().say(ctx.message("Done.")?),
        })
    }
}

fn builder(executor: impl DispatchExecutor + 'static, calls: usize) -> AgentBuilder {
    let most = u32::try_from(calls + 1).unwrap();
    let limits = Limits::new().iterations(most).tool_calls(most).identical_calls(most);
    Agent::builder(executor).limits(limits)
}

async fn run(turn: Turn) {
    let report = turn.report().await.unwrap();
    assert_eq!(report.outcome, TurnOutcome::Completed, "{:?}", report.error);
}

/// What one turn writes and reads in a store of its own.
async fn counted(build: impl FnOnce() -> AgentBuilder) -> (usize, usize) {
    let store = Arc::new(CountingStore::default());
    let agent = build().store(Arc::clone(&store) as _).build().unwrap();
    run(agent.turn([]).system("You help.")).await;
    store.counts()
}

#[tokio::test]
async fn a_turn_with_many_artifacts_writes_as_much_for_each() {
    let sizes = [50, 400];
    let mut bytes = [0; 2];
    for (calls, bytes) in sizes.into_iter().zip(&mut bytes) {
        let (reads, written) =
            counted(|| builder(calling(calls), calls).tool(log_tool("log"))).await;
        assert_eq!(reads, 0, "a turn that runs reads nothing of itself");
        *bytes = written;
    }
    assert_linear("bytes", sizes, bytes);
}

/// An iteration costs the same however many tools there are: nothing is registered, merged or forged again.
#[tokio::test]
async fn artifacts_leave_the_tools_as_they_are() {
    let registries: Arc<Mutex<Vec<(ToolRegistry, usize)>>> = Arc::default();
    let seen = Arc::clone(&registries);
    let executor = move |ctx: StepContext| {
        let tools = ctx.dispatch().tools();
        seen.lock().unwrap().push((ToolRegistry::clone(tools), tools.tool_block().len()));
        async move {
            Ok::<_, StepError>(match ctx.dispatch().iteration() {
                at if at < 30 => Step::new().call(ProposedCall::new("log", "{}")),
                _ => Step::done().say(ctx.message("Done.")?),
            })
        }
    };
    let tools = (0..200).map(|n| log_tool(&format!("tool_{n}"))).chain([log_tool("log")]);
    let agent = builder(executor, 30).tools(tools).build().unwrap();
    run(agent.turn([]).system("You help.")).await;
    let seen = registries.lock().unwrap();
    assert_eq!(seen.len(), 31);
    let changed = seen.windows(2).filter(|pair| !pair[1].0.is_unchanged_since(&pair[0].0)).count();
    // The first artifact adds the tools that query its kind.
    assert!(changed <= 1, "the tools changed {changed} times");
    assert!(seen[1..].iter().all(|(_, block)| *block == seen[1].1), "the block grew again");
}

#[tokio::test]
async fn a_stash_that_gains_keys_is_journaled_by_its_changes() {
    let sizes = [250, 2000];
    let mut bytes = [0; 2];
    for (iterations, bytes) in sizes.into_iter().zip(&mut bytes) {
        let executor = move |ctx: StepContext| async move {
            let iteration = ctx.dispatch().iteration();
            let note =
                json!({"what": "something that a later iteration may need", "at": iteration});
            ctx.dispatch().stash().set(format!("notes.n{iteration}"), note).unwrap();
            let is_last = iteration as usize == iterations;
            Ok::<_, StepError>(if is_last { Step::done() } else { Step::new() })
        };
        *bytes = counted(|| builder(executor, iterations)).await.1;
    }
    assert_linear("bytes", sizes, bytes);
}

/// The texts that are stored for a question and its answer. A file of SQLite adds its pages and indexes.
#[tokio::test]
async fn a_short_exchange_takes_little_of_the_store() {
    let (store, spools) = (Arc::new(CountingStore::default()), Arc::new(MemorySpoolStore::new()));
    let executor = |ctx: StepContext| async move {
        Ok::<_, StepError>(Step::done().say(ctx.message("Nothing is wrong in the log of today.")?))
    };
    let agent = Agent::builder(executor)
        .store(Arc::clone(&store) as _)
        .spools(spools)
        .turn_input("history", hydrate_conversation())
        .build()
        .unwrap();
    let exchange = |turn: usize| {
        let asked = format!("Question {turn}: is there anything wrong in the log of today?");
        let asked = Message::user_at(format!("q-{turn}"), asked, Timestamp::EPOCH).unwrap();
        agent.turn(asked).system("You watch a log.").conversation("watch")
    };
    let mut costs = Vec::new();
    for turn in 0..120 {
        store.reset();
        run(exchange(turn)).await;
        costs.push(store.counts());
    }
    let (reads, bytes) = costs[119];
    assert!(bytes <= 2048, "{bytes} bytes for an exchange");
    let window = costs[60..80].iter().map(|(reads, _)| *reads).max().unwrap();
    assert!(reads <= window, "{reads} reads, and at most {window} before");
    assert!(bytes <= costs[79].1 + 16, "{} bytes, then {bytes}", costs[79].1);
}

#[tokio::test]
async fn garbage_is_looked_for_turn_by_turn() {
    let sizes = [300, 2400];
    let mut reads = [0; 2];
    for (turns, reads) in sizes.into_iter().zip(&mut reads) {
        let store = Arc::new(CountingStore::default());
        let spools = Arc::new(MemorySpoolStore::new());
        let agent = builder(calling(1), 1).tool(log_tool("log"));
        let agent = agent.store(Arc::clone(&store) as _).spools(spools).build().unwrap();
        for turn in 0..turns {
            run(agent.turn([]).system("You help.").id(format!("turn-{turn}"))).await;
        }
        store.reset();
        assert_eq!(agent.stored_turns().collect_garbage().await.unwrap(), 0);
        *reads = store.counts().0;
    }
    assert_linear("reads", sizes, reads);
}

/// A directory is read as a whole for each list of keys, so that garbage is looked for in one scan, however many there are.
#[tokio::test]
async fn garbage_is_looked_for_in_one_scan_of_the_keys() {
    let spools = Arc::new(CountingSpools::default());
    let agent = builder(calling(1), 1).tool(log_tool("log")).spools(Arc::clone(&spools) as _);
    let agent = agent.build().unwrap();
    run(agent.turn([]).system("You help.").id("turn")).await;
    for n in 0..12_000 {
        let key = SpoolKey::of_turn("turn", format_args!("unused-{n}"));
        spools.inner.write(key, "".into()).await.unwrap();
    }
    assert_eq!(agent.stored_turns().collect_garbage().await.unwrap(), 12_000);
    assert_eq!(spools.scans.load(Ordering::SeqCst), 1);
    assert_eq!(spools.lists.load(Ordering::SeqCst), 0);
}

/// A store that counts how often its keys are listed.
#[derive(Debug, Default)]
struct CountingSpools {
    inner: MemorySpoolStore,
    lists: AtomicUsize,
    scans: AtomicUsize,
}

impl SpoolStore for CountingSpools {
    fn write(
        &self,
        key: SpoolKey,
        payload: SpoolPayload,
    ) -> BoxFuture<'_, Result<Arc<dyn SpoolReader>, SpoolError>> {
        self.inner.write(key, payload)
    }

    fn read(
        &self,
        key: SpoolKey,
    ) -> BoxFuture<'_, Result<Option<Arc<dyn SpoolReader>>, SpoolError>> {
        self.inner.read(key)
    }

    fn open<'a>(
        &'a self,
        reader: &'a ReaderDescriptor,
    ) -> BoxFuture<'a, Result<Option<Arc<dyn SpoolReader>>, SpoolError>> {
        self.inner.open(reader)
    }

    fn delete(&self, key: SpoolKey) -> BoxFuture<'_, Result<bool, SpoolError>> {
        self.inner.delete(key)
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<SpoolKey>, SpoolError>> {
        self.lists.fetch_add(1, Ordering::SeqCst);
        self.inner.list()
    }

    fn scan_keys<'s>(&'s self, prefix: &str) -> Box<dyn KeyScan + 's> {
        self.scans.fetch_add(1, Ordering::SeqCst);
        self.inner.scan_keys(prefix)
    }
}

/// A store in memory that runs for ever stays as large as it may.
#[tokio::test]
async fn ended_turns_of_a_memory_store_are_removed_by_policy() {
    let store = Arc::new(haft::stores::MemoryStore::new().max_ended_turns(5));
    let agent = builder(calling(1), 1).tool(log_tool("log")).store(Arc::clone(&store) as _);
    let agent = agent.build().unwrap();
    for turn in 0..50 {
        run(agent.turn([]).system("You help.").id(format!("turn-{turn}"))).await;
        assert!(store.len() <= 5);
    }
    assert!(store.load("turn-49".parse().unwrap()).await.unwrap().is_some());
    assert!(store.load("turn-44".parse().unwrap()).await.unwrap().is_none());
}

#[cfg(all(feature = "http", feature = "formats"))]
mod requests {
    use haft::artifacts::tokens::{Estimators, TokenCount};
    use haft::providers::Options;

    use super::*;
    use crate::providers::Scripted;
    use crate::providers::provider::{calls, ends, provider, says, stream};

    /// Counts how many bytes are given to the counter of tokens.
    fn counting(counted: &Arc<AtomicUsize>) -> Estimators {
        let counted = Arc::clone(counted);
        let mut estimators = Estimators::default();
        let estimator = move |text: &str| {
            counted.fetch_add(text.len(), Ordering::SeqCst);
            Ok(TokenCount::exact(text.len() as u64 / 4))
        };
        estimators.register("counted", estimator).unwrap();
        estimators
    }

    fn window(tokens: u64) -> Options {
        let window =
            json!({"contextWindow": tokens, "tokenEncoding": "counted", "contextShedding": true});
        Options::from(window)
    }

    fn history(agent: &Agent, exchanges: usize) -> Turn {
        let mut input = agent.turn([]).system("You help.");
        for n in 0..exchanges {
            let asked = format!("Question {n}: is there anything wrong in the log of this day?");
            let asked = Message::user_at(format!("q-{n}"), asked, Timestamp::EPOCH).unwrap();
            let said = format!("Answer {n}: the log has a hundred lines, and nothing is wrong.");
            let said = Message::assistant_at(format!("a-{n}"), said, Timestamp::EPOCH).unwrap();
            input = input.message(asked).message(said);
        }
        input.message(Message::user_at("last", "And now?", Timestamp::EPOCH).unwrap())
    }

    /// Every text of a request is counted once, however much has to be left out.
    #[tokio::test]
    async fn a_request_is_made_to_fit_by_counting_each_text_once() {
        let sizes = [100, 800];
        let (mut shed, mut whole) = ([0; 2], [0; 2]);
        for at in [0, 1] {
            for (tokens, bytes) in [(2000, &mut shed), (1_000_000, &mut whole)] {
                let (transport, counted) = (Scripted::new([says("Hi.")]), Arc::default());
                let model = provider(&transport).options(window(tokens));
                let model = model.estimators(counting(&counted)).build().unwrap();
                let agent = Agent::builder(model).build().unwrap();
                run(history(&agent, sizes[at])).await;
                bytes[at] = counted.load(Ordering::SeqCst);
            }
        }
        assert_linear("bytes that were counted", sizes, shed);
        assert!(shed[1] <= 2 * whole[1], "{} with a window, {} without", shed[1], whole[1]);
    }

    /// A later iteration counts only what is new.
    #[tokio::test]
    async fn iterations_count_only_what_is_new() {
        let counted = Arc::<AtomicUsize>::default();
        let replies = (0..20).map(|_| stream(&[calls("log", "{}"), ends("tool_calls")]));
        let transport = Scripted::new(replies.chain([says("Hi.")]));
        let model = provider(&transport).options(window(1_000_000));
        let model = model.estimators(counting(&counted)).build().unwrap();
        let after_first = Arc::<AtomicUsize>::default();
        let (seen, first) = (Arc::clone(&counted), Arc::clone(&after_first));
        let small = Tool::builder("log").description("Says little.").effect(ToolEffect::ReadOnly);
        let small = small.handler(move || {
            // At the first call one request was counted.
            let _ = first.compare_exchange(
                0,
                seen.load(Ordering::SeqCst),
                Ordering::SeqCst,
                Ordering::SeqCst,
            );
            "nothing"
        });
        let limits = Limits::new().iterations(50).identical_calls(50);
        let agent = Agent::builder(model).tool(small.build().unwrap()).limits(limits);
        run(history(&agent.build().unwrap(), 200)).await;
        let (first, all) = (after_first.load(Ordering::SeqCst), counted.load(Ordering::SeqCst));
        assert!(first > 0 && all < first * 3 / 2, "{first} bytes first, {all} after 21 requests");
    }

    /// Runs a turn with a long history that calls a tool in each of 20 iterations: how many parts each request rendered, and
    /// the bodies of the requests.
    async fn rendered_requests(history_length: usize, cache: u64) -> (Vec<usize>, Vec<Vec<u8>>) {
        let rendered = Arc::<Mutex<Vec<usize>>>::default();
        let seen = Arc::clone(&rendered);
        // Every third result is an artifact that is shown as a handle.
        let replies = (0..20).map(|n| {
            let name = if n % 3 == 0 { "log" } else { "small" };
            stream(&[calls(name, &format!("{{\"n\":{n}}}")), ends("tool_calls")])
        });
        let transport = Scripted::new(replies.chain([says("Hi.")]));
        let model = provider(&transport).envelope_secret([7; 32]).render_cache_bytes(cache);
        let model = model.on_prompt(move |it| seen.lock().unwrap().push(it.rendered_parts));
        let tool = |name: &str, text: &'static str, times: usize| {
            let tool = Tool::builder(name).description("Reads.").effect(ToolEffect::ReadOnly);
            tool.handler(move |it: Number| format!("{}: {}", it.n, text.repeat(times)))
                .build()
                .unwrap()
        };
        let tools =
            [tool("log", "a line in which nothing happens\n", 500), tool("small", "fine", 1)];
        let agent = builder(model.build().unwrap(), 30).tools(tools).build().unwrap();
        run(history(&agent, history_length).id("turn-1")).await;
        let bodies = transport.asked().iter().map(|it| it.body().to_vec()).collect();
        (rendered.lock().unwrap().clone(), bodies)
    }

    #[derive(haft::ToolArgs)]
    struct Number {
        /// Makes the call another one.
        n: u32,
    }

    /// A later iteration renders only what is new, and sends the same bytes as if it had rendered everything.
    #[tokio::test]
    async fn iterations_render_only_what_is_new() {
        let (rendered, bodies) = rendered_requests(200, 64 << 20).await;
        assert_eq!(rendered.len(), 21);
        assert_eq!(rendered[0], 401, "the first request renders the history");
        // The first artifact adds tools that its handle and later ones name.
        assert!(rendered[1..].iter().all(|parts| *parts <= 2), "{rendered:?}");
        let (all, same) = rendered_requests(200, 0).await;
        assert_eq!(all[20], 421, "without a cache all is rendered: {all:?}");
        assert!(bodies == same, "the cache changes requests");
    }

    /// A cache that is too small costs rendering, and nothing else.
    #[tokio::test]
    async fn a_turn_beyond_the_cache_is_rendered_anew() {
        let (rendered, bodies) = rendered_requests(50, 2000).await;
        assert_eq!(rendered, rendered_requests(50, 0).await.0);
        assert!(bodies == rendered_requests(50, 64 << 20).await.1, "the cache changes requests");
    }
}
