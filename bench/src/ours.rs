//! Haft's own variants: the one place where each benchmark gets its `ours`.
//!
//! The variant named `haft` is the one that counts; those beside it show what a single thing costs.

mod proof;
mod shapes;

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};

use haft::events::Event;
use haft::records::CallId;
use haft::schema::json::{Document, ParseError};
use haft::schema::{
    AcceptedArgs, FromArgs, InputSchema, Problems, RawArgs, SchemaFault, Strictness,
};
use haft::tools::{IntoHandler, Invocation, ToolExecutor};
use haft::{DispatchContext, Tool, ToolArgs, ToolOutput};

use crate::{
    dispatch::{Call, edited, now},
    measure::Variant,
    report::OURS,
};

pub(crate) use proof::{Proof, proofs};
pub(crate) use shapes::disagreements;

/// One call: parse, validate, coerce, call id, two events, panic guard, typed handler. Answers the
/// handler's text.
///
/// # Errors
///
/// When the tool cannot be built.
pub(crate) fn dispatch<T: Call>() -> Result<Vec<Variant>, String> {
    let plain = || DispatchContext::builder("bench").build();
    let observed = DispatchContext::builder("bench").observer(count).build();
    let text = T::TEXT.to_owned();
    let mendable = edited::<T>(T::NEAR_MISSES);
    let wrong = edited::<T>(T::MISTAKES);
    let asynchronous = tool::<T, _>(async |args: T| args.handle())?;
    let synchronous = tool::<T, _>(|args: T| args.handle())?;
    Ok(vec![
        calling(OURS, asynchronous.executor(&plain()), text.clone()),
        calling("haft, sync handler", synchronous.executor(&plain()), text.clone()),
        calling("haft, 1 observer", asynchronous.executor(&observed), text),
        calling("haft, coerced", asynchronous.executor(&plain()), mendable),
        refusing("haft, refused", asynchronous.executor(&plain()), wrong),
    ])
}

fn tool<T: Call, Signature>(handler: impl IntoHandler<Signature>) -> Result<Tool, String> {
    let tool = Tool::builder(T::TOOL).description("Measured tool").handler(handler).build();
    tool.map_err(|error| error.to_string())
}

fn calling(name: &'static str, run: ToolExecutor, text: String) -> Variant {
    Variant::new(name, move || now(run.call(text.as_str())), show)
}

/// Ends with the text that the model gets.
fn refusing(name: &'static str, run: ToolExecutor, text: String) -> Variant {
    let work = move || {
        let call = now(run.call(text.as_str()))?;
        Ok(call.outcome.map_err(|error| error.to_string()))
    };
    Variant::new(name, work, |it: Result<_, String>| format!("{it:?}")).differing()
}

fn show(call: Result<Invocation, String>) -> String {
    match call.map(|it| it.outcome) {
        Ok(Ok(ToolOutput::Text(text))) => text,
        other => format!("{other:?}"),
    }
}

fn count(_: &Event) {
    static SEEN: AtomicU64 = AtomicU64::new(0);
    SEEN.fetch_add(1, Ordering::Relaxed);
}

/// The judge alone, on parsed arguments. A dispatch does not look for duplicate keys once more: the
/// call id has found them.
///
/// # Errors
///
/// When the schema cannot be built.
pub(crate) fn validate<T: Call>() -> Result<Vec<Variant>, String> {
    let schema = schema::<T>()?;
    let raw = RawArgs::text(T::TEXT);
    let mendable = RawArgs::text(&edited::<T>(T::NEAR_MISSES));
    let accept = |raw: &RawArgs, strictness| {
        let schema = schema.clone();
        let raw = raw.clone();
        move || schema.accept(T::TOOL, &raw, strictness)
    };
    let show = |it: Result<AcceptedArgs, Problems>| verdict(it.is_ok());
    let decoded = raw.clone();
    let judge = schema.clone();
    let decode = move || {
        let accepted = judge.accept(T::TOOL, &decoded, Strictness::Coerce);
        accepted.ok().and_then(|it| T::from_args(&it.args).ok())
    };
    let document = Document::parse(T::TEXT).map_err(|error| error.to_string())?;
    let duplicates = move || document.duplicate_key();
    Ok(vec![
        Variant::new(OURS, accept(&raw, Strictness::Coerce), show),
        Variant::new("haft, strict", accept(&raw, Strictness::Strict), show),
        Variant::new("haft, coerced", accept(&mendable, Strictness::Coerce), show),
        Variant::new("haft, and decoded", decode, |it| verdict(it.is_some())),
        Variant::new("haft, duplicate keys alone", duplicates, |it| verdict(it.is_none())),
    ])
}

/// How [`validate`] answers.
pub(crate) fn verdict(accepted: bool) -> String {
    if accepted { "accepted" } else { "refused" }.to_owned()
}

/// Building what judges: the schema tree, its soundness, and the text the model sees.
pub(crate) fn build<T: Call>() -> Variant {
    let show = |it: Result<InputSchema, Vec<SchemaFault>>| verdict(it.is_ok());
    Variant::new(OURS, InputSchema::of::<T>, show)
}

/// The schema of a type.
///
/// # Errors
///
/// Its faults, in words.
pub(crate) fn schema<T: ToolArgs>() -> Result<InputSchema, String> {
    InputSchema::of::<T>().map_err(|faults| format!("faulty schema: {faults:?}"))
}

/// The call id of a tool and its parsed arguments. Answers lower-case hex.
///
/// # Errors
///
/// When `args` is not JSON.
pub(crate) fn call_id(tool: &'static str, args: &str) -> Result<[Variant; 2], String> {
    let args = Document::parse(args).map_err(|error| error.to_string())?;
    let again = args.clone();
    Ok([
        Variant::new(OURS, move || CallId::of(tool, args.root()), |it| it.to_string()),
        Variant::new("haft, with hex", move || CallId::of(tool, again.root()).to_string(), |it| it),
    ])
}

/// Text into a document. Answers it as compact text.
pub(crate) fn parse(text: String) -> Variant {
    let show = |it: Result<Document, ParseError>| match it {
        Ok(it) => it.root().to_string(),
        Err(error) => error.to_string(),
    };
    Variant::new(OURS, move || Document::parse(&text), show)
}
