//! Chains of causes.

use std::error::Error;
use std::io;

use super::{
    FailureError, MAX_CHAIN, MAX_MESSAGE, PanicError, ToolFailure, causes_beyond, error_chain,
};
use crate::call::{CallError, ToolCall};
use crate::error::codes;
use crate::event::ErrorReport;
use crate::media::MediaError;
use crate::record::Record as _;
use crate::schema::args::RawArgs;
use crate::spool::{SpoolError, SpoolKey};
use crate::step::StepError;
use crate::tool::ToolError;

#[derive(Debug, thiserror::Error)]
#[error("{text}")]
struct Link {
    text: String,
    #[source]
    next: Option<Box<Self>>,
}

fn chain(texts: &[&str]) -> Link {
    let mut last = None;
    for text in texts.iter().rev() {
        last = Some(Box::new(Link { text: (*text).to_owned(), next: last }));
    }
    *last.unwrap()
}

#[test]
fn a_chain_names_every_cause_once() {
    let error =
        chain(&["could not search", "request failed: timed out", "timed out", "os error 110"]);
    assert_eq!(error_chain(&error), "could not search: request failed: timed out: os error 110");
    assert_eq!(
        causes_beyond("could not search", Some(&error)).unwrap(),
        "request failed: timed out: os error 110"
    );
    assert_eq!(causes_beyond("all of it: x", Some(&chain(&["all of it", "x"]))), None);
}

#[test]
fn a_chain_is_bounded() {
    let long = "x".repeat(3 * MAX_MESSAGE);
    assert!(error_chain(&chain(&[&long, &long])).len() < MAX_MESSAGE + 64);
    let texts: Vec<String> = (0..3 * MAX_CHAIN).map(|n| format!("cause {n};")).collect();
    let deep = chain(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(error_chain(&deep).matches(';').count(), MAX_CHAIN + 1);
}

/// Every error that a failure of a handler, a reader or an executor ends in leads to its cause.
#[test]
fn sources_are_real() {
    let failure =
        || ToolFailure::new("it is down").with_source(io::Error::other("connection reset"));
    let errors: Vec<Box<dyn Error>> = vec![
        Box::new(ToolError::Downstream { tool: "t".into(), failure: failure() }),
        Box::new(SpoolError::Source {
            key: SpoolKey::new("k"),
            received: 7,
            failure: failure().into(),
        }),
        Box::new(MediaError::Read { filename: "f".into(), failure: failure().into() }),
        Box::new(MediaError::Unresolvable { tag: "t".into(), failure: failure().into() }),
        Box::new(FailureError::from(failure())),
    ];
    for error in errors {
        let text = error_chain(error.as_ref());
        assert!(
            text.ends_with("it is down: connection reset") || text.ends_with("connection reset"),
            "{text}"
        );
        let mut source = error.source();
        while let Some(next) = source.and_then(Error::source) {
            source = Some(next);
        }
        assert!(source.is_some_and(<dyn Error>::is::<io::Error>), "{error:?}");
    }
    let panicked = ToolError::Panicked { tool: "t".into(), panic: PanicError::new("boom") };
    assert_eq!(panicked.source().unwrap().to_string(), "panicked: boom");
}

#[test]
fn a_record_has_the_cause_apart_from_the_words_for_the_model() {
    let now = crate::clock::Timestamp::EPOCH;
    let requested = ToolCall::requested("t", RawArgs::text("{}"), std::num::NonZeroU32::MIN, now);
    let error = CallError::new(codes::TOOL_DOWNSTREAM_ERROR, "`t` failed: it is down", false);
    let failed = requested.ended(crate::call::CallState::Failed, error, now);
    let with = |cause: &str| failed.clone().with_cause(Some(cause.to_owned()));
    assert_eq!(with("it is down: connection reset").cause(), Some("it is down: connection reset"));
    assert_eq!(with("it is down").cause(), None, "the message says it already");
    assert!(with(&"x".repeat(1_000_000)).cause().unwrap().len() < MAX_MESSAGE + 64);
    assert!(with("another").check().is_ok());
}

#[test]
fn reports_have_causes_and_say_whether_a_retry_helps() {
    let error = StepError::coded(codes::LLM_RESPONSE_TRUNCATED, "it broke off")
        .with_source(io::Error::other("connection reset"));
    assert!(error.is_retryable());
    let report = ErrorReport::from(error);
    assert_eq!(report.code, Some(codes::LLM_RESPONSE_TRUNCATED));
    assert_eq!(report.cause.as_deref(), Some("connection reset"));
    assert!(report.retryable);
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(serde_json::from_value::<ErrorReport>(json).unwrap(), report);
    assert!(!ErrorReport::coded(codes::LLM_RESPONSE_REFUSED, "no").retryable);
}
