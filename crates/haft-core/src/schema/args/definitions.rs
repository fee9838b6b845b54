//! Collecting schemas of types, so that a type which contains itself is defined once and referred to.

use std::any::type_name;

use indexmap::IndexMap;

use crate::schema::{Definitions, Schema, Shape};

/// Collects the schemas of recursive types while the schema of a type is made.
#[derive(Debug, Default)]
pub struct ArgDefinitions {
    /// Types whose schema is being made, outermost first.
    open: Vec<Open>,
    /// Names of recursive types that are done, by their full type name.
    done: IndexMap<&'static str, String>,
    definitions: Definitions,
}

#[derive(Debug)]
struct Open {
    type_name: &'static str,
    name: String,
    /// Whether the type was met again inside itself.
    recursive: bool,
}

impl ArgDefinitions {
    /// The schema of `T`, made by `build`, or a reference if `T` contains itself. Types that do not
    /// contain themselves stay inline, because some hosts do not follow references.
    pub fn named<T>(&mut self, name: &str, build: impl FnOnce(&mut Self) -> Schema) -> Schema {
        let type_name = type_name::<T>();
        if let Some(open) = self.open.iter_mut().find(|open| open.type_name == type_name) {
            open.recursive = true;
            return Schema::new(Shape::Ref(open.name.clone()));
        }
        if let Some(name) = self.done.get(type_name) {
            return Schema::new(Shape::Ref(name.clone()));
        }
        let name = self.unused_name(name);
        self.open.push(Open { type_name, name, recursive: false });
        let schema = build(self);
        match self.open.pop() {
            Some(open) if open.recursive => {
                self.definitions.insert(open.name.clone(), schema);
                self.done.insert(type_name, open.name.clone());
                Schema::new(Shape::Ref(open.name))
            }
            _ => schema,
        }
    }

    /// The root schema, which is never a reference, and the definitions it needs.
    pub(crate) fn finish(self, root: Schema) -> (Schema, Definitions) {
        let root = match &root.shape {
            Shape::Ref(name) => self.definitions.get(name).cloned().unwrap_or(root),
            _ => root,
        };
        (root, self.definitions)
    }

    /// `name`, or `name2`, `name3` … if another type has it.
    fn unused_name(&self, name: &str) -> String {
        let taken = |candidate: &str| {
            self.definitions.contains_key(candidate)
                || self.open.iter().any(|open| open.name == candidate)
        };
        let numbered = (2_u32..).map(|number| format!("{name}{number}"));
        std::iter::once(name.to_owned())
            .chain(numbered)
            .find(|candidate| !taken(candidate))
            .unwrap_or_else(|| name.to_owned())
    }
}
