//! The visitors that work on XML of any size: root, keys, tags and length.

use std::collections::{BTreeSet, HashSet};
use std::ops::ControlFlow;

use super::scan::{ElementVisitor, VisitFlow, VisitStop};
use super::text_run::TextRun;
use super::view::AttributeOptions;

/// The name of the root.
#[derive(Debug, Default)]
pub(super) struct RootName(pub(super) Option<String>);

impl ElementVisitor for RootName {
    fn open(&mut self, name: &str, _: &[(&str, &str)], _: usize) -> VisitFlow {
        self.0 = Some(name.to_owned());
        ControlFlow::Break(VisitStop::Done)
    }
}

/// The root, and how many child elements it has.
#[derive(Debug, Default)]
pub(super) struct ElementCount {
    pub(super) root: Option<String>,
    pub(super) children: u64,
}

impl ElementVisitor for ElementCount {
    fn open(&mut self, name: &str, _: &[(&str, &str)], depth: usize) -> VisitFlow {
        match depth {
            0 => self.root = Some(name.to_owned()),
            1 => self.children += 1,
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// The names of all elements.
#[derive(Debug, Default)]
pub(super) struct TagNames {
    pub(super) names: BTreeSet<String>,
    bytes: usize,
}

impl ElementVisitor for TagNames {
    fn open(&mut self, name: &str, _: &[(&str, &str)], _: usize) -> VisitFlow {
        if !self.names.contains(name) {
            self.bytes += name.len() + 1;
            if self.bytes > NAME_BYTES {
                return ControlFlow::Break(VisitStop::Full { limit: NAME_BYTES });
            }
            self.names.insert(name.to_owned());
        }
        ControlFlow::Continue(())
    }
}

/// The members that the root has in the projection.
#[derive(Debug)]
pub(super) struct RootKeys {
    pub(super) keys: Vec<String>,
    attributes: AttributeOptions,
    seen: HashSet<String>,
    bytes: usize,
    depth: usize,
    has_text: bool,
    text_run: TextRun,
}

impl RootKeys {
    pub(super) fn new(attributes: AttributeOptions) -> Self {
        let keys = Vec::new();
        let seen = HashSet::new();
        let text_run = TextRun::default();
        Self { keys, attributes, seen, bytes: 0, depth: 0, has_text: false, text_run }
    }

    fn add(&mut self, key: String) -> VisitFlow {
        if self.seen.contains(&key) {
            return ControlFlow::Continue(());
        }
        self.bytes += key.len() + 1;
        if self.bytes > NAME_BYTES {
            return ControlFlow::Break(VisitStop::Full { limit: NAME_BYTES });
        }
        self.seen.insert(key.clone());
        self.keys.push(key);
        ControlFlow::Continue(())
    }

    fn end_text_run(&mut self) {
        let mut text = String::new();
        let mut gap = false;
        self.text_run.flush(&mut text, &mut gap, &mut self.has_text);
    }
}

impl ElementVisitor for RootKeys {
    fn open(&mut self, name: &str, attributes: &[(&str, &str)], depth: usize) -> VisitFlow {
        self.end_text_run();
        self.depth = depth + 1;
        if depth == 1 {
            return self.add(name.to_owned());
        }
        if depth == 0 {
            for (name, _) in attributes {
                if let Some(key) = self.attributes.key(name) {
                    self.add(key)?;
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn close(&mut self) -> VisitFlow {
        self.end_text_run();
        self.depth -= 1;
        if self.depth == 0 && self.has_text && !self.keys.is_empty() {
            return self.add("#text".to_owned());
        }
        ControlFlow::Continue(())
    }

    fn visit_text(&mut self, text: &str, exact: bool) -> VisitFlow {
        // One character of it is enough.
        if self.depth == 1 && !self.has_text && self.text_run.len() == 0 {
            if exact { self.text_run.push_exact(text) } else { self.text_run.push(text) }
        }
        ControlFlow::Continue(())
    }
}

/// The maximum number of bytes that distinct names may have.
const NAME_BYTES: usize = 4 * 1024 * 1024;
