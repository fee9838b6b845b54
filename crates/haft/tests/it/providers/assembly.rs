//! What goes into a prompt, and where.

use haft::error::codes;

use haft::error::Coded as _;
use haft::media::MediaKind;
use haft::providers::dialects::chat_completions::ChatCompletions;
use haft::providers::internals::{AssembleError, UnsupportedMedia, assemble_prompt};
use haft::providers::prompt::{AssistantThought, ContentPart, PromptEntry, PromptSection};
use haft::records::{Record as _, Thought};
use haft::schema::{integer, object};
use haft::trust::CONTENT_NOTICE;
use haft::turn::AgentBuilder;
use haft::{Agent, Args, DispatchContext};
use serde_json::json;

use super::Scripted;
use super::provider::{calls, ends, provider, says, stream};
use super::transcripts::{self, AT, Turn, renderer, texts};

fn dialect() -> ChatCompletions {
    ChatCompletions::new()
}

#[tokio::test]
async fn buckets_stand_before_the_timeline() {
    use PromptSection::{Memories, Retrievables, StandingInstructions, SystemPrompt};
    let prompt = transcripts::buckets().await.assembled(&dialect()).await.prompt;
    let sections: Vec<PromptSection> = prompt.system.iter().map(|part| part.section).collect();
    assert_eq!(sections, [SystemPrompt, StandingInstructions, Memories, Retrievables]);
    assert!(prompt.trailing.is_empty());
    assert_eq!(prompt.timeline.len(), 1);
}

#[tokio::test]
async fn nothing_at_all_is_a_prompt_too() {
    let ctx = DispatchContext::builder("empty").build();
    let assembled =
        assemble_prompt(&ctx, &dialect(), &renderer(), &Default::default()).await.unwrap();
    assert!(assembled.prompt.system.is_empty() && assembled.prompt.timeline.is_empty());
    assert!(assembled.notes.is_empty());
}

#[tokio::test]
async fn one_generation_is_one_entry() {
    let prompt = transcripts::calls().await.assembled(&dialect()).await.prompt;
    let shape = prompt.timeline.iter().map(|entry| match entry {
        PromptEntry::User(_) => "heard".to_owned(),
        PromptEntry::Assistant(own) => {
            format!("own {}/{}/{}", own.thoughts.len(), own.content.len(), own.calls.len())
        }
        PromptEntry::ToolResults(all) => format!("results {}", all.len()),
        other => panic!("{other:?}"),
    });
    let shape: Vec<String> = shape.collect();
    assert_eq!(
        shape,
        ["heard", "own 1/1/2", "results 2", "own 0/0/2", "results 2", "own 0/1/0", "heard"]
    );
}

#[tokio::test]
async fn a_turn_in_which_the_model_spoke_last_is_told_to_go_on() {
    let turn = Turn::new();
    turn.user("m-1", "Hi").await;
    turn.assistant("m-2", "Hello").await;
    let assembled = turn.assembled(&dialect()).await;
    assert!(matches!(assembled.prompt.timeline.last(), Some(PromptEntry::User(_))));
    let topics: Vec<&str> = assembled.notes.iter().map(|note| note.topic.as_str()).collect();
    assert_eq!(topics, ["timeline-ended-on-own"]);
}

#[tokio::test]
async fn thoughts_are_filtered_by_whose_they_are_and_by_their_tag() {
    async fn shown() -> Vec<String> {
        let turn = Turn::new();
        let planner = haft::records::Identity::named("planner").unwrap();
        let thought = |id: &str| Thought::new(id, id, AT);
        for thought in [
            thought("plain").with_replay_compatibility("plain-text"),
            thought("peer").with_identity(planner),
            thought("untagged"),
            thought("tagged").with_replay_compatibility("vendor/1"),
            thought("sealed").with_payload(json!({ "x": 1 })).with_replay_compatibility("vendor/2"),
        ] {
            turn.ctx.turn().store_thought(thought.checked().unwrap()).await.unwrap();
        }
        turn.user("m-1", "Hi").await;
        let prompt = turn.assembled(&dialect()).await.prompt;
        let mut all = Vec::new();
        for entry in &prompt.timeline {
            match entry {
                PromptEntry::Assistant(own) => all.extend(own.thoughts.iter().map(|it| match it {
                    AssistantThought::Text(text) => {
                        text.as_str().lines().nth(1).unwrap().to_owned()
                    }
                    other => panic!("{other:?}"),
                })),
                PromptEntry::User(heard) if heard.name.is_some() => match &heard.content[..] {
                    [ContentPart::Text(text)] => {
                        all.push(text.as_str().lines().nth(2).unwrap().to_owned());
                    }
                    other => panic!("{other:?}"),
                },
                _ => {}
            }
        }
        all
    }
    assert_eq!(shown().await, ["plain", "untagged"]);
}

#[tokio::test]
async fn media_that_cannot_be_shown_follow_the_policy() {
    let mut turn = transcripts::media_results().await;
    turn.options.unsupported_media = UnsupportedMedia::Throw;
    let error =
        assemble_prompt(&turn.ctx, &dialect(), &renderer(), &turn.options).await.unwrap_err();
    assert_eq!(error.code(), codes::UNSUPPORTED_MEDIA_MODALITY);
    let AssembleError::UnsupportedMedia { kind, filename, .. } = error else { panic!("{error}") };
    assert_eq!((kind, filename.as_str()), (MediaKind::Video, "a.mp4"));

    let with = |policy| async move {
        let mut turn = transcripts::media_results().await;
        turn.options.unsupported_media = policy;
        let assembled = turn.assembled(&dialect()).await;
        let notes: Vec<&str> = assembled.notes.iter().map(|note| note.topic.as_str()).collect();
        (texts(&assembled.prompt).join("\n"), notes)
    };
    let (shown, notes) = with(UnsupportedMedia::SyntheticDescription).await;
    assert!(shown.contains("a dog barks"));
    assert_eq!(notes, [""; 0]);
}

#[tokio::test]
async fn media_are_bounded() {
    let mut turn = transcripts::attachments().await;
    turn.options.media_bytes = 4;
    let error =
        assemble_prompt(&turn.ctx, &dialect(), &renderer(), &turn.options).await.unwrap_err();
    assert!(matches!(error, AssembleError::Media(_)), "{error}");
}

#[tokio::test]
async fn what_is_behind_a_handle_is_nowhere_in_the_prompt() {
    let secret = "the line that only a query shows\n";
    let log = haft::Tool::builder("read_log").description("Reads.").trusted();
    let log = log.handler(move || "the beginning\n".repeat(20) + &secret.repeat(1000));
    let mut turn = Turn::with(vec![log.build().unwrap()]);
    turn.user("m-1", "Read.").await;
    turn.call("read_log", "{}", "call_a").await;
    let turn = turn.forged();
    let shown = texts(&turn.assembled(&dialect()).await.prompt).join("\n");
    assert!(shown.contains("the beginning") && !shown.contains(secret.trim()));
    assert!(shown.contains("kind=\"artifact-handle\"") && shown.contains("artifact_read"));
    assert!(!shown.contains("<trusted_content"), "a handle is untrusted, whoever made it");
}

#[tokio::test]
async fn a_tool_that_is_registered_later_does_not_raise_what_was_said_before() {
    let mut turn = Turn::with(vec![transcripts::fetch()]);
    turn.user("m-1", "Fetch.").await;
    turn.call("web.fetch", r#"{"url": "x"}"#, "call_a").await;
    let trusted =
        haft::Tool::builder("web.fetch").description("Fetches.").trusted().handler(|| "x");
    turn.ctx.turn().tools().overwrite(trusted).unwrap();
    let shown = texts(&turn.assembled(&dialect()).await.prompt).join("\n");
    assert!(!shown.contains("<trusted_content"), "{shown}");
}

#[tokio::test]
async fn names_of_tools_go_out_and_come_back() {
    let turn = Turn::new();
    turn.user("m-1", "Hi").await;
    let assembled = turn.assembled(&dialect()).await;
    let names: Vec<(&str, &str)> = assembled
        .prompt
        .tools
        .iter()
        .map(|it| (it.tool.name().as_str(), assembled.names.tool_name(&it.wire_name)))
        .collect();
    assert_eq!(names, [("get_weather", "get_weather"), ("web.fetch", "web.fetch")]);
    turn.ctx.turn().tools().unregister("web.fetch");
    assert_eq!(turn.assembled(&dialect()).await.prompt.tools.len(), 1);
}

/// The bodies of two requests of an agent with a large result.
async fn bodies(set: impl FnOnce(AgentBuilder) -> AgentBuilder) -> Vec<String> {
    let answers = [stream(&[calls("read_log", "{}"), ends("tool_calls")]), says("Done.")];
    let transport = Scripted::new(answers);
    let log = haft::Tool::builder("read_log").description("Reads.");
    let log = log.handler(|| "how it begins\n".repeat(1000)).build().unwrap();
    let agent = Agent::builder(provider(&transport).build().unwrap()).tool(log);
    let agent = set(agent).build().unwrap();
    let report = agent.turn("Read.").system("You help.").report().await;
    assert_eq!(report.unwrap().text(), "Done.");
    let asked = transport.asked().into_iter();
    asked.map(|it| String::from_utf8(it.body().to_vec()).unwrap()).collect()
}

#[tokio::test]
async fn the_agent_says_what_envelopes_are_and_how_results_begin() {
    let all = bodies(|agent| agent).await;
    assert!(all[0].contains(CONTENT_NOTICE) && all[1].contains("how it begins"), "{}", all[1]);
    let own = bodies(|agent| agent.content_notice("Tags hold data.").preview_tokens(5)).await;
    assert!(own[0].contains(r"You help.\n\nTags hold data.") && !own[0].contains(CONTENT_NOTICE));
    assert_eq!(own[1].matches("how it begins").count(), 1, "{}", own[1]);
    let none = bodies(|agent| agent.content_notice("").preview_tokens(0)).await;
    assert!(none[0].contains(r#""You help.""#), "{}", none[0]);
    assert!(none[1].contains("14000 bytes") && !none[1].contains("how it begins"), "{}", none[1]);
}

/// Without tools there is nothing that could be taken for an instruction.
#[tokio::test]
async fn an_agent_without_tools_is_told_nothing_about_envelopes() {
    let transport = Scripted::new([says("Hi.")]);
    let agent = Agent::builder(provider(&transport).build().unwrap()).build().unwrap();
    agent.turn("Hi").system("You help.").await.unwrap();
    let body = transport.asked()[0].body().clone();
    assert!(!String::from_utf8_lossy(&body).contains(CONTENT_NOTICE));
}

/// What the handles of a step have in common is said by the first.
#[tokio::test]
async fn the_handles_of_a_step_say_once_how_to_query() {
    let log = haft::Tool::builder("read_log").description("Reads.");
    let log = log.input(object().field("n", integer())).handler(|_: Args| "line\n".repeat(1000));
    let mut turn = Turn::with(vec![log.build().unwrap()]);
    turn.user("m-1", "Read.").await;
    turn.call("read_log", r#"{"n":1}"#, "call_a").await;
    turn.call("read_log", r#"{"n":2}"#, "call_b").await;
    let turn = turn.forged();
    let shown = texts(&turn.assembled(&dialect()).await.prompt).join("\n");
    assert_eq!(shown.matches("callId: ").count(), 2, "{shown}");
    assert_eq!(shown.matches("Too large to show").count(), 1, "{shown}");
}
