//! The names that a crate defines.

use proc_macro2::Span;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{ImplItemFn, Item, ItemFn, ItemImpl, ItemMod, Signature, TraitItemFn, Visibility};

use super::{Krate, Module, is_test_only};

/// A struct, an enum, a trait or an alias.
#[derive(Debug)]
pub(crate) struct TypeName {
    pub(crate) name: String,
    pub(crate) place: String,
    /// Marked `pub`; the module may still be private.
    pub(crate) is_public: bool,
}

/// A function with a body or a method that a trait asks for.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) place: String,
    pub(crate) lines: usize,
    /// A method of `impl Trait for Type`: its name was chosen elsewhere.
    pub(crate) is_given: bool,
}

/// Everything that a crate defines outside of tests.
#[derive(Debug, Default)]
pub(crate) struct Definitions {
    pub(crate) types: Vec<TypeName>,
    pub(crate) functions: Vec<Function>,
}

impl Definitions {
    /// The public types whose name another public type of the crate has, without those that have it by convention: an
    /// `Error`, a `Builder` or `Options` belong to their module.
    pub(crate) fn shared_public_names(&self) -> Vec<&TypeName> {
        let public = || self.types.iter().filter(|it| it.is_public);
        let mut shared: Vec<&TypeName> = public()
            .filter(|it| !["Error", "Builder", "Options"].contains(&it.name.as_str()))
            .filter(|it| public().filter(|other| other.name == it.name).count() > 1)
            .collect();
        shared.sort_by(|a, b| (&a.name, &a.place).cmp(&(&b.name, &b.place)));
        shared
    }
}

/// The types and functions of a crate.
pub(crate) fn definitions(krate: &Krate) -> Definitions {
    let mut found = Definitions::default();
    for module in &krate.modules {
        let mut reader = Reader { module, found: &mut found, is_given: false };
        for item in &module.items {
            reader.visit_item(item);
        }
    }
    found
}

struct Reader<'a> {
    module: &'a Module,
    found: &'a mut Definitions,
    is_given: bool,
}

impl Reader<'_> {
    fn place(&self, span: Span) -> String {
        format!("{}:{}", self.module.file, span.start().line)
    }

    fn add_type(&mut self, ident: &syn::Ident, visibility: &Visibility) {
        let place = self.place(ident.span());
        let is_public = matches!(visibility, Visibility::Public(_));
        self.found.types.push(TypeName { name: ident.to_string(), place, is_public });
    }

    fn add_function(&mut self, signature: &Signature, whole: Span) {
        let first = signature.span().start().line;
        self.found.functions.push(Function {
            name: signature.ident.to_string(),
            place: self.place(signature.ident.span()),
            lines: whole.end().line.saturating_sub(first) + 1,
            is_given: self.is_given,
        });
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if is_test_only(super::attributes(item)) {
            return;
        }
        match item {
            Item::Struct(it) => self.add_type(&it.ident, &it.vis),
            Item::Enum(it) => self.add_type(&it.ident, &it.vis),
            Item::Trait(it) => self.add_type(&it.ident, &it.vis),
            Item::Type(it) => self.add_type(&it.ident, &it.vis),
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, _: &'ast ItemMod) {}

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        let outer = std::mem::replace(&mut self.is_given, item.trait_.is_some());
        visit::visit_item_impl(self, item);
        self.is_given = outer;
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.add_function(&item.sig, item.span());
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if !is_test_only(&item.attrs) {
            self.add_function(&item.sig, item.span());
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        self.add_function(&item.sig, item.span());
        visit::visit_trait_item_fn(self, item);
    }
}
