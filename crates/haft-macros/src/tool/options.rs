//! The options of `#[tool(…)]`.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote_spanned};
use syn::{Expr, LitStr, Path};

use crate::attr::{Entries, Entry, Errors, Place};
use crate::derive::expansion_root;

const TOOL: Place = Place {
    what: "a tool",
    keys: &[
        &["name", "description", "effect", "concurrency", "artifact", "on_collision"],
        &["requires_approval", "timeout", "trusted", "ephemeral", "strict", "crate"],
    ],
};

const EFFECTS: [(&str, &str); 3] =
    [("read-only", "ReadOnly"), ("idempotent", "Idempotent"), ("once", "Once")];
const ARTIFACTS: [(&str, &str); 9] = [
    ("text", "TEXT"),
    ("json", "JSON"),
    ("jsonl", "JSONL"),
    ("ndjson", "NDJSON"),
    ("json5", "JSON5"),
    ("markdown", "MARKDOWN"),
    ("yaml", "YAML"),
    ("xml", "XML"),
    ("csv", "CSV"),
];
const COLLISIONS: [(&str, &str); 3] =
    [("throw", "Throw"), ("replace", "Replace"), ("keep", "Keep")];

pub(super) struct Options {
    pub(super) root: Path,
    pub(super) name: Option<LitStr>,
    pub(super) description: Option<Expr>,
    /// Calls on the builder.
    pub(super) settings: TokenStream,
}

impl Options {
    pub(super) fn new(tokens: TokenStream, errors: &mut Errors) -> Self {
        let mut entries = Entries::parse(tokens, &TOOL, errors);
        let root = expansion_root(entries.take("crate"), errors);
        let name = entries.take("name").and_then(|it| it.text(errors));
        let description = entries.take("description").and_then(|it| it.expr(errors));
        let settings = settings(&mut entries, &root, errors);
        Self { root, name, description, settings }
    }
}

fn settings(entries: &mut Entries, root: &Path, errors: &mut Errors) -> TokenStream {
    let span = Span::mixed_site();
    let mut all = TokenStream::new();
    if let Some(it) = entries.take("effect").and_then(|it| it.choice(&EFFECTS, errors)) {
        let effect = format_ident!("{it}");
        all.extend(quote_spanned!(span=> .effect(#root::ToolEffect::#effect)));
    }
    if let Some(entry) = entries.take("artifact") {
        all.extend(artifact(entry, root, errors));
    }
    if let Some(it) = entries.take("on_collision").and_then(|it| it.choice(&COLLISIONS, errors)) {
        let policy = format_ident!("{it}");
        all.extend(quote_spanned!(span=> .on_collision(#root::OnCollision::#policy)));
    }
    if let Some(text) = entries.take("concurrency").and_then(|it| it.text(errors)) {
        let class = concurrency(&text, errors);
        all.extend(quote_spanned!(span=> .concurrency(#root::Concurrency::#class)));
    }
    if let Some(question) = entries.take("requires_approval").and_then(|it| it.text(errors)) {
        all.extend(quote_spanned!(span=> .requires_approval(#question)));
    }
    if let Some(time) = entries.take("timeout").and_then(|it| it.expr(errors)) {
        all.extend(quote_spanned!(span=> .timeout(#time)));
    }
    for flag in ["trusted", "ephemeral", "strict"] {
        if let Some(entry) = entries.take(flag) {
            entry.flag(errors);
            let flag = format_ident!("{flag}");
            all.extend(quote_spanned!(span=> .#flag()));
        }
    }
    all
}

/// A kind by its word, or a kind of the caller's own by its path.
fn artifact(entry: Entry, root: &Path, errors: &mut Errors) -> Option<TokenStream> {
    let span = Span::mixed_site();
    if let Some(Expr::Path(own)) = entry.value() {
        let own = own.clone();
        return Some(quote_spanned!(span=> .artifact(#own)));
    }
    let kind = format_ident!("{}", entry.choice(&ARTIFACTS, errors)?);
    Some(quote_spanned!(span=> .artifact(#root::ArtifactKind::#kind)))
}

fn concurrency(text: &LitStr, errors: &mut Errors) -> TokenStream {
    let span = Span::mixed_site();
    match text.value().as_str() {
        "parallel" => quote_spanned!(span=> Parallel),
        "exclusive" => quote_spanned!(span=> Exclusive),
        value => match value.strip_prefix("keyed:") {
            Some(pointer) if pointer.starts_with('/') => {
                quote_spanned!(span=> Keyed(::std::string::String::from(#pointer)))
            }
            _ => {
                errors.add(
                    text.span(),
                    "`concurrency` is one of \"parallel\", \"exclusive\", \"keyed:/pointer\", where \
                     `/pointer` is the JSON pointer of the argument that must differ",
                );
                TokenStream::new()
            }
        },
    }
}
