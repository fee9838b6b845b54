use super::*;
use crate::dispatch::{Forecast, Order};

#[track_caller]
fn check_refusal<T: Call>(pointers: [&str; 2]) {
    let tool = tool::<T, _>(|args: T| args.handle()).unwrap();
    let run = tool.executor(&DispatchContext::builder("test").build());
    let refusal = now(run.call(edited::<T>(T::MISTAKES))).unwrap().outcome.unwrap_err().to_string();
    assert!(pointers.iter().all(|it| refusal.contains(it)), "{refusal}");
}

#[track_caller]
fn check_coercion<T: Call>() {
    let tool = tool::<T, _>(|args: T| args.handle()).unwrap();
    let run = tool.executor(&DispatchContext::builder("test").build());
    let mended = now(run.call(edited::<T>(T::NEAR_MISSES))).unwrap();
    assert_eq!(mended.changes.len(), 2);
    let right = now(run.call(T::TEXT)).unwrap();
    assert!(right.changes.is_empty());
    assert_eq!(show(Ok(mended)), show(Ok(right)));
}

#[test]
fn mistakes_are_refused() {
    check_refusal::<Forecast>(["/days", "/units"]);
    check_refusal::<Order>(["/customer/age", "/payment/method"]);
}

#[test]
fn near_misses_are_mended() {
    check_coercion::<Forecast>();
    check_coercion::<Order>();
}
