//! Computing without tools around it.

use super::expression::compute;
use super::rational::Number;
use super::units::{UNITS, find_unit};

#[track_caller]
fn check(expression: &str, expect: &str) {
    let found = match compute(expression) {
        Ok(value) => value.to_string(),
        Err(fault) => fault.to_string(),
    };
    assert_eq!(found, expect, "{expression}");
}

#[test]
fn precedence_and_signs() {
    check("1 + 2 * 3", "7");
    check("(1 + 2) * 3", "9");
    check("2 ^ 3 ^ 2", "512");
    check("2 ** 10 * 2", "2048");
    check("-2 ^ 2", "-4");
    check("2 ^ -2", "0.25");
    check("2 - -3", "5");
    check("7 % 3", "1");
    check("-7 % 3", "2");
    check("7.5 % 2", "1.5");
    check("3! + 1", "7");
    check("8 / 2 * 4", "16");
    check("6 ÷ 4 × 2", "3");
    check("1_000 * 2", "2000");
}

#[test]
fn decimals_are_exact() {
    check("0.1 + 0.2", "0.3");
    check("19.99 * 3", "59.97");
    check("1.1 * 1.1", "1.21");
    check("1 / 3 * 3", "1");
    check("9007199254740993 + 2", "9007199254740995");
    check("2 ^ 100", "1267650600228229401496703205376");
    check("1e-7 * 3", "0.0000003");
    check("sqrt(0.25)", "0.5");
    check("round(2.675, 2)", "2.68");
    check("round(-2.5)", "-3");
    check("floor(-0.5)", "-1");
    check("mean(1, 2, 4)", "2.3333333333333335");
    check("2 ^ 200", "1.6069380442589903e60");
    check("sqrt(2)", "1.4142135623730951");
    check("sin(pi / 6)", "0.49999999999999994");
    check("ln(e)", "1");
    check("log(8, 2)", "3");
    check("max(1, 5, 3) - min(4, 2) + gcd(12, 18)", "9");
}

#[test]
fn faults_say_where() {
    check("1 +", "the expression ends where a value is missing, at character 4");
    check("(1 + 2", "a `)` is missing, at character 7");
    check("1 + 2)", "there is no `(` for this `)`, at character 6");
    check("2 3", "an operator is missing before `3`, at character 3");
    check("1 / 0", "division by zero, at character 3");
    check("5 % 0", "division by zero, at character 3");
    check("sqrt(-1)", "a root of a negative number is not real, at character 1");
    check("1.2.3", "`1.2.3` is not a number, at character 1");
    check("(0-8)^0.5", "-8 to the power of 0.5 is not a number that can be told, at character 6");
    check("0 ^ -1", "0 to the power of -1 is not a number that can be told, at character 3");
    check("ln(0)", "`ln` has no value there, at character 1");
    check("1,5", "an operator is missing before `,`, at character 2");
    assert!(compute("foo(1)").unwrap_err().what.starts_with("`foo` is not known; there are pi"));
    assert!(compute("x").unwrap_err().what.starts_with("`x` is not known"));
    assert!(compute(&"(".repeat(1000)).unwrap_err().what.contains("too deeply"));
    assert!(compute(&"-".repeat(1000)).unwrap_err().what.contains("too deeply"));
    assert!(compute(&"2^".repeat(400)).unwrap_err().what.contains("too deeply"));
    assert!(compute("171!").is_err() && compute("170!").is_ok());
    assert!(compute("170! * 170!").unwrap_err().what.contains("too large"));
}

#[test]
fn every_name_in_the_list_is_known() {
    for name in super::expression::NAMES.split(", ") {
        let fault = compute(&format!("{name}()")).err().map(|it| it.what).unwrap_or_default();
        let called = !fault.contains("is not known");
        let constant = compute(name).is_ok();
        assert!(called || constant, "{name}: {fault}");
    }
}

#[test]
fn units_are_told_apart_and_come_back() {
    let names: Vec<&str> = UNITS.iter().map(super::units::Unit::symbol).collect();
    for unit in UNITS {
        assert!(std::ptr::eq(find_unit(unit.symbol()).unwrap(), unit), "{}", unit.symbol());
        assert_eq!(names.iter().filter(|it| **it == unit.symbol()).count(), 1);
        let base = unit.to_base(Number::whole(3)).unwrap();
        assert_eq!(unit.value_from_base(base).unwrap(), Number::whole(3), "{}", unit.symbol());
    }
}
