use haft::tools;
use proptest::prelude::*;
use serde_json::json;

use super::Bench;

#[tokio::test]
async fn csv() {
    let data = Bench::new(tools::data());
    let table = "name;price;in stock\nbread;2.5;true\n\"cheese; old\";1.50;\nmilk;007\n";
    insta::assert_snapshot!(data.text("parse_csv", json!({"text": table})).await, @r#"{"columns":["name","price","in stock"],"rows":[{"name":"bread","price":2.5,"in stock":true},{"name":"cheese; old","price":"1.50","in stock":null},{"name":"milk","price":"007"}],"warnings":["1 rows have more or fewer than 3 fields; the first is row 3"],"truncated":false}"#);
    let args = json!({"text": "1,2\n3,4\n5,6", "has_header": false, "limit": 2, "typed": false});
    insta::assert_snapshot!(data.text("parse_csv", args).await, @r#"{"columns":["column_1","column_2"],"rows":[{"column_1":"1","column_2":"2"},{"column_1":"3","column_2":"4"}],"warnings":[],"truncated":true}"#);
    let args = json!({"text": "a,a,\n1,2,3,4"});
    let columns = data.json("parse_csv", args).await["columns"].clone();
    assert_eq!(columns, json!(["a", "a_2", "column_3", "column_4"]));
    let empty = json!({"columns": [], "rows": [], "warnings": [], "truncated": false});
    assert_eq!(data.json("parse_csv", json!({"text": ""})).await, empty);
    let args = json!({"text": "a\tb\n1,5\t2", "delimiter": "tab"});
    assert_eq!(data.json("parse_csv", args).await["rows"], json!([{"a": "1,5", "b": 2}]));
    let args = json!({"text": "a,b\n\"1,2"});
    let warnings = data.json("parse_csv", args).await["warnings"].to_string();
    assert!(warnings.contains("quotes is odd"), "{warnings}");
}

/// Trying all numbers for each column takes hours for this table.
#[tokio::test]
async fn a_row_of_very_many_columns_of_one_name_is_read() {
    let data = Bench::new(tools::data());
    let found = data.json("parse_csv", json!({"text": "a,".repeat(200_000)})).await;
    let columns = found["columns"].as_array().unwrap();
    assert_eq!((columns.len(), &columns[199_999]), (200_001, &json!("a_200000")));
}

#[tokio::test]
async fn a_table_with_a_long_name_does_not_make_a_result_without_bounds() {
    let data = Bench::new(tools::data());
    let text = format!("{}\n{}", "n".repeat(400_000), "1\n".repeat(10_000));
    let found = data.json("parse_csv", json!({"text": text, "limit": 10_000})).await;
    assert_eq!(found["rows"].as_array().unwrap().len(), 41);
    assert_eq!(found["truncated"], true);
    assert_eq!(found["warnings"], json!(["only 41 rows fit into a result; ask for fewer columns"]));
}

#[tokio::test]
async fn json_text() {
    let data = Bench::new(tools::data());
    let args = json!({"text": "{\"b\": 12345678901234567890, \"a\": []}"});
    insta::assert_snapshot!(data.text("parse_json", args).await, @r#"{"value":{"b":12345678901234567890,"a":[]},"warnings":[]}"#);
    let found = data.json("parse_json", json!({"text": "```json\n{'a': [True,],}\n```"})).await;
    assert_eq!(found["value"], json!({"a": [true]}));
    assert_eq!(found["warnings"].as_array().unwrap().len(), 4);
    data.fails("parse_json", json!({"text": "{a b}"}), "cannot be repaired").await;
}

#[tokio::test]
async fn yaml() {
    let data = Bench::new(tools::data());
    let args = json!({"text": "base: &b {x: 1}\nit:\n  <<: *b\n  day: 2026-01-31\n  yes: no\n"});
    insta::assert_snapshot!(data.text("parse_yaml", args).await, @r#"{"value":{"base":{"x":1},"it":{"x":1,"day":"2026-01-31","yes":"no"}},"warnings":[]}"#);
    assert_eq!(data.json("parse_yaml", json!({"text": ""})).await["value"], json!(null));
    data.fails("parse_yaml", json!({"text": "a: 1\nb: [2"}), "at line").await;
    data.fails("parse_yaml", json!({"text": "a: 1\n---\nb: 2\n"}), "one by one").await;
    // Aliases that multiply.
    let mut bomb = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for level in 1..9 {
        let before = format!("*a{}", level - 1);
        let ten = vec![before; 10].join(",");
        bomb.push_str(&format!("a{level}: &a{level} [{ten}]\n"));
    }
    data.fails("parse_yaml", json!({"text": bomb}), "too large once aliases are followed").await;
}

#[tokio::test]
async fn statistics() {
    let data = Bench::new(tools::data());
    let found = data.json("stats_describe", json!({"numbers": [2, 4, 4, 4, 5, 5, 7, 9]})).await;
    for (fact, expect) in [
        ("count", json!(8)),
        ("sum", json!(40.0)),
        ("mean", json!(5.0)),
        ("median", json!(4.5)),
        ("mode", json!([4.0])),
        ("q1", json!(4.0)),
        ("q3", json!(5.5)),
        ("range", json!(7.0)),
        ("population_std_dev", json!(2.0)),
        ("p90", json!(7.6)),
    ] {
        assert_eq!(found[fact], expect, "{fact}");
    }
    let one = data.json("stats_describe", json!({"numbers": [3]})).await;
    assert_eq!((&one["variance"], &one["median"]), (&json!(0.0), &json!(3.0)));
    let tenths = data.json("stats_describe", json!({"numbers": [1e16, 0.1, -1e16]})).await;
    assert_eq!(tenths["sum"], 0.1);
    data.fails("stats_describe", json!({"numbers": []}), "/numbers").await;
    data.fails("stats_describe", json!({"numbers": [1e308, 1e308]}), "scale them down").await;
}

#[tokio::test]
async fn histograms() {
    let data = Bench::new(tools::data());
    let args = json!({"numbers": [1, 2, 2, 3, 9, 11], "bins": 5});
    let found = data.json("stats_histogram", args).await;
    let counts: Vec<_> = found["bins"].as_array().unwrap().iter().map(|it| &it["count"]).collect();
    assert_eq!(counts, [3, 1, 0, 0, 2]);
    let args = json!({"numbers": [5, 5]});
    let found = data.json("stats_histogram", args).await;
    assert_eq!(found["bins"], json!([{"from": 5.0, "to": 5.0, "count": 2, "percent": 100.0}]));
}

#[tokio::test]
async fn groups() {
    let data = Bench::new(tools::data());
    let rows = json!([
        {"region": "north", "sold": 2, "price": "1.50"},
        {"region": "south", "sold": 5, "price": ""},
        {"region": "north", "sold": 4, "price": "free"},
    ]);
    let args = json!({"rows": rows, "by": ["region"], "columns": ["sold", "price"]});
    let found = data.json("group_rows", args).await;
    assert_eq!(found["groups"][0]["group"], json!({"region": "north"}));
    let sold = json!({"count": 2, "sum": 6.0, "mean": 3.0, "min": 2.0, "max": 4.0});
    assert_eq!(
        (&found["groups"][0]["columns"]["sold"], &found["groups"][0]["rows"]),
        (&sold, &json!(2))
    );
    assert_eq!(found["groups"][0]["columns"]["price"]["sum"], 1.5);
    assert_eq!(found["groups"][1]["columns"]["price"]["mean"], json!(null));
    assert_eq!(found["not_numbers"], 1);
    let found = data.json("group_rows", json!({"rows": rows, "by": ["region", "sold"]})).await;
    assert_eq!(found["groups"].as_array().unwrap().len(), 3);
    let args = json!({"rows": rows, "by": ["regoin"]});
    data.fails("group_rows", args, "no row has the column `regoin`").await;
}

#[tokio::test]
async fn tables() {
    let data = Bench::new(tools::data());
    let rows = json!([{"name": "a|b", "n": 1.5}, {"name": "x \"y\"\nz", "n": null, "more": [1]}]);
    let table = |format: &str| json!({"rows": rows, "columns": ["name", "n"], "format": format});
    let markdown = "| name | n |\n| --- | --- |\n| a\\|b | 1.5 |\n| x \"y\"<br>z |  |\n";
    assert_eq!(data.text("format_table", table("markdown")).await, markdown);
    let csv = "name,n\na|b,1.5\n\"x \"\"y\"\"\nz\",\n";
    assert_eq!(data.text("format_table", table("csv")).await, csv);
    let plain = "name     n\na|b      1.5\nx \"y\" z\n";
    assert_eq!(data.text("format_table", table("plain")).await, plain);
    let all = data.text("format_table", json!({"rows": rows, "format": "tsv"})).await;
    assert!(all.starts_with("more\tn\tname\n"), "{all}");
    let args = json!({"rows": rows, "columns": ["nmae"]});
    data.fails("format_table", args, "no row has the column `nmae`; there are more, n, name").await;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(haft_testkit::cases(64)))]

    /// What a table is written as is what it is read from.
    #[test]
    fn tables_come_back(
        cells in prop::collection::vec(("[^\r\0]{0,12}", -1000_i32..1000), 1..8),
        format in prop::sample::select(vec![("csv", "comma"), ("tsv", "tab")]),
    ) {
        let data = Bench::new(tools::data());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let rows: Vec<_> = cells.iter().map(|(text, n)| json!({"a": format!("§{text}"), "n": n})).collect();
        let args = json!({"rows": rows, "format": format.0});
        let table = runtime.block_on(data.text("format_table", args));
        let args = json!({"text": table, "delimiter": format.1});
        let read = runtime.block_on(data.json("parse_csv", args));
        prop_assert_eq!(&read["rows"], &json!(rows));
    }
}
