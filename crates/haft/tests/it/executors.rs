//! The conformance suite of executors, on executors that keep the contract and on some that do not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use haft::Message;
use haft::executors::{Script, ScriptExecutor, Step, StepContext, StepError};
use haft::turn::Timestamp;

#[tokio::test]
async fn scripts_keep_the_contract() {
    let script = || {
        let text = r#"{"steps": [{"say": "Hello."}]}"#;
        ScriptExecutor::new(Script::parse(text).unwrap())
    };
    haft_conformance::executor(script).await.unwrap();
}

#[tokio::test]
async fn ids_that_change_are_found() {
    let taken = Arc::new(AtomicU32::new(0));
    let random = || {
        let taken = Arc::clone(&taken);
        move |_: StepContext| {
            let id = format!("message-{}", taken.fetch_add(1, Ordering::Relaxed));
            async move { Ok(Step::done().say(Message::assistant_at(id, "Hi.", Timestamp::EPOCH)?)) }
        }
    };
    let violation = haft_conformance::executor(random).await.unwrap_err();
    assert_eq!(violation.promise, "a step that is taken again has records of the same ids");
}

#[tokio::test]
async fn ids_that_two_turns_share_are_found() {
    async fn fixed(_: StepContext) -> Result<Step, StepError> {
        Ok(Step::done().say(Message::assistant_at("m-1", "Hi.", Timestamp::EPOCH)?))
    }
    let violation = haft_conformance::executor(|| fixed).await.unwrap_err();
    assert_eq!(violation.promise, "records of two turns share no id");
}

#[tokio::test]
async fn a_step_that_stores_by_itself_is_found() {
    async fn hasty(ctx: StepContext) -> Result<Step, StepError> {
        let message = ctx.message("Hi.")?;
        ctx.dispatch().turn().store_message(message.clone()).await?;
        Ok(Step::done().say(message))
    }
    let violation = haft_conformance::executor(|| hasty).await.unwrap_err();
    assert_eq!(violation.promise, "only the loop stores what a step says");
}
