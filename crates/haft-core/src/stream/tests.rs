use proptest::prelude::*;
use serde_json::json;

use super::{MAX_STREAM_BYTES, StreamError, StreamPart, StreamReport, StreamTracker};
use crate::clock::Timestamp;
use crate::error::Coded as _;
use crate::event::{EventKind, StreamDelta, StreamState};

fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros).unwrap()
}

#[track_caller]
fn message(kind: impl Into<EventKind>) -> StreamDelta {
    match kind.into() {
        EventKind::Message(delta) => delta,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn thought(kind: impl Into<EventKind>) -> StreamDelta {
    match kind.into() {
        EventKind::Thought(delta) => delta,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_text_that_was_not_streamed_is_reported_as_one_that_came_in_one_piece() {
    let mut streams = StreamTracker::default();
    let streamed = streams.report_message("m", "Grüße", StreamPart::Last, at(1)).unwrap();
    let whole = StreamReport::of_message("m".into(), "Grüße", at(1)).unwrap();
    assert_eq!(whole.full(), streamed.full());
    assert_eq!(message(whole), message(streamed));
    let streamed = streams.report_thought("t", "", StreamPart::Last, at(2)).unwrap();
    assert_eq!(
        thought(StreamReport::of_thought("t".into(), "", at(2)).unwrap()),
        thought(streamed)
    );
    assert_eq!(
        StreamReport::of_message("".into(), "Hi", at(1)).unwrap_err(),
        StreamError::InvalidId { length: 0 }
    );
    assert_eq!(
        StreamReport::of_message("m".into(), &"a".repeat(MAX_STREAM_BYTES + 1), at(1)).unwrap_err(),
        StreamError::TooLong { id: "m".to_owned() }
    );
}

#[test]
fn pieces_say_where_they_begin_and_the_last_one_has_all() {
    let mut streams = StreamTracker::default();
    let first = message(streams.report_message("m", "Grüße", StreamPart::More, at(1)).unwrap());
    assert_eq!((&*first.id, &*first.delta, first.offset), ("m", "Grüße", 0));
    assert_eq!((first.full, first.is_complete, first.completed_at), (None, false, None));
    assert_eq!((first.created_at, first.updated_at), (at(1), at(1)));

    let last = message(streams.report_message("m", ", Welt", StreamPart::Last, at(5)).unwrap());
    assert_eq!((&*last.delta, last.offset, last.state), (", Welt", 7, StreamState::Sealed));
    assert_eq!(last.full.as_deref(), Some("Grüße, Welt"));
    assert_eq!((last.created_at, last.updated_at, last.completed_at), (at(1), at(5), Some(at(5))));

    let text = serde_json::to_value(EventKind::Message(last)).unwrap();
    assert_eq!(
        text,
        json!({
            "event": "message", "id": "m", "createdAt": at(1), "updatedAt": at(5),
            "aDelta": ", Welt", "offset": 7, "full": "Grüße, Welt", "state": "sealed",
            "isComplete": true, "completedAt": at(5),
        })
    );
}

#[test]
fn an_ended_stream_takes_no_more_and_other_channels_do_not_care() {
    let mut streams = StreamTracker::default();
    message(streams.report_message("x", "", StreamPart::Last, at(0)).unwrap());
    let late = streams.report_message("x", "late", StreamPart::More, at(1)).unwrap_err();
    assert_eq!(late, StreamError::Ended { id: "x".into() });
    assert_eq!(late.code(), "E_LLM_EXECUTION_EXECUTOR_ERROR");
    thought(streams.report_thought("x", "fine", StreamPart::More, at(1)).unwrap());
    assert_eq!(streams.message_state("x"), Some(StreamState::Sealed));
    assert_eq!(streams.thought_state("x"), Some(StreamState::Open));
    assert_eq!(streams.thought_state("y"), None);
}

#[test]
fn what_nobody_ended_is_ended_once_in_the_order_it_began() {
    let mut streams = StreamTracker::default();
    for id in ["b", "a", "c"] {
        message(streams.report_message(id, id, StreamPart::More, at(0)).unwrap());
    }
    message(streams.report_message("a", "", StreamPart::Last, at(0)).unwrap());
    thought(streams.report_thought("t", "hm", StreamPart::More, at(0)).unwrap());

    let mut ended = streams.abort_leftovers(at(9)).into_iter();
    let first = thought(ended.next().unwrap());
    assert_eq!((first.full.as_deref(), first.state), (Some("hm"), StreamState::Aborted));
    assert_eq!((first.is_complete, first.completed_at), (true, Some(at(9))));
    let ids: Vec<_> = ended.map(|it| message(it).id.to_string()).collect();
    assert_eq!(ids, ["b", "c"]);
    assert_eq!(streams.abort_leftovers(at(9)), []);
    assert!(streams.report_thought("t", "", StreamPart::More, at(9)).is_err());
}

#[test]
fn a_withdrawn_stream_gives_no_text_and_its_id_begins_anew() {
    let mut streams = StreamTracker::default();
    message(streams.report_message("m", "half an ans", StreamPart::More, at(1)).unwrap());
    let mut superseded = streams.supersede_leftovers(at(2)).into_iter();
    let gone = message(superseded.next().unwrap());
    assert_eq!((gone.state, gone.full, gone.is_complete), (StreamState::Superseded, None, true));
    assert_eq!(superseded.next(), None);
    assert_eq!(streams.supersede_leftovers(at(2)), []);
    let anew = message(streams.report_message("m", "an answer", StreamPart::Last, at(3)).unwrap());
    assert_eq!((anew.offset, anew.created_at), (0, at(3)));
    assert_eq!(anew.full.as_deref(), Some("an answer"));
}

#[test]
fn streams_and_ids_have_a_longest_length() {
    let mut streams = StreamTracker::default();
    let most = "x".repeat(MAX_STREAM_BYTES);
    message(streams.report_message("m", &most, StreamPart::More, at(0)).unwrap());
    let more = streams.report_message("m", "y", StreamPart::More, at(0)).unwrap_err();
    assert_eq!(more, StreamError::TooLong { id: "m".into() });
    let last = message(streams.report_message("m", "", StreamPart::Last, at(0)).unwrap());
    assert_eq!(last.full.as_deref().map(str::len), Some(MAX_STREAM_BYTES));

    for id in [String::new(), "i".repeat(513)] {
        let expect = StreamError::InvalidId { length: id.len() };
        assert_eq!(streams.report_message(&id, "", StreamPart::More, at(0)).unwrap_err(), expect);
    }
}

proptest! {
    /// However text is cut into pieces and whichever streams take turns, the pieces of a stream are
    /// its text, each beginning where the one before it ended.
    #[test]
    fn pieces_together_are_the_text(
        reports in prop::collection::vec((0..3u8, any::<bool>(), ".{0,8}", prop::bool::weighted(0.2)), 0..60)
    ) {
        let mut streams = StreamTracker::default();
        let mut events = Vec::new();
        for (id, thinks, delta, last) in &reports {
            let id = id.to_string();
            let part = if *last { StreamPart::Last } else { StreamPart::More };
            let taken = if *thinks {
                streams.report_thought(&id, delta, part, at(0))
            } else {
                streams.report_message(&id, delta, part, at(0))
            };
            events.extend(taken.ok().map(EventKind::from));
        }
        events.extend(streams.abort_leftovers(at(0)));

        let mut texts = std::collections::HashMap::<_, String>::new();
        let mut ended = 0;
        for event in events {
            let channel = event.name();
            let (EventKind::Message(delta) | EventKind::Thought(delta)) = event else {
                panic!("{event:?}")
            };
            let text = texts.entry((channel, delta.id)).or_default();
            prop_assert_eq!(delta.offset, text.len() as u64);
            text.push_str(&delta.delta);
            prop_assert_eq!(delta.full.is_some(), delta.is_complete);
            if let Some(full) = delta.full {
                prop_assert_eq!(&*full, text.as_str());
                ended += 1;
            }
        }
        prop_assert_eq!(ended, texts.len());
    }
}
