//! The production sources of a crate, as modules: what tests alone compile is left out.
//!
//! A crate is read from its root file along its `mod` declarations, as the compiler does it. A module, an item or a
//! file below `#[cfg(test)]` is not read.

mod names;
mod references;

pub(crate) use names::{Function, TypeName, definitions};
pub(crate) use references::{cyclic_modules, module_graph};

use std::fs;
use std::path::{Path, PathBuf};

use syn::{Attribute, Expr, ExprLit, Item, Lit, Meta, Visibility};

/// One module with its items, without those of its child modules.
#[derive(Debug)]
pub(crate) struct Module {
    /// The path below the crate root; empty for the root itself.
    pub(crate) path: Vec<String>,
    /// The file, as a path from the root of the workspace.
    pub(crate) file: String,
    pub(crate) items: Vec<Item>,
    /// Marked `pub`.
    pub(crate) is_public: bool,
}

/// A crate of ours: its package name and its modules, the root first.
#[derive(Debug)]
pub(crate) struct Krate {
    pub(crate) name: String,
    pub(crate) modules: Vec<Module>,
    /// The lines of the files that were read, test modules inside them included.
    pub(crate) lines: usize,
    /// The text of every file that was read.
    pub(crate) texts: Vec<(String, String)>,
}

/// Reads every crate in `crates/`, sorted by name.
pub(crate) fn read_crates(root: &Path) -> Result<Vec<Krate>, String> {
    let entries = fs::read_dir(root.join("crates")).map_err(|error| format!("crates: {error}"))?;
    let mut dirs: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.join("Cargo.toml").is_file())
        .collect();
    dirs.sort();
    dirs.iter().map(|dir| read_crate(root, dir)).collect()
}

fn read_crate(root: &Path, dir: &Path) -> Result<Krate, String> {
    let name = dir.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    let library = dir.join("src/lib.rs");
    let file = if library.is_file() { library } else { dir.join("src/main.rs") };
    let mut krate = Krate { name, modules: Vec::new(), lines: 0, texts: Vec::new() };
    let children = dir.join("src");
    read_file(root, &file, &children, &[], &mut krate)?;
    Ok(krate)
}

/// Reads a file as the module `path`, and its child modules from the directory `children`.
fn read_file(
    root: &Path,
    file: &Path,
    children: &Path,
    path: &[String],
    krate: &mut Krate,
) -> Result<(), String> {
    let shown = file.strip_prefix(root).unwrap_or(file).to_string_lossy().replace('\\', "/");
    let text = fs::read_to_string(file).map_err(|error| format!("{shown}: {error}"))?;
    let parsed = syn::parse_file(&text).map_err(|error| format!("{shown}: {error}"))?;
    krate.lines += text.lines().count();
    krate.texts.push((shown.clone(), text));
    let place = Place { root, file, shown: &shown };
    read_items(&place, parsed.items, children, path, krate)
}

/// The file that is being read.
struct Place<'a> {
    root: &'a Path,
    file: &'a Path,
    shown: &'a str,
}

fn read_items(
    place: &Place<'_>,
    items: Vec<Item>,
    children: &Path,
    path: &[String],
    krate: &mut Krate,
) -> Result<(), String> {
    let (modules, rest): (Vec<Item>, Vec<Item>) = items
        .into_iter()
        .filter(|item| !is_test_only(attributes(item)))
        .partition(|item| matches!(item, Item::Mod(_)));
    let file = place.shown.to_owned();
    krate.modules.push(Module { path: path.to_vec(), file, items: rest, is_public: false });
    for module in modules {
        let Item::Mod(module) = module else { continue };
        let name = module.ident.to_string();
        let path: Vec<String> = path.iter().cloned().chain([name.clone()]).collect();
        let below = children.join(&name);
        let at = krate.modules.len();
        let is_public = matches!(module.vis, Visibility::Public(_));
        if let Some((_, items)) = module.content {
            read_items(place, items, &below, &path, krate)?;
        } else if let Some(custom) = custom_path(&module.attrs) {
            let file = place.file.parent().unwrap_or(place.root).join(custom);
            read_file(place.root, &file, &file.with_extension(""), &path, krate)?;
        } else {
            let file = children.join(format!("{name}.rs"));
            read_file(place.root, &file, &below, &path, krate)?;
        }
        if let Some(read) = krate.modules.get_mut(at) {
            read.is_public = is_public;
        }
    }
    Ok(())
}

/// The value of `#[path = "..."]`.
fn custom_path(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find(|it| it.path().is_ident("path")).and_then(|it| text_value(&it.meta))
}

/// The text of `name = "text"`.
fn text_value(meta: &Meta) -> Option<String> {
    match meta {
        Meta::NameValue(pair) => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

/// Whether `#[cfg(test)]` or a `cfg(all(test, ...))` stands above it.
pub(crate) fn is_test_only(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|it| {
        let Meta::List(list) = &it.meta else { return false };
        let condition = list.tokens.to_string().replace(' ', "");
        it.path().is_ident("cfg") && (condition == "test" || condition.starts_with("all(test,"))
            || it.path().is_ident("test")
    })
}

pub(crate) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(it) => &it.attrs,
        Item::Enum(it) => &it.attrs,
        Item::Fn(it) => &it.attrs,
        Item::Impl(it) => &it.attrs,
        Item::Macro(it) => &it.attrs,
        Item::Mod(it) => &it.attrs,
        Item::Static(it) => &it.attrs,
        Item::Struct(it) => &it.attrs,
        Item::Trait(it) => &it.attrs,
        Item::Type(it) => &it.attrs,
        Item::Use(it) => &it.attrs,
        _ => &[],
    }
}
