//! Converts the nodes to a JSON document: follows aliases and expands merge keys.

use std::borrow::Cow;
use std::collections::HashSet;

use haft_core::json::{Document, JsonWriter};

use super::parse::{FlatDocument, FlatNode, ScalarForm};
use super::scalar;

impl FlatDocument {
    pub(super) fn to_document(&self) -> Document {
        let mut out = JsonWriter::new();
        if !self.entries.is_empty() {
            self.write(0, &mut out);
        }
        out.finish()
    }

    /// Recurses as deep as the values are nested, which is bounded.
    fn write(&self, at: usize, out: &mut JsonWriter) {
        let at = self.resolve_alias(at);
        match self.entry(at) {
            None => {
                out.null();
            }
            Some(FlatNode::Scalar { form: ScalarForm::Text, start, len, .. }) => {
                out.string(self.text(start, len));
            }
            Some(FlatNode::Scalar { start, len, .. }) => {
                scalar::write(self.text(start, len), out);
            }
            Some(FlatNode::Sequence { .. }) => {
                out.array(|out| self.children(at).for_each(|child| self.write(child, out)));
            }
            Some(FlatNode::Mapping { .. } | FlatNode::Alias { .. }) => {
                out.object(|out| {
                    let mut member = |key: &str, value| self.write(value, out.key(key));
                    if self.members(at).any(|(key, value)| self.is_merge(key, value)) {
                        self.merged_members(at).iter().for_each(|(key, value)| member(key, *value));
                    } else {
                        self.members(at).for_each(|(key, value)| member(&self.key(key), value));
                    }
                });
            }
        }
    }

    /// The index that an alias refers to. No alias refers to another.
    fn resolve_alias(&self, at: usize) -> usize {
        match self.entry(at) {
            Some(FlatNode::Alias { target }) => target as usize,
            _ => at,
        }
    }

    /// The text of a key.
    pub(super) fn key(&self, at: usize) -> Cow<'_, str> {
        let at = self.resolve_alias(at);
        if let Some(FlatNode::Scalar { start, len, .. }) = self.entry(at) {
            return self.text(start, len).into();
        }
        let mut out = JsonWriter::new();
        self.write(at, &mut out);
        out.finish().root().to_string().into()
    }

    /// Whether a member is `<<` with something to merge.
    fn is_merge(&self, key: usize, value: usize) -> bool {
        let Some(FlatNode::Scalar { form: ScalarForm::Plain, start, len, .. }) = self.entry(key)
        else {
            return false;
        };
        let is_mapping = |at: usize| {
            matches!(self.entry(self.resolve_alias(at)), Some(FlatNode::Mapping { .. }))
        };
        let value = self.resolve_alias(value);
        self.text(start, len) == "<<"
            && match self.entry(value) {
                Some(FlatNode::Mapping { .. }) => true,
                Some(FlatNode::Sequence { .. }) => self.children(value).all(is_mapping),
                _ => false,
            }
    }

    /// The members of a mapping and, in the position of `<<`, of the mappings that it merges. Its own members
    /// take precedence, then the ones that come first.
    fn merged_members(&self, at: usize) -> Vec<(Cow<'_, str>, usize)> {
        let own = self.members(at).filter(|(key, value)| !self.is_merge(*key, *value));
        let mut seen: HashSet<Cow<'_, str>> = own.map(|(key, _)| self.key(key)).collect();
        let mut members = Vec::new();
        for (key, value) in self.members(at) {
            if !self.is_merge(key, value) {
                members.push((self.key(key), value));
                continue;
            }
            let value = self.resolve_alias(value);
            let sources: Vec<usize> = match self.entry(value) {
                Some(FlatNode::Sequence { .. }) => self.children(value).collect(),
                _ => vec![value],
            };
            for source in sources {
                let others = self.merged_members(self.resolve_alias(source));
                members.extend(others.into_iter().filter(|(key, _)| seen.insert(key.clone())));
            }
        }
        members
    }
}
