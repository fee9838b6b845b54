//! What is found in XML of any size: its root, the keys below it, its tags.

use std::collections::{BTreeSet, HashSet};
use std::ops::ControlFlow;

use super::scan::{Flow, Stop, Visit};
use super::text_run::Piece;
use super::view::Attributes;

/// The name of the root.
#[derive(Debug, Default)]
pub(super) struct Root(pub(super) Option<String>);

impl Visit for Root {
    fn open(&mut self, name: &str, _: &[(&str, &str)], _: usize) -> Flow {
        self.0 = Some(name.to_owned());
        ControlFlow::Break(Stop::Done)
    }
}

/// The root, and how many child elements it has.
#[derive(Debug, Default)]
pub(super) struct Length {
    pub(super) root: Option<String>,
    pub(super) children: u64,
}

impl Visit for Length {
    fn open(&mut self, name: &str, _: &[(&str, &str)], depth: usize) -> Flow {
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
pub(super) struct Tags {
    pub(super) names: BTreeSet<String>,
    bytes: usize,
}

impl Visit for Tags {
    fn open(&mut self, name: &str, _: &[(&str, &str)], _: usize) -> Flow {
        if !self.names.contains(name) {
            self.bytes += name.len() + 1;
            if self.bytes > NAME_BYTES {
                return ControlFlow::Break(Stop::Full { limit: NAME_BYTES });
            }
            self.names.insert(name.to_owned());
        }
        ControlFlow::Continue(())
    }
}

/// The members that the root has in the projection.
#[derive(Debug)]
pub(super) struct Keys {
    pub(super) keys: Vec<String>,
    attributes: Attributes,
    seen: HashSet<String>,
    bytes: usize,
    depth: usize,
    has_text: bool,
    piece: Piece,
}

impl Keys {
    pub(super) fn new(attributes: Attributes) -> Self {
        let (keys, seen, piece) = (Vec::new(), HashSet::new(), Piece::default());
        Self { keys, attributes, seen, bytes: 0, depth: 0, has_text: false, piece }
    }

    fn add(&mut self, key: String) -> Flow {
        if self.seen.contains(&key) {
            return ControlFlow::Continue(());
        }
        self.bytes += key.len() + 1;
        if self.bytes > NAME_BYTES {
            return ControlFlow::Break(Stop::Full { limit: NAME_BYTES });
        }
        self.seen.insert(key.clone());
        self.keys.push(key);
        ControlFlow::Continue(())
    }

    fn end_piece(&mut self) {
        let (mut text, mut gap) = (String::new(), false);
        self.piece.flush(&mut text, &mut gap, &mut self.has_text);
    }
}

impl Visit for Keys {
    fn open(&mut self, name: &str, attributes: &[(&str, &str)], depth: usize) -> Flow {
        self.end_piece();
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

    fn close(&mut self) -> Flow {
        self.end_piece();
        self.depth -= 1;
        if self.depth == 0 && self.has_text && !self.keys.is_empty() {
            return self.add("#text".to_owned());
        }
        ControlFlow::Continue(())
    }

    fn text(&mut self, text: &str, exact: bool) -> Flow {
        // One character of it is enough.
        if self.depth == 1 && !self.has_text && self.piece.len() == 0 {
            if exact { self.piece.push_exact(text) } else { self.piece.push(text) }
        }
        ControlFlow::Continue(())
    }
}

/// What different names may have together.
const NAME_BYTES: usize = 4 * 1024 * 1024;
