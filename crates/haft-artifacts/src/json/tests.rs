use proptest::prelude::*;

use super::block_masks::{BlockMasks, StringTracker};
use super::container::{ContainerBuilder, ContainerKind, MemberOffset};

/// Which bytes are inside strings, one after the other.
fn inside_naively(bytes: &[u8]) -> Vec<bool> {
    let mut inside = false;
    let mut escaped = false;
    let step = |byte: &u8| {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => inside = !inside,
            _ => {}
        }
        inside
    };
    bytes.iter().map(step).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn strings_are_found_as_byte_by_byte(text in "[\"\\\\a{]{0,300}") {
        let mut padded = text.into_bytes();
        padded.resize(padded.len().next_multiple_of(64), b' ');
        let mut strings = StringTracker::default();
        let mut found = Vec::new();
        for block in padded.as_chunks().0 {
            let all = strings.cover(block);
            let inside = strings.advance(&BlockMasks::of(block));
            prop_assert!(!all || inside == u64::MAX);
            found.extend((0..64).map(|at| inside >> at & 1 == 1));
        }
        prop_assert_eq!(found, inside_naively(&padded));
    }

    #[test]
    fn masks_have_a_bit_per_byte(bytes in prop::collection::vec(any::<u8>(), 64)) {
        let block: &[u8; 64] = bytes.first_chunk().unwrap();
        let masks = BlockMasks::of(block);
        for (at, byte) in bytes.iter().enumerate() {
            let bit = |mask: u64| mask >> at & 1 == 1;
            prop_assert_eq!(bit(masks.quotes), *byte == b'"');
            prop_assert_eq!(bit(masks.backslashes), *byte == b'\\');
            let found = bit(masks.brackets);
            let least = b"[]{}".contains(byte);
            let most = least || b"Y_y\x7f".contains(byte);
            prop_assert!(least <= found && found <= most, "{}", byte);
        }
    }
}

#[test]
fn places_are_thinned_out_and_stay_right() {
    let mut builder = ContainerBuilder::new(ContainerKind::Array, 0, 1);
    let count = 10_000_000;
    (0..count).for_each(|child| builder.child(child * 3));
    let list = builder.finish(count * 3);
    for child in [0, 1, 63, 64, 65, 4_999_999, count - 1] {
        let (offset, pass) = list.locate(child).unwrap();
        assert_eq!(offset + pass * 3, child * 3);
        assert!(pass < 1024, "{pass}");
    }
    assert_eq!(list.locate(count), None);
}

#[test]
fn of_members_with_the_same_name_the_last_counts() {
    let mut builder = ContainerBuilder::new(ContainerKind::Object, 0, 1);
    let member = |hash, offset| MemberOffset { hash, offset };
    [member(7, 1), member(3, 2), member(7, 9)].into_iter().for_each(|it| builder.member(it));
    let object = builder.finish(20);
    assert_eq!(object.is_replaced(member(7, 1)), Some(true));
    assert_eq!(object.is_replaced(member(7, 9)), Some(false));
    assert_eq!(object.is_replaced(member(3, 2)), Some(false));
    assert_eq!(object.member_places(), Some(vec![1, 2, 9]));
}
