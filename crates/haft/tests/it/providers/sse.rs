use bytes::Bytes;
use haft::providers::framing::{FrameTooLarge, NdjsonDecoder, SseDecoder};
use proptest::prelude::*;

/// Name, data and id of an event.
type Seen = (String, String, String);

fn text(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

/// All events of a stream in these chunks, what was left at the end, and whether it was too large.
fn decode(chunks: &[&[u8]], max: usize) -> (Vec<Seen>, Option<Seen>, bool) {
    let seen =
        |it: haft::providers::framing::SseEvent<'_>| (text(it.name), text(it.data), text(it.id));
    let mut decoder = SseDecoder::new(max);
    let mut events = Vec::new();
    for chunk in chunks {
        decoder.feed(Bytes::copy_from_slice(chunk));
        loop {
            match decoder.next_event() {
                Ok(Some(event)) => events.push(seen(event)),
                Ok(None) => break,
                Err(FrameTooLarge { limit, .. }) => {
                    assert_eq!(limit, max);
                    assert!(decoder.next_event().is_err(), "it goes on");
                    assert_eq!(decoder.finish(), None);
                    return (events, None, true);
                }
            }
        }
    }
    let left = decoder.finish().map(seen);
    assert_eq!(decoder.finish(), None);
    (events, left, false)
}

#[track_caller]
fn check(stream: &[u8], events: &[(&str, &str)], left: Option<(&str, &str)>) {
    let whole = decode(&[stream], 1 << 20);
    let pair = |it: &Seen| (it.0.clone(), it.1.clone());
    let owned = |it: &(&str, &str)| (it.0.to_owned(), it.1.to_owned());
    assert_eq!(
        whole.0.iter().map(pair).collect::<Vec<_>>(),
        events.iter().map(owned).collect::<Vec<_>>()
    );
    assert_eq!(whole.1.as_ref().map(pair), left.as_ref().map(owned));
    for size in 1..stream.len().min(20) {
        let chunks: Vec<&[u8]> = stream.chunks(size).collect();
        assert_eq!(decode(&chunks, 1 << 20), whole, "in chunks of {size}");
    }
}

#[test]
fn events_are_what_the_standard_says() {
    check(b"", &[], None);
    check(b"data: a\n\ndata: b\n\n", &[("", "a"), ("", "b")], None);
    check(b"data: a\r\n\r\ndata: b\r\rdata: c\n\r\n", &[("", "a"), ("", "b"), ("", "c")], None);
    check(b"event: x\ndata: a\n\ndata: b\n\n", &[("x", "a"), ("", "b")], None);
    check(b"data:a\nevent:x\n\n", &[("x", "a")], None);
    check(b"event: x\nevent: y\ndata: 1\n\n", &[("y", "1")], None);
    // Several lines are one text; one blank after the colon is not part of it.
    check(b"data: a\ndata:  b\ndata\ndata:\ndata:c\n\n", &[("", "a\\n b\\n\\n\\nc")], None);
    check(b"data\n\ndata:\n\ndata\ndata\n\n", &[("", ""), ("", ""), ("", "\\n")], None);
    // Without data there is no event, and its name is forgotten.
    check(b"event: x\n\ndata: a\n\n", &[("", "a")], None);
    // Comments, other fields, and what only looks like one.
    check(b": ping\n\n:\n\ndata: a\n: in between\nretry: 5\nfoo: bar\n\n", &[("", "a")], None);
    check(b"Data: a\ndatas: b\n data: c\n\n", &[], None);
    check(b"data: [DONE]\n\n\n\n", &[("", "[DONE]")], None);
    // Values may have colons and anything else.
    check(
        b"data: a: b\n\ndata::\n\ndata: \0\xff\n\n",
        &[("", "a: b"), ("", ":"), ("", "\\x00\\xff")],
        None,
    );
    check("data: Grüße 🎉\n\n".as_bytes(), &[("", &text("Grüße 🎉".as_bytes()))], None);
    // A byte order mark, but only at the beginning.
    check(b"\xEF\xBB\xBFdata: a\n\n\xEF\xBB\xBFdata: b\n\n", &[("", "a")], None);
    check(b"\xEF\xBB\xBF\ndata: a\n\n", &[("", "a")], None);
    check(b"\xEF\xBBdata: a\n\n", &[], None);
}

#[test]
fn what_is_left_at_the_end_is_told() {
    check(b"data: a\n\ndata: b", &[("", "a")], Some(("", "b")));
    check(b"data: a\n\ndata: b\n", &[("", "a")], Some(("", "b")));
    check(b"data: a\n\nevent: x\ndata: b\nda", &[("", "a")], Some(("x", "b")));
    check(b"data: a\n\nevent: x\n", &[("", "a")], Some(("x", "")));
    check(b"data: a\n\nda", &[("", "a")], Some(("", "")));
    check(b"data: a\n\n: ping", &[("", "a")], None);
    check(b"data: a\r\n\r", &[("", "a")], None);
    check(b"data: a\r\n\r\n: ping\n", &[("", "a")], None);
}

#[test]
fn ids_hold_until_there_is_another() {
    let stream = b"data: a\n\nid: 1\ndata: b\n\ndata: c\n\nid: 2\n\ndata: d\n\nid: x\0y\ndata: e\n\nid\ndata: f\n\n";
    let ids: Vec<String> = decode(&[stream], 100).0.into_iter().map(|it| it.2).collect();
    assert_eq!(ids, ["", "1", "1", "2", "2", ""]);
}

#[test]
fn frames_are_bounded() {
    #[track_caller]
    fn check(stream: &[u8], events: usize, too_large: bool) {
        let whole = decode(&[stream], 10);
        assert_eq!((whole.0.len(), whole.2), (events, too_large));
        for size in 1..stream.len() {
            assert_eq!(decode(&stream.chunks(size).collect::<Vec<_>>(), 10), whole, "{size}");
        }
    }
    check(b"data: 0123\n\ndata: 4567\n\n", 2, false);
    check(b"data: 0123\n\ndata: 45678\n\n", 1, true);
    check(b"data: 0123\n\ndata: 4567890", 1, true);
    check(b"data:01234\ndata:5678\n\n", 1, false);
    check(b"data:01234\ndata:56789\n\n", 0, true);
    // Lines that are not kept do not add up.
    check(&b": 01234567\n".repeat(9), 0, false);
    check(&b"foo: 1\n".repeat(9), 0, false);
}

#[test]
fn what_was_not_taken_comes_first() {
    let mut decoder = SseDecoder::new(100);
    decoder.feed("data: a\n\nevent: x\ndata: b\ndata: ".into());
    assert_eq!(decoder.next_event().unwrap().unwrap().data, b"a");
    decoder.feed("c\n\nda".into());
    decoder.feed("ta: d\n\n".into());
    let event = decoder.next_event().unwrap().unwrap();
    assert_eq!((event.name, event.data), (&b"x"[..], &b"b\nc"[..]));
    assert_eq!(decoder.next_event().unwrap().unwrap().text(), "d");
    assert_eq!(decoder.next_event().unwrap(), None);
    assert_eq!(decoder.finish(), None);
}

/// The standard, word by word, over the whole text.
fn naive(stream: &[u8]) -> Vec<Seen> {
    let stream = stream.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(stream);
    let mut lines: Vec<Vec<u8>> = vec![Vec::new()];
    let mut bytes = stream.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\r' => {
                bytes.next_if_eq(&b'\n');
                lines.push(Vec::new());
            }
            b'\n' => lines.push(Vec::new()),
            _ => lines.last_mut().unwrap().push(byte),
        }
    }
    lines.pop();
    let mut events = Vec::new();
    let mut id = Vec::new();
    let mut name = Vec::new();
    let mut data = Vec::new();
    for line in lines {
        if line.is_empty() {
            if data.pop().is_some() {
                events.push((text(&name), text(&data), text(&id)));
            }
            name.clear();
            data.clear();
            continue;
        }
        let mut parts = line.splitn(2, |it| *it == b':');
        let field = parts.next().unwrap();
        let value = parts.next().unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                data.extend(value);
                data.push(b'\n');
            }
            b"event" => name = value.to_vec(),
            b"id" if !value.contains(&0) => id = value.to_vec(),
            _ => {}
        }
    }
    events
}

fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec![
            "data", ":", " ", "\n", "\r", "\r\n", "\n\n", "event", "id", "data: x\n\n", "ü", "🎉", "\u{feff}", "\0",
        ])
        .prop_map(|it| it.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(piece, 0..30).prop_map(|it| it.concat())
}

/// Cuts a stream at these places.
fn cut<'a>(stream: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut cuts: Vec<usize> = cuts.iter().map(|it| it % (stream.len() + 1)).collect();
    cuts.extend([0, stream.len()]);
    cuts.sort_unstable();
    cuts.windows(2).map(|it| &stream[it[0]..it[1]]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(haft_testkit::cases(512)))]

    #[test]
    fn any_chunking_gives_the_events_of_the_standard(stream in pieces(), cuts: [usize; 6]) {
        let (events, left, too_large) = decode(&[&stream], 1 << 10);
        prop_assert_eq!(&events, &naive(&stream));
        let cut = decode(&cut(&stream, &cuts), 1 << 10);
        prop_assert_eq!(cut, (events, left, too_large));
    }

    #[test]
    fn any_chunking_meets_the_same_limit(stream in pieces(), cuts: [usize; 6], max in 1_usize..12) {
        prop_assert_eq!(decode(&cut(&stream, &cuts), max), decode(&[&stream], max));
    }

    #[test]
    fn any_chunking_gives_the_same_lines(stream in pieces(), cuts: [usize; 6], max in 1_usize..40) {
        let whole = lines(&[&stream], max);
        prop_assert_eq!(&lines(&cut(&stream, &cuts), max), &whole);
        if !whole.2 {
            let bare = stream.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&stream);
            let split = bare.split(|it| *it == b'\n').map(<[u8]>::trim_ascii);
            let expected: Vec<String> = split.filter(|it| !it.is_empty()).map(text).collect();
            let all: Vec<String> = whole.0.into_iter().chain(whole.1).collect();
            prop_assert_eq!(all, expected);
        }
    }
}

/// All lines of NDJSON, what was left, and whether one was too large.
fn lines(chunks: &[&[u8]], max: usize) -> (Vec<String>, Option<String>, bool) {
    let mut decoder = NdjsonDecoder::new(max);
    let mut lines = Vec::new();
    for chunk in chunks {
        decoder.feed(Bytes::copy_from_slice(chunk));
        loop {
            match decoder.next_line() {
                Ok(Some(line)) => lines.push(text(line)),
                Ok(None) => break,
                Err(_) => {
                    assert!(decoder.next_line().is_err(), "it goes on");
                    assert_eq!(decoder.finish(), None);
                    return (lines, None, true);
                }
            }
        }
    }
    let left = decoder.finish().map(text);
    assert_eq!(decoder.finish(), None);
    (lines, left, false)
}

#[test]
fn lines_are_what_has_something_in_it() {
    #[track_caller]
    fn check(stream: &[u8], whole: &[&str], left: Option<&str>) {
        let expected =
            (whole.iter().map(|it| (*it).to_owned()).collect(), left.map(str::to_owned), false);
        assert_eq!(lines(&[stream], 100), expected);
    }
    check(b"", &[], None);
    check(b"{}\n\r\n \n[1]\r\n", &["{}", "[1]"], None);
    check(b"\xEF\xBB\xBF{}\n[1,\n", &["{}", "[1,"], None);
    check(b"1\n2", &["1"], Some("2"));
    check(b"1\n \r", &["1"], None);
}
