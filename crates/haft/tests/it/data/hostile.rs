//! Content that was made to do harm, or was damaged.

use haft::artifacts::QueryOutput;
use haft::artifacts::csv::CsvView;
use haft::artifacts::xml::XmlView;
use haft::artifacts::yaml::YamlView;
use haft::error::Coded;
use haft::error::codes;
use haft::turn::Cancellation;
use proptest::prelude::*;

use super::{all, reader, run};

fn yaml(content: &[u8]) -> YamlView {
    YamlView::new(reader(content)).budget(all())
}

fn xml(content: &[u8]) -> XmlView {
    XmlView::new(reader(content)).budget(all())
}

fn csv(content: &[u8]) -> CsvView {
    CsvView::new(reader(content)).budget(all())
}

#[track_caller]
fn yaml_error(content: &str, expected: &str) {
    let error = run(yaml(content.as_bytes()).count_documents()).unwrap_err();
    assert_eq!(error.code(), codes::TOOL_DOWNSTREAM_ERROR);
    assert!(error.to_string().contains(expected), "{error}");
}

#[track_caller]
fn xml_error(content: &str, expected: &str) {
    let error = run(xml(content.as_bytes()).get("$", 0)).unwrap_err();
    assert_eq!(error.code(), codes::TOOL_DOWNSTREAM_ERROR);
    assert!(error.to_string().contains(expected), "{error}");
}

#[test]
fn aliases_cannot_explode() {
    let mut bomb = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    let mut merges = "a0: &a0 {x: lol}\n".to_owned();
    let mut chain = "a0: &a0 [lol]\n".to_owned();
    for level in 1..200 {
        let inner = format!("*a{}", level - 1);
        bomb.push_str(&format!("a{level}: &a{level} [{}]\n", [inner.as_str(); 9].join(", ")));
        merges.push_str(&format!("a{level}: &a{level} {{<<: {inner}, x{level}: {inner}}}\n"));
        chain.push_str(&format!("a{level}: &a{level} [{inner}]\n"));
    }
    yaml_error(&bomb, "too large once aliases are followed");
    yaml_error(&merges, "too large once aliases are followed");
    // Each is only one level deeper than the one before.
    yaml_error(&chain, "nested too deeply");
    // Twice the same is no bomb.
    let answer = run(yaml(b"a: &a [x]\nb: [*a, *a]\n").get("$.b", 0)).unwrap();
    assert_eq!(answer.as_str().matches('x').count(), 2);
}

#[test]
fn nesting_is_bounded() {
    for depth in [200, 5_000, 200_000] {
        yaml_error(&"[".repeat(depth), "");
        yaml_error(&"- ".repeat(depth), "nested too deeply");
        yaml_error(&"{a: ".repeat(depth), "");
        xml_error(&"<a>".repeat(depth), if depth > 256 { "nested deeper than 256" } else { "" });
    }
    let deep = |depth: usize| format!("{}{}", "<a><b/>".repeat(depth), "</a>".repeat(depth));
    xml_error(&deep(200), "more than 128 levels");
    assert_eq!(run(xml(deep(200).as_bytes()).list_tags(0)).unwrap().as_str(), "a\nb");
    assert!(run(xml(deep(60).as_bytes()).get("$..none", 0)).is_ok());
    let fits = format!("{}{}", "[".repeat(128), "]".repeat(128));
    assert!(run(yaml(fits.as_bytes()).count_documents()).is_ok());
}

#[test]
fn entities_are_never_expanded() {
    let mut dtd = "<!DOCTYPE lolz [<!ENTITY lol \"lol\">".to_owned();
    for level in 1..10 {
        let inner = if level == 1 { "&lol;".to_owned() } else { format!("&lol{};", level - 1) };
        dtd.push_str(&format!("<!ENTITY lol{level} \"{}\">", inner.repeat(10)));
    }
    dtd.push_str("]><a>&lol9;</a>");
    assert_eq!(run(xml(dtd.as_bytes()).get("$.a", 0)).unwrap().as_str(), "&lol9;");
}

fn long() -> String {
    "x".repeat(10_000_000)
}

fn too_long() -> String {
    "x".repeat(17 * 1024 * 1024)
}

#[track_caller]
fn is_whole(answer: &QueryOutput) {
    assert_eq!(answer.as_str().len(), long().len());
}

#[test]
fn long_lines_of_yaml_are_read_or_refused() {
    let some = "x".repeat(2_000_000);
    let answer = run(yaml(format!("a: {some}").as_bytes()).get("$.a", 0)).unwrap();
    assert_eq!(answer.as_str().len(), some.len());
    yaml_error(&too_long(), "larger than 16777216 bytes");
    yaml_error(&format!("a\n---\n{}\n---\nb\n", too_long()), "at line 2, column 1 is larger");
}

#[test]
fn long_tokens_of_xml_are_read_or_refused() {
    is_whole(&run(xml(format!("<a>{}</a>", long()).as_bytes()).get("$.a", 0)).unwrap());
    let some = "x".repeat(1_000_000);
    let answer = run(xml(format!("<a b='{some}'/>").as_bytes()).get("$.a._b", 0)).unwrap();
    assert_eq!(answer.as_str().len(), some.len());
    xml_error(&format!("<a>{}</a>", too_long()), "too large for paths");
    xml_error(&format!("<a><!-- {}", too_long().repeat(2)), "longer than 16777216 bytes");
    // What does not need all of it still works.
    let keys = run(xml(format!("<a>{}<b/></a>", too_long()).as_bytes()).list_keys(0)).unwrap();
    assert_eq!(keys.as_str(), "b\n#text");
}

#[test]
fn many_attributes_are_compared_once() {
    xml_error(&format!("<a{}/>", " a".repeat(50_000)), "has no value");
    let many: String = (0..30_000).map(|it| format!(" a{it}=''")).collect();
    assert_eq!(run(xml(format!("<a{many}/>").as_bytes()).list_tags(0)).unwrap().as_str(), "a");
    xml_error(&format!("<a{many} a7=''/>"), "the attribute `a7` stands twice");
    let flood: String = (0..=65_536).map(|it| format!(" a{it}=''")).collect();
    xml_error(&format!("<a{flood}/>"), "an element has more than 65536 attributes");
}

#[test]
fn long_rows_of_csv_are_read_or_refused() {
    let answer = run(csv(format!("a\n{}", long()).as_bytes()).sql("SELECT a FROM t", 0)).unwrap();
    assert_eq!(answer.as_str().len(), "a\n".len() + long().len());
    let row = format!("a{}\n", ",a".repeat(60_000));
    assert_eq!(run(csv(row.repeat(2).as_bytes()).count_rows()).unwrap().as_str(), "1");
    let error = run(csv(format!("a\n1\n\"{}", too_long()).as_bytes()).count_rows()).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("line 3, column 1 has more than 16777216 bytes"), "{error}");
    let error = run(csv(",".repeat(70_000).as_bytes()).count_rows()).unwrap_err().to_string();
    assert!(error.contains("more than 65536 fields"), "{error}");
}

#[test]
fn documents_and_rows_without_end_are_read_one_by_one() {
    let stream = "---\na: [1, 2, 3]\n".repeat(10_000);
    assert_eq!(run(yaml(stream.as_bytes()).count_documents()).unwrap().as_str(), "10000");
    let text = format!("<r>{}</r>", "<i n='1'>2</i>".repeat(30_000));
    assert!(
        run(xml(text.as_bytes()).read_length()).unwrap().as_str().contains("30000 child elements")
    );
    let rows = format!("a,b\n{}", "1,\"x\ny\"\n".repeat(100_000));
    assert_eq!(run(csv(rows.as_bytes()).count_rows()).unwrap().as_str(), "100000");
    let names = format!("{}\n", "a,".repeat(20_000));
    assert!(run(csv(names.as_bytes()).list_columns(0)).unwrap().as_str().contains("20001 columns"));
}

#[test]
fn other_encodings_are_named() {
    for content in [b"\xFF\xFEa\0,\0b\0".as_slice(), b"\xFE\xFF\0a\0,\0b", b"\xFF\xFE\0\0a\0\0\0"] {
        let expected = "begins with the mark of UTF-16 or UTF-32";
        assert!(run(yaml(content).count_documents()).unwrap_err().to_string().contains(expected));
        assert!(run(xml(content).list_tags(0)).unwrap_err().to_string().contains(expected));
        assert!(run(csv(content).count_rows()).unwrap_err().to_string().contains(expected));
    }
    assert_eq!(run(yaml(b"a: \xFF\xE4\n").get("$.a", 0)).unwrap().as_str(), "\u{FFFD}\u{FFFD}");
    assert_eq!(run(xml(b"<a>\xC3\xA4\xFF</a>").get("$.a", 0)).unwrap().as_str(), "ä\u{FFFD}");
}

#[test]
fn cancelled_queries_stop() {
    let cancellation = Cancellation::new();
    cancellation.cancel("enough");
    let code = |error: &dyn Coded| error.code();
    let view = yaml(b"a: 1\n").cancellation(cancellation.clone());
    assert_eq!(code(&run(view.count_documents()).unwrap_err()), codes::TOOL_CANCELLED);
    let view = xml(b"<a/>").cancellation(cancellation.clone());
    assert_eq!(code(&run(view.list_tags(0)).unwrap_err()), codes::TOOL_CANCELLED);
    let view = csv(b"a\n1\n").cancellation(cancellation);
    assert_eq!(code(&run(view.count_rows()).unwrap_err()), codes::TOOL_CANCELLED);
}

/// Everything that can be asked, as text.
fn everything(content: &[u8], window: usize) -> Vec<String> {
    fn shown<E: ToString>(answer: Result<QueryOutput, E>) -> String {
        answer.map_or_else(|error| error.to_string(), QueryOutput::into_string)
    }
    let yaml = yaml(content).window_bytes(window);
    let xml = xml(content).window_bytes(window);
    let csv = csv(content).window_bytes(window);
    run(async {
        vec![
            yaml.detect_stream_kind().await.map_or_else(|it| it.to_string(), |it| it.to_string()),
            shown(yaml.list_keys(0).await),
            shown(yaml.count_documents().await),
            shown(yaml.get("$..*", 0).await),
            shown(yaml.get("$[?@.a]", 0).await),
            shown(yaml.get("$[1:3]", 0).await),
            shown(yaml.sql("SELECT a FROM t ORDER BY a", 0).await),
            xml.read_root_name().await.unwrap_or_else(|it| it.to_string()),
            shown(xml.list_keys(0).await),
            shown(xml.list_tags(0).await),
            shown(xml.read_length().await),
            shown(xml.get("$..*", 0).await),
            shown(xml.get("$..[?@.a > 1]", 0).await),
            shown(xml.sql("SELECT a FROM $..*", 0).await),
            shown(csv.list_columns(0).await),
            shown(csv.count_rows().await),
            shown(csv.read_rows(.., &[], 0).await),
            shown(csv.sql("SELECT * FROM t WHERE a LIKE '%1%'", 0).await),
            shown(csv.sql("SELECT a, count(*) FROM t GROUP BY a ORDER BY 2", 0).await),
        ]
    })
}

#[test]
fn content_may_be_cut_anywhere() {
    let samples = [
        "%YAML 1.2\n---\na: &x [1, 'two', \"thr\\u00e9e\"]\nb: {<<: *y, c: |\n  text\n}\n...\n--- !!str x\n",
        "<?xml version='1.0'?><!DOCTYPE a [<!ENTITY x 'y'>]><a b='&lt;'>t<!-- c --><![CDATA[ x ]]>&#65;<c/></a>",
        "a;b\r\n\"x \"\"y\"\"\r\nz\";2\r\n3;ä\r\n",
    ];
    for sample in samples {
        for end in 0..=sample.len() {
            let content = &sample.as_bytes()[..end];
            assert_eq!(everything(content, 1 << 18), everything(content, 1));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Nothing makes a query panic, and no answer depends on how much is read at once.
    #[test]
    fn anything_is_answered_or_refused(
        parts in prop::collection::vec(
            prop_oneof![
                prop::sample::select(vec![
                    "a", "b: ", ": ", "- ", "\n", "\r", "\r\n", "  ", "\t", "---", "...", "%TAG ! x", "&x ",
                    "*x", "!t ", "!!int ", "'", "\"", "|", ">-", "{", "}", "[", "]", ",", ";", "? ", "#", "<<",
                    "<a>", "</a>", "<a/>", "<b c='1'", "<!--", "-->", "<![CDATA[", "]]>", "<?x", "?>",
                    "<!DOCTYPE a [", "]>", "&lt;", "&#65;", "&", "<", ">", "=", "\u{FEFF}", "\u{0}", "1", "ä",
                ])
                .prop_map(|it| it.as_bytes().to_vec()),
                prop::collection::vec(any::<u8>(), 0..3),
            ],
            0..24,
        ),
        window in 1..9_usize,
    ) {
        let content = parts.concat();
        prop_assert_eq!(everything(&content, 1 << 18), everything(&content, window));
    }
}

/// A key that is a mapping becomes JSON text, and every level around it escapes the quotes of the one below.
#[test]
fn keys_inside_of_keys_cannot_explode() {
    let levels = 40;
    let bomb = format!("{}a: 1{}", "{".repeat(levels), "}: 1".repeat(levels - 1) + "}");
    yaml_error(&bomb, "too large once aliases are followed and keys are written as text");
    let small = run(yaml(b"{{{a: 1}: 1}: 1}").get("$", 0)).unwrap();
    assert!(small.as_str().contains("a"), "{}", small.as_str());
}

/// Every `&` was searched for its `;` to the end of the value.
#[test]
fn an_attribute_full_of_ampersands_is_read_once() {
    let content = format!("<r a=\"{}\"/>", "&".repeat(1_000_000));
    let root = run(xml(content.as_bytes()).read_root_name()).unwrap();
    assert_eq!(root, "r");
    let value = run(xml(b"<r a=\"&amp;&#x26;&unknown; &;\"/>").get("$.r._a", 0)).unwrap();
    assert_eq!(value.as_str(), "&&&unknown; &;");
}

#[test]
fn fields_beyond_the_columns_have_names_of_their_own() {
    let header: Vec<String> = (0..2000).map(|at| format!("column_{}", at + 2001)).collect();
    let row = vec!["x"; 4000].join(",");
    let content = format!("{}\n{row}\n", header.join(","));
    let rows = run(csv(content.as_bytes()).read_rows(0..1, &[], 0)).unwrap();
    assert!(rows.as_str().contains("\"column_2001_2\""));
}
