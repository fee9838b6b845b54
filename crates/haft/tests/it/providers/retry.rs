use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft::error::Coded as _;
use haft::providers::retry::{
    GiveUpReason, RetryClient, RetryHints, RetryNotice, RetryPolicy, RetryReason, SendError,
    StatusError,
};
use haft::providers::transport::{Body, HttpError, HttpTransport, Secret, Transport};
use haft::turn::ManualClock;
use haft::turn::{CancelReason, Cancellation};
use tokio::time::Instant;

use super::server::{Answer, Server, chunked, whole};
use super::{HeaderText as _, Reply, Scripted, SentRequest, WithHeader as _, get, post, respond};

const KEY: &str = "sk-live-0123456789";
const NOW: &str = "2026-01-31T12:00:00.000000Z";

fn request(url: &str) -> SentRequest {
    post(url, "{}").with_header("Authorization", Secret::new(format!("Bearer {KEY}")))
}

fn status(status: u16, headers: &[(&str, &str)]) -> Result<Reply, HttpError> {
    let body = Body::from(bytes::Bytes::from(format!("status {status}")));
    let response = respond(status, body);
    Ok(headers.iter().fold(response, |response, (name, value)| response.with_header(name, *value)))
}

fn broken() -> Result<Reply, HttpError> {
    Err(HttpError::Connect { host: "h".to_owned(), reason: "why".to_owned() })
}

struct Run {
    result: Result<Reply, SendError>,
    notices: Vec<RetryNotice>,
    /// How long it took, by the clock of the runtime, which tests drive.
    took: Duration,
    asked: Vec<SentRequest>,
}

impl Run {
    fn delays(&self) -> Vec<Duration> {
        self.notices.iter().map(|it| it.delay).collect()
    }

    #[track_caller]
    fn failed(&self) -> &StatusError {
        self.result.as_ref().unwrap_err().as_status().expect("another error")
    }
}

async fn run(
    policy: RetryPolicy,
    answers: impl IntoIterator<Item = Result<Reply, HttpError>>,
) -> Run {
    let transport = Scripted::new(answers);
    let clock = ManualClock::new(NOW.parse().unwrap());
    let client = RetryClient::new(Arc::clone(&transport) as Arc<dyn Transport>);
    let client = client.policy(policy).clock(Arc::new(clock)).seed(7);
    let notices = Mutex::new(Vec::new());
    let began = Instant::now();
    let observe = |notice| notices.lock().unwrap().push(notice);
    let result =
        client.send_with_retry(request("http://h/v1"), &Cancellation::new(), &observe).await;
    let notices = notices.lock().unwrap().clone();
    Run { result, notices, took: began.elapsed(), asked: transport.asked() }
}

/// Within a tenth of it.
#[track_caller]
fn about(delay: Duration, expected: Duration) {
    let (low, high) = (expected.mul_f64(0.9), expected.mul_f64(1.1));
    assert!(low <= delay && delay <= high, "{delay:?} is not about {expected:?}");
}

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[tokio::test(start_paused = true)]
async fn what_may_pass_is_tried_again() {
    let run = run(RetryPolicy::default(), [status(503, &[]), broken(), status(200, &[])]).await;
    let response = run.result.as_ref().unwrap();
    assert_eq!(response.status().as_u16(), 200);
    let delays = run.delays();
    about(delays[0], Duration::from_millis(500));
    about(delays[1], Duration::from_millis(1000));
    assert!(run.took >= delays[0] + delays[1]);
    let reasons: Vec<_> = run.notices.iter().map(|it| (it.attempt, it.reason.clone())).collect();
    let transport = RetryReason::Transport(broken().unwrap_err());
    let status = RetryReason::Status { status: 503, retry_after: None };
    assert_eq!(reasons.len(), 2);
    assert_eq!(reasons[0], (1, status));
    assert_eq!(reasons[1], (2, transport));
    assert!(run.notices.iter().all(|it| it.max_attempts == 3));
}

#[tokio::test(start_paused = true)]
async fn attempts_are_counted() {
    for most in [1, 2, 5] {
        let policy = RetryPolicy::default().max_attempts(most);
        let run = run(policy, (0..most).map(|_| status(500, &[("x-request-id", "req-1")]))).await;
        assert_eq!(run.asked.len() as u32, most);
        assert_eq!(run.notices.len() as u32, most - 1);
        let error = run.failed();
        assert_eq!(
            (error.status, error.attempts, error.gave_up),
            (500, most, GiveUpReason::AttemptsExhausted)
        );
        assert_eq!(error.body, "status 500");
        assert_eq!(error.request_id.as_deref(), Some("req-1"));
        assert!(run.result.as_ref().unwrap_err().retryable());
    }
    let run = run(RetryPolicy::never(), [broken()]).await;
    let expected = SendError::Transport { source: broken().unwrap_err(), attempts: 1 };
    assert_eq!(run.result.unwrap_err(), expected);
}

#[tokio::test(start_paused = true)]
async fn only_some_statuses_are_worth_it() {
    let listed = [408, 409, 425, 429, 500, 502, 503, 504, 520, 524, 529];
    for code in [301, 400, 401, 403, 404, 413, 422, 501, 505, 530].into_iter().chain(listed) {
        let again = listed.contains(&code);
        let answers = [status(code, &[]), status(200, &[])];
        let run = run(RetryPolicy::default(), answers).await;
        assert_eq!(run.asked.len(), 1 + usize::from(again), "{code}");
        if !again {
            assert_eq!(
                (run.failed().status, run.failed().gave_up),
                (code, GiveUpReason::NotRetryable)
            );
            assert!(!run.result.as_ref().unwrap_err().retryable());
        }
    }
    let own = RetryPolicy::default().statuses([418]);
    assert_eq!(run(own.clone(), [status(418, &[]), status(200, &[])]).await.asked.len(), 2);
    assert_eq!(run(own, [status(503, &[])]).await.asked.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_provider_may_say_whether() {
    for (code, word, attempts) in [(400, "true", 2), (429, "false", 1), (503, "maybe", 2)] {
        let answers = || [status(code, &[("x-should-retry", word)]), status(200, &[])];
        assert_eq!(run(RetryPolicy::default(), answers()).await.asked.len(), attempts, "{word}");
    }
    let deaf = RetryPolicy::default().hints(RetryHints::Ignore);
    let run = run(deaf, [status(429, &[("x-should-retry", "false")]), status(200, &[])]).await;
    assert_eq!(run.asked.len(), 2);
}

/// One answer with these headers, then success: how long until then.
async fn delay(policy: RetryPolicy, headers: &[(&str, &str)]) -> Duration {
    let run = run(policy, [status(429, headers), status(200, &[])]).await;
    assert!(run.result.is_ok());
    assert!(run.took >= run.notices[0].delay);
    run.notices[0].delay
}

#[tokio::test(start_paused = true)]
async fn the_provider_may_say_when() {
    let policy = RetryPolicy::default;
    for (headers, expected) in [
        (&[("retry-after", "7")][..], seconds(7)),
        (&[("Retry-After", " 2.5 ")], Duration::from_millis(2500)),
        (&[("retry-after-ms", "1500"), ("retry-after", "9")], Duration::from_millis(1500)),
        (&[("retry-after", "Sat, 31 Jan 2026 12:00:20 GMT")], seconds(20)),
        (&[("retry-after", "Saturday, 31-Jan-26 12:00:20 GMT")], seconds(20)),
        (&[("retry-after", "Sat Jan 31 12:00:20 2026")], seconds(20)),
        // By the provider's clock, if it tells the time.
        (
            &[
                ("retry-after", "Sat, 31 Jan 2026 13:00:09 GMT"),
                ("date", "Sat, 31 Jan 2026 13:00:00 GMT"),
            ],
            seconds(9),
        ),
        // As long as a delay may be.
        (&[("retry-after", "30")], seconds(30)),
    ] {
        let delay = delay(policy(), headers).await;
        assert!(delay >= expected, "{headers:?}: {delay:?} is earlier than {expected:?}");
        about(delay, expected);
    }
    // What says nothing, or less than the backoff.
    for value in ["0", "-5", "soon", "", "1e9", "0.1", "inf", "Sat, 31 Jan 2026 11:00:00 GMT"] {
        about(delay(policy(), &[("retry-after", value)]).await, Duration::from_millis(500));
    }
    let deaf = policy().hints(RetryHints::Ignore);
    about(delay(deaf, &[("retry-after", "20")]).await, Duration::from_millis(500));
}

#[tokio::test(start_paused = true)]
async fn nobody_is_asked_before_they_want() {
    // Longer than a delay may be: there is no point in waiting at all, and the error says until when.
    for value in ["300", "31", "Sat, 31 Jan 2026 12:05:00 GMT", "99999999999999999999"] {
        for answer in [429, 503] {
            let run =
                run(RetryPolicy::default(), [status(answer, &[("retry-after", value)])]).await;
            assert_eq!((run.took, run.asked.len()), (Duration::ZERO, 1));
            let error = run.failed();
            assert_eq!((error.attempts, error.gave_up), (1, GiveUpReason::RetryAfterTooLong));
            let failed = run.result.as_ref().unwrap_err();
            assert!(failed.retryable(), "later it may help");
            if value == "300" || value.starts_with('S') {
                assert_eq!(error.retry_after, Some(seconds(300)));
                let text = failed.to_string();
                assert!(text.contains("in 300s, at 2026-01-31T12:05:00.000000Z"), "{text}");
            }
        }
    }
    // Whoever has the time waits, and not less than was asked for.
    let patient = RetryPolicy::default().max_delay(seconds(600)).budget(seconds(900));
    assert!(delay(patient.clone(), &[("retry-after", "300")]).await >= seconds(300));
    let run = run(patient.budget(seconds(200)), [status(429, &[("retry-after", "300")])]).await;
    assert_eq!((run.took, run.failed().gave_up), (Duration::ZERO, GiveUpReason::BudgetExhausted));
}

#[tokio::test(start_paused = true)]
async fn a_quota_that_is_spent_is_not_asked_of_again() {
    async fn check(answer: u16, body: &'static str, expected: GiveUpReason) {
        let refused = || {
            let body = Body::from_chunks([bytes::Bytes::from_static(body.as_bytes())]);
            Ok(respond(answer, body).with_header("x-should-retry", "true"))
        };
        let run = run(RetryPolicy::default(), [refused(), refused(), refused()]).await;
        let error = run.failed();
        assert_eq!(error.gave_up, expected, "{body}");
        assert_eq!(error.body, body);
        let spent = expected == GiveUpReason::QuotaExhausted;
        assert_eq!(run.asked.len(), if spent { 1 } else { 3 }, "{body}");
        let failed = run.result.as_ref().unwrap_err();
        assert_eq!(failed.retryable(), !spent);
        assert_eq!(failed.to_string().contains("the quota is spent"), spent, "{failed}");
    }
    let spent = [
        r#"{"error": {"message": "…", "type": "insufficient_quota", "code": "insufficient_quota"}}"#,
        r#"{"error": {"code": "billing_hard_limit_reached", "type": "invalid_request_error"}}"#,
        r#"{"error": {"code": null, "type": "billing_not_active"}}"#,
        r#"{"code": "insufficient_balance"}"#,
    ];
    for body in spent {
        check(429, body, GiveUpReason::QuotaExhausted).await;
    }
    for body in [
        r#"{"error": {"type": "tokens", "code": "rate_limit_exceeded"}}"#,
        r#"{"error": {"message": "insufficient_quota is what this is not"}}"#,
        "insufficient_quota",
        "",
    ] {
        check(429, body, GiveUpReason::AttemptsExhausted).await;
    }
    check(503, spent[0], GiveUpReason::AttemptsExhausted).await;
}

#[tokio::test(start_paused = true)]
async fn waiting_has_a_budget() {
    // The sum of delays.
    let policy =
        RetryPolicy::default().max_attempts(100).base_delay(seconds(10)).budget(seconds(65));
    let run = run(policy, (0..5).map(|_| status(503, &[]))).await;
    assert_eq!(run.failed().gave_up, GiveUpReason::BudgetExhausted);
    assert!(run.took <= seconds(65), "{:?}", run.took);
    assert!((3..=5).contains(&run.asked.len()), "{}", run.asked.len());
    let most = RetryPolicy::default().base_delay(Duration::MAX).budget(Duration::MAX);
    about(delay(most, &[]).await, seconds(30));
}

#[tokio::test(start_paused = true)]
async fn a_seed_repeats_the_delays() {
    let answers = || [status(503, &[]), status(503, &[]), status(200, &[])];
    let first = run(RetryPolicy::default(), answers()).await.delays();
    assert_eq!(run(RetryPolicy::default(), answers()).await.delays(), first);
}

#[tokio::test(start_paused = true)]
async fn all_attempts_have_the_same_key() {
    let key = |request: &SentRequest| request.header_text("idempotency-key").map(str::to_owned);
    let twice = || [status(503, &[]), status(200, &[])];
    let first = run(RetryPolicy::default(), twice()).await;
    let second = run(RetryPolicy::default(), twice()).await;
    assert!(key(&first.asked[0]).is_some());
    assert_eq!(key(&first.asked[0]), key(&first.asked[1]));
    assert_ne!(key(&first.asked[0]), key(&second.asked[0]));

    let transport = Scripted::new([status(200, &[]), status(200, &[])]);
    let client = RetryClient::new(Arc::clone(&transport) as Arc<dyn Transport>);
    let own = request("http://h/").with_header("Idempotency-Key", "mine");
    client.send_with_retry(own, &Cancellation::new(), &|_| {}).await.unwrap();
    client.send_with_retry(get("http://h/"), &Cancellation::new(), &|_| {}).await.unwrap();
    let keys: Vec<_> = transport.asked().iter().map(key).collect();
    assert_eq!(keys, [Some("mine".to_owned()), None]);
}

/// Time stands still unless somebody waits for it: nobody does.
#[tokio::test(start_paused = true)]
async fn cancelling_ends_a_delay_at_once() {
    let transport = Scripted::new([status(503, &[("retry-after", "60")])]);
    let policy = RetryPolicy::default().max_delay(seconds(60));
    let client = RetryClient::new(transport).policy(policy);
    let cancellation = Cancellation::new();
    let began = Instant::now();
    let observe = |notice: RetryNotice| {
        assert!(notice.delay >= seconds(60), "{notice:?}");
        let cancellation = cancellation.clone();
        tokio::task::spawn_local(async move { cancellation.cancel("stop") });
    };
    let local = tokio::task::LocalSet::new();
    let sent = client.send_with_retry(request("http://h/"), &cancellation, &observe);
    let error = local.run_until(sent).await.unwrap_err();
    assert_eq!(error, SendError::Cancelled { reason: CancelReason::from("stop") });
    assert_eq!(began.elapsed(), Duration::ZERO);
    assert!(!error.retryable());
}

#[tokio::test]
async fn cancelling_ends_a_request_and_a_body() {
    let server = Server::start([Answer::Stall(Vec::new()), Answer::Stall(chunked("x"))]);
    let transport = Arc::new(HttpTransport::builder().build().unwrap());
    let client = RetryClient::new(transport);
    let cancellation = Cancellation::new();
    let stop = async {
        while server.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        cancellation.cancel(CancelReason::Requested);
    };
    let sent = client.send_with_retry(request(&server.url("/")), &cancellation, &|_| {});
    let (result, ()) = tokio::join!(sent, stop);
    assert_eq!(result.unwrap_err(), SendError::Cancelled { reason: CancelReason::Requested });
    server.wait_for_hang_up().await;

    // One that is cancelled before it begins sends nothing.
    let error = client
        .send_with_retry(request(&server.url("/")), &cancellation, &|_| {})
        .await
        .unwrap_err();
    assert_eq!(error, SendError::Cancelled { reason: CancelReason::Requested });
    assert_eq!(server.requests().len(), 1);

    let cancellation = Cancellation::new();
    let sent = client.send_with_retry(request(&server.url("/")), &cancellation, &|_| {});
    let mut body = sent.await.unwrap().into_body();
    assert_eq!(body.next_chunk().await.unwrap().unwrap(), "x");
    cancellation.cancel("enough");
    let expected = HttpError::Cancelled { host: server.host() };
    assert_eq!(body.next_chunk().await.unwrap_err(), expected);
    assert_eq!(body.next_chunk().await.unwrap(), None);
    server.wait_for_hang_up().await;
}

fn quick() -> RetryPolicy {
    RetryPolicy::default().base_delay(Duration::from_millis(1))
}

fn client(policy: RetryPolicy) -> RetryClient {
    RetryClient::new(Arc::new(HttpTransport::builder().build().unwrap())).policy(policy)
}

#[tokio::test]
async fn over_sockets_what_breaks_before_its_first_byte_is_tried_again() {
    let head = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n".to_vec();
    let server = Server::start([
        whole("500 No", ""),
        Answer::Raw(Vec::new()),
        Answer::Raw(head),
        whole("429 Later\r\nretry-after-ms: 2", ""),
        whole("200 OK", "whole"),
    ]);
    let client = client(quick().max_attempts(5));
    let cancellation = Cancellation::new();
    let sent = client.send_with_retry(request(&server.url("/")), &cancellation, &|_| {});
    let response = sent.await.unwrap();
    assert_eq!(response.into_body().read_all(100).await.unwrap(), "whole");
    assert_eq!(server.requests().len(), 5);
}

#[tokio::test]
async fn over_sockets_what_breaks_later_is_not() {
    let server = Server::start([Answer::Raw(chunked("data: 1\n\n")), whole("200 OK", "again")]);
    let client = client(quick());
    let cancellation = Cancellation::new();
    let sent = client.send_with_retry(request(&server.url("/")), &cancellation, &|_| {});
    let mut body = sent.await.unwrap().into_body();
    assert_eq!(body.next_chunk().await.unwrap().unwrap(), "data: 1\n\n");
    let error = body.next_chunk().await.unwrap_err();
    assert!(matches!(error, HttpError::Broken { received: 9, .. }), "{error:?}");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn an_error_is_bounded_and_has_no_key() {
    let long = format!("{}{KEY}", "x".repeat(8 * 1024 - 9));
    let echo = format!("bad key {KEY}, and {KEY}; url ?key=query-secret-1 \u{7}");
    for body in [long, echo] {
        let server = Server::start([whole("401 No\r\nrequest-id: req_1", &body)]);
        let url = server.url("/v1?key=query-secret-1");
        let sent =
            client(quick()).send_with_retry(request(&url), &Cancellation::new(), &|_| {}).await;
        let error = sent.unwrap_err();
        let text = format!("{error} {error:?} {error:#?}");
        for secret in [KEY, "sk-live", "query-secret-1"] {
            assert!(!text.contains(secret), "{text}");
        }
        let status = error.as_status().unwrap();
        assert!(status.body.len() <= 8 * 1024, "{}", status.body.len());
        assert!(status.body.contains("[redacted"), "{}", status.body);
        assert!(error.to_string().len() < 500, "{error}");
        assert!(error.to_string().contains("401 (request `req_1`)"), "{error}");
    }
}
