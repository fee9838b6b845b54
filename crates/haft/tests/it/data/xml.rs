//! Elements of XML.

use haft::artifacts::QueryOutput;
use haft::artifacts::xml::{XmlError, XmlView};

use super::{WINDOWS, all, compact, reader, remote, run};

/// What a query answers, whatever is read at once.
#[track_caller]
fn check<F>(text: &str, query: impl Fn(XmlView) -> F, expected: &str)
where
    F: Future<Output = Result<QueryOutput, XmlError>>,
{
    for window in WINDOWS {
        for reader in [reader(text.as_bytes()), remote(text.as_bytes())] {
            let view = XmlView::new(reader).budget(all()).window_bytes(window);
            let answer = match run(query(view)) {
                Ok(answer) => compact(answer.as_str()),
                Err(error) => error.to_string(),
            };
            assert_eq!(answer, expected, "{window} bytes at once of {text:?}");
        }
    }
}

#[track_caller]
fn get(text: &str, path: &'static str, expected: &str) {
    check(text, |view| async move { view.get(path, 0).await }, expected);
}

#[track_caller]
fn keys(text: &str, expected: &str) {
    check(text, |view| async move { view.list_keys(0).await }, expected);
}

/// The projection of a whole document.
#[track_caller]
fn projects(text: &str, expected: &str) {
    get(text, "$", &format!("[ {expected} ]"));
}

#[track_caller]
fn error(text: &str, expected: &str) {
    check(
        text,
        |view| async move { view.list_tags(0).await },
        &format!("the content is not valid XML at {expected}"),
    );
}

#[test]
fn elements_become_members() {
    projects("<a/>", r#"{ "a": "" }"#);
    projects("<a></a>", r#"{ "a": "" }"#);
    projects("<a>text</a>", r#"{ "a": "text" }"#);
    projects("<a><b>1</b><c/></a>", r#"{ "a": { "b": "1", "c": "" } }"#);
    projects("<a><b>1</b><c/><b>2</b></a>", r#"{ "a": { "b": [ "1", "2" ], "c": "" } }"#);
    projects("<a x='1' y=\"2\"/>", r#"{ "a": { "_x": "1", "_y": "2" } }"#);
    projects("<a x='1'>t<b/></a>", r##"{ "a": { "_x": "1", "b": "", "#text": "t" } }"##);
    projects("<n:a xmlns:n='u'><n:b/></n:a>", r#"{ "n:a": { "_xmlns:n": "u", "n:b": "" } }"#);
    projects("<a _x='1'><_x/></a>", r#"{ "a": { "__x": "1", "_x": "" } }"#);
    projects("<ä ö='ü'>ß</ä >", r##"{ "ä": { "_ö": "ü", "#text": "ß" } }"##);
}

#[test]
fn text_stays_text() {
    projects(
        "<a><b>007</b><b>1.50</b><b>0x1F</b><b>true</b></a>",
        r#"{ "a": { "b": [ "007", "1.50", "0x1F", "true" ] } }"#,
    );
    projects("<a>\n  text \n</a>", r#"{ "a": "text" }"#);
    projects("<a> \n </a>", r#"{ "a": "" }"#);
    projects("<a>one\r\ntwo\rthree</a>", r#"{ "a": "one\ntwo\nthree" }"#);
    // Parted by elements: one blank where there was white space.
    projects("<a>Hello <b>x</b> world</a>", r##"{ "a": { "b": "x", "#text": "Hello world" } }"##);
    projects("<a>a<b/>c</a>", r##"{ "a": { "b": "", "#text": "ac" } }"##);
    projects("<a>a<b/> <b/>c</a>", r##"{ "a": { "b": [ "", "" ], "#text": "a c" } }"##);
    projects("<a>\n  <b/>\n  x\n</a>", r##"{ "a": { "b": "", "#text": "x" } }"##);
    projects("<a>on<!-- c -->e<?pi?>!</a>", r#"{ "a": "one!" }"#);
    projects("<a> <![CDATA[ <x> & ]]> </a>", r#"{ "a": " <x> & " }"#);
    projects("<a>x<![CDATA[]]]]><![CDATA[>]]></a>", r#"{ "a": "x]]>" }"#);
}

#[test]
fn references_are_characters_or_stay_as_they_are() {
    projects("<a>&lt;&gt;&amp;&apos;&quot;</a>", r#"{ "a": "<>&'\"" }"#);
    projects("<a>&#65;&#x42;&#x1F600;&#32;</a>", r#"{ "a": "AB😀 " }"#);
    projects("<a b='&lt;&#65;&nbsp;&amp;amp;'/>", r#"{ "a": { "_b": "<A&nbsp;&amp;" } }"#);
    projects("<a b='1\t2\n3\r\n4&#10;5'/>", r#"{ "a": { "_b": "1 2 3 4\n5" } }"#);
    projects("<a>x &nbsp; &unknown;</a>", r#"{ "a": "x &nbsp; &unknown;" }"#);
    projects("<a>AT&T & co; &#0; &#xD800; &#x;</a>", r#"{ "a": "AT&T & co; &#0; &#xD800; &#x;" }"#);
    projects(
        "<!DOCTYPE a [<!ENTITY x \"boom\"><!ENTITY y SYSTEM \"file:///etc/passwd\">]><a b='&x;'>&x;&y;</a>",
        r##"{ "a": { "_b": "&x;", "#text": "&x;&y;" } }"##,
    );
}

#[test]
fn what_is_no_content_is_left_out() {
    projects(
        "\u{FEFF}<?xml version='1.0' encoding='UTF-8'?>\n<!DOCTYPE a SYSTEM \"a.dtd\">\n<!-- <b/> -->\n<a/>\n<!-- end -->\n<?pi x?>\n",
        r#"{ "a": "" }"#,
    );
    // A mark that is none stays, wherever it stands.
    projects("<a>x\u{FEFF}y<b/></a>", "{ \"a\": { \"b\": \"\", \"#text\": \"x\u{FEFF}y\" } }");
}

#[test]
fn attributes_have_a_prefix_or_are_ignored() {
    let shown = |text: &str, prefix: &str, ignore| {
        let view = XmlView::new(reader(text.as_bytes()));
        let view = view.attribute_prefix(prefix);
        let view = if ignore { view.ignore_attributes() } else { view };
        let answer = compact(run(view.get("$", 0)).unwrap().as_str());
        (answer, compact(run(view.list_keys(0)).unwrap().as_str()))
    };
    let text = "<a x='1'>t<x>2</x></a>";
    let expected = |json: &str, keys: &str| (json.to_owned(), keys.to_owned());
    assert_eq!(
        shown(text, "@", false),
        expected(r##"[ { "a": { "@x": "1", "x": "2", "#text": "t" } } ]"##, "@x x #text")
    );
    // Nothing is lost where names meet.
    assert_eq!(
        shown(text, "", false),
        expected(r##"[ { "a": { "x": [ "1", "2" ], "#text": "t" } } ]"##, "x #text")
    );
    assert_eq!(
        shown("<a text='1'>t</a>", "#", false),
        expected(r##"[ { "a": { "#text": [ "1", "t" ] } } ]"##, "#text")
    );
    assert_eq!(
        shown(text, "_", true),
        expected(r##"[ { "a": { "x": "2", "#text": "t" } } ]"##, "x #text")
    );
    assert_eq!(shown("<a x='1'>t</a>", "_", true), expected(r#"[ { "a": "t" } ]"#, "(empty list)"));
}

#[test]
fn outlines_are_found() {
    let root = |text: &str| {
        let view = XmlView::new(reader(text.as_bytes()));
        run(view.read_root_name()).map_err(|it| it.to_string())
    };
    assert_eq!(root("<?xml version='1.0'?><feed><x/></feed>").unwrap(), "feed");
    // Not read further.
    assert_eq!(root("<feed><x>").unwrap(), "feed");
    assert_eq!(
        root(" \n<!-- -->").unwrap_err(),
        "the document has no element: it is empty up to its end at line 2, column 9; there is nothing \
         to ask it for"
    );
    keys("<a x='1'><b/><c/><b/>t</a>", "_x b c #text");
    keys("<a>\n <b>t</b>\n</a>", "b");
    keys("<a>t</a>", "(empty list)");
    keys("<a/>", "(empty list)");
    keys("<a><b/><![CDATA[ ]]></a>", "b #text");
    keys("", "(undefined)");
    let tags =
        |text, expected| check(text, |view| async move { view.list_tags(0).await }, expected);
    tags("<b _y='1'><a/><_x/><c><a/></c></b>", "_x a b c");
    tags("", "(empty list)");
    let length =
        |text, expected| check(text, |view| async move { view.read_length().await }, expected);
    length("", "0");
    length("<!-- -->", "0");
    length("<a/>", "1 [the root element `a` has 0 child elements]");
    length("<a><b/><c><d/></c><b/></a>", "1 [the root element `a` has 3 child elements]");
}

const SHOP: &str = "<shop><book id='1'><title>A</title><price>5</price></book>\
    <book id='2'><title>B</title><price>15.50</price></book>\
    <book id='3'><title>C</title><price>9</price><isbn>007</isbn></book></shop>";

#[test]
fn paths_select_in_the_projection() {
    get(SHOP, "$.shop.book[*].title", "A B C");
    get(SHOP, "$.shop.book[1]._id", "2");
    get(SHOP, "$..isbn", "007");
    get(SHOP, "$.none", "(empty list)");
    get(SHOP, "$.shop.book[?@.isbn == '007'].title", "C");
    // Compared as numbers, shown as text.
    get(SHOP, "$.shop.book[?@.price > 5].price", "15.50 9");
    get(SHOP, "$.shop.book[?9 >= @.price].title", "A C");
    get(SHOP, "$.shop.book[?@.price != 5].title", "B C");
    get(SHOP, "$.shop.book[?@.price == 15.5].title", "B");
    get(SHOP, "$.shop.book[?@.price == '15.50'].title", "B");
    get(SHOP, "$.shop.book[?@.title == '> 5'].title", &format!("(empty list) {HINT}"));
    // Not a number as JSON has it, so it is text for both.
    get(SHOP, "$.shop.book[?@.isbn > 1].title", &format!("(empty list) {HINT}"));
}

const HINT: &str = "[an element that stands once is an object and no list, so that `[?...]` behind its \
    name judges what is in it; `$..[?...]` finds it in any case]";

#[test]
fn filters_and_sql_find_elements() {
    let b = r#"{ "_id": "2", "title": "B", "price": "15.50" }"#;
    get(SHOP, "$.shop.book[?@.price > 10]", &format!("[ {b} ]"));
    get(SHOP, "$..[?@.price > 10]", &format!("[ {b} ]"));
    get(SHOP, "$..book[?@._id == '2']", &format!("[ {b} ]"));
    // An element that stands once.
    let one_book = "<shop><book><price>12</price></book></shop>";
    get(one_book, "$..[?@.price > 10]", r#"[ { "price": "12" } ]"#);
    get(one_book, "$.shop.book[?@.price > 10]", &format!("(empty list) {HINT}"));
    let sql = |text, query: &'static str, expected| {
        check(text, |view| async move { view.sql(query, 0).await }, expected);
    };
    sql(SHOP, "SELECT title, price FROM $.shop.book WHERE price > 5", "title,price B,15.50 C,9");
    sql(SHOP, "SELECT sum(price) FROM $..book", "sum(price) 29.5");
    sql(one_book, "SELECT price FROM $.shop.book", "price 12");
}

#[test]
fn mistakes_are_named_with_line_and_column() {
    let text = "the lines around it can still be read as text";
    error(
        "<a>\n <b>\n</a>",
        "line 3, column 1: `</a>` stands where `</b>` must come first; close the elements in the order they were opened",
    );
    error(
        "<a>\n <b>",
        "line 2, column 5: the content ends before `</b>`; it may have been cut off",
    );
    error("<a/></b>", &format!("line 1, column 5: `</b>` closes nothing; {text}"));
    error(
        "<a/>\n<b/>",
        "line 2, column 1: a second root element, `b`; XML has one; put them into one element",
    );
    error(
        "<a/>x",
        "line 1, column 5: text stands outside of the root element; is this XML at all?",
    );
    error(
        "plain text",
        "line 1, column 1: text stands outside of the root element; is this XML at all?",
    );
    error(
        "<a x='1' x='2'/>",
        "line 1, column 1: the attribute `x` stands twice; an element has each attribute once",
    );
    error(
        "<ä><b <c/></ä>",
        "line 1, column 9: an attribute of `b` has no value; write attributes as `name=\"value\"`",
    );
    error(
        "<a x=1/>",
        "line 1, column 6: the value of an attribute of `a` is not in quotes; write attributes as `name=\"value\"`",
    );
    error(
        "<a><b",
        &format!("line 1, column 4: tag not closed: `>` not found before end of input; {text}"),
    );
    error(
        "<a><!-- x</a>",
        &format!(
            "line 1, column 4: comment not closed: `-->` not found before end of input; {text}"
        ),
    );
    error("<a><!x></a>", &format!("line 1, column 4: unknown or missed symbol in markup; {text}"));
    error("<a>1 < 2</a>", "line 1, column 6: a tag without a name; write `&lt;` for a `<` in text");
}
