use super::doc;
use crate::json::{Document, JsonWriter, Node, canonical_text};

/// The canonical text, and that it names the same number again.
#[track_caller]
fn check(literal: &str, expect: &str) {
    let parsed = doc(literal);
    assert_eq!(canonical_text(parsed.root()), expect, "{literal}");
    assert_eq!(doc(expect), parsed, "{literal} and its canonical text");
}

#[track_caller]
fn check_node(literal: &str, expect: Node) {
    assert_eq!(doc(literal).root().node(), expect, "{literal}");
}

#[test]
fn a_number_has_one_node_however_it_is_spelled() {
    for literal in ["100", "100.0", "1e2", "1E+2", "10e1", "0.1e3", "1000e-1", "100.000e0"] {
        check_node(literal, Node::Int(100));
    }
    for literal in ["0", "-0", "0.0", "-0.0", "0e999999", "-0.000E-9", "1e-400", "-1e-400"] {
        check_node(literal, Node::Int(0));
    }
    check_node("1.00000000000000000001", Node::Int(1));
    check_node("9223372036854775807", Node::Int(i64::MAX));
    check_node("9223372036854775807.0", Node::Int(i64::MAX));
    check_node("9223372036854775808", Node::Uint(1 << 63));
    check_node("-9223372036854775808", Node::Int(i64::MIN));
    check_node("18446744073709551615", Node::Uint(u64::MAX));
    check_node("1844674407370955161.5e1", Node::Uint(u64::MAX));
    check_node("9007199254740993.0", Node::Int(9_007_199_254_740_993));
    check_node("18446744073709551616", Node::Big { start: 20, len: 20 });
    check_node("1e20", Node::Float(1e20));
    check_node("0.1", Node::Float(0.1));
    check_node("48.8566", Node::Float(48.8566));
    check_node("-0.000001", Node::Float(-0.000_001));
    check_node("123456789012345.678", Node::Float(123_456_789_012_345.67));
    check_node("0.1000000000000000055511151231257827", Node::Float(0.1));
}

#[test]
fn integers_keep_their_digits() {
    check("9007199254740992", "9007199254740992");
    check("9007199254740993", "9007199254740993");
    check("18446744073709551616", "18446744073709551616");
    check("-9223372036854775809", "-9223372036854775809");
    check("-123456789012345678901234567890", "-123456789012345678901234567890");
    check("1.23456789012345678901234567891e29", "123456789012345678901234567891");
    check("1000000000000000000000000000001.0", "1000000000000000000000000000001");
    check("123456789012345680000", "123456789012345680000");
    check("123456789012345683968", "123456789012345683968");
}

#[test]
fn other_numbers_print_as_in_ecmascript() {
    check("1e20", "100000000000000000000");
    check("1e21", "1e+21");
    check("1000000000000000000000", "1e+21");
    check("1e-6", "0.000001");
    check("1e-7", "1e-7");
    check("1.7976931348623157e308", "1.7976931348623157e+308");
    check("5e-324", "5e-324");
    check("4.9406564584124654e-324", "5e-324");
    check("333333333.33333329", "333333333.3333333");
    check("1E30", "1e+30");
    check("4.50", "4.5");
    check("2e-3", "0.002");
    check("0.000000000000000000000000001", "1e-27");
}

#[test]
fn huge_literals_are_out_of_range_or_exact() {
    let most = format!("1{}", "0".repeat(308));
    check(&most, "1e+308");
    let odd = format!("1{}1", "0".repeat(307));
    check(&odd, &odd);
    assert!(Document::parse(&format!("1{}", "0".repeat(309))).is_err());
    assert!(Document::parse("1e99999999999999999999").is_err());
    check("1e-99999999999999999999", "0");
    check(&format!("0.{}1e1000", "0".repeat(999)), "1");
    check(&format!("{}e-5000", "1".to_owned() + &"0".repeat(5000)), "1");
}

#[test]
fn a_typed_double_is_the_number_that_ecmascript_prints() {
    let check = |value: f64| {
        if !value.is_finite() {
            return;
        }
        let mut out = JsonWriter::new();
        out.float(value).unwrap();
        let printed = ryu_js::Buffer::new().format_finite(value).to_owned();
        assert_eq!(out.finish(), doc(&printed), "{printed}");
    };
    let edges = [
        0.0,
        -0.0,
        1.0,
        1.5,
        0.1,
        9_007_199_254_740_992.0,
        9_007_199_254_740_994.0,
        -9.3e15,
        1.234_567_890_123_456_7e18,
        9.223_372_036_854_775e18,
        9_223_372_036_854_775_808.0,
        -9_223_372_036_854_775_808.0,
        18_446_744_073_709_549_568.0,
        18_446_744_073_709_551_616.0,
        1e20,
        1e21,
        1e22,
        1e23,
        f64::MAX,
        f64::MIN_POSITIVE,
        5e-324,
    ];
    for value in edges {
        check(value);
        check(-value);
        check(value.next_up());
        check(value.next_down());
    }
    assert_eq!(doc("1234567890123456800").root().as_i64(), Some(1_234_567_890_123_456_800));
}

#[test]
fn a_typed_double_must_be_finite() {
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert!(JsonWriter::new().float(value).is_err());
    }
}
