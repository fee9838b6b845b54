//! Reading `key = value` lists: of `#[arg(…)]`, and of `#[tool(…)]`.
//!
//! Everything that is wrong is collected, so that one compilation shows it all.

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
pub(crate) struct Errors(Option<syn::Error>);

impl Errors {
    pub(crate) fn add(&mut self, span: Span, text: impl Display) {
        self.push(syn::Error::new(span, text));
    }

    /// A mistake that reaches over all of `tokens`.
    pub(crate) fn at(&mut self, tokens: impl ToTokens, text: impl Display) {
        self.push(syn::Error::new_spanned(tokens, text));
    }

    pub(crate) fn push(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(all) => all.combine(error),
            none => *none = Some(error),
        }
    }

    /// The value, if nothing was wrong.
    pub(crate) fn finish<T>(self, value: T) -> syn::Result<T> {
        self.0.map_or(Ok(value), Err)
    }
}

/// Where a list stands, and what may stand in it.
#[derive(Debug)]
pub(crate) struct Place {
    /// As in "`x` is not known on {what}".
    pub(crate) what: &'static str,
    /// Keys that may stand there.
    pub(crate) keys: &'static [&'static [&'static str]],
}

/// Keys that may stand more than once.
const REPEATABLE: [&str; 3] = ["alias", "note", "example"];

/// One element of a list: `key` or `key = value`.
pub(crate) struct Entry {
    pub(crate) key: Ident,
    value: Option<Expr>,
}

impl Parse for Entry {
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

impl Entry {
    pub(crate) fn has_value(&self) -> bool {
        self.value.is_some()
    }

    /// The value as it stands, if there is one.
    pub(crate) fn value(&self) -> Option<&Expr> {
        self.value.as_ref()
    }

    /// The value, whatever it is.
    pub(crate) fn expr(self, errors: &mut Errors) -> Option<Expr> {
        let key = &self.key;
        if self.value.is_none() {
            errors.add(key.span(), format!("`{key}` needs a value: `{key} = …`"));
        }
        self.value.map(ungrouped)
    }

    /// The value, which must be a string in quotes.
    pub(crate) fn text(self, errors: &mut Errors) -> Option<LitStr> {
        let key = self.key.clone();
        match self.expr(errors)? {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text),
            other => {
                errors.at(other, format!("`{key}` needs a string: `{key} = \"…\"`"));
                None
            }
        }
    }

    /// Where the key stands, which must have no value.
    pub(crate) fn flag(self, errors: &mut Errors) -> Span {
        if let Some(value) = &self.value {
            errors.at(value, format!("`{}` takes no value", self.key));
        }
        self.key.span()
    }

    /// The value, which must be a path or a path in quotes.
    pub(crate) fn path(self, errors: &mut Errors) -> Option<Path> {
        let path = match self.expr(errors)? {
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
    pub(crate) fn choice<T: Copy>(self, choices: &[(&str, T)], errors: &mut Errors) -> Option<T> {
        let key = self.key.clone();
        let text = self.text(errors)?;
        let found = choices.iter().find(|(name, _)| *name == text.value()).map(|(_, it)| *it);
        if found.is_none() {
            let names = nearest(&text.value(), choices.iter().map(|(name, _)| *name));
            errors.add(text.span(), format!("`{key}` is one of {}", listed(&names, "\"")));
        }
        found
    }
}

/// The elements of a list that are known and not taken yet.
pub(crate) struct Entries(Vec<Entry>);

impl Entries {
    /// The lists of all `#[name(…)]` among the attributes.
    pub(crate) fn of(attrs: &[Attribute], place: &Place, errors: &mut Errors) -> Self {
        let mut all = Vec::new();
        for attr in attrs.iter().filter(|it| it.path().is_ident("arg")) {
            match attr.parse_args_with(Punctuated::<Entry, Token![,]>::parse_terminated) {
                Ok(list) => all.extend(list),
                Err(error) => errors.push(error),
            }
        }
        Self(known(all, place, errors))
    }

    /// A list that stands alone.
    pub(crate) fn parse(tokens: TokenStream, place: &Place, errors: &mut Errors) -> Self {
        let parser = Punctuated::<Entry, Token![,]>::parse_terminated;
        let all = match parser.parse2(tokens) {
            Ok(list) => list.into_iter().collect(),
            Err(error) => {
                errors.push(error);
                Vec::new()
            }
        };
        Self(known(all, place, errors))
    }

    pub(crate) fn take(&mut self, key: &str) -> Option<Entry> {
        let at = self.0.iter().position(|it| it.key == key)?;
        Some(self.0.remove(at))
    }

    pub(crate) fn take_all(&mut self, key: &str) -> Vec<Entry> {
        std::iter::from_fn(|| self.take(key)).collect()
    }

    /// The keys that are left: keys that contradict something else.
    pub(crate) fn rest(&self) -> impl Iterator<Item = &Ident> {
        self.0.iter().map(|it| &it.key)
    }
}

fn known(all: Vec<Entry>, place: &Place, errors: &mut Errors) -> Vec<Entry> {
    let mut kept: Vec<Entry> = Vec::new();
    for entry in all {
        let key = entry.key.to_string();
        let keys = || place.keys.iter().flat_map(|it| it.iter().copied());
        if !keys().any(|it| it == key) {
            let known = match listed(&nearest(&key, keys()), "`") {
                none if none.is_empty() => "nothing can stand there".to_owned(),
                names => format!("known are {names}"),
            };
            errors
                .add(entry.key.span(), format!("`{key}` is not known on {}; {known}", place.what));
        } else if !REPEATABLE.contains(&key.as_str()) && kept.iter().any(|it| it.key == key) {
            errors.add(entry.key.span(), format!("`{key}` is given twice"));
        } else {
            kept.push(entry);
        }
    }
    kept
}

/// The expression without the invisible brackets that macros put around what they pass on.
fn ungrouped(expr: Expr) -> Expr {
    match expr {
        Expr::Group(group) => ungrouped(*group.expr),
        other => other,
    }
}

fn listed(names: &[&str], quote: &str) -> String {
    let names: Vec<_> = names.iter().map(|it| format!("{quote}{it}{quote}")).collect();
    names.join(", ")
}

/// The names, those that look most like `wrong` first.
fn nearest<'n>(wrong: &str, names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let mut names: Vec<_> = names.collect();
    names.sort_by_key(|name| distance(wrong, name));
    names
}

/// How many letters have to be put in, taken out or changed.
fn distance(from: &str, to: &str) -> usize {
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
pub(crate) fn span_of(tokens: &impl ToTokens) -> Span {
    tokens.to_token_stream().span().resolved_at(Span::mixed_site())
}
