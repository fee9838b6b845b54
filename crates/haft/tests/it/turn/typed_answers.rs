//! Turns that must end with an answer of a type.

use std::num::NonZeroU32;
use std::sync::Arc;

use haft::error::{Coded as _, codes};
use haft::executors::{DispatchExecutor, Step, StepContext, StepError};
use haft::records::MessageRole;
use haft::stores::{MemoryStore, TurnStatus};
use haft::turn::{AnswerError, AnswerFormat};
use haft::{Agent, Error, ToolArgs, Turn};
use serde_json::{Value, json};

/// An invoice.
#[derive(Debug, PartialEq, ToolArgs)]
struct Invoice {
    /// Who sent it
    #[arg(min_len = 1)]
    sender: String,
    /// Amount in cents
    cents: u32,
    /// What it is for
    note: Option<String>,
}

/// An executor that gives these answers, one in each iteration.
fn executor(texts: &'static [&'static str]) -> impl DispatchExecutor + 'static {
    move |ctx: StepContext| async move {
        let at = ctx.dispatch().iteration() as usize;
        let text = texts.get(at).copied().unwrap_or("nothing");
        Ok::<_, StepError>(Step::done().say(ctx.message(text)?))
    }
}

fn input(agent: &Agent) -> Turn {
    agent.turn("Ada asks for 2.50.").system("You read invoices.")
}

#[test]
fn the_schema_of_an_answer_and_its_decoder_agree() {
    use haft_conformance::{ProofOptions, prove};
    assert!(prove::<Invoice>(ProofOptions::default().values(200)).is_ok());
}

#[tokio::test]
async fn an_answer_that_does_not_fit_goes_back_with_its_problems() {
    let texts = &[
        "Ada wants money.",
        r#"{"sender": "Ada", "cents": -1}"#,
        r#"{"sender": "Ada", "cents": "250"}"#,
    ];
    let store = Arc::new(MemoryStore::new());
    let agent = Agent::builder(executor(texts)).store(Arc::clone(&store) as _).build().unwrap();
    let typed = input(&agent).typed::<Invoice>().await.unwrap();
    let expected = Invoice { sender: "Ada".into(), cents: 250, note: None };
    assert_eq!(typed.value, expected);
    assert_eq!((typed.report.iterations, typed.report.messages.len()), (3, 3));
    assert!(typed.report.messages.iter().all(|it| it.role() == MessageRole::Assistant));
    // The report of the stored turn is the same, and so is its answer.
    let again = agent.resume(&typed.report.turn).report().await.unwrap();
    assert_eq!(again.answer::<Invoice>().unwrap(), expected);
    assert_eq!(again.messages.len(), 3);
}

#[tokio::test]
async fn a_model_without_attempts_left_fails_the_turn() {
    let agent = Agent::builder(executor(&["no", "{}", "still no"])).build().unwrap();
    let error = input(&agent).typed::<Invoice>().await.unwrap_err();
    assert_eq!(error.code(), codes::LLM_RESPONSE_INVALID);
    let Error::Stopped(stopped) = error else { panic!("{error}") };
    let report = *stopped.report;
    assert_eq!((report.status(), report.iterations), (TurnStatus::Failed, 3));
    let error = report.answer::<Invoice>().unwrap_err();
    assert_eq!(error.code(), codes::LLM_RESPONSE_INVALID);
    assert!(matches!(error, AnswerError::NotCompleted { .. }), "{error}");
    let error = report.error.unwrap();
    assert_eq!(error.code, Some(codes::LLM_RESPONSE_INVALID));
    assert!(error.message.starts_with("no valid answer in 3 attempts"), "{}", error.message);

    let once = AnswerFormat::of::<Invoice>().unwrap().with_attempts(NonZeroU32::MIN);
    let report = input(&agent).typed_by(once).report().await.unwrap();
    assert_eq!(report.iterations, 1);
}

#[tokio::test]
async fn the_model_sees_the_schema_and_what_was_wrong() {
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let agent = Agent::builder(move |ctx: StepContext| {
        let turn = ctx.dispatch().turn().clone();
        let rules = turn.instructions().all();
        let said = turn.messages().all();
        let last = said.last().and_then(|it| it.content()).map(|it| it.as_str().to_owned());
        log.lock().unwrap().push((rules.len(), last.unwrap()));
        async move {
            let text = if ctx.dispatch().iteration() == 0 {
                "{\"sender\": 1}"
            } else {
                "{\"sender\": \"A\", \"cents\": 1}"
            };
            Ok::<_, StepError>(Step::done().say(ctx.message(text)?))
        }
    });
    assert!(input(&agent.build().unwrap()).typed::<Invoice>().await.is_ok());
    let seen = seen.lock().unwrap();
    assert_eq!(seen[0], (1, "Ada asks for 2.50.".to_owned()));
    assert!(seen[1].1.contains("cents"), "{}", seen[1].1);
}

#[tokio::test]
async fn attempts_are_counted_over_a_resume() {
    let store = Arc::new(MemoryStore::new());
    // The first process gives a wrong answer, and its provider is then down.
    let first = |ctx: StepContext| async move {
        if ctx.dispatch().iteration() > 0 {
            return Err(StepError::new("down").retryable());
        }
        Ok::<_, StepError>(Step::done().say(ctx.message("wrong")?))
    };
    let first = Agent::builder(first).store(Arc::clone(&store) as _).build().unwrap();
    let two = NonZeroU32::MIN.saturating_add(1);
    let format = AnswerFormat::of::<Invoice>().unwrap().with_attempts(two);
    let report = input(&first).typed_by(format).report().await.unwrap();
    assert!(report.is_resumable);
    let second = Agent::builder(executor(&["", "wrong again"])).store(store).build().unwrap();
    let report = second.resume(&report.turn).report().await.unwrap();
    assert_eq!((report.status(), report.iterations), (TurnStatus::Failed, 2));
    assert!(report.answer::<Invoice>().is_err());
}

#[tokio::test]
async fn an_answer_is_checked_only_when_the_model_is_done() {
    let agent = Agent::builder(|ctx: StepContext| async move {
        let iteration = ctx.dispatch().iteration();
        let step = if iteration == 0 { Step::new() } else { Step::done() };
        let text = if iteration == 0 { "Let me think." } else { "{\"total\": 3}" };
        Ok::<_, StepError>(step.say(ctx.message(text)?))
    });
    let schema = json!({"type": "object", "properties": {"total": {"type": "integer"}}});
    let format = AnswerFormat::from_json_schema(schema).unwrap();
    let report = input(&agent.build().unwrap()).typed_by(format).report().await.unwrap();
    assert_eq!(report.iterations, 2);
    assert_eq!(report.answer::<Value>().unwrap(), json!({"total": 3}));
}
