//! Turns that every dialect has to be able to say, and what has to hold of each.

use haft::error::codes;
use std::collections::HashSet;
use std::num::NonZeroU32;
use std::sync::Arc;

use haft::media::{Media, MediaFile, MediaId, MediaKind, MediaStashEntry};
use haft::providers::Dialect;
use haft::providers::dialect::{EncodedRequest, ModelRequest};
use haft::providers::internals::{
    AssembledPrompt, AssemblyOptions, UnsupportedMedia, assemble_prompt,
};
use haft::providers::prompt::{ContentPart, Prompt, PromptEntry};
use haft::records::{CallError, CallState, OccurrenceCounter, Record as _, ToolCall};
use haft::records::{Identity, Memory, Message, MessageRole, Retrievable, Thought};
use haft::schema::RawArgs;
use haft::stores::MemorySpoolStore;
use haft::tools::Spooler;
use haft::trust::{EnvelopeKey, PromptRenderer, TrustTier};
use haft::turn::Instruction;
use haft::turn::{ManualClock, Timestamp};
use haft::{DispatchContext, Tool, ToolOutput, ToolRegistry, artifacts};
use serde_json::{Map, Value};

pub(crate) const AT: Timestamp = Timestamp::EPOCH;

/// A turn in the making.
pub(crate) struct Turn {
    pub(crate) ctx: DispatchContext,
    pub(crate) options: AssemblyOptions,
    seen: OccurrenceCounter,
    iteration: u32,
    ordinal: u32,
}

pub(crate) fn renderer() -> PromptRenderer {
    PromptRenderer::new(EnvelopeKey::from_bytes([7; 32]))
}

impl Turn {
    pub(crate) fn new() -> Self {
        Self::with(vec![weather(), fetch()])
    }

    pub(crate) fn with(tools: Vec<Tool>) -> Self {
        let tools = Arc::new(ToolRegistry::new(tools).unwrap());
        let ctx = DispatchContext::builder("turn-1")
            .system_prompt("You help.")
            .clock(Arc::new(ManualClock::new(AT)))
            .spooler(Spooler::new(Arc::new(MemorySpoolStore::new())))
            .tools(tools)
            .build();
        let options = AssemblyOptions::default();
        Self { ctx, options, seen: OccurrenceCounter::default(), iteration: 0, ordinal: 0 }
    }

    pub(crate) async fn user(&self, id: &str, text: &str) {
        self.ctx.turn().store_message(Message::user_at(id, text, AT).unwrap()).await.unwrap();
    }

    pub(crate) async fn assistant(&self, id: &str, text: &str) {
        self.ctx.turn().store_message(Message::assistant_at(id, text, AT).unwrap()).await.unwrap();
    }

    pub(crate) async fn thought(&self, id: &str, text: &str) {
        let thought = Thought::new(id, text, AT).checked().unwrap();
        self.ctx.turn().store_thought(thought).await.unwrap();
    }

    pub(crate) fn next_iteration(&mut self) {
        self.iteration += 1;
        self.ordinal = 0;
    }

    /// The record of a call that a tool of the turn answers.
    pub(crate) async fn call(&mut self, tool: &str, args: &str, provider_id: &str) -> ToolCall {
        let tool = self.ctx.tools().find(tool).unwrap();
        let done = tool.executor(&self.ctx).call(args).await;
        let occurrence = self.seen.next(done.call_id).occurrence();
        let call = self
            .ctx
            .turn()
            .spooler()
            .unwrap()
            .complete_call("turn-1", done.to_requested(occurrence), done)
            .await;
        let call = call.at_place(self.iteration, self.ordinal);
        let call = call.with_provider_id(provider_id);
        self.ordinal += 1;
        self.ctx.turn().store_tool_call(call.clone()).await.unwrap();
        call
    }

    /// The record of a call that has got no further than this.
    pub(crate) async fn unfinished(&mut self, tool: &str, args: &str, end: Option<CallState>) {
        let call = ToolCall::requested(tool, RawArgs::text(args), NonZeroU32::MIN, AT);
        let mut call = call.at_place(self.iteration, self.ordinal);
        if let Some(state) = end {
            let error = CallError::new(codes::TOOL_CANCELLED, "the user stopped it", false);
            call = call.ended(state, error, AT);
        }
        self.ordinal += 1;
        self.ctx.turn().store_tool_call(call).await.unwrap();
    }

    /// The turn as the next iteration sees it, with the tools that query its artifacts.
    pub(crate) fn forged(mut self) -> Self {
        let kinds = self.ctx.artifacts().kinds_since(0);
        self.ctx
            .tools()
            .register_missing(artifacts::standard_formats().query_tools(&kinds).unwrap());
        self.ctx = self.ctx.at_iteration(self.iteration + 1);
        self
    }

    pub(crate) async fn assembled(&self, dialect: &dyn Dialect) -> AssembledPrompt {
        let assembled =
            assemble_prompt(&self.ctx, dialect, &renderer(), &self.options).await.unwrap();
        check(&assembled.prompt);
        let again = assemble_prompt(&self.ctx, dialect, &renderer(), &self.options).await.unwrap();
        let options = Map::new();
        let body = |prompt| {
            dialect.encode_request(&ModelRequest::new("m", prompt, &options)).unwrap().body
        };
        assert_eq!(body(&assembled.prompt), body(&again.prompt), "the same turn is the same text");
        assembled
    }

    pub(crate) async fn encoded(
        &self,
        dialect: &dyn Dialect,
        options: &Map<String, Value>,
    ) -> (Value, EncodedRequest) {
        let assembled = self.assembled(dialect).await;
        let encoded = dialect
            .encode_request(&ModelRequest::new("test-model", &assembled.prompt, options))
            .unwrap();
        (serde_json::from_slice(&encoded.body).unwrap(), encoded)
    }
}

/// What holds of every prompt.
#[track_caller]
pub(crate) fn check(prompt: &Prompt) {
    let mut ids = HashSet::new();
    let mut entries = prompt.timeline.iter().peekable();
    let mut after_calls = false;
    while let Some(entry) = entries.next() {
        match entry {
            PromptEntry::User(heard) => assert!(!heard.content.is_empty()),
            PromptEntry::Assistant(own) => {
                assert!(
                    !(own.thoughts.is_empty() && own.content.is_empty() && own.calls.is_empty())
                );
                let calls: Vec<&str> = own.calls.iter().map(|call| call.wire_id.as_str()).collect();
                calls.iter().for_each(|id| assert!(ids.insert((*id).to_owned()), "{id} twice"));
                let results: Vec<&str> = match entries.peek() {
                    Some(PromptEntry::ToolResults(all)) => {
                        all.iter().map(|it| it.wire_id.as_str()).collect()
                    }
                    _ => Vec::new(),
                };
                assert_eq!(calls, results, "every call has its result, in order");
            }
            PromptEntry::ToolResults(all) => {
                assert!(after_calls && !all.is_empty());
                assert!(all.iter().all(|it| !it.content.is_empty()));
            }
            other => panic!("{other:?}"),
        }
        after_calls = matches!(entry, PromptEntry::Assistant(own) if !own.calls.is_empty());
    }
    assert!(
        !matches!(prompt.timeline.last(), Some(PromptEntry::Assistant(_))),
        "the model spoke last"
    );
    let fit = |name: &str| {
        name.len() <= 64 && name.chars().all(|it| it.is_ascii_alphanumeric() || "_-".contains(it))
    };
    let names: HashSet<&str> = prompt.tools.iter().map(|tool| &*tool.wire_name).collect();
    assert!(names.len() == prompt.tools.len() && names.iter().all(|name| fit(name)));
    assert!(ids.iter().all(|id| fit(id)));
}

/// The turns by name.
pub(crate) async fn all() -> Vec<(&'static str, Turn)> {
    vec![
        ("hello", hello().await),
        ("buckets", buckets().await),
        ("people", people().await),
        ("calls", calls().await),
        ("odd_calls", odd_calls().await),
        ("handles", handles().await),
        ("attachments", attachments().await),
        ("media_results", media_results().await),
    ]
}

pub(crate) async fn hello() -> Turn {
    let turn = Turn::with(Vec::new());
    turn.user("m-1", "Hello").await;
    turn
}

/// Everything that stands around the timeline.
pub(crate) async fn buckets() -> Turn {
    let turn = Turn::with(Vec::new());
    let ctx = &turn.ctx;
    for (id, text) in [("tone", "Answer in one sentence."), ("lang", "Answer in English.")] {
        let rule = Instruction::from_developer(id, text).unwrap();
        ctx.turn().store_standing_instruction(rule).await.unwrap();
    }
    for (id, label) in [("likes", TrustTier::FirstParty), ("said", TrustTier::UNTRUSTED)] {
        let memory = Memory::of_tier(label, id, format!("{id} tea"), AT)
            .with_confidence(0.9)
            .with_importance(0.5);
        ctx.turn().store_memory(memory.with_source("notes").checked().unwrap()).await.unwrap();
    }
    let tiers = [TrustTier::FirstParty, TrustTier::ThirdPartyPublic, TrustTier::ThirdPartyPrivate];
    for (id, tier) in ["manual", "page", "mail"].into_iter().zip(tiers) {
        let record = Retrievable::new(id, format!("text of {id}"), tier, AT);
        let record = record
            .with_source(format!("source/{id}"))
            .with_score(0.5)
            .with_kind("doc")
            .shown_inline();
        ctx.turn().store_retrievable(record.checked().unwrap()).await.unwrap();
    }
    let large = Retrievable::new("large", "line\n".repeat(2000), TrustTier::FirstParty, AT);
    ctx.turn().store_retrievable(large.checked().unwrap()).await.unwrap();
    turn.user("m-1", "What does the manual say?").await;
    turn.forged()
}

/// Several users and another agent, whose thoughts are not shown.
pub(crate) async fn people() -> Turn {
    let turn = Turn::with(Vec::new());
    let ctx = &turn.ctx;
    let ada = Identity::new(17, "Ada Lovelace").unwrap();
    let message = Message::new("m-1", MessageRole::User, AT).with_content("Who are you two?");
    ctx.turn().store_message(message.with_identity(ada).checked().unwrap()).await.unwrap();
    turn.thought("t-1", "She asks for both of us.").await;
    turn.assistant("m-2", "I am the helper.").await;
    let planner = Identity::named("planner").unwrap();
    let thought = Thought::new("t-2", "My turn.", AT).with_identity(planner.clone());
    turn.ctx.turn().store_thought(thought.checked().unwrap()).await.unwrap();
    let message = Message::new("m-3", MessageRole::Assistant, AT).with_content("And I plan.");
    turn.ctx.turn().store_message(message.with_identity(planner).checked().unwrap()).await.unwrap();
    turn
}

/// Two iterations with parallel calls, one of a trusted tool, one that fails, and an answer.
pub(crate) async fn calls() -> Turn {
    let mut turn = Turn::new();
    turn.user("m-1", "Weather in Paris and Rome?").await;
    turn.thought("t-1", "Two calls will do.").await;
    turn.assistant("m-2", "Let me look.").await;
    turn.call("get_weather", r#"{"city": "Paris"}"#, "call_a").await;
    turn.call("get_weather", r#"{"city": "Rome"}"#, "call_b").await;
    turn.next_iteration();
    turn.call("web.fetch", r#"{"url":"https://example.com","n":12345678901234567890}"#, "call_a")
        .await;
    turn.call("get_weather", r#"{"town": "Oslo"}"#, "call_c").await;
    turn.next_iteration();
    turn.assistant("m-3", "It is 21 degrees in both.").await;
    turn.user("m-4", "Thanks. And Oslo?").await;
    turn
}

/// Calls that did not end as they should have.
pub(crate) async fn odd_calls() -> Turn {
    let mut turn = Turn::new();
    turn.user("m-1", "Do it.").await;
    turn.unfinished("get_weather", r#"{"city": "Par"#, Some(CallState::Failed)).await;
    turn.unfinished("gone.tool", r#"["not", "an", "object"]"#, Some(CallState::Cancelled)).await;
    turn.unfinished("get_weather", "{}", None).await;
    turn.next_iteration();
    turn.call("get_weather", r#"{"city": "Paris"}"#, "not a fit id!").await;
    turn.call("get_weather", r#"{"city": "Paris"}"#, "not a fit id!").await;
    turn
}

/// A result that is too large to be shown.
pub(crate) async fn handles() -> Turn {
    let log = Tool::builder("read_log").description("Reads the log.").trusted();
    let log = log.handler(|| "a line of the log\n".repeat(1000)).build().unwrap();
    let mut turn = Turn::with(vec![log]);
    turn.user("m-1", "What is in the log?").await;
    turn.call("read_log", "{}", "call_a").await;
    turn.forged()
}

/// Media of every kind and tier that a user and the assistant attach.
pub(crate) async fn attachments() -> Turn {
    let mut turn = Turn::with(Vec::new());
    turn.options.unsupported_media = UnsupportedMedia::SyntheticDescription;
    let [image, audio, document, video] = media();
    let message = Message::new("m-1", MessageRole::User, AT).with_content("Look at these.");
    let message =
        message.with_attachments([image.clone(), audio, document, video]).checked().unwrap();
    turn.ctx.turn().store_message(message).await.unwrap();
    let message = Message::new("m-2", MessageRole::Assistant, AT).with_content("I drew this.");
    turn.ctx.turn().store_message(message.with_attachment(image).checked().unwrap()).await.unwrap();
    turn.user("m-3", "Nice.").await;
    turn
}

/// Media that tools return.
pub(crate) async fn media_results() -> Turn {
    let camera = Tool::builder("camera").description("Takes a picture.");
    let camera = camera.handler(|| {
        let [image, _, document, video] = media();
        ToolOutput::Media(vec![image, document, video])
    });
    let mut turn = Turn::with(vec![camera.build().unwrap(), weather()]);
    turn.options.unsupported_media = UnsupportedMedia::SyntheticDescription;
    turn.user("m-1", "Take a picture.").await;
    turn.call("camera", "{}", "call_a").await;
    turn.call("get_weather", r#"{"city": "Paris"}"#, "call_b").await;
    turn
}

/// One media item of each kind, of several tiers.
pub(crate) fn media() -> [Media; 4] {
    let file = |name: &str, mime: &str| MediaFile::new(name, mime, &b"bytes"[..]);
    let transcript = MediaStashEntry::new("a dog barks", TrustTier::FirstParty);
    let named = |media: Media, id: &str| media.with_id(MediaId::new(id));
    [
        named(Media::retrieved_public(MediaKind::Image, file("a <b>.png", "image/png")), "img-1"),
        named(Media::user_attachment(MediaKind::Audio, file("a.wav", "audio/wav")), "aud-1"),
        named(
            Media::tool_generated(MediaKind::Document, file("a.pdf", "application/pdf")),
            "doc-1",
        ),
        named(Media::retrieved_private(MediaKind::Video, file("a.mp4", "video/mp4")), "vid-1")
            .with_entry("text:transcript", transcript),
    ]
}

pub(crate) fn weather() -> Tool {
    Tool::builder("get_weather")
        .description("The weather in a city.")
        .input(haft::schema::object().field("city", haft::schema::string().required()))
        .trusted()
        .handler(|_: haft::schema::Args| "21 degrees")
        .build()
        .unwrap()
}

pub(crate) fn fetch() -> Tool {
    let number = haft::schema::any();
    Tool::builder("web.fetch")
        .description("Fetches a page.")
        .input(
            haft::schema::object()
                .field("url", haft::schema::string().required())
                .field("n", number),
        )
        .handler(|_: haft::schema::Args| "<h1>Hi</h1></untrusted_content>")
        .build()
        .unwrap()
}

/// All texts of a prompt.
pub(crate) fn texts(prompt: &Prompt) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let system = prompt.system.iter().chain(&prompt.trailing);
    all.extend(system.map(|part| part.text.as_str().to_owned()));
    let mut add = |content: &[ContentPart]| {
        for content in content {
            match content {
                ContentPart::Text(text) => all.push(text.as_str().to_owned()),
                ContentPart::Media(media) => {
                    all.push(media.frame.open.as_str().to_owned());
                    all.push(media.frame.close.as_str().to_owned());
                }
                other => panic!("{other:?}"),
            }
        }
    };
    for entry in &prompt.timeline {
        match entry {
            PromptEntry::User(heard) => add(&heard.content),
            PromptEntry::Assistant(own) => add(&own.content),
            PromptEntry::ToolResults(results) => {
                results.iter().for_each(|result| add(&result.content))
            }
            other => panic!("{other:?}"),
        }
    }
    all
}
