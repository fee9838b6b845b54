//! The options of `#[tool(…)]`.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote_spanned};
use syn::{Expr, ExprLit, Ident, Lit, LitStr, Path};

use crate::attribute::{AttributeEntries, AttributeEntry, AttributePosition, MacroErrors};
use crate::derive::expansion_root;

const TOOL: AttributePosition = AttributePosition {
    owner: "a tool",
    allowed_keys: &[
        &["name", "description", "read_only", "idempotent", "concurrency", "artifact"],
        &["on_collision", "requires_approval", "timeout", "trusted", "ephemeral", "strict"],
        &["crate"],
    ],
};

const EFFECTS: [(&str, &str); 2] = [("read_only", "ReadOnly"), ("idempotent", "Idempotent")];
const ARTIFACTS: [(&str, &str); 7] = [
    ("Text", "TEXT"),
    ("Json", "JSON"),
    ("Jsonl", "JSONL"),
    ("Markdown", "MARKDOWN"),
    ("Yaml", "YAML"),
    ("Xml", "XML"),
    ("Csv", "CSV"),
];
const COLLISIONS: [(&str, &str); 3] =
    [("Throw", "Throw"), ("Replace", "Replace"), ("Keep", "Keep")];
const CONCURRENCY: [(&str, &str); 2] = [("Parallel", "Parallel"), ("Exclusive", "Exclusive")];

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
    let mut has_effect = false;
    for (flag, effect) in EFFECTS {
        if let Some(entry) = entries.take(flag) {
            let at = entry.require_flag(errors);
            if has_effect {
                errors
                    .push_at(at, "a tool that is `read_only` is `idempotent`, too: leave one out");
            }
            has_effect = true;
            let effect = format_ident!("{effect}");
            all.extend(quote_spanned!(span=> .effect(#root::ToolEffect::#effect)));
        }
    }
    if let Some(entry) = entries.take("artifact") {
        all.extend(artifact_builder_call(entry, root, errors));
    }
    if let Some(it) =
        entries.take("on_collision").and_then(|it| it.require_variant(&COLLISIONS, errors))
    {
        let policy = format_ident!("{it}");
        all.extend(quote_spanned!(span=> .on_collision(#root::OnCollision::#policy)));
    }
    if let Some(class) = entries.take("concurrency").and_then(|it| concurrency_class(it, errors)) {
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

/// The builder call `.artifact(…)` for a built-in kind by its name, or for a custom kind by the path of a constant.
fn artifact_builder_call(
    entry: AttributeEntry,
    root: &Path,
    errors: &mut MacroErrors,
) -> Option<TokenStream> {
    let span = Span::mixed_site();
    if let Some(Expr::Path(own)) = entry.value()
        && !own.path.get_ident().is_some_and(is_variant_name)
    {
        let own = own.clone();
        return Some(quote_spanned!(span=> .artifact(#own)));
    }
    let kind = format_ident!("{}", entry.require_variant(&ARTIFACTS, errors)?);
    Some(quote_spanned!(span=> .artifact(#root::ArtifactKind::#kind)))
}

/// Whether this is the name of a variant, such as `Csv`, and not that of a constant.
fn is_variant_name(name: &Ident) -> bool {
    name.to_string().contains(char::is_lowercase)
}

fn concurrency_class(entry: AttributeEntry, errors: &mut MacroErrors) -> Option<TokenStream> {
    let span = Span::mixed_site();
    if let Some(Expr::Call(call)) = entry.value() {
        let is_keyed = matches!(&*call.func, Expr::Path(it) if it.path.is_ident("Keyed"));
        if let Some(Expr::Lit(ExprLit { lit: Lit::Str(pointer), .. })) = call.args.first()
            && is_keyed
            && call.args.len() == 1
            && pointer.value().starts_with('/')
        {
            return Some(quote_spanned!(span=> Keyed(::std::string::String::from(#pointer))));
        }
        errors.push_spanned(
            call,
            "`concurrency` is `Parallel`, `Exclusive` or `Keyed(\"/pointer\")`, where `/pointer` is the JSON \
             pointer of the argument that must differ",
        );
        return None;
    }
    let class = format_ident!("{}", entry.require_variant(&CONCURRENCY, errors)?);
    Some(quote_spanned!(span=> #class))
}
