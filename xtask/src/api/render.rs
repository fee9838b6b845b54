//! Public items as text.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{
    Attribute, Field, Fields, ImplItem, Item, ItemImpl, ItemTrait, Meta, TraitItem, Type,
    Visibility,
};

use crate::source::{self, Krate, Module, attributes};

/// Every public item of a crate, sorted.
pub(super) fn public_items(krate: &Krate) -> String {
    let root = krate.name.replace('-', "_");
    let public = source::definitions(krate).types.into_iter().filter(|it| it.is_public);
    let public: BTreeSet<String> = public.map(|it| it.name).collect();
    let mut lines = Vec::new();
    for module in &krate.modules {
        let path: Vec<&str> =
            [root.as_str()].into_iter().chain(module.path.iter().map(String::as_str)).collect();
        let mut list = List { path: path.join("::"), public: &public, lines: &mut lines };
        list.add_module(module);
    }
    lines.sort();
    lines.dedup();
    lines.iter().map(|line| format!("{line}\n")).collect()
}

struct List<'a> {
    path: String,
    /// The names of public types; implementations for others are left out.
    public: &'a BTreeSet<String>,
    lines: &'a mut Vec<String>,
}

impl List<'_> {
    fn add(&mut self, attrs: &[Attribute], name: &str, text: &str) {
        let path = &self.path;
        let at = if name.is_empty() { path.clone() } else { format!("{path}::{name}") };
        self.lines.push(format!("{at}: {}{text}", condition(attrs)));
    }

    fn add_module(&mut self, module: &Module) {
        if module.is_public {
            self.lines.push(format!("{}: pub mod", self.path));
        }
        for item in &module.items {
            self.add_item(item);
        }
    }

    fn add_item(&mut self, item: &Item) {
        let attrs = attributes(item);
        match item {
            Item::Use(it) if is_public(&it.vis) => {
                let tree = text(&it.tree).replace(" }", "}");
                self.add(attrs, "", &format!("pub use {tree}"));
            }
            Item::Fn(it) if is_public(&it.vis) => {
                self.add(attrs, &it.sig.ident.to_string(), &format!("pub {}", text(&it.sig)));
            }
            Item::Struct(it) if is_public(&it.vis) => {
                let name = it.ident.to_string();
                let head = format!("pub struct{}{}", text(&it.generics), open_shape(attrs));
                self.add(attrs, &name, &head);
                self.add_fields(&name, &it.fields);
            }
            Item::Enum(it) if is_public(&it.vis) => {
                let name = it.ident.to_string();
                let head = format!("pub enum{}{}", text(&it.generics), open_shape(attrs));
                self.add(attrs, &name, &head);
                for variant in &it.variants {
                    let shape = format!("variant{}", text(&variant.fields));
                    self.add(&variant.attrs, &format!("{name}::{}", variant.ident), &shape);
                }
            }
            Item::Trait(it) if is_public(&it.vis) => self.add_trait(it),
            Item::Type(it) if is_public(&it.vis) => {
                let alias = format!("pub type{} = {}", text(&it.generics), text(&it.ty));
                self.add(attrs, &it.ident.to_string(), &alias);
            }
            Item::Const(it) if is_public(&it.vis) => {
                self.add(attrs, &it.ident.to_string(), &format!("pub const {}", text(&it.ty)));
            }
            Item::Static(it) if is_public(&it.vis) => {
                self.add(attrs, &it.ident.to_string(), &format!("pub static {}", text(&it.ty)));
            }
            Item::Macro(it) if attrs.iter().any(|it| it.path().is_ident("macro_export")) => {
                let name = it.ident.as_ref().map(ToString::to_string).unwrap_or_default();
                self.add(attrs, &name, "macro");
            }
            Item::Impl(it) => self.add_impl(it),
            _ => {}
        }
    }

    fn add_fields(&mut self, owner: &str, fields: &Fields) {
        for (at, Field { attrs, vis, ident, ty, .. }) in fields.iter().enumerate() {
            let name = ident.as_ref().map_or_else(|| at.to_string(), ToString::to_string);
            if is_public(vis) {
                self.add(attrs, &format!("{owner}::{name}"), &format!("pub {}", text(ty)));
            }
        }
    }

    fn add_trait(&mut self, it: &ItemTrait) {
        let name = it.ident.to_string();
        let bounds = text(&it.supertraits);
        let bounds = if bounds.is_empty() { bounds } else { format!(": {bounds}") };
        self.add(&it.attrs, &name, &format!("pub trait{}{bounds}", text(&it.generics)));
        for item in &it.items {
            let (attrs, member, shown) = match item {
                TraitItem::Fn(it) => {
                    let given = if it.default.is_some() { " { .. }" } else { "" };
                    (&it.attrs, &it.sig.ident, format!("{}{given}", text(&it.sig)))
                }
                TraitItem::Type(it) => {
                    (&it.attrs, &it.ident, format!("type: {}", text(&it.bounds)))
                }
                TraitItem::Const(it) => (&it.attrs, &it.ident, format!("const {}", text(&it.ty))),
                _ => continue,
            };
            self.add(attrs, &format!("{name}::{member}"), &shown);
        }
    }

    fn add_impl(&mut self, it: &ItemImpl) {
        let own = text(&it.self_ty);
        let name = own_name(&it.self_ty).unwrap_or_else(|| own.clone());
        if !self.public.contains(&name) {
            return;
        }
        if let Some((path, _)) = &it.trait_ {
            let head = format!("impl{} {} for {own}", text(&it.generics), text(path));
            return self.add(&it.attrs, "", &head);
        }
        for item in &it.items {
            let (attrs, member, shown) = match item {
                ImplItem::Fn(it) if is_public(&it.vis) => {
                    (&it.attrs, &it.sig.ident, format!("pub {}", text(&it.sig)))
                }
                ImplItem::Const(it) if is_public(&it.vis) => {
                    (&it.attrs, &it.ident, format!("pub const {}", text(&it.ty)))
                }
                _ => continue,
            };
            self.add(attrs, &format!("{name}::{member}"), &shown);
        }
    }
}

fn own_name(ty: &Type) -> Option<String> {
    match ty {
        Type::Path(path) => path.path.segments.last().map(|it| it.ident.to_string()),
        _ => None,
    }
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// The condition under which the item exists.
fn condition(attributes: &[Attribute]) -> String {
    let conditions = attributes.iter().filter_map(|it| match &it.meta {
        Meta::List(list) if list.path.is_ident("cfg") => Some(text(&list.tokens)),
        _ => None,
    });
    conditions.map(|it| format!("[{it}] ")).collect()
}

/// Says that fields or variants can be added.
fn open_shape(attributes: &[Attribute]) -> &'static str {
    let open = attributes.iter().any(|it| it.path().is_ident("non_exhaustive"));
    if open { " non_exhaustive" } else { "" }
}

/// Tokens without their documentation, spaced like source.
fn text(tokens: &impl ToTokens) -> String {
    let mut out = String::new();
    write_tokens(tokens.to_token_stream(), &mut out);
    let spaced = [(" ,", ","), (",  }", " }"), ("  ", " "), (", )", ")"), (":: { ", "::{")];
    spaced.iter().fold(out.trim().to_owned(), |text, (from, to)| text.replace(from, to))
}

fn write_tokens(tokens: TokenStream, out: &mut String) {
    let mut tokens = tokens.into_iter().peekable();
    let mut glued = true;
    while let Some(token) = tokens.next() {
        // An attribute of a field or a parameter is not part of the type.
        if matches!(&token, TokenTree::Punct(it) if it.as_char() == '#')
            && matches!(tokens.peek(), Some(TokenTree::Group(it)) if it.delimiter() == Delimiter::Bracket)
        {
            tokens.next();
            continue;
        }
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Brace => (" { ", " }"),
                    Delimiter::None => ("", ""),
                };
                out.push_str(open);
                write_tokens(group.stream(), out);
                out.push_str(close);
                glued = false;
            }
            TokenTree::Punct(punct) => {
                let character = punct.as_char();
                if matches!(character, '-' | '=' | '+' | '|') && !glued {
                    out.push(' ');
                }
                out.push(character);
                let joint = punct.spacing() == Spacing::Joint;
                if matches!(character, ',' | ';' | '+' | '|' | '=') && !joint
                    || character == '>' && out.ends_with("->")
                    || character == ':' && !joint && !out.ends_with("::")
                {
                    out.push(' ');
                }
                glued = character != '>' || out.ends_with(' ');
            }
            other => {
                let word = other.to_string();
                if !glued
                    && out.ends_with(|it: char| it.is_alphanumeric() || "_)>]}\"'".contains(it))
                {
                    out.push(' ');
                }
                out.push_str(&word);
                glued = false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, expect: &[&str]) {
        let items = syn::parse_file(source).unwrap().items;
        let path = vec!["m".to_owned()];
        let module = Module { path, file: String::new(), items, is_public: true };
        let krate =
            Krate { name: "a-b".to_owned(), modules: vec![module], lines: 0, texts: Vec::new() };
        let found = public_items(&krate);
        let found: Vec<&str> = found.lines().filter(|it| *it != "a_b::m: pub mod").collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn items_are_listed_with_their_module() {
        check(
            "/// Doc.\npub fn f<'a, T: Into<String> + 'a>(a: &'a T, b: [u8; 2]) -> Option<Vec<u8>> {}",
            &[
                "a_b::m::f: pub fn f<'a, T: Into<String> + 'a>(a: &'a T, b: [u8; 2]) -> Option<Vec<u8>>",
            ],
        );
        check("pub(crate) fn f() {}\nfn g() {}\nstruct S;", &[]);
        check(
            "#[non_exhaustive]\npub struct S<T> { /// Doc.\n pub a: T, b: u8 }",
            &["a_b::m::S: pub struct<T> non_exhaustive", "a_b::m::S::a: pub T"],
        );
        check(
            "#[cfg(feature = \"x\")]\npub enum E { A, B(u8), C { a: u8 } }",
            &[
                "a_b::m::E: [feature = \"x\"] pub enum",
                "a_b::m::E::A: variant",
                "a_b::m::E::B: variant(u8)",
                "a_b::m::E::C: variant{ a: u8 }",
            ],
        );
        check(
            "pub trait T: Send { type O: Clone; fn f(&self) -> Self::O; fn g(self) {} }",
            &[
                "a_b::m::T: pub trait: Send",
                "a_b::m::T::O: type: Clone",
                "a_b::m::T::f: fn f(&self) -> Self::O",
                "a_b::m::T::g: fn g(self) { .. }",
            ],
        );
        check(
            "pub struct S<T>(T);\nimpl<T> S<T> { pub fn f(&mut self) {} fn g() {} }\nimpl<T> Clone for S<T> { fn clone(&self) {} }",
            &[
                "a_b::m: impl<T> Clone for S<T>",
                "a_b::m::S: pub struct<T>",
                "a_b::m::S::f: pub fn f(&mut self)",
            ],
        );
        check("pub use a::{B, c::*};", &["a_b::m: pub use a::{B, c::*}"]);
    }
}
