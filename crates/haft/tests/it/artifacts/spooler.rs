use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use haft::artifacts::ArtifactKind;
use haft::artifacts::text::TextView;
use haft::error::Coded as _;
use haft::media::ReaderResolvers;
use haft::records::{CallState, Record as _, ToolCall, ToolResults};
use haft::stores::SpoolStore;
use haft::stores::{DirSpoolStore, MemorySpoolStore};
use haft::tools::ByteStream;
use haft::tools::{Spooler, ToolEffect};
use haft::{Json, Tool, ToolFailure};

use super::{Turn, returns};

/// A stream of these chunks.
fn stream(chunks: Vec<Result<&'static str, &'static str>>) -> ByteStream {
    let mut chunks = chunks.into_iter();
    ByteStream::new(Chunks(Box::new(move || {
        chunks.next().map(|it| it.map(Into::into).map_err(ToolFailure::new))
    })))
}

struct Chunks(Box<dyn FnMut() -> Option<Result<bytes::Bytes, ToolFailure>> + Send>);

impl futures_core::Stream for Chunks {
    type Item = Result<bytes::Bytes, ToolFailure>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        std::task::Poll::Ready((self.0)())
    }
}

#[tokio::test]
async fn small_text_stays_in_the_record() {
    let mut turn = Turn::new();
    let call = turn.call(&returns("a", || "small"), "{}").await;
    assert_eq!(call.results, Some(ToolResults::Text("small".to_owned())));
    let call = turn.call(&returns("b", || stream(vec![Ok("so is "), Ok("this")])), "{}").await;
    assert_eq!(call.results, Some(ToolResults::Text("so is this".to_owned())));
    let call = turn.call(&returns("c", || Json([1, 2])), "{}").await;
    assert_eq!(call.results, Some(ToolResults::Text("[1,2]".to_owned())));
    assert!(turn.forged().is_empty());
}

#[tokio::test]
async fn large_text_bytes_and_streams_become_artifacts() {
    let mut turn = Turn::new();
    turn.spooler = turn.spooler.clone().inline_below(4);
    let kinds = [
        returns("a", || "line\n".repeat(2)),
        returns("b", || b"\xff\xfe".to_vec()),
        returns("c", || stream(vec![Ok("li"), Ok("ne\nline"), Ok("\n")])),
    ];
    let lengths = [10, 2, 10];
    for (tool, length) in kinds.iter().zip(lengths) {
        let call = turn.call(tool, "{}").await;
        let Some(ToolResults::Artifacts(all)) = call.results else { panic!("{call:?}") };
        assert_eq!(all.len(), 1);
        assert_eq!((all[0].reader().byte_length(), all[0].kind()), (length, &ArtifactKind::TEXT));
    }
    assert_eq!(turn.ctx.artifacts().all().len(), 3);
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_a_failed_call_and_leaves_nothing() {
    let store = Arc::new(MemorySpoolStore::new());
    let mut turn = Turn::new();
    turn.spooler = Spooler::new(Arc::clone(&store) as _).inline_below(2);
    let broken = || stream(vec![Ok("some text"), Err("the server hung up")]);
    let call = turn.call(&returns("fetch", broken), "{}").await;
    assert_eq!(call.state(), CallState::Failed);
    let error = call.error.unwrap();
    assert_eq!(error.message, "`fetch` failed after 9 bytes: the server hung up");
    assert!(store.list().await.unwrap().is_empty() && turn.forged().is_empty());
}

#[tokio::test]
async fn a_result_that_the_store_refuses_is_not_lost_silently() {
    let folder = tempfile::tempdir().unwrap();
    let mut turn = Turn::new();
    let store = DirSpoolStore::open(folder.path()).unwrap().max_bytes(8);
    turn.spooler = Spooler::new(Arc::new(store)).inline_below(4);
    let fetch = Tool::builder("fetch").description("Fetches.").effect(ToolEffect::ReadOnly);
    let fetch = fetch.handler(|| "much too long").build().unwrap();
    let call = turn.call(&fetch, "{}").await;
    assert_eq!(call.state(), CallState::Failed);
    assert!(call.error.unwrap().message.contains("larger than the limit of 8 bytes"));
}

#[tokio::test]
async fn an_artifact_is_found_again_by_its_record() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(DirSpoolStore::open(folder.path()).unwrap());
    let mut turn = Turn::new();
    turn.spooler = Spooler::new(Arc::clone(&store) as _).inline_below(4);
    let call = turn.call(&returns("fetch", || "one\ntwo\n"), "{}").await;
    let Some(ToolResults::Artifacts(all)) = call.results else { panic!("no artifacts") };
    let text = serde_json::to_string(&all[0]).unwrap();
    // As another process would.
    let read: haft::artifacts::SpooledArtifact = serde_json::from_str(&text).unwrap();
    let key = store.list().await.unwrap().remove(0);
    let again = read.read_by(store.read(key).await.unwrap().unwrap());
    assert_eq!(again, all[0]);
    assert_eq!(
        TextView::new(Arc::clone(again.reader())).head(9).await.unwrap().text(),
        "one\ntwo\n"
    );
}

#[tokio::test]
async fn text_of_a_custom_query_is_cut_like_any_other() {
    let query = |name: &str| Tool::builder(name).description("Queries.").artifact_query();
    let long = || "a line of some length\n".repeat(250_000);
    let chunks = move || stream(vec![Ok(&*"a line of some length\n".repeat(9_000).leak()); 3]);
    let answer =
        move || haft::ToolOutput::Answer { text: long(), label: haft::trust::TrustTier::UNTRUSTED };
    let tools = [
        query("text").handler(long).build().unwrap(),
        query("bytes").handler(move || long().into_bytes()).build().unwrap(),
        query("stream").handler(chunks).build().unwrap(),
        query("answer").handler(answer).build().unwrap(),
        Tool::builder("plain").description("Answers.").handler(answer).build().unwrap(),
    ];
    let mut turn = Turn::new();
    for tool in tools {
        let call = turn.call(&tool, "{}").await;
        let Some(ToolResults::Text(text)) = &call.results else {
            panic!("{}: {:?}", call.tool(), call.error)
        };
        assert!(text.len() < 17 * 1024, "{} has {} bytes", call.tool(), text.len());
        assert!(text.contains("[cut after ") && text.contains("ask for a smaller part"), "{text}");
    }
}

/// A tool with an effect, whose result is larger than the store takes.
fn charge(effect: ToolEffect) -> Tool {
    let tool = Tool::builder("charge").description("Charges.").effect(effect);
    tool.handler(|| "paid\n".repeat(20)).build().unwrap()
}

#[tokio::test]
async fn a_call_that_must_not_be_repeated_is_unknown_if_its_result_cannot_be_stored() {
    let cases = [
        (ToolEffect::Once, CallState::Unknown, "E_TOOL_OUTCOME_UNKNOWN"),
        (ToolEffect::Idempotent, CallState::Failed, "E_STORE"),
        (ToolEffect::ReadOnly, CallState::Failed, "E_STORE"),
    ];
    for (effect, state, code) in cases {
        let dir = tempfile::tempdir().unwrap();
        let store = DirSpoolStore::open(dir.path()).unwrap().max_bytes(8);
        let mut turn = Turn::new();
        turn.spooler = Spooler::new(Arc::new(store)).inline_below(4);
        let call = turn.call(&charge(effect), "{}").await;
        let error = call.error.as_ref().unwrap();
        assert_eq!((call.state(), error.code.as_str()), (state, code));
        assert!(!error.retryable || state == CallState::Failed);
        assert!(call.cause().is_some_and(|cause| cause.contains("limit of 8 bytes")), "{call:?}");
    }
}

/// The connection breaks behind the request, before or after the first bytes of the answer.
#[tokio::test]
async fn a_call_that_must_not_be_repeated_is_unknown_if_its_tool_does_not_know() {
    let lost = || ToolFailure::new("the line went dead").retryable().outcome_unknown();
    let known = || ToolFailure::new("there is no money").retryable();
    for (effect, fails, expected) in [
        (ToolEffect::Once, lost as fn() -> ToolFailure, CallState::Unknown),
        (ToolEffect::Once, known, CallState::Failed),
        (ToolEffect::Idempotent, lost, CallState::Failed),
    ] {
        let tool = || Tool::builder("charge").description("Charges.").effect(effect);
        let handler = tool().handler(move || Err::<String, _>(fails()));
        let stream = tool().handler(move || {
            let mut items = vec![Err(fails()), Ok(bytes::Bytes::from_static(b"half"))];
            ByteStream::new(Chunks(Box::new(move || items.pop())))
        });
        for tool in [handler, stream] {
            let call = Turn::new().call(&tool.build().unwrap(), "{}").await;
            let error = call.error.as_ref().unwrap();
            let is_unknown = expected == CallState::Unknown;
            assert_eq!((call.state(), error.retryable), (expected, !is_unknown), "{effect:?}");
            assert_eq!(error.code.as_str() == "E_TOOL_OUTCOME_UNKNOWN", is_unknown, "{error:?}");
            assert_eq!(
                error.message.ends_with("do not repeat it blindly"),
                is_unknown,
                "{error:?}"
            );
            assert!(call.results.is_none());
        }
    }
}

/// A program whose output is closed dies in the middle of its work. What must not be repeated is read to its end.
#[tokio::test]
async fn the_output_of_a_call_that_must_not_be_repeated_is_read_to_its_end() {
    for (effect, chunks) in [(ToolEffect::Once, 100), (ToolEffect::ReadOnly, 0)] {
        let dir = tempfile::tempdir().unwrap();
        let store = DirSpoolStore::open(dir.path()).unwrap().max_bytes(8);
        let mut turn = Turn::new();
        turn.spooler = Spooler::new(Arc::new(store)).inline_below(4);
        let read = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&read);
        let charge = Tool::builder("charge").description("Charges.").effect(effect);
        let charge = charge.handler(move || {
            let counter = Arc::clone(&counter);
            let chunk = bytes::Bytes::from(vec![b'x'; 1 << 20]);
            ByteStream::new(Chunks(Box::new(move || {
                let is_left = counter.load(Ordering::SeqCst) < 100;
                is_left.then(|| counter.fetch_add(1, Ordering::SeqCst));
                is_left.then(|| Ok(chunk.clone()))
            })))
        });
        let call = turn.call(&charge.build().unwrap(), "{}").await;
        assert!(call.error.is_some() && call.cause().is_some(), "{call:?}");
        let read = read.load(Ordering::SeqCst);
        assert!(if chunks > 0 { read == chunks } else { read < 100 }, "{effect:?}: {read}");
    }
}

/// A process that lost its lease finishes its write after the new holder did.
#[tokio::test]
async fn holders_of_a_turn_do_not_replace_each_others_results() {
    let store = Arc::new(MemorySpoolStore::new());
    let result_of = async |epoch: u64, text: &'static str| {
        let mut turn = Turn::new();
        let spooler = Spooler::new(Arc::clone(&store) as _).inline_below(1);
        turn.spooler = spooler.for_epoch(epoch);
        let call = turn.call(&returns("run", move || text), "{}").await;
        let Some(ToolResults::Artifacts(mut all)) = call.results else { panic!("{call:?}") };
        all.remove(0)
    };
    let new = result_of(2, "of the new holder").await;
    let old = result_of(1, "of the old holder").await;
    assert_eq!(store.list().await.unwrap().len(), 2);
    for (artifact, text) in [(new, "of the new holder"), (old, "of the old holder")] {
        let reader = artifact.reader().describe().unwrap();
        let stored = SpoolStore::open(&*store, &reader).await.unwrap().unwrap();
        assert_eq!(stored.read_at(0, 100).await.unwrap(), text);
    }
}

#[tokio::test]
async fn content_that_was_changed_or_cut_is_noticed() {
    let changes: [fn(&std::path::Path); 3] = [
        |file| std::fs::write(file, "line\nline\nliar\n").unwrap(),
        |file| std::fs::write(file, "line\n").unwrap(),
        |file| std::fs::remove_file(file).unwrap(),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let dir = tempfile::tempdir().unwrap();
        let store = Arc::new(DirSpoolStore::open(dir.path()).unwrap());
        let mut turn = Turn::new();
        turn.spooler = Spooler::new(Arc::clone(&store) as _).inline_below(1);
        let call = turn.call(&returns("run", || "line\n".repeat(3)), "{}").await;
        let text = call.to_json().unwrap();
        let content = std::fs::read_dir(dir.path()).unwrap().map(|it| it.unwrap().path());
        let content = content.filter(|it| std::fs::read(it).unwrap() == b"line\nline\nline\n");
        for file in content.collect::<Vec<_>>() {
            change(&file);
        }
        let reopened = Arc::new(DirSpoolStore::open(dir.path()).unwrap());
        let mut call = ToolCall::from_json(&text).unwrap();
        call.open(&ReaderResolvers::default().with_spools(reopened)).await.unwrap();
        let Some(ToolResults::Artifacts(all)) = &call.results else { panic!("{call:?}") };
        assert_eq!(all[0].reader().byte_length(), 15, "change {number}");
        let read = all[0].reader().read_at(0, 4).await;
        assert_eq!(read.unwrap_err().code().as_str(), "E_STORE", "change {number}");
        if let Some(local) = all[0].reader().local() {
            assert!(local.read_at(0, &mut [0; 4]).is_err(), "change {number}");
        }
    }
}

#[tokio::test]
async fn a_preview_is_whole_lines_or_the_beginning_of_the_first() {
    async fn preview(content: &str, bytes: usize) -> String {
        let store = MemorySpoolStore::new();
        let reader = store.write("a".into(), content.to_owned().into()).await.unwrap();
        let tier = haft::trust::TrustTier::UNTRUSTED;
        let artifact = haft::artifacts::SpooledArtifact::new(ArtifactKind::TEXT, reader, tier);
        artifact.read_preview(bytes).await
    }
    assert_eq!(preview("one\ntwo\nthree\n", 9).await, "one\ntwo");
    assert_eq!(preview("one\ntwo\n", 100).await, "one\ntwo");
    assert_eq!(preview("a long line", 6).await, "a long…");
    assert_eq!(preview("a lö", 4).await, "a l…", "half a character is none");
    assert_eq!(preview("\n\n\na", 2).await, "");
    assert_eq!(preview(&"x\n".repeat(50), 80).await, "x\n".repeat(10).trim_end());
}
