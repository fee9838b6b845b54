//! The options of `#[tool(…)]`.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote_spanned};
use syn::{Expr, LitStr, Path};

use crate::attribute::{AttributeEntries, AttributeEntry, AttributePosition, MacroErrors};
use crate::derive::expansion_root;

const TOOL: AttributePosition = AttributePosition {
    owner: "a tool",
    allowed_keys: &[
        &["name", "description", "effect", "concurrency", "artifact", "on_collision"],
        &["requires_approval", "timeout", "trusted", "ephemeral", "strict", "crate"],
    ],
};

const EFFECTS: [(&str, &str); 3] =
    [("read-only", "ReadOnly"), ("idempotent", "Idempotent"), ("once", "Once")];
const ARTIFACTS: [(&str, &str); 7] = [
    ("text", "TEXT"),
    ("json", "JSON"),
    ("jsonl", "JSONL"),
    ("markdown", "MARKDOWN"),
    ("yaml", "YAML"),
    ("xml", "XML"),
    ("csv", "CSV"),
];
const COLLISIONS: [(&str, &str); 3] =
    [("throw", "Throw"), ("replace", "Replace"), ("keep", "Keep")];

pub(super) struct ToolOptions {
    pub(super) root: Path,
    pub(super) name: Option<LitStr>,
    pub(super) description: Option<Expr>,
    /// Calls on the builder.
    pub(super) builder_calls: TokenStream,
}

impl ToolOptions {
    pub(super) fn new(tokens: TokenStream, errors: &mut MacroErrors) -> Self {
        let mut entries = AttributeEntries::parse(tokens, &TOOL, errors);
        let root = expansion_root(entries.take("crate"), errors);
        let name = entries.take("name").and_then(|it| it.require_string(errors));
        let description = entries.take("description").and_then(|it| it.require_expr(errors));
        let builder_calls = take_builder_calls(&mut entries, &root, errors);
        Self { root, name, description, builder_calls }
    }
}

fn take_builder_calls(
    entries: &mut AttributeEntries,
    root: &Path,
    errors: &mut MacroErrors,
) -> TokenStream {
    let span = Span::mixed_site();
    let mut all = TokenStream::new();
    if let Some(it) = entries.take("effect").and_then(|it| it.require_choice(&EFFECTS, errors)) {
        let effect = format_ident!("{it}");
        all.extend(quote_spanned!(span=> .effect(#root::ToolEffect::#effect)));
    }
    if let Some(entry) = entries.take("artifact") {
        all.extend(artifact_builder_call(entry, root, errors));
    }
    if let Some(it) =
        entries.take("on_collision").and_then(|it| it.require_choice(&COLLISIONS, errors))
    {
        let policy = format_ident!("{it}");
        all.extend(quote_spanned!(span=> .on_collision(#root::OnCollision::#policy)));
    }
    if let Some(text) = entries.take("concurrency").and_then(|it| it.require_string(errors)) {
        let class = concurrency_variant(&text, errors);
        all.extend(quote_spanned!(span=> .concurrency(#root::Concurrency::#class)));
    }
    if let Some(question) =
        entries.take("requires_approval").and_then(|it| it.require_string(errors))
    {
        all.extend(quote_spanned!(span=> .requires_approval(#question)));
    }
    if let Some(time) = entries.take("timeout").and_then(|it| it.require_expr(errors)) {
        all.extend(quote_spanned!(span=> .timeout(#time)));
    }
    for flag in ["trusted", "ephemeral", "strict"] {
        if let Some(entry) = entries.take(flag) {
            entry.require_flag(errors);
            let flag = format_ident!("{flag}");
            all.extend(quote_spanned!(span=> .#flag()));
        }
    }
    all
}

/// The builder call `.artifact(…)` for a built-in kind by its name, or for a custom kind by its path.
fn artifact_builder_call(
    entry: AttributeEntry,
    root: &Path,
    errors: &mut MacroErrors,
) -> Option<TokenStream> {
    let span = Span::mixed_site();
    if let Some(Expr::Path(own)) = entry.value() {
        let own = own.clone();
        return Some(quote_spanned!(span=> .artifact(#own)));
    }
    let kind = format_ident!("{}", entry.require_choice(&ARTIFACTS, errors)?);
    Some(quote_spanned!(span=> .artifact(#root::ArtifactKind::#kind)))
}

fn concurrency_variant(text: &LitStr, errors: &mut MacroErrors) -> TokenStream {
    let span = Span::mixed_site();
    match text.value().as_str() {
        "parallel" => quote_spanned!(span=> Parallel),
        "exclusive" => quote_spanned!(span=> Exclusive),
        value => match value.strip_prefix("keyed:") {
            Some(pointer) if pointer.starts_with('/') => {
                quote_spanned!(span=> Keyed(::std::string::String::from(#pointer)))
            }
            _ => {
                errors.push_at(
                    text.span(),
                    "`concurrency` is one of \"parallel\", \"exclusive\", \"keyed:/pointer\", where \
                     `/pointer` is the JSON pointer of the argument that must differ",
                );
                TokenStream::new()
            }
        },
    }
}
