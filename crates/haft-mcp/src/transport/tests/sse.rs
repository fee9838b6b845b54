use proptest::prelude::*;

use crate::transport::sse_reader::{SseFields, SsePiece, SseReader};

/// The events of a stream: the data and the other fields.
fn events<'b>(pieces: impl IntoIterator<Item = &'b [u8]>) -> Vec<(Vec<u8>, SseFields)> {
    let mut reader = SseReader::default();
    let mut events = Vec::new();
    let mut data = Vec::new();
    for piece in pieces {
        reader.read(piece, |piece| match piece {
            SsePiece::Data(bytes) => data.extend_from_slice(bytes),
            SsePiece::DataLineEnd => data.push(b'\n'),
            SsePiece::EventEnd(fields) => events.push((std::mem::take(&mut data), fields)),
        });
    }
    events
}

fn fields(event: Option<&str>, id: Option<&str>, retry: Option<u64>, has_data: bool) -> SseFields {
    SseFields { event: event.map(str::to_owned), id: id.map(str::to_owned), retry, has_data }
}

#[test]
fn events_are_read_alike_however_they_are_split() {
    let stream = ": a comment\nevent: message\nid: 7\nretry: 500\ndata: {\"a\":\ndata:1}\n\n\ndata\n\n\
                  id: only\r\n\r\nunknown: x\n\ndata:  two spaces\rdata: after a return\r\rdata: unfinished\n";
    let expect = [
        (b"{\"a\":\n1}\n".to_vec(), fields(Some("message"), Some("7"), Some(500), true)),
        (b"\n".to_vec(), fields(None, None, None, true)),
        (Vec::new(), fields(None, Some("only"), None, false)),
        (b" two spaces\nafter a return\n".to_vec(), fields(None, None, None, true)),
    ];
    assert_eq!(events([stream.as_bytes()]), expect);
    for at in 0..stream.len() {
        let (start, end) = stream.as_bytes().split_at(at);
        assert_eq!(events([start, end]), expect, "split at {at}");
    }
    assert_eq!(events(stream.as_bytes().chunks(1)), expect);
}

proptest! {
    #[test]
    fn splits_do_not_change_events(
        stream in prop::collection::vec(prop::sample::select(&b"data: id\r\n:xe"[..]), 0..60),
        size in 1_usize..8,
    ) {
        prop_assert_eq!(events(stream.chunks(size)), events([stream.as_slice()]));
    }
}
