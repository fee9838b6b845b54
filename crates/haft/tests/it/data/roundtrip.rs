//! Values that are written as YAML or XML are read back as they were.

use haft::artifacts::xml::XmlView;
use haft::artifacts::yaml::YamlView;
use haft::schema::json::Document;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{all, reader, run};

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,8}",
        prop::sample::select(vec![
            "",
            " ",
            "~",
            "null",
            "true",
            "no",
            "12",
            "0x1F",
            "1e3",
            ".inf",
            "- a",
            "a: b",
            "a #b",
            "#",
            "---",
            "...",
            "%a",
            "*a",
            "&a",
            "!a",
            "<<",
            "{",
            "]",
            "|",
            ">",
            "'",
            "\"",
            "\\",
            "a\nb",
            "\n",
            "\ta",
            "ä😀",
            "é\u{85}\u{2028}",
            "2024-01-02",
        ])
        .prop_map(str::to_owned),
        "\\PC{0,6}",
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i32>().prop_map(|it| json!(f64::from(it) / 64.0)),
        text().prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((text(), inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Writes YAML in all kinds of ways; what is left of `choices` decides.
struct YamlWriter<'c> {
    choices: std::slice::Iter<'c, u8>,
    out: String,
}

impl YamlWriter<'_> {
    fn choice(&mut self, of: u8) -> u8 {
        self.choices.next().copied().unwrap_or(0) % of
    }

    /// A value behind `-` or `:`, and the end of its line.
    fn node(&mut self, value: &Value, indent: usize) {
        match value {
            Value::Array(items) if !items.is_empty() && self.choice(3) > 0 => {
                self.out.push('\n');
                for item in items {
                    self.out.push_str(&format!("{:indent$}-", ""));
                    self.node(item, indent + 2);
                }
            }
            Value::Object(members) if !members.is_empty() && self.choice(3) > 0 => {
                self.out.push('\n');
                for (key, value) in members {
                    let key = self.scalar(key);
                    self.out.push_str(&format!("{:indent$}{key}:", ""));
                    self.node(value, indent + 2);
                }
            }
            Value::String(text) => {
                let block = !text.is_empty()
                    && text.ends_with(char::is_alphanumeric)
                    && text.chars().all(|it| it.is_ascii_graphic() || it == '\n')
                    && !text.contains("\n\n")
                    && !text.starts_with('\n');
                let written = if block && self.choice(2) == 0 {
                    let lines: Vec<String> =
                        text.lines().map(|it| format!("{:1$}{it}", "", indent + 1)).collect();
                    format!("|-\n{}", lines.join("\n"))
                } else {
                    self.scalar(text)
                };
                self.out.push_str(&format!(" {written}"));
                self.end();
            }
            // JSON is YAML.
            other => {
                self.out.push_str(&format!(" {other}"));
                self.end();
            }
        }
    }

    fn end(&mut self) {
        let end = ["\n", " # comment\n", "\r\n"][usize::from(self.choice(3))];
        // A comment inside a block scalar would be part of it.
        let block = self.out.rsplit("\n").take_while(|it| it.starts_with(' ')).count() > 0;
        self.out.push_str(if block { "\n" } else { end });
    }

    fn scalar(&mut self, text: &str) -> String {
        let word = !text.is_empty() && text.chars().all(|it| it.is_ascii_lowercase());
        let word = word && !matches!(text, "null" | "true" | "false");
        match self.choice(3) {
            0 if word => text.to_owned(),
            1 if !text.contains(|it: char| it.is_control() || it == '\u{2028}') => {
                format!("'{}'", text.replace('\'', "''"))
            }
            _ => Value::String(text.to_owned()).to_string(),
        }
    }
}

/// An element of XML.
#[derive(Clone, Debug)]
struct Element {
    name: String,
    attributes: Vec<(String, String)>,
    content: Vec<Node>,
}

#[derive(Clone, Debug)]
enum Node {
    Element(Element),
    /// With the way in which it is written.
    Text(String, u8),
    Comment(String),
}

fn name() -> impl Strategy<Value = String> + Clone {
    prop::sample::select(vec!["a", "b", "c", "n:d", "_e", "ä"]).prop_map(str::to_owned)
}

fn element() -> impl Strategy<Value = Element> {
    let characters = "[a-z <>&'\"\\n\\tä😀;0-9]{0,8}";
    let attributes = prop::collection::btree_map(name(), "[a-z <>&'\"ä]{0,6}", 0..3);
    let leaf = (name(), attributes.clone()).prop_map(|(name, attributes)| Element {
        name,
        attributes: attributes.into_iter().collect(),
        content: Vec::new(),
    });
    leaf.prop_recursive(4, 24, 5, move |inner| {
        let node = prop_oneof![
            inner.prop_map(Node::Element),
            (characters, any::<u8>()).prop_map(|(text, way)| Node::Text(text, way)),
            "[a-z <>&]{0,5}".prop_map(Node::Comment),
        ];
        let parts = (name(), attributes.clone(), prop::collection::vec(node, 0..5));
        parts.prop_map(|(name, attributes, content)| Element {
            name,
            attributes: attributes.into_iter().collect(),
            content,
        })
    })
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

impl Element {
    fn write(&self, out: &mut String) {
        out.push_str(&format!("<{}", self.name));
        for (name, value) in &self.attributes {
            out.push_str(&format!(" {name}=\"{}\"", escaped(value)));
        }
        out.push('>');
        for node in &self.content {
            match node {
                Node::Element(element) => element.write(out),
                Node::Comment(text) => out.push_str(&format!("<!--{text}-->")),
                Node::Text(text, way) => match way % 4 {
                    0 => text.chars().for_each(|it| out.push_str(&format!("&#{};", it as u32))),
                    1 => text.chars().for_each(|it| out.push_str(&format!("&#x{:x};", it as u32))),
                    2 => out.push_str(&format!("<![CDATA[{text}]]>")),
                    _ => out.push_str(&escaped(text)),
                },
            }
        }
        out.push_str(&format!("</{}>", self.name));
    }

    fn project(&self) -> Value {
        let mut members: Vec<(String, Vec<Value>)> = Vec::new();
        let mut add = |key: String, value: Value| match members.iter_mut().find(|it| it.0 == key) {
            Some((_, values)) => values.push(value),
            None => members.push((key, vec![value])),
        };
        for (name, value) in &self.attributes {
            // Every tab and line end in an attribute is a blank.
            add(format!("_{name}"), value.clone().into());
        }
        for node in &self.content {
            if let Node::Element(element) = node {
                add(element.name.clone(), element.project());
            }
        }
        let text = self.text();
        if members.is_empty() {
            return text.into();
        }
        let mut object: Map<String, Value> = members
            .into_iter()
            .map(|(key, mut values)| match values.len() {
                1 => (key, values.remove(0)),
                _ => (key, values.into()),
            })
            .collect();
        if !text.is_empty() {
            object.insert("#text".to_owned(), text.into());
        }
        object.into()
    }

    /// White space that must stay is a private character until the end.
    fn text(&self) -> String {
        let hidden = |text: &str| {
            text.replace(' ', "\u{E000}").replace('\n', "\u{E001}").replace('\t', "\u{E002}")
        };
        let mut pieces = vec![String::new()];
        for node in &self.content {
            match node {
                Node::Element(_) => pieces.push(String::new()),
                Node::Comment(_) => {}
                Node::Text(text, way) if way % 4 == 3 => pieces.last_mut().unwrap().push_str(text),
                Node::Text(text, _) => pieces.last_mut().unwrap().push_str(&hidden(text)),
            }
        }
        let all = pieces.join("\u{E003}");
        let parts: Vec<&str> = all.split('\u{E003}').collect();
        let mut whole = String::new();
        let mut gap = false;
        for part in parts {
            let trimmed = part.trim();
            gap |= part.starts_with(char::is_whitespace);
            if !trimmed.is_empty() {
                if !whole.is_empty() && gap {
                    whole.push(' ');
                }
                whole.push_str(trimmed);
                gap = false;
            }
            gap |= part.ends_with(char::is_whitespace);
        }
        whole.replace('\u{E000}', " ").replace('\u{E001}', "\n").replace('\u{E002}', "\t")
    }
}

/// The values of an answer that are objects.
fn values(answer: &str) -> Document {
    Document::parse(answer).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn yaml_is_read_back(
        documents in prop::collection::vec(value(), 1..4),
        choices in prop::collection::vec(any::<u8>(), 64),
        window in 1..50_usize,
    ) {
        let mut writer = YamlWriter { choices: choices.iter(), out: String::new() };
        let mut expected = Vec::new();
        for document in documents {
            writer.out.push_str("---\nvalue:");
            writer.node(&document, 2);
            expected.push(json!({ "value": document }));
        }
        let view = YamlView::new(reader(writer.out.as_bytes())).budget(all()).window_bytes(window);
        let answer = run(view.get("$", 0)).unwrap_or_else(|error| panic!("{error}\n{}", writer.out));
        let expected = Document::from_value(&Value::Array(expected)).unwrap();
        prop_assert_eq!(values(answer.as_str()), expected, "{}", writer.out);
    }

    #[test]
    fn xml_is_read_back(root in element(), window in 1..50_usize) {
        let mut text = "<?xml version='1.0'?>\n".to_owned();
        root.write(&mut text);
        let view = XmlView::new(reader(text.as_bytes())).budget(all()).window_bytes(window);
        let answer = run(view.get("$", 0)).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let expected = json!([{ root.name.as_str(): root.project() }]);
        let expected = Document::from_value(&expected).unwrap();
        prop_assert_eq!(values(answer.as_str()), expected, "{}", text);
        // The keys are those of the projection.
        let keys = run(view.list_keys(0)).unwrap().into_string();
        let members = root.project().as_object().map_or(0, Map::len);
        let keys = if keys == "(empty list)" { 0 } else { keys.lines().count() };
        prop_assert_eq!(keys, members, "{}", text);
    }
}
