use proptest::prelude::*;

use super::block_masks::{BlockMasks, StringTracker};
use super::container::{ContainerBuilder, ContainerKind, MemberOffset};
use super::json5;

/// Which bytes are inside strings, one after the other.
fn inside_naively(bytes: &[u8]) -> Vec<bool> {
    let (mut inside, mut escaped) = (false, false);
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
            let (found, least) = (bit(masks.brackets), b"[]{}".contains(byte));
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

#[track_caller]
fn check_json5(text: &str, expected: &str) {
    let json = json5::to_json(text);
    assert_eq!(json.unwrap_or_else(|it| format!("{} at {}", it.reason, it.offset)), expected);
}

#[test]
fn json5_becomes_json() {
    check_json5("{}", "{}");
    check_json5(" // c\n[1, /* d */ 2,]\u{a0}", "[1,2]");
    check_json5(
        "{a: 1, $b_1: 2, 'c d': 3, \"e\": 4, \\u0066é: 5}",
        r#"{"a":1,"$b_1":2,"c d":3,"e":4,"fé":5}"#,
    );
    check_json5("[+1, -.5, 5., 1.5e+3, 0xFF, -0x10, 0]", "[1,-0.5,5,1.5e3,255,-16,0]");
    check_json5("[Infinity, -Infinity, NaN]", "[null,null,null]");
    check_json5(
        r#"'a"\'\x41\u{}'"#,
        "unknown escape in a string; write a backslash as `\\\\` and use only \\\" \\\\ \\/ \\b \\f \\n \\r \\t or \\u with four hexadecimal digits at 9",
    );
    check_json5(r#"'a"\'\x41\ud83d\ude00\v\0\q'"#, "\"a\\\"'A😀\\u000b\\u0000q\"");
    check_json5("'a\\\r\nb\\\nc'", r#""abc""#);
    check_json5("0xFFFFFFFFFFFFFFFFFFFF", "1208925819614629174706175");
    check_json5("010", "a number starts with a superfluous zero at 0");
    check_json5("[1,,2]", "expected a value but found ',' at 3");
    check_json5("[,]", "expected a value but found ',' at 1");
    check_json5("{a:1", "the text ends before the JSON value is complete at 4");
    check_json5("/* open", "the text ends before the JSON value is complete at 7");
    check_json5(
        "'a\nb'",
        "a raw control character stands inside a string; write it as an escape such as `\\n` at 2",
    );
    check_json5("1 2", "more text follows after the end of the JSON value at 2");
    check_json5("", "the text is empty at 0");
    check_json5(&"[".repeat(1000), "nested deeper than 128 levels at 128");
}
