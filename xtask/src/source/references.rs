//! Which top-level modules of a crate name which others.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::{Item, UseTree};

use super::{Krate, Module};

/// For every top-level module the others that its sources name by `crate::` or by `super::`.
///
/// Sources are read as tokens, so that what stands in macros counts as well. A name that the root re-exports counts as
/// the module that it comes from. Documentation does not count, nor does `$crate` in a macro: it names what the users
/// of the macro can reach, wherever that is defined.
pub(crate) fn module_graph(krate: &Krate) -> BTreeMap<String, BTreeSet<String>> {
    let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for module in &krate.modules {
        if let Some(first) = module.path.first() {
            graph.entry(first.clone()).or_default();
        }
    }
    let top: BTreeSet<String> = graph.keys().cloned().collect();
    let exports = root_exports(krate, &top);
    for module in &krate.modules {
        let Some(own) = module.path.first() else { continue };
        let mut names = BTreeSet::new();
        for item in &module.items {
            collect_names(module, item.to_token_stream(), &mut names);
        }
        let resolved = names.into_iter().filter_map(|name| {
            if top.contains(&name) { Some(name) } else { exports.get(&name).cloned() }
        });
        let others = resolved.filter(|name| name != own);
        graph.entry(own.clone()).or_default().extend(others);
    }
    graph
}

/// The modules from which a way along the references leads back to themselves.
pub(crate) fn cyclic_modules(graph: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<String> {
    graph.keys().filter(|start| reaches_itself(graph, start)).cloned().collect()
}

fn reaches_itself(graph: &BTreeMap<String, BTreeSet<String>>, start: &str) -> bool {
    let next = |name: &str| graph.get(name).into_iter().flatten();
    let mut open: Vec<&String> = next(start).collect();
    let mut seen = BTreeSet::new();
    while let Some(name) = open.pop() {
        if name == start {
            return true;
        }
        if seen.insert(name) {
            open.extend(next(name));
        }
    }
    false
}

/// The names that the root of the crate re-exports, with the top-level module of each.
fn root_exports(krate: &Krate, top: &BTreeSet<String>) -> BTreeMap<String, String> {
    let mut exports = BTreeMap::new();
    let roots = krate.modules.iter().filter(|module| module.path.is_empty());
    for item in roots.flat_map(|module| &module.items) {
        let Item::Use(item) = item else { continue };
        let mut tree = &item.tree;
        if let UseTree::Path(path) = tree
            && (path.ident == "crate" || path.ident == "self")
        {
            tree = &path.tree;
        }
        let UseTree::Path(path) = tree else { continue };
        let module = path.ident.to_string();
        if top.contains(&module) {
            collect_exports(&path.tree, &module, &mut exports);
        }
    }
    exports
}

fn collect_exports(tree: &UseTree, module: &str, exports: &mut BTreeMap<String, String>) {
    match tree {
        UseTree::Path(path) => collect_exports(&path.tree, module, exports),
        UseTree::Group(group) => {
            for tree in &group.items {
                collect_exports(tree, module, exports);
            }
        }
        UseTree::Name(name) => drop(exports.insert(name.ident.to_string(), module.to_owned())),
        UseTree::Rename(name) => drop(exports.insert(name.rename.to_string(), module.to_owned())),
        UseTree::Glob(_) => {}
    }
}

/// The names directly below the crate root that these tokens mention.
fn collect_names(module: &Module, tokens: TokenStream, names: &mut BTreeSet<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut rest = tokens.as_slice();
    while let [first, after @ ..] = rest {
        rest = after;
        match first {
            TokenTree::Punct(punct) if punct.as_char() == '$' => {
                if let [TokenTree::Ident(ident), after @ ..] = after
                    && ident == "crate"
                {
                    rest = after;
                }
            }
            TokenTree::Group(group) => collect_names(module, group.stream(), names),
            TokenTree::Ident(ident) if ident == "crate" => collect_below(after, names),
            TokenTree::Ident(ident) if ident == "super" => {
                let (supers, after) = leave_modules(after);
                if supers == module.path.len() {
                    collect_below(after, names);
                }
                rest = after;
            }
            _ => {}
        }
    }
}

/// How many `super` follow each other, the first one included, and what comes after them.
fn leave_modules(mut tokens: &[TokenTree]) -> (usize, &[TokenTree]) {
    let mut count = 1;
    while let Some(after) = after_colons(tokens)
        && let [TokenTree::Ident(ident), after @ ..] = after
        && ident == "super"
    {
        count += 1;
        tokens = after;
    }
    (count, tokens)
}

fn after_colons(tokens: &[TokenTree]) -> Option<&[TokenTree]> {
    match tokens {
        [TokenTree::Punct(one), TokenTree::Punct(two), rest @ ..]
            if one.as_char() == ':' && two.as_char() == ':' =>
        {
            Some(rest)
        }
        _ => None,
    }
}

/// The name after `::`, or the first name of each part of `::{...}`.
fn collect_below(tokens: &[TokenTree], names: &mut BTreeSet<String>) {
    match after_colons(tokens) {
        Some([TokenTree::Ident(ident), ..]) => drop(names.insert(ident.to_string())),
        Some([TokenTree::Group(group), ..]) if group.delimiter() == Delimiter::Brace => {
            let mut is_first = true;
            for token in group.stream() {
                if let (true, TokenTree::Ident(ident)) = (is_first, &token) {
                    names.insert(ident.to_string());
                }
                is_first = matches!(&token, TokenTree::Punct(it) if it.as_char() == ',');
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn krate(modules: &[(&str, &str)]) -> Krate {
        let module = |(path, text): &(&str, &str)| Module {
            path: path.split("::").filter(|it| !it.is_empty()).map(str::to_owned).collect(),
            file: String::new(),
            items: syn::parse_file(text).unwrap().items,
            is_public: false,
        };
        Krate {
            name: "x".to_owned(),
            modules: modules.iter().map(module).collect(),
            lines: 0,
            texts: Vec::new(),
        }
    }

    #[track_caller]
    fn check(modules: &[(&str, &str)], from: &str, expect: &[&str], cyclic: &[&str]) {
        let graph = module_graph(&krate(modules));
        let found: Vec<&str> = graph[from].iter().map(String::as_str).collect();
        assert_eq!(found, expect);
        let found: Vec<String> = cyclic_modules(&graph).into_iter().collect();
        assert_eq!(found, cyclic);
    }

    #[test]
    fn references_are_found_in_every_form() {
        check(&[("a", "use crate::b::C;"), ("b", ""), ("c", "")], "a", &["b"], &[]);
        check(&[("a", "use crate::{b::{C, c}, c};"), ("b", ""), ("c", "")], "a", &["b", "c"], &[]);
        check(&[("a::x", "fn f() { g!(crate::b::h()) }"), ("b", "")], "a", &["b"], &[]);
        check(&[("a::x", "use super::super::b;"), ("b", "")], "a", &["b"], &[]);
        check(&[("a::x", "use super::b;"), ("b", "")], "a", &[], &[]);
        check(&[("a", "/// [`crate::b`]\nfn f() {}"), ("b", "")], "a", &[], &[]);
        check(&[("", "pub use b::c::D;"), ("a", "use crate::D;"), ("b", "")], "a", &["b"], &[]);
        check(&[("a", "use crate::a::x;"), ("a::x", "")], "a", &[], &[]);
        check(&[("a", "macro_rules! m { () => { $crate::b::f() } }"), ("b", "")], "a", &[], &[]);
    }

    #[test]
    fn cycles_are_found_over_any_number_of_modules() {
        let two = [("a", "use crate::b;"), ("b", "use crate::a;"), ("c", "use crate::a;")];
        check(&two, "a", &["b"], &["a", "b"]);
        let three = [("a", "use crate::b;"), ("b", "use crate::c;"), ("c", "use crate::a;")];
        check(&three, "c", &["a"], &["a", "b", "c"]);
    }
}
