//! Media have names: given when a call is recorded, and understood as arguments.

use std::num::NonZeroU32;

use crate::call::{RecordId, ToolCall, ToolResults};
use crate::clock::{Clock as _, ManualClock, Timestamp};
use crate::context::DispatchContext;
use crate::error::Coded as _;
use crate::media::{Media, MediaFile, MediaId, MediaKind};
use crate::record::{Message, MessageRole, Record as _};
use crate::schema::args::RawArgs;

fn image(bytes: &'static str) -> Media {
    Media::tool_generated(MediaKind::Image, MediaFile::new("chart.png", "image/png", bytes))
}

/// A call as an earlier version stored it: its media have no names.
fn call(n: u32, media: Vec<Media>) -> ToolCall {
    let occurrence = NonZeroU32::new(n).unwrap();
    let mut call = ToolCall::requested("draw", RawArgs::text("{}"), occurrence, Timestamp::EPOCH)
        .in_state(
            crate::call::CallState::Succeeded,
            crate::trust::TrustTier::UNTRUSTED,
            ManualClock::new(Timestamp::EPOCH).now(),
        );
    call.results = Some(ToolResults::Media(media));
    call
}

async fn bytes(ctx: &DispatchContext, id: &str) -> String {
    let media = ctx.media(id).unwrap();
    String::from_utf8(media.bytes(100).await.unwrap().to_vec()).unwrap()
}

fn ids(ctx: &DispatchContext, record: RecordId) -> Vec<String> {
    let call = ctx.turn().tool_calls().get(&record).unwrap();
    let Some(ToolResults::Media(media)) = &call.results else { panic!("{call:?}") };
    media.iter().map(|media| media.id().unwrap().to_string()).collect()
}

#[tokio::test]
async fn media_of_a_stored_call_have_names_that_resolve() {
    let ctx = DispatchContext::builder("turn-1").build();
    let (first, second) = (call(1, vec![image("a"), image("b")]), call(2, vec![image("c")]));
    let (one, two) = (first.id(), second.id());
    ctx.turn().store_tool_call(first).await.unwrap();
    ctx.turn().store_tool_call(second).await.unwrap();
    assert_eq!(ids(&ctx, one), [format!("{one}/media/0"), format!("{one}/media/1")]);
    assert_eq!(bytes(&ctx, &format!("{one}/media/1")).await, "b");

    let handle = ctx.artifacts().handle(two);
    let shown = ctx.turn().shown_media_id(&ctx.media(&format!("{two}/media/0")).unwrap());
    assert_eq!(shown, Some(format!("{handle}/media/0")));
    assert_eq!(bytes(&ctx, &shown.unwrap()).await, "c");

    let unknown = ctx.media("chart.png").unwrap_err();
    assert_eq!(unknown.code(), "E_UNKNOWN_MEDIA");
    let first = ctx.artifacts().handle(one);
    let expected = format!(
        "there is no medium `chart.png` in this turn; the newest are: `{handle}/media/0`, \
         `{first}/media/0`, `{first}/media/1`"
    );
    assert_eq!(unknown.to_string(), expected);
    for wrong in ["/media/0", &format!("{one}/media/2"), &format!("{one}/media/00"), ""] {
        assert!(ctx.media(wrong).is_err(), "{wrong}");
    }
}

#[tokio::test]
async fn a_name_that_is_taken_means_the_older_medium() {
    let ctx = DispatchContext::builder("turn-1").build();
    let honest = call(1, vec![image("honest")]);
    let id = MediaId::of_call(honest.id(), 0);
    ctx.turn().store_tool_call(honest).await.unwrap();
    let copy = call(2, vec![image("forged").with_id(id.clone())]);
    ctx.turn().store_tool_call(copy).await.unwrap();
    assert_eq!(bytes(&ctx, id.as_str()).await, "honest");
}

#[tokio::test]
async fn attachments_are_named_after_their_message() {
    let ctx = DispatchContext::builder("turn-1").build();
    let named = image("b").with_id(MediaId::new("logo"));
    let message = Message::new("m-1", MessageRole::User, Timestamp::EPOCH)
        .with_attachment(image("a"))
        .with_attachment(named);
    ctx.turn().store_message(message.checked().unwrap()).await.unwrap();
    assert_eq!(bytes(&ctx, "m-1/media/0").await, "a");
    assert_eq!(bytes(&ctx, "logo").await, "b");
    assert!(ctx.media("m-1/media/1").is_err());
}

#[tokio::test]
async fn a_record_without_names_is_restored_with_them() {
    let old = call(1, vec![image("a")]);
    let id = MediaId::of_call(old.id(), 0);
    let ctx = DispatchContext::builder("turn-1").build();
    ctx.turn().restore_tool_call(old).unwrap();
    assert_eq!(bytes(&ctx, id.as_str()).await, "a");
}
