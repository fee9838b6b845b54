//! Long lines, part by part.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use haft::artifacts::Budget;
use haft::artifacts::text::{LinePart, TextView};
use haft::stores::MemorySpoolStore;
use haft::stores::{SpoolReader, SpoolStore};
use proptest::prelude::*;

use super::queries::Remote;
use super::{model, run, view_of};

/// All parts of a line, each from where the last one broke off.
async fn follow(view: &TextView, number: u64) -> Vec<LinePart> {
    let mut parts = Vec::new();
    let mut next = Some((0, u64::MAX));
    while let Some((start, end)) = next {
        let part = view.read_line_part(number, start..end).await.unwrap().unwrap();
        next = part.next.map(|next| (next.start, next.end));
        parts.push(part);
    }
    parts
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(haft_testkit::cases(150)))]

    #[test]
    fn following_the_parts_shows_the_text_of_the_line(
        content in model::content(),
        block in 1_u32..50,
        cap in 0_usize..20,
    ) {
        run(async {
            let view = view_of(&content, block, 64).await.budget(Budget::new().bytes(cap));
            let texts = model::texts(&content);
            for (number, text) in (0..).zip(&texts) {
                let parts = follow(&view, number).await;
                let shown: String = parts.iter().map(|part| part.text.as_str()).collect();
                assert_eq!(&shown, text);
                let raw = content.split(|byte| *byte == b'\n').nth(usize::try_from(number).unwrap());
                for part in &parts {
                    assert!(part.text.len() <= cap || part.text.chars().count() == 1);
                    assert_eq!(part.bytes, raw.unwrap().len() as u64);
                }
                for pair in parts.windows(2) {
                    assert_eq!(pair[0].range.end, pair[1].range.start);
                }
            }
            assert_eq!(view.read_line_part(texts.len() as u64, ..).await.unwrap(), None);
        });
    }

    #[test]
    fn any_range_begins_and_ends_between_characters(
        content in model::content(),
        (start, len) in (0_u64..30, 0_u64..30),
    ) {
        run(async {
            let view = view_of(&content, 16, 64).await;
            for (number, text) in (0..).zip(&model::texts(&content)) {
                let part = view.read_line_part(number, start..start + len).await.unwrap().unwrap();
                // What stands before it, it and what comes after it are the text of the line.
                let before = view.read_line_part(number, ..part.range.start).await.unwrap().unwrap();
                let after = view.read_line_part(number, part.range.end..).await.unwrap().unwrap();
                assert_eq!(format!("{}{}{}", before.text, part.text, after.text), *text);
                assert!(part.text.is_empty() || part.range.start <= start.max(3));
            }
        });
    }
}

#[test]
fn ranges_are_in_bytes_and_show_whole_characters() {
    #[track_caller]
    fn check(
        content: &[u8],
        bytes: std::ops::Range<u64>,
        (text, range): (&str, std::ops::Range<u64>),
    ) {
        let view = run(view_of(content, 8, 8));
        let part = run(view.read_line_part(0, bytes)).unwrap().unwrap();
        assert_eq!((part.text.as_str(), part.range), (text, range));
    }
    let text = "aé€😀b".as_bytes();
    check(text, 0..1, ("a", 0..1));
    check(text, 0..2, ("a", 0..1));
    check(text, 0..3, ("aé", 0..3));
    check(text, 2..6, ("é€", 1..6));
    check(text, 4..5, ("€", 3..6));
    check(text, 9..10, ("😀", 6..10));
    check(text, 8..99, ("😀b", 6..11));
    check(text, 11..99, ("", 11..11));
    check(text, 50..99, ("", 11..11));
    check(b"\xef\xbb\xbfab\r", 0..99, ("ab", 3..5));
    check(b"\xef\xbb\xbfab\r", 1..4, ("a", 3..4));
    check(b"\xef\xbb\xbfab\r", 5..6, ("", 5..5));
    check(b"a\xe2\x82b\x82\x82", 2..6, ("\u{fffd}b\u{fffd}\u{fffd}", 1..6));
}

#[test]
fn a_line_of_ten_megabytes_is_read_piece_by_piece() {
    run(async {
        let mut content = b"first\n".to_vec();
        content.extend("0123456789abcdé".repeat(640_000).bytes());
        content.extend(b"\nlast");
        let store = MemorySpoolStore::new();
        let inner = store.write("k".into(), content.clone().into()).await.unwrap();
        let remote = Arc::new(Remote { inner, read: AtomicU64::new(0) });
        let view = TextView::new(Arc::clone(&remote) as Arc<dyn SpoolReader>);
        let read = || remote.read.swap(0, Ordering::Relaxed);

        let mut text = String::new();
        let mut next = 0;
        loop {
            let part = view.read_line_part(1, next..).await.unwrap().unwrap();
            text.push_str(&part.text);
            assert!(part.text.len() <= 16 * 1024);
            // The blocks in which the line begins and ends, and what is shown.
            assert!(read() <= 2 * 64 * 1024 + 16 * 1024 + 16);
            let Some(rest) = part.next else { break };
            assert_eq!(rest.end, 10_240_000);
            next = rest.start;
        }
        assert_eq!(text.as_bytes(), &content[6..content.len() - 5]);

        let middle = view.read_line_part(1, 5_000_000..).await.unwrap().unwrap();
        assert_eq!(middle.range, 5_000_000..5_016_384);
        assert_eq!(
            middle.next.unwrap().to_string(),
            "5223616 bytes of the line were left out; go on with start 5016384 and end 10240000"
        );
    });
}
