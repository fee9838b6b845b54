//! The framings of streamed responses.

use bytes::Bytes;
use haft::providers::framing::{NdjsonDecoder, SseDecoder};

/// Any bytes in any chunks give the same events as in one; the first bytes say where the stream is cut and how large a
/// frame may be.
pub fn sse(data: &[u8]) {
    let [max, size, stream @ ..] = data else { return };
    let events = |chunks: &mut dyn Iterator<Item = &[u8]>| {
        let mut decoder = SseDecoder::new(usize::from(*max));
        let mut seen = Vec::new();
        for chunk in chunks {
            decoder.feed(Bytes::copy_from_slice(chunk));
            loop {
                match decoder.next_event() {
                    Ok(None) => break,
                    Ok(Some(event)) => {
                        assert!(event.data.len() <= usize::from(*max), "data beyond the limit");
                        seen.push([event.name, event.data, event.id].map(<[u8]>::to_vec));
                    }
                    Err(_) => return (seen, None, true),
                }
            }
        }
        let left = decoder.finish();
        let left = left.map(|it| [it.name, it.data, it.id].map(<[u8]>::to_vec));
        (seen, left, false)
    };
    let whole = events(&mut [stream].into_iter());
    let cut = events(&mut stream.chunks(usize::from(*size).max(1)));
    assert_eq!(cut, whole, "chunks change the events");
}

/// Any bytes in any chunks give the same lines as in one.
pub fn ndjson(data: &[u8]) {
    let [max, size, stream @ ..] = data else { return };
    let lines = |chunks: &mut dyn Iterator<Item = &[u8]>| {
        let mut decoder = NdjsonDecoder::new(usize::from(*max));
        let mut seen = Vec::new();
        for chunk in chunks {
            decoder.feed(Bytes::copy_from_slice(chunk));
            loop {
                match decoder.next_line() {
                    Ok(None) => break,
                    Ok(Some(line)) => {
                        assert!(!line.is_empty() && !line.contains(&b'\n'), "not a line");
                        seen.push(line.to_vec());
                    }
                    Err(_) => return (seen, None, true),
                }
            }
        }
        (seen, decoder.finish().map(<[u8]>::to_vec), false)
    };
    let whole = lines(&mut [stream].into_iter());
    let cut = lines(&mut stream.chunks(usize::from(*size).max(1)));
    assert_eq!(cut, whole, "chunks change the lines");
}
