use haft_core::usage::Usage;
use serde_json::json;

use super::{
    FinishReason, Generation, GenerationAssembler, GenerationEvent, GenerationOutcome,
    MAX_GENERATED_BYTES, MAX_GENERATED_CALLS,
};

fn assembled<'e>(
    events: impl IntoIterator<Item = GenerationEvent<'e>>,
) -> (Generation, GenerationOutcome) {
    let mut assembler = GenerationAssembler::new();
    for event in events {
        assembler.push(event).unwrap();
    }
    assembler.finish()
}

fn call<'e>(slot: u32, name: &'e str, arguments: &'e str) -> GenerationEvent<'e> {
    let name = Some(name).filter(|name| !name.is_empty());
    GenerationEvent::CallDelta { slot, id: None, name, arguments }
}

const fn finish(finish: Option<FinishReason>) -> GenerationEvent<'static> {
    GenerationEvent::Finish { finish, reason: "said so" }
}

#[test]
fn what_came_of_an_answer() {
    use GenerationOutcome::{
        Completed, ContextOverflow, Empty, Filtered, Refused, ToolCalls, Truncated,
    };
    let text = || GenerationEvent::TextDelta("hi");
    let cases: [(Vec<GenerationEvent<'_>>, GenerationOutcome); 14] = [
        (vec![text(), finish(Some(FinishReason::Stop)), GenerationEvent::End], Completed),
        (vec![text(), GenerationEvent::End], Completed),
        (vec![text(), finish(None)], Completed),
        (vec![text()], Truncated),
        (vec![text(), call(0, "f", "{}")], Truncated),
        (vec![call(0, "f", "{}"), finish(Some(FinishReason::Stop))], ToolCalls),
        (
            vec![call(0, "f", "{\"a"), finish(Some(FinishReason::Length)), GenerationEvent::End],
            Truncated,
        ),
        (vec![text(), finish(Some(FinishReason::Refused))], Refused),
        (vec![text(), finish(Some(FinishReason::Filtered))], Filtered),
        (vec![GenerationEvent::End], Empty),
        (vec![GenerationEvent::TextDelta(" \n"), finish(Some(FinishReason::Stop))], Empty),
        (
            vec![
                GenerationEvent::ReasoningDelta { channel: "r", text: "hm" },
                finish(Some(FinishReason::Stop)),
            ],
            Empty,
        ),
        (vec![text(), finish(Some(FinishReason::ContextOverflow))], ContextOverflow),
        (vec![finish(Some(FinishReason::Paused))], Completed),
    ];
    for (events, expected) in cases {
        assert_eq!(assembled(events.clone()).1, expected, "{events:?}");
    }
    assert_eq!(assembled([]).1, Truncated);
}

#[test]
fn calls_are_put_together_in_the_order_of_the_model() {
    let (generation, outcome) = assembled([
        call(1, "second", ""),
        call(0, "first", "{\"a\""),
        call(1, "", "{}"),
        GenerationEvent::CallDelta { slot: 0, id: Some("x"), name: None, arguments: ":1}" },
        GenerationEvent::CallPayload { slot: 0, payload: json!(7), tag: "t" },
        GenerationEvent::CallEnd { slot: 0 },
        finish(Some(FinishReason::ToolCalls)),
    ]);
    assert_eq!(outcome, GenerationOutcome::ToolCalls);
    let calls: Vec<_> =
        generation.calls.iter().map(|it| (&*it.name, &*it.arguments, it.complete)).collect();
    assert_eq!(calls, [("first", "{\"a\":1}", true), ("second", "{}", false)]);
    assert_eq!(generation.calls[0].id.as_deref(), Some("x"));
    assert_eq!(generation.calls[0].opaque, Some((json!(7), "t".into())));
}

#[test]
fn the_same_thought_in_two_fields_is_one() {
    let thoughts = |all: &[(&'static str, &'static str)]| -> Vec<(String, String)> {
        let events =
            all.iter().map(|(channel, text)| GenerationEvent::ReasoningDelta { channel, text });
        let reasoning = assembled(events).0.reasoning;
        reasoning.into_iter().map(|it| (it.channel, it.text)).collect()
    };
    let one = |channel: &str, text: &str| (channel.to_owned(), text.to_owned());
    assert_eq!(thoughts(&[("a", "x"), ("b", "x"), ("a", "y"), ("b", "y")]), [one("a", "xy")]);
    assert_eq!(thoughts(&[("b", "x"), ("a", "y")]), [one("b", "x"), one("a", "y")]);
    assert_eq!(thoughts(&[("a", " \n"), ("b", "y")]), [one("b", "y")]);
    let sealed = GenerationEvent::ReasoningPayload { channel: "a", payload: json!({}), tag: "t" };
    assert_eq!(assembled([sealed]).0.reasoning.len(), 1, "a payload counts without text");
}

#[test]
fn costs_are_what_was_said_last() {
    let (generation, _) = assembled([
        GenerationEvent::Usage(Usage::new(10, 1).with_cached(4)),
        GenerationEvent::Usage(Usage::new(0, 7).with_reasoning(3)),
    ]);
    let expected = Usage::new(10, 7).with_cached(4).with_reasoning(3);
    assert_eq!(generation.usage, expected);
}

#[test]
fn memory_is_bounded() {
    let piece = "x".repeat(1 << 20);
    let pieces = MAX_GENERATED_BYTES / piece.len();
    let grows = |event: GenerationEvent<'_>| {
        let mut assembler = GenerationAssembler::new();
        let taken = (0..2 * pieces).take_while(|_| assembler.push(event.clone()).is_ok()).count();
        assert_eq!(taken, pieces);
    };
    grows(GenerationEvent::TextDelta(&piece));
    grows(GenerationEvent::ReasoningDelta { channel: "r", text: &piece });
    grows(call(0, "f", &piece));
    let mut assembler = GenerationAssembler::new();
    let slots = (0..).take_while(|slot| assembler.push(call(*slot, "f", "")).is_ok()).count();
    assert_eq!(slots, MAX_GENERATED_CALLS);
}

/// Pushes one event for each slot, and checks how many fit. What replaces another one does not count twice.
#[track_caller]
fn check_bound<'e>(fits: usize, event: impl Fn(u32) -> GenerationEvent<'e>) {
    let mut assembler = GenerationAssembler::new();
    let taken = (0..100).take_while(|slot| assembler.push(event(*slot)).is_ok()).count();
    assert_eq!(taken, fits);
    let mut assembler = GenerationAssembler::new();
    assert!((0..20).all(|_| assembler.push(event(0)).is_ok()));
}

/// Each of them stays in memory, and is stored with the turn.
#[test]
fn ids_names_and_payloads_are_bounded() {
    let piece = "x".repeat(1 << 20);
    let pieces = MAX_GENERATED_BYTES / piece.len();
    let named = |slot, id, name| GenerationEvent::CallDelta { slot, id, name, arguments: "" };
    check_bound(pieces, |slot| named(slot, Some(&*piece), None));
    check_bound(pieces, |slot| named(slot, None, Some(&*piece)));
    // With their quotes they have two bytes more.
    let payload = json!(piece);
    check_bound(pieces - 1, |slot| {
        let payload = payload.clone();
        GenerationEvent::CallPayload { slot, payload, tag: "t" }
    });
}
