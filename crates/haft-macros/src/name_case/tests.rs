use super::NameCase;

#[track_caller]
fn check(name: &str, expect: [&str; 7]) {
    let spelled = NameCase::ALL.map(|(_, case)| case.convert(name));
    assert_eq!(spelled, expect);
}

#[test]
fn a_name_has_seven_spellings() {
    let one = ["celsius", "celsius", "celsius", "Celsius", "CELSIUS", "celsius", "CELSIUS"];
    check("Celsius", one);
    let two =
        ["veryGood", "very_good", "very-good", "VeryGood", "VERY_GOOD", "verygood", "VERYGOOD"];
    check("VeryGood", two);
    let field =
        ["veryGood", "very_good", "very-good", "VeryGood", "VERY_GOOD", "very_good", "VERY_GOOD"];
    check("very_good", field);
}

#[test]
fn capitals_in_a_row_are_one_word_and_digits_stay() {
    let snake = |name: &str| NameCase::Snake.convert(name);
    assert_eq!(snake("HTTPServer"), "http_server");
    assert_eq!(snake("Utf8"), "utf8");
    assert_eq!(snake("V2Beta"), "v2_beta");
    assert_eq!(snake("ÄußerstGut"), "äußerst_gut");
    assert_eq!(snake("__x"), "x");
}
