use std::io;
use std::num::NonZeroU32;

use proptest::prelude::*;

use super::{AlignedBuffer, LineIndex, LineIndexBuilder, SpoolError, SpoolKey, count_newlines};
use crate::error::Coded;
use crate::failure::ToolFailure;

fn index(content: &[u8], block: u32, piece: usize) -> LineIndex {
    let mut builder = LineIndexBuilder::new(NonZeroU32::new(block).unwrap());
    content.chunks(piece).for_each(|piece| builder.push(piece));
    builder.finish()
}

/// The offset of a line by way of the index.
fn start_of(index: &LineIndex, content: &[u8], line: u64) -> Option<usize> {
    let found = index.locate(line)?;
    let mut offset = usize::try_from(found.offset).unwrap();
    for _ in 0..found.newlines {
        offset += content[offset..].iter().position(|byte| *byte == b'\n').unwrap() + 1;
    }
    Some(offset)
}

#[test]
fn lines_are_counted_by_line_feeds() {
    #[track_caller]
    fn check(content: &str, lines: u64) {
        assert_eq!(LineIndex::of(content.as_bytes()).line_count(), lines, "{content:?}");
    }
    check("", 0);
    check("a", 1);
    check("\n", 2);
    check("a\nb\n", 3);
    check("a\r\nb\rc", 2);
}

proptest! {
    #[test]
    fn every_line_is_found(
        content in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'a')], 0..200),
        block in 1_u32..40,
        piece in 1_usize..50,
    ) {
        let index = index(&content, block, piece);
        prop_assert_eq!(index.byte_length(), content.len() as u64);
        let newlines = content.iter().filter(|byte| **byte == b'\n').count() as u64;
        prop_assert_eq!(index.newlines(), newlines);
        prop_assert_eq!(count_newlines(&content), newlines);
        let mut starts = Vec::new();
        if !content.is_empty() {
            starts.push(0);
            starts.extend((0..content.len()).filter(|at| content[*at] == b'\n').map(|at| at + 1));
        }
        for (line, start) in starts.iter().enumerate() {
            prop_assert_eq!(start_of(&index, &content, line as u64), Some(*start));
            let block_start = index.locate(line as u64).unwrap().offset as usize;
            prop_assert!(start - block_start <= block as usize);
        }
        prop_assert_eq!(index.locate(starts.len() as u64), None);
        let decoded = LineIndex::decode(&index.encode()).unwrap();
        prop_assert_eq!(decoded, index);
    }

    #[test]
    fn a_damaged_index_is_refused(
        content in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'a')], 0..100),
        at in any::<prop::sample::Index>(),
        bit in 0_u8..8,
    ) {
        let mut bytes = index(&content, 16, 100).encode();
        let at = at.index(bytes.len());
        prop_assert!(LineIndex::decode(&bytes[..at]).is_err());
        bytes[at] ^= 1 << bit;
        prop_assert!(LineIndex::decode(&bytes).is_err());
        bytes.push(0);
        prop_assert!(LineIndex::decode(&bytes).is_err());
    }

    #[test]
    fn any_bytes_can_be_tried_as_an_index(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(LineIndex::decode(&bytes).is_err());
    }
}

#[test]
fn newlines_are_counted_past_the_width_of_a_byte() {
    assert_eq!(count_newlines(&[b'\n'; 100_000]), 100_000);
}

#[test]
fn counts_that_no_content_has_are_refused() {
    use sha2::{Digest, Sha256};
    // Two bytes in one block cannot hold three newlines; the hash is right.
    let mut bytes = index(b"\n\n", 16, 100).encode();
    bytes.truncate(bytes.len() - 32);
    bytes[24] = 3;
    let hash = Sha256::digest(&bytes);
    bytes.extend(hash);
    let error = LineIndex::decode(&bytes).unwrap_err();
    assert_eq!(error.to_string(), "a line index is damaged: its counts do not fit its length");
}

#[test]
fn errors_say_whether_trying_again_helps() {
    #[track_caller]
    fn check(error: &SpoolError, code: &str, retryable: bool) {
        assert_eq!((error.code().as_str(), error.retryable()), (code, retryable), "{error}");
    }
    let key = || SpoolKey::from("k");
    let full = || io::Error::from(io::ErrorKind::StorageFull);
    check(&SpoolError::io(&key(), "write", full()), "E_STORE", true);
    check(&SpoolError::TooLarge { key: key(), limit: 3 }, "E_STORE", false);
    let failure = ToolFailure::new("gone").retryable();
    let broken = SpoolError::Source { key: key(), received: 7, failure: failure.into() };
    assert_eq!(broken.to_string(), "the content of `k` broke off after 7 bytes: gone");
    check(&broken, "E_TOOL_DOWNSTREAM_ERROR", true);
    let changed = SpoolError::Changed { key: key(), how: "it grew".to_owned() };
    let unwrapped = SpoolError::io(&key(), "read", changed.into());
    assert!(matches!(unwrapped, SpoolError::Changed { .. }), "{unwrapped}");
}

#[test]
fn a_key_is_shown_bounded_and_without_control_characters() {
    assert_eq!(SpoolKey::from("a\0b\n").to_string(), "a\\0b\\n");
    let long = SpoolKey::from("x".repeat(1000));
    assert_eq!(long.to_string().chars().count(), 81);
}

proptest! {
    #[test]
    fn a_key_tells_its_turn_whatever_it_is_called(turn in "(?s).{0,20}|[/%25F]{0,9}", rest in "(?s).{0,9}") {
        let key = SpoolKey::of_turn(&turn, &rest);
        prop_assert_eq!(key.turn(), Some(turn));
    }
}

#[test]
fn keys_of_others_belong_to_no_turn() {
    for key in ["", "turn", "turn/", "turn/x", "media/1", "x/turn/y/z"] {
        assert_eq!(SpoolKey::from(key).turn(), None, "{key}");
    }
}
#[test]
fn windows_are_aligned_and_keep_what_they_are_told_to() {
    let mut window = AlignedBuffer::default();
    let mut expect: Vec<u8> = Vec::new();
    let sizes = [(0, 10), (3, 100), (103, 1), (50, 4096), (64, 64), (128, 5000), (0, 7), (9, 9)];
    for (round, (keep, len)) in (0_u8..).zip(sizes) {
        let room = window.next(keep, len);
        assert_eq!(room.len(), len);
        assert_eq!(room.as_ptr().align_offset(64), 0);
        room.fill(round);
        window.filled(len);
        expect.drain(..expect.len().saturating_sub(keep));
        expect.extend(std::iter::repeat_n(round, len));
        assert_eq!(window.data(), expect);
    }
}
