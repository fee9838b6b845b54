use haft::tools;
use proptest::prelude::*;
use serde_json::json;

use super::Bench;

#[tokio::test]
async fn expressions() {
    let math = Bench::new(tools::math());
    let args = json!({"expression": "(19.99 * 3 + 4.5) * 1.19"});
    assert_eq!(math.json("calculate", args).await, json!({"result": "76.7193", "exact": true}));
    let args = json!({"expression": "10 / 4 % 2"});
    assert_eq!(math.json("calculate", args).await, json!({"result": "0.5", "exact": true}));
    let args = json!({"expression": "1 / 3"});
    let expect = json!({"result": "0.3333333333333333", "exact": false});
    assert_eq!(math.json("calculate", args).await, expect);
    math.fails("calculate", json!({"expression": "2 +"}), "at character 4").await;
    math.fails("calculate", json!({"expression": ""}), "/expression").await;
}

#[tokio::test]
async fn units() {
    let math = Bench::new(tools::math());
    for (value, from, to, expect, exact) in [
        (1.0, "mile", "km", "1.609344", true),
        (72.0, "km/h", "m/s", "20", true),
        (100.0, "C", "F", "212", true),
        (-40.0, "fahrenheit", "celsius", "-40", true),
        (98.6, "°F", "°C", "37", true),
        (3.0, "pounds", "g", "1360.77711", true),
        (1.0, "GiB", "MB", "1073.741824", true),
        (1.0, "ft", "m", "0.3048", true),
        (2.0, "Hours", "min", "120", true),
        (1.0, "m", "ft", "3.2808398950131235", false),
    ] {
        let args = json!({"value": value, "from": from, "to": to});
        let found = math.json("convert_unit", args).await;
        assert_eq!((&found["value"], &found["exact"]), (&json!(expect), &json!(exact)), "{from}");
    }
    let args = json!({"value": 1, "from": "kg", "to": "m"});
    math.fails("convert_unit", args, "`kg` measures mass and `m` measures length").await;
    let args = json!({"value": 1, "from": "parsec", "to": "m"});
    math.fails("convert_unit", args, "there is no unit `parsec`; there are length: m, nm").await;
    let args = json!({"value": -1, "from": "K", "to": "C"});
    math.fails("convert_unit", args, "below 0 K").await;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(haft_testkit::cases(256)))]

    /// Random strings of what expressions are made of: an answer or a fault, never a panic.
    #[test]
    fn expressions_never_panic(
        expression in "([0-9.eE_+*/%^!(),; -]|pi|sqrt|round|gcd|min|9{20}|e308|mean){1,40}",
    ) {
        let math = Bench::new(tools::math());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let text = runtime.block_on(math.text("calculate", json!({"expression": expression})));
        prop_assert!(!text.contains("unexpectedly"), "{text}");
    }

    #[test]
    fn decimals_add_up_exactly(cents in prop::collection::vec(-1_000_000_i64..1_000_000, 1..20)) {
        let math = Bench::new(tools::math());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let written = |it: i64| {
            let sign = if it < 0 { "-" } else { "" };
            format!("({sign}{}.{:02})", it.abs() / 100, it.abs() % 100)
        };
        let expression = cents.iter().map(|it| written(*it)).collect::<Vec<_>>().join("+");
        let expression = format!("({expression}) * 100");
        let found = runtime.block_on(math.json("calculate", json!({"expression": expression})));
        prop_assert_eq!(&found["result"], &json!(cents.iter().sum::<i64>().to_string()));
    }
}
