use super::*;

#[test]
fn every_way_reads_the_same() {
    let events = data::events();
    assert_eq!(events.len(), CHUNKS + 1, "the end is no chunk");
    let bytes: usize = events.iter().map(String::len).sum();
    assert!((28_000_000..31_000_000).contains(&bytes), "{bytes}");
    let expected = floor::read(&Framing::Events.cut(&events)).unwrap();
    assert_eq!((expected.calls.len(), expected.tokens), (10, 101_000));
    for (name, framing) in FRAMINGS {
        let chunks = framing.cut(&events);
        assert_eq!(ours::read(&chunks).unwrap(), expected, "{name}");
        #[cfg(feature = "peers")]
        for (peer, read) in peers::WAYS {
            assert_eq!(read(&chunks).unwrap(), expected, "{name} by {peer}");
        }
    }
    let calls = &expected.calls;
    assert!(calls.iter().all(|it| serde_json::from_str::<serde_json::Value>(&it.1).is_ok()));
}
