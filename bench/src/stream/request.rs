//! A large request: 1 000 records of every kind, put into a prompt and written.

use std::num::NonZeroU32;
use std::sync::Arc;

use haft::providers::Dialect as _;
use haft::providers::dialect::ModelRequest;
use haft::providers::dialects::chat_completions::ChatCompletions;
use haft::providers::internals::{AssemblyOptions, RenderCache, assemble_prompt};
use haft::records::{Memory, Message, Record as _, Retrievable, Thought};
use haft::stores::MemorySpoolStore;
use haft::tools::Spooler;
use haft::tools::ToolEffect;
use haft::trust::{EnvelopeKey, PromptRenderer, TrustTier};
use haft::turn::{ManualClock, Timestamp};
use haft::{DispatchContext, Tool, ToolArgs, ToolFailure, ToolRegistry};
use serde_json::{Map, Value};

use crate::dispatch::now;
use crate::measure::{self, Plan, UNIT, Variant};
use crate::report::{FLOOR, OURS, Row};

/// Ours is the assembly with its envelopes, and the encoding; the floor writes the same request from a tree that is
/// there already.
pub(crate) fn measure(plan: Plan) -> Result<Row, String> {
    crate::note("a request of 1000 records");
    let runtime = super::current_thread()?;
    let ctx = Arc::new(runtime.block_on(records())?);
    let body = write(&ctx, &RenderCache::default())?;
    let tree: Value = serde_json::from_slice(&body).map_err(|error| error.to_string())?;
    let expected = body.len().to_string();
    let show = |body: Result<Vec<u8>, String>| body.map_or_else(|it| it, |it| it.len().to_string());
    let variants = vec![
        Variant::new(FLOOR, move || serde_json::to_vec(&tree).map_err(|it| it.to_string()), show),
        // The first of its turn, which fills the cache of its provider.
        {
            let ctx = Arc::clone(&ctx);
            Variant::new(OURS, move || write(&ctx, &RenderCache::new(CACHE_BYTES)), show)
        },
        // All its records were rendered for an earlier request.
        {
            let cache = RenderCache::new(CACHE_BYTES);
            Variant::new("haft, later in the turn", move || write(&ctx, &cache), show)
        },
    ];
    let figures = measure::compare(&expected, variants, plan)?;
    let name = format!("stream/request of 1000 records, {expected} bytes");
    Ok(Row { name, unit: UNIT, entries: figures.iter().map(Into::into).collect() })
}

/// More than all records need.
const CACHE_BYTES: u64 = 64 << 20;

/// Assembles and encodes.
fn write(ctx: &DispatchContext, cache: &RenderCache) -> Result<Vec<u8>, String> {
    let (dialect, mut options) = (ChatCompletions::new(), AssemblyOptions::default());
    options.render_cache = cache.clone();
    let renderer = PromptRenderer::new(EnvelopeKey::from_bytes([7; 32]));
    let assembled = now(assemble_prompt(ctx, &dialect, &renderer, &options))?;
    let assembled = assembled.map_err(|it| it.to_string())?;
    let wire = Map::new();
    let encoded = dialect.encode_request(&ModelRequest::new("m", &assembled.prompt, &wire));
    Ok(encoded.map_err(|error| error.to_string())?.body.into())
}

#[derive(ToolArgs)]
struct Question {
    /// What is looked for.
    text: String,
}

/// 300 messages, 250 calls with a result each, 150 thoughts, 150 memories and 150 retrieved texts.
async fn records() -> Result<DispatchContext, String> {
    fn text(error: impl std::fmt::Display) -> String {
        error.to_string()
    }
    let tool =
        Tool::builder("look_up").description("Looks something up.").effect(ToolEffect::ReadOnly);
    let tool = tool.handler(async |it: Question| Ok::<_, ToolFailure>(it.text + LOREM));
    let tools = ToolRegistry::new([tool.build().map_err(text)?]).map_err(text)?;
    let ctx = DispatchContext::builder("turn-1")
        .system_prompt("You help.")
        .clock(Arc::new(ManualClock::new(AT)))
        .spooler(Spooler::new(Arc::new(MemorySpoolStore::new())))
        .tools(Arc::new(tools))
        .build();
    for n in 0..150 {
        let memory = Memory::new(format!("memory-{n}"), LOREM, AT).with_confidence(0.9);
        let memory = memory.with_importance(0.5).checked().map_err(text)?;
        ctx.turn().store_memory(memory).await.map_err(text)?;
        let found = Retrievable::new(format!("found-{n}"), LOREM, TrustTier::ThirdPartyPublic, AT);
        ctx.turn().store_retrievable(found.checked().map_err(text)?).await.map_err(text)?;
    }
    let spooler = ctx.turn().spooler().ok_or("there is no spooler")?;
    for n in 0..150u32 {
        let asks = Message::user_at(format!("user-{n}"), LOREM, AT).map_err(text)?;
        ctx.turn().store_message(asks).await.map_err(text)?;
        let thought = Thought::new(format!("thought-{n}"), LOREM, AT);
        ctx.turn().store_thought(thought.checked().map_err(text)?).await.map_err(text)?;
        for ordinal in 0..if n < 100 { 2 } else { 1 } {
            let tool = ctx.tools().find("look_up").map_err(text)?;
            let args = format!(r#"{{"text": "question {n} of {ordinal}"}}"#);
            let done = tool.executor(&ctx).call(args.as_str()).await;
            let call =
                spooler.complete_call("turn-1", done.to_requested(NonZeroU32::MIN), done).await;
            ctx.turn().store_tool_call(call.at_place(n, ordinal)).await.map_err(text)?;
        }
        let answers = Message::assistant_at(format!("own-{n}"), LOREM, AT).map_err(text)?;
        ctx.turn().store_message(answers).await.map_err(text)?;
    }
    Ok(ctx)
}

const AT: Timestamp = Timestamp::EPOCH;

const LOREM: &str = "The handle of a tool is called its haft. It is made of wood, of horn or of bone, and it is \
    what the hand knows of the blade. \"Hold it well,\" says the smith, \"and it cuts what you mean.\"\nSo do we.";
