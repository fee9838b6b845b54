//! The records of a turn.

use std::num::NonZeroU32;
use std::sync::Arc;

use proptest::prelude::*;

use super::AT;
use crate::call::{CallState, ToolCall};
use crate::record::{Memory, Message, Record as _, RecordList, RecordSequence};
use crate::schema::args::RawArgs;

fn message(id: &str, text: &str) -> Message {
    Message::user_at(id, text, AT).unwrap()
}

#[track_caller]
fn check(shelf: &RecordList<Message>, expected: &[(&str, &str)]) {
    let all = shelf.all();
    let found = all.iter().map(|it| (it.id().as_str(), it.content().unwrap().as_str()));
    assert_eq!(found.collect::<Vec<_>>(), expected);
    assert_eq!((shelf.len(), shelf.is_empty()), (expected.len(), expected.is_empty()));
    for (id, text) in expected {
        assert_eq!(shelf.get(*id).as_deref(), Some(&message(id, text)));
    }
}

#[test]
fn there_is_one_record_for_each_id() {
    let shelf = RecordList::default();
    check(&shelf, &[]);
    assert_eq!(shelf.put(message("a", "1")), None);
    assert_eq!(shelf.put(message("b", "2")), None);
    assert_eq!(shelf.put(message("c", "3")), None);
    check(&shelf, &[("a", "1"), ("b", "2"), ("c", "3")]);
    // In its place, however often.
    assert_eq!(shelf.put(message("a", "4")).as_deref(), Some(&message("a", "1")));
    assert_eq!(shelf.put(message("a", "5")).as_deref(), Some(&message("a", "4")));
    check(&shelf, &[("a", "5"), ("b", "2"), ("c", "3")]);
    // Wholly, and the order stays.
    assert_eq!(shelf.remove("a").as_deref(), Some(&message("a", "5")));
    assert_eq!(shelf.remove("a"), None);
    check(&shelf, &[("b", "2"), ("c", "3")]);
    assert_eq!(shelf.get("a"), None);
    assert_eq!(shelf.put(message("a", "6")), None);
    check(&shelf, &[("b", "2"), ("c", "3"), ("a", "6")]);
    assert_eq!(format!("{shelf:?}"), r#"{RecordName("b"), RecordName("c"), RecordName("a")}"#);
}

#[test]
fn a_snapshot_stays_as_it_was() {
    let shelf = RecordList::default();
    shelf.put(message("a", "1"));
    let (before, first) = (shelf.all(), shelf.get("a").unwrap());
    shelf.put(message("a", "2"));
    shelf.put(message("b", "3"));
    assert_eq!(before, [Arc::clone(&first)]);
    assert_eq!(*first, message("a", "1"));
}

#[test]
fn records_of_different_kinds_have_an_order() {
    let sequence = RecordSequence::new();
    let (messages, memories) = (RecordList::new(sequence.clone()), RecordList::new(sequence));
    let memory =
        |id| Memory::new(id, "x", AT).with_confidence(1.0).with_importance(1.0).checked().unwrap();
    messages.put(message("a", "1"));
    memories.put(memory("x"));
    messages.put(message("b", "2"));
    messages.put(message("a", "3"));
    memories.put(memory("y"));
    let first = RecordSequence::FIRST_OF_TURN;
    let numbers = |all: Vec<(u64, String)>| all;
    let of_messages =
        messages.numbered().iter().map(|(n, it)| (*n, it.key().to_string())).collect();
    let of_memories =
        memories.numbered().iter().map(|(n, it)| (*n, it.key().to_string())).collect();
    assert_eq!(numbers(of_messages), [(first, "a".to_owned()), (first + 2, "b".to_owned())]);
    assert_eq!(numbers(of_memories), [(first + 1, "x".to_owned()), (first + 3, "y".to_owned())]);
}

fn call(args: &str, occurrence: u32) -> ToolCall {
    let occurrence = NonZeroU32::new(occurrence).unwrap();
    ToolCall::requested("search", RawArgs::text(args), occurrence, AT)
}

#[test]
fn calls_are_counted_by_what_they_are() {
    let shelf = RecordList::default();
    let (one, two) = (call("{\"q\":1}", 1), call("{\"q\":2}", 1));
    assert_eq!(shelf.call_count(one.call_id()), 0);
    shelf.put(one.clone());
    shelf.put(two.clone());
    shelf.put(call("{ \"q\": 1.0 }", 2));
    assert_eq!((shelf.call_count(one.call_id()), shelf.call_count(two.call_id())), (2, 1));
    // The next version of a record is not another call.
    let mut ended = one.clone();
    ended.advance(CallState::Cancelled, AT).unwrap();
    shelf.put(ended.clone());
    assert_eq!(shelf.call_count(one.call_id()), 2);
    assert_eq!(shelf.all()[0].as_ref(), &ended);
    shelf.remove(&one.id());
    shelf.remove(&one.id());
    assert_eq!((shelf.call_count(one.call_id()), shelf.len()), (1, 2));
    shelf.remove(&call("{\"q\":1}", 2).id());
    assert_eq!(shelf.call_count(one.call_id()), 0);
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Put(u8, u8),
    Remove(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0..6_u8, any::<u8>()).prop_map(|(id, text)| Step::Put(id, text)),
        (0..6_u8).prop_map(Step::Remove),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_shelf_is_a_list_without_repeats(steps in prop::collection::vec(step(), 0..40)) {
        let (shelf, mut model) = (RecordList::default(), Vec::<(String, String)>::new());
        for step in steps {
            match step {
                Step::Put(id, text) => {
                    let (id, text) = (id.to_string(), text.to_string());
                    shelf.put(message(&id, &text));
                    match model.iter_mut().find(|it| it.0 == id) {
                        Some(it) => it.1 = text,
                        None => model.push((id, text)),
                    }
                }
                Step::Remove(id) => {
                    let removed = shelf.remove(id.to_string().as_str());
                    prop_assert_eq!(removed.is_some(), model.iter().any(|it| it.0 == id.to_string()));
                    model.retain(|it| it.0 != id.to_string());
                }
            }
            let expected: Vec<_> = model.iter().map(|it| (it.0.as_str(), it.1.as_str())).collect();
            check(&shelf, &expected);
        }
    }
}
