//! The syntax tree as JSON.

use pulldown_cmark::{CodeBlockKind, Event, LinkType, Tag};
use serde_json::{Map, Value, json};

use crate::invariant;

/// Builds the tree from events.
#[derive(Debug)]
pub(super) struct TreeBuilder {
    /// The root and the nodes that are open.
    open: Vec<Map<String, Value>>,
    nodes: usize,
    omitted: usize,
    /// How many open nodes are omitted.
    skipping: usize,
    /// The text of the open node, if it has text instead of children.
    value: Option<String>,
}

/// First and last line of a node.
type Lines = (usize, usize);

impl TreeBuilder {
    pub(super) fn new(first: usize, last: usize) -> Self {
        let root = node("root", (first, last));
        Self { open: vec![root], nodes: 0, omitted: 0, skipping: 0, value: None }
    }

    /// Adds code that is a block of its own.
    pub(super) fn push_code(&mut self, code: &str, lines: Lines) {
        let mut node = node("code", lines);
        node.insert("value".into(), code.into());
        self.add(node);
    }

    pub(super) fn push_event<F>(&mut self, event: &Event<'_>, lines: Lines, target: F)
    where
        F: FnOnce(LinkType, (&str, &str), &str) -> (String, Option<String>),
    {
        match event {
            Event::Start(tag) => self.start(tag, lines, target),
            Event::End(_) => self.end(),
            event => self.push_leaf(event, lines),
        }
    }

    pub(super) fn finish(mut self) -> Value {
        while self.open.len() > 1 {
            self.end();
        }
        let mut root = invariant::or_default(self.open.pop(), "the root of a tree is always open");
        if self.omitted > 0 {
            root.insert("omitted".into(), self.omitted.into());
        }
        Value::Object(root)
    }

    fn start<F>(&mut self, tag: &Tag<'_>, lines: Lines, target: F)
    where
        F: FnOnce(LinkType, (&str, &str), &str) -> (String, Option<String>),
    {
        if self.skipping > 0 || self.open.len() > DEPTH_LIMIT || self.nodes >= NODE_LIMIT {
            self.skipping += 1;
            self.omitted += 1;
            return;
        }
        self.nodes += 1;
        let mut node = node(type_name(tag), lines);
        match tag {
            Tag::Heading { level, .. } => {
                node.insert("depth".into(), (*level as u8).into());
            }
            Tag::List(start) => {
                node.insert("start".into(), json!(start));
            }
            Tag::CodeBlock(kind) => {
                let info = if let CodeBlockKind::Fenced(info) = kind { &**info } else { "" };
                node.insert("lang".into(), json!(info.split_ascii_whitespace().next()));
                self.value = Some(String::new());
            }
            Tag::HtmlBlock => self.value = Some(String::new()),
            Tag::Link { link_type, dest_url, title, id }
            | Tag::Image { link_type, dest_url, title, id } => {
                let (url, title) = target(*link_type, (dest_url, title), id);
                node.insert("url".into(), url.into());
                if let Some(title) = title {
                    node.insert("title".into(), title.into());
                }
            }
            _ => {}
        }
        self.open.push(node);
    }

    fn end(&mut self) {
        if self.skipping > 0 {
            self.skipping -= 1;
            return;
        }
        if let Some(mut node) = self.open.pop() {
            if let Some(value) = self.value.take() {
                node.insert("value".into(), value.into());
            }
            self.attach(node);
        }
    }

    fn push_leaf(&mut self, event: &Event<'_>, lines: Lines) {
        let (name, text) = match event {
            Event::Text(text) => ("text", Some(text)),
            Event::Code(text) => ("inlineCode", Some(text)),
            Event::Html(text) | Event::InlineHtml(text) => ("html", Some(text)),
            Event::HardBreak => ("break", None),
            Event::SoftBreak => ("softBreak", None),
            Event::Rule => ("thematicBreak", None),
            _ => return,
        };
        if self.skipping > 0 {
            self.omitted += 1;
            return;
        }
        if let (Some(value), Some(text)) = (&mut self.value, text) {
            value.push_str(text);
            return;
        }
        let mut node = node(name, lines);
        if let Some(text) = text {
            node.insert("value".into(), (&**text).into());
        }
        self.add(node);
    }

    fn add(&mut self, node: Map<String, Value>) {
        if self.nodes >= NODE_LIMIT {
            self.omitted += 1;
            return;
        }
        self.nodes += 1;
        self.attach(node);
    }

    fn attach(&mut self, node: Map<String, Value>) {
        let Some(parent) = self.open.last_mut() else {
            return;
        };
        let children = parent.entry("children").or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(children) = children {
            children.push(Value::Object(node));
        }
    }
}

fn node(name: &str, (first, last): Lines) -> Map<String, Value> {
    let mut node = Map::new();
    node.insert("type".into(), name.into());
    node.insert("startLine".into(), first.into());
    node.insert("endLine".into(), last.into());
    node
}

fn type_name(tag: &Tag<'_>) -> &'static str {
    match tag {
        Tag::Paragraph => "paragraph",
        Tag::Heading { .. } => "heading",
        Tag::BlockQuote(_) => "blockquote",
        Tag::CodeBlock(_) => "code",
        Tag::HtmlBlock => "html",
        Tag::List(_) => "list",
        Tag::Item => "listItem",
        Tag::Table(_) => "table",
        Tag::TableHead | Tag::TableRow => "tableRow",
        Tag::TableCell => "tableCell",
        Tag::Emphasis => "emphasis",
        Tag::Strong => "strong",
        Tag::Strikethrough => "delete",
        Tag::Link { .. } => "link",
        Tag::Image { .. } => "image",
        _ => "other",
    }
}

/// The deepest nesting of nodes.
const DEPTH_LIMIT: usize = 32;
/// The maximum number of nodes of one tree.
const NODE_LIMIT: usize = 10_000;
