//! Reading `key = value` lists: of `#[arg(…)]`, and of `#[tool(…)]`.
//!
//! All mistakes are collected, so that one compilation shows all of them.

#[cfg(test)]
mod tests;

use std::fmt::Display;

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{Attribute, Expr, ExprLit, Ident, Lit, LitStr, Path, Token};

/// Mistakes found so far.
#[derive(Debug, Default)]
pub(crate) struct MacroErrors(Option<syn::Error>);

impl MacroErrors {
    pub(crate) fn push_at(&mut self, span: Span, text: impl Display) {
        self.push(syn::Error::new(span, text));
    }

    /// Adds a mistake whose span covers all of `tokens`.
    pub(crate) fn push_spanned(&mut self, tokens: impl ToTokens, text: impl Display) {
        self.push(syn::Error::new_spanned(tokens, text));
    }

    pub(crate) fn push(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(all) => all.combine(error),
            none => *none = Some(error),
        }
    }

    /// Returns the value, or all mistakes.
    pub(crate) fn into_result<T>(self, value: T) -> syn::Result<T> {
        self.0.map_or(Ok(value), Err)
    }
}

/// The position of an attribute list, and the keys that are allowed there.
#[derive(Debug)]
pub(crate) struct AttributePosition {
    /// As in "`x` is not known on {owner}".
    pub(crate) owner: &'static str,
    /// The keys that are allowed there, in groups.
    pub(crate) allowed_keys: &'static [&'static [&'static str]],
}

/// Keys that may be repeated.
const REPEATABLE: [&str; 3] = ["alias", "note", "example"];

/// One element of a list: `key` or `key = value`.
pub(crate) struct AttributeEntry {
    pub(crate) key: Ident,
    value: Option<Expr>,
}

impl Parse for AttributeEntry {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        // `crate` is a key, and no identifier.
        let key = Ident::parse_any(input)?;
        let value = match input.parse::<Option<Token![=]>>()? {
            Some(_) => Some(input.parse()?),
            None => None,
        };
        Ok(Self { key, value })
    }
}

impl AttributeEntry {
    pub(crate) fn has_value(&self) -> bool {
        self.value.is_some()
    }

    /// The value without a check, if there is one.
    pub(crate) fn value(&self) -> Option<&Expr> {
        self.value.as_ref()
    }

    /// The value, which may be any expression.
    pub(crate) fn require_expr(self, errors: &mut MacroErrors) -> Option<Expr> {
        let key = &self.key;
        if self.value.is_none() {
            errors.push_at(key.span(), format!("`{key}` needs a value: `{key} = …`"));
        }
        self.value.map(strip_groups)
    }

    /// The value, which must be a string in quotes.
    pub(crate) fn require_string(self, errors: &mut MacroErrors) -> Option<LitStr> {
        let key = self.key.clone();
        match self.require_expr(errors)? {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text),
            other => {
                errors.push_spanned(other, format!("`{key}` needs a string: `{key} = \"…\"`"));
                None
            }
        }
    }

    /// The span of the key, which must have no value.
    pub(crate) fn require_flag(self, errors: &mut MacroErrors) -> Span {
        if let Some(value) = &self.value {
            errors.push_spanned(value, format!("`{}` takes no value", self.key));
        }
        self.key.span()
    }

    /// The value, which must be a path or a path in quotes.
    pub(crate) fn require_path(self, errors: &mut MacroErrors) -> Option<Path> {
        let path = match self.require_expr(errors)? {
            Expr::Path(path) => return Some(path.path),
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => {
                text.parse_with(Path::parse_mod_style)
            }
            other => {
                Err(syn::Error::new_spanned(other, "`crate` needs a path: `crate = haft_core`"))
            }
        };
        path.map_err(|error| errors.push(error)).ok()
    }

    /// The value, which must be one of these words.
    pub(crate) fn require_choice<T: Copy>(
        self,
        choices: &[(&str, T)],
        errors: &mut MacroErrors,
    ) -> Option<T> {
        let key = self.key.clone();
        let text = self.require_string(errors)?;
        let found = choices.iter().find(|(name, _)| *name == text.value()).map(|(_, it)| *it);
        if found.is_none() {
            let names = sort_by_similarity(&text.value(), choices.iter().map(|(name, _)| *name));
            errors.push_at(
                text.span(),
                format!("`{key}` is one of {}", quote_and_join(&names, "\"")),
            );
        }
        found
    }

    /// The value, which must be one of these names, without quotes.
    pub(crate) fn require_variant<T: Copy>(
        self,
        choices: &[(&str, T)],
        errors: &mut MacroErrors,
    ) -> Option<T> {
        let key = self.key.clone();
        let value = self.require_expr(errors)?;
        let name = match &value {
            Expr::Path(path) => path.path.get_ident().map(ToString::to_string),
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        };
        let is_path = matches!(value, Expr::Path(_));
        let name = name.unwrap_or_default();
        let found = choices.iter().find(|(it, _)| is_path && *it == name).map(|(_, it)| *it);
        if found.is_none() {
            let names = sort_by_similarity(&name, choices.iter().map(|(it, _)| *it));
            let names = quote_and_join(&names, "`");
            errors.push_spanned(value, format!("`{key}` is one of {names}, without quotes"));
        }
        found
    }
}

/// The elements of a list that are known and not taken yet.
pub(crate) struct AttributeEntries(Vec<AttributeEntry>);

impl AttributeEntries {
    /// The entries of all `#[arg(…)]` among the attributes.
    pub(crate) fn from_attributes(
        attrs: &[Attribute],
        position: &AttributePosition,
        errors: &mut MacroErrors,
    ) -> Self {
        let mut all = Vec::new();
        for attr in attrs.iter().filter(|it| it.path().is_ident("arg")) {
            match attr.parse_args_with(Punctuated::<AttributeEntry, Token![,]>::parse_terminated) {
                Ok(list) => all.extend(list),
                Err(error) => errors.push(error),
            }
        }
        Self(retain_known_entries(all, position, errors))
    }

    /// The entries of a list without an attribute around it.
    pub(crate) fn parse(
        tokens: TokenStream,
        position: &AttributePosition,
        errors: &mut MacroErrors,
    ) -> Self {
        let parser = Punctuated::<AttributeEntry, Token![,]>::parse_terminated;
        let all = match parser.parse2(tokens) {
            Ok(list) => list.into_iter().collect(),
            Err(error) => {
                errors.push(error);
                Vec::new()
            }
        };
        Self(retain_known_entries(all, position, errors))
    }

    pub(crate) fn take(&mut self, key: &str) -> Option<AttributeEntry> {
        let at = self.0.iter().position(|it| it.key == key)?;
        Some(self.0.remove(at))
    }

    pub(crate) fn take_all(&mut self, key: &str) -> Vec<AttributeEntry> {
        std::iter::from_fn(|| self.take(key)).collect()
    }

    /// The keys that were not taken: they contradict another key.
    pub(crate) fn remaining_keys(&self) -> impl Iterator<Item = &Ident> {
        self.0.iter().map(|it| &it.key)
    }
}

fn retain_known_entries(
    all: Vec<AttributeEntry>,
    position: &AttributePosition,
    errors: &mut MacroErrors,
) -> Vec<AttributeEntry> {
    let mut entries: Vec<AttributeEntry> = Vec::new();
    for entry in all {
        let key = entry.key.to_string();
        let keys = || position.allowed_keys.iter().flat_map(|it| it.iter().copied());
        if !keys().any(|it| it == key) {
            let known = match quote_and_join(&sort_by_similarity(&key, keys()), "`") {
                none if none.is_empty() => "nothing can stand there".to_owned(),
                names => format!("known are {names}"),
            };
            errors.push_at(
                entry.key.span(),
                format!("`{key}` is not known on {}; {known}", position.owner),
            );
        } else if !REPEATABLE.contains(&key.as_str()) && entries.iter().any(|it| it.key == key) {
            errors.push_at(entry.key.span(), format!("`{key}` is given twice"));
        } else {
            entries.push(entry);
        }
    }
    entries
}

/// The expression without the invisible groups that macros put around the tokens they pass on.
fn strip_groups(expr: Expr) -> Expr {
    match expr {
        Expr::Group(group) => strip_groups(*group.expr),
        other => other,
    }
}

fn quote_and_join(names: &[&str], quote: &str) -> String {
    let names: Vec<_> = names.iter().map(|it| format!("{quote}{it}{quote}")).collect();
    names.join(", ")
}

/// The names, the most similar to `wrong` first.
fn sort_by_similarity<'n>(wrong: &str, names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let mut names: Vec<_> = names.collect();
    names.sort_by_key(|name| edit_distance(wrong, name));
    names
}

/// The number of letters to insert, remove or replace.
fn edit_distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.chars().count()).collect();
    for (at, left) in from.chars().enumerate() {
        let mut diagonal = at;
        let mut cost = at + 1;
        let mut next = vec![cost];
        for (above, right) in row.iter().skip(1).zip(to.chars()) {
            cost = (diagonal + usize::from(left != right)).min(cost + 1).min(above + 1);
            diagonal = *above;
            next.push(cost);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

/// The span that mistakes of a type are reported at. Names in it cannot be seen by the user's code.
pub(crate) fn mixed_site_span(tokens: &impl ToTokens) -> Span {
    tokens.to_token_stream().span().resolved_at(Span::mixed_site())
}
