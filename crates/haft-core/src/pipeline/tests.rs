use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use super::*;

#[derive(Clone, Default)]
struct Ctx {
    seen: Arc<Mutex<Vec<String>>>,
    over: Arc<AtomicBool>,
}

impl PipelineContext for Ctx {
    fn is_cancelled(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}

impl Ctx {
    fn note(&self, what: &str) {
        self.seen.lock().unwrap().push(what.to_owned());
    }

    fn seen(&self) -> String {
        self.seen.lock().unwrap().join(" ")
    }
}

/// A member that notes when it begins and how the rest went.
fn noting(name: &'static str) -> impl Middleware<Ctx> {
    move |ctx: Ctx, next: Next<Ctx>| async move {
        ctx.note(name);
        let passed = next.run().await;
        ctx.note(&format!("{name}:{}", if passed.is_ok() { "ok" } else { "failed" }));
        passed
    }
}

fn failing() -> impl Middleware<Ctx> {
    async |_: Ctx, _: Next<Ctx>| Err("no".into())
}

fn pipeline() -> Pipeline<Ctx> {
    Pipeline::new(Stage::TurnInput)
}

#[tokio::test]
async fn members_run_in_order_and_see_how_the_rest_went() {
    let ctx = Ctx::default();
    let all = pipeline().with("a", noting("a")).with("b", noting("b"));
    all.run(&ctx).await.unwrap();
    all.run(&ctx).await.unwrap();
    assert_eq!(ctx.seen(), "a b b:ok a:ok a b b:ok a:ok");
}

#[tokio::test]
async fn nothing_to_run_is_fine() {
    pipeline().run(&Ctx::default()).await.unwrap();
}

#[tokio::test]
async fn an_error_is_seen_upstream_and_names_its_middleware() {
    let ctx = Ctx::default();
    let all = pipeline().with("a", noting("a")).with("bad", failing()).with("c", noting("c"));
    let error = all.run(&ctx).await.unwrap_err();
    assert_eq!(ctx.seen(), "a a:failed");
    assert_eq!(error.code(), "E_INPUT_PIPELINE_ERROR");
    assert_eq!(
        error.to_string(),
        "the turn-input pipeline failed: the middleware `bad` failed: no",
    );
}

#[tokio::test]
async fn upstream_can_mend_an_error() {
    let mend = async |_: Ctx, next: Next<Ctx>| {
        let _ = next.run().await;
        Ok(())
    };
    pipeline().with("mend", mend).with("bad", failing()).run(&Ctx::default()).await.unwrap();
    let after = async |_: Ctx, next: Next<Ctx>| {
        next.run().await?;
        Err("too late".into())
    };
    pipeline().with("mend", mend).with("after", after).run(&Ctx::default()).await.unwrap();
}

#[tokio::test]
async fn a_forgotten_next_is_an_error_with_the_stage() {
    let forget = async |_: Ctx, _: Next<Ctx>| Ok(());
    let error = pipeline().with("forget", forget).run(&Ctx::default()).await.unwrap_err();
    assert_eq!(error.code(), "E_PIPELINE_SHORT_CIRCUITED");
    assert!(error.to_string().contains("turn-input"), "{error}");
    let over = async |ctx: Ctx, _: Next<Ctx>| {
        ctx.over.store(true, Ordering::Relaxed);
        Ok(())
    };
    pipeline().with("over", over).run(&Ctx::default()).await.unwrap();
}

#[tokio::test]
async fn bodies_are_passed_over_once_the_work_is_over() {
    let ctx = Ctx::default();
    let end = async |ctx: Ctx, next: Next<Ctx>| {
        ctx.over.store(true, Ordering::Relaxed);
        next.run().await?;
        ctx.note("end:ok");
        Ok(())
    };
    pipeline().with("end", end).with("b", noting("b")).run(&ctx).await.unwrap();
    assert_eq!(ctx.seen(), "end:ok");
}
