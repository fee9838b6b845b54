use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use haft::providers::cassette::{Cassette, CassetteError, CassetteRecorder, RecordOrReplay};
use haft::providers::retry::{RetryClient, RetryPolicy};
use haft::providers::transport::{Body, HttpTransport, Secret, Transport, TransportError};
use haft::turn::Cancellation;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::server::{Server, whole};
use super::{HeaderText as _, Reply, Scripted, SentRequest, WithHeader as _, post, respond};

const KEY: &str = "sk-live-0123456789";

fn request(body: &str) -> SentRequest {
    post(format!("https://api.example/v1/chat?alt=sse&key={KEY}q"), body.to_owned())
        .with_header("Authorization", format!("Bearer {KEY}"))
        .with_header("x-custom", Secret::new("custom-secret"))
        .with_header("content-type", "application/json")
}

fn chunks<const N: usize>(chunks: [&'static [u8]; N]) -> Result<Reply, TransportError> {
    let body = Body::from_chunks(chunks.map(Bytes::from_static));
    Ok(respond(200, body).with_header("content-type", "text/event-stream"))
}

/// All chunks of a response.
async fn read(
    transport: &impl Transport,
    request: SentRequest,
) -> Result<Vec<Bytes>, TransportError> {
    let mut body = transport.send(request).await?.into_body();
    let mut chunks = Vec::new();
    while let Some(chunk) = body.next_chunk().await? {
        chunks.push(chunk);
    }
    Ok(chunks)
}

fn file(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[tokio::test]
async fn a_recording_is_readable_and_has_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made/chat.json");
    let said = Body::from_chunks([
        Bytes::from("data: {\"key\":\"sk-live-01234"),
        Bytes::from("56789\",\"who\":\"Jane Doe\"}\n\n"),
        Bytes::from_static(b"\xff\x00"),
    ]);
    let said = respond(200, said)
        .with_header("Set-Cookie", "session=1")
        .with_header("x-echo", format!("for {KEY}"))
        .with_header("content-length", "5");
    let recorder = CassetteRecorder::new(Scripted::new([Ok(said)]), &path).scrub("Jane Doe");
    let body = format!(r#"{{"b": 1.50, "a": "Jane Doe", "k": "{KEY}", "c": "custom-secret"}}"#);
    read(&recorder, request(&body)).await.unwrap();
    recorder.finish().unwrap();

    let text = std::fs::read_to_string(&path).unwrap();
    for secret in [KEY, "sk-live", "custom-secret", "Jane Doe", "session=1"] {
        assert!(!text.contains(secret), "{text}");
    }
    let expected = json!({
        "version": 1,
        "exchanges": [{
            "request": {
                "method": "POST",
                "url": "https://api.example/v1/chat?alt=sse&key=[redacted]",
                "headers": {
                    "authorization": "[redacted]",
                    "content-type": "application/json",
                    "x-custom": "[redacted]",
                },
                "body": {"json": {"a": "[redacted]", "b": 1.5, "c": "[redacted]", "k": "[redacted]"}},
            },
            "response": {
                "status": 200,
                "headers": {"set-cookie": "[redacted]", "x-echo": "for [redacted]"},
                "body": [
                    "data: {\"key\":\"[redacted]",
                    "\",\"who\":\"[redacted]\"}\n\n",
                    {"base64": "/wA="},
                ],
            },
        }],
    });
    assert_eq!(file(&path), expected);
    // Nothing but the file is there.
    assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
}

#[tokio::test]
async fn a_replay_gives_the_same_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chat.json");
    let first = || chunks([b"data: 1\n", b"\ndata: \xc3", b"\xbc\n\n"]);
    let recorder = CassetteRecorder::new(Scripted::new([first(), chunks([b"two"])]), &path);
    let heard = [
        read(&recorder, request(r#"{"n": 1}"#)).await.unwrap(),
        read(&recorder, request("not JSON")).await.unwrap(),
    ];
    recorder.finish().unwrap();
    assert_eq!(heard[0].len(), 3);

    let cassette = Cassette::open(&path).unwrap();
    // In any order, by another key, from another host, and with another spelling of the same value.
    assert_eq!(read(&cassette, request("not JSON")).await.unwrap(), heard[1]);
    let other = post("http://127.0.0.1:1/v1/chat?alt=sse&key=other", r#"{ "n": 1.0 }"#);
    let response = cassette.send(other).await.unwrap();
    assert_eq!(response.header_text("Content-Type"), Some("text/event-stream"));
    let all = response.into_body().read_all(100).await.unwrap();
    assert_eq!(all, heard[0].concat());
    cassette.finish().unwrap();

    // Each exchange is there once.
    let error = read(&cassette, request("not JSON")).await.unwrap_err();
    let TransportError::NotRecorded { reason } = &error else { panic!("{error:?}") };
    assert!(reason.starts_with("all exchanges were used before POST /v1/chat"), "{reason}");
}

#[tokio::test]
async fn a_difference_is_told_by_its_pointer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chat.json");
    let recorder = CassetteRecorder::new(Scripted::new([chunks([b"x"])]), &path);
    let recorded = r#"{"m": [{"a/b": 1, "text": "hi"}], "n": null}"#;
    read(&recorder, request(recorded)).await.unwrap();
    recorder.finish().unwrap();

    let cassette = Cassette::open(&path).unwrap();
    let long = "y".repeat(1000);
    for (sent, expected) in [
        (
            r#"{"m": [{"a/b": 2, "text": "hi"}], "n": null}"#,
            "at `/m/0/a~1b` recorded `1`, sent `2`",
        ),
        (r#"{"m": [{"a/b": 1}], "n": null}"#, "at `/m/0/text` recorded `\"hi\"`, sent nothing"),
        (
            r#"{"m": [{"a/b": 1, "text": "hi"}, 3], "n": null}"#,
            "at `/m/1` recorded nothing, sent `3`",
        ),
        (
            r#"{"m": [{"a/b": 1, "text": "hi"}], "n": null, "z": {}}"#,
            "at `/z` recorded nothing, sent `{}`",
        ),
        (
            r#"{"m": {"0": 1}, "n": null}"#,
            "at `/m` recorded `[{\"a/b\":1,\"text\":\"hi\"}]`, sent `{\"0\":1}`",
        ),
        (r#"[]"#, "at `` recorded"),
        ("text", "the bodies differ"),
        (&format!(r#"{{"m": "{long}", "n": null}}"#), "at `/m` recorded"),
    ] {
        let error = read(&cassette, request(sent)).await.unwrap_err();
        let TransportError::NotRecorded { reason } = &error else { panic!("{error:?}") };
        assert!(reason.contains(expected), "{reason}");
        assert!(reason.len() < 400 && !reason.contains(KEY), "{reason}");
    }
    let elsewhere = post("https://api.example/v2/chat?key=other-key", recorded);
    let error = read(&cassette, elsewhere).await.unwrap_err().to_string();
    assert!(
        error.contains("POST /v2/chat?key=[redacted] differs from unused exchange 1"),
        "{error}"
    );
    assert!(error.contains("recorded POST /v1/chat"), "{error}");

    let error = cassette.finish().unwrap_err();
    let CassetteError::Unused { left, .. } = &error else { panic!("{error:?}") };
    assert_eq!(*left, ["1: POST /v1/chat?alt=sse&key=[redacted]"]);
}

#[tokio::test]
async fn integers_of_any_size_are_compared_exactly() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chat.json");
    let recorder = CassetteRecorder::new(Scripted::new([chunks([b"x"])]), &path);
    read(&recorder, request(r#"{"n":123456789012345678901234567890}"#)).await.unwrap();
    recorder.finish().unwrap();
    let cassette = Cassette::open(&path).unwrap();
    let near = request(r#"{"n":123456789012345678901234567891}"#);
    assert!(read(&cassette, near).await.is_err());
    let same = request(r#"{"n":123456789012345678901234567890}"#);
    assert!(read(&cassette, same).await.is_ok());
}

#[tokio::test]
async fn what_failed_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chat.json");
    let error = || TransportError::Connect { host: "h".to_owned(), reason: "why".to_owned() };
    let recorder = CassetteRecorder::new(Scripted::new([Err(error())]), &path);
    assert_eq!(read(&recorder, request("{}")).await.unwrap_err(), error());
    let refused = recorder.finish().unwrap_err();
    assert!(matches!(refused, CassetteError::Incomplete { .. }), "{refused:?}");

    let recorder = CassetteRecorder::new(Scripted::new([chunks([b"a", b"b"])]), &path);
    let mut response = recorder.send(request("{}")).await.unwrap();
    response.body_mut().next_chunk().await.unwrap();
    let refused = recorder.finish().unwrap_err();
    assert!(refused.to_string().ends_with("exchange 1 is still under way"), "{refused}");
    assert!(!path.exists());
    // Whoever has read enough is done.
    drop(response);
    recorder.finish().unwrap();
    assert_eq!(file(&path)["exchanges"][0]["response"]["body"], json!(["a"]));
}

#[tokio::test]
async fn files_that_are_no_recording_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chat.json");
    let open = || RecordOrReplay::open(&path, || panic!("it is there"));
    for text in ["", "{}", r#"{"version":2,"exchanges":[]}"#] {
        std::fs::write(&path, text).unwrap();
        assert!(matches!(Cassette::open(&path), Err(CassetteError::Malformed { .. })), "{text}");
        assert!(matches!(open(), Err(CassetteError::Malformed { .. })), "{text}");
    }
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(Cassette::open(&path), Err(CassetteError::Io { .. })));
}

#[tokio::test]
async fn once_records_and_then_replays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chat.json");
    let server = Server::start([whole("503 Later", "later"), whole("200 OK", "for my-own-word")]);
    let ask = async |once: RecordOrReplay| {
        let once = Arc::new(once.scrub("my-own-word"));
        let policy = RetryPolicy::default().base_delay(std::time::Duration::ZERO);
        let client = RetryClient::new(Arc::clone(&once) as Arc<dyn Transport>).policy(policy);
        let asked = post(server.url("/v1"), r#"{"q": "my-own-word"}"#);
        let response = client.send_with_retry(asked, &Cancellation::new(), &|_| {}).await.unwrap();
        let bytes = response.into_body().read_all(100).await.unwrap();
        once.finish().unwrap();
        bytes
    };
    let http = || Arc::new(HttpTransport::builder().build().unwrap()) as Arc<dyn Transport>;
    let recording = RecordOrReplay::open(&path, http).unwrap();
    assert!(matches!(recording, RecordOrReplay::Record(_)));
    assert_eq!(ask(recording).await, "for my-own-word");
    let replay = RecordOrReplay::open(&path, || panic!("it is recorded")).unwrap();
    assert_eq!(ask(replay).await, "for [redacted]");
    assert_eq!(server.requests().len(), 2);
    assert!(!std::fs::read_to_string(&path).unwrap().contains("my-own-word"));
}

/// Whatever the chunks, and wherever a secret lies in them.
#[test]
fn any_chunks_come_back_without_the_secret() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chat.json");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let piece = prop_oneof![
        prop::sample::select(vec!["hush", "hu", "sh", "ü", "hushhush", "x"])
            .prop_map(|it| it.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..3),
    ];
    let strategy = prop::collection::vec(prop::collection::vec(piece, 0..4), 0..6);
    proptest!(ProptestConfig::with_cases(haft_testkit::cases(64)), |(pieces in strategy)| {
        let sent: Vec<Bytes> = pieces.iter().map(|it| it.concat().into()).collect();
        let said = Ok(respond(200, Body::from_chunks(sent.clone())));
        runtime.block_on(async {
            let recorder = CassetteRecorder::new(Scripted::new([said]), &path).scrub("hush");
            read(&recorder, request("{}")).await.unwrap();
            recorder.finish().unwrap();
            let cassette = Cassette::open(&path).unwrap();
            let replayed = read(&cassette, request("{}")).await.unwrap();
            let expected = sent.concat().escape_ascii().to_string().replace("hush", "[redacted]");
            assert_eq!(replayed.concat().escape_ascii().to_string(), expected);
        });
    });
}
