//! Constraints and words that attributes add to the schema of a type.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote_spanned};
use syn::{Attribute, Expr, Ident, Path, Type};

use super::literal::{Shown, wide};
use crate::attr::{Entries, Errors, span_of};
use crate::docs;

/// Keys that explain a value to the model.
pub(super) const WORDS: &[&str] = &["description", "note", "example"];

/// Keys that restrict a value.
pub(super) const LIMITS: &[&str] =
    &["min", "max", "multiple_of", "min_len", "max_len", "pattern", "unique"];

/// What one list of attributes adds.
pub(super) struct Rules {
    description: Option<TokenStream>,
    notes: Vec<Expr>,
    examples: Vec<Shown>,
    limits: Vec<Limit>,
}

struct Limit {
    /// The marker trait of types that can have it.
    marker: &'static str,
    /// The method of `Schema` that sets it, with its argument.
    call: TokenStream,
}

impl Rules {
    /// Takes what is there; documentation is the description unless another is given.
    pub(super) fn new(attrs: &[Attribute], entries: &mut Entries, errors: &mut Errors) -> Self {
        let given = entries.take("description").and_then(|it| it.expr(errors));
        let description = match given {
            Some(expr) => Some(expr.into_token_stream()),
            None => docs::text(attrs).map(quote::ToTokens::into_token_stream),
        };
        let notes = entries.take_all("note").into_iter().filter_map(|it| it.expr(errors)).collect();
        let examples: Vec<_> =
            entries.take_all("example").into_iter().filter_map(|it| it.expr(errors)).collect();
        let examples = examples.iter().map(|it| Shown::new(it, errors)).collect();
        let limits = LIMITS.iter().filter_map(|key| limit(key, entries, errors)).collect();
        Self { description, notes, examples, limits }
    }

    /// Calls on a schema builder that set description and notes.
    pub(super) fn words(&self) -> TokenStream {
        let (description, notes) = (self.description.iter(), &self.notes);
        quote_spanned!(Span::mixed_site()=> #(.description(#description))* #(.note(#notes))*)
    }

    pub(super) fn note(&mut self, text: &str) {
        self.notes.push(syn::parse_quote!(#text));
    }

    /// Statements that fail to compile, at the type, if the type cannot have one of the limits.
    fn check(&self, ty: &Type, root: &Path) -> TokenStream {
        let checks = self.limits.iter().map(|Limit { marker, .. }| {
            let marker = Ident::new(marker, Span::mixed_site());
            let check = quote_spanned!(span_of(ty)=> allowed::<#ty>());
            quote_spanned! {Span::mixed_site()=> {
                fn allowed<T: #root::#marker>() {}
                #check;
            }}
        });
        checks.collect()
    }

    /// Statements that change the schema at `place`, a schema of the type `ty`.
    pub(super) fn apply(&self, place: &TokenStream, ty: &Type, root: &Path) -> TokenStream {
        let check = self.check(ty, root);
        let change = self.apply_unchecked(place, ty, root);
        quote_spanned!(Span::mixed_site()=> #check #change)
    }

    /// [`Self::apply`] for a type that is checked elsewhere.
    pub(super) fn apply_unchecked(
        &self,
        place: &TokenStream,
        ty: &Type,
        root: &Path,
    ) -> TokenStream {
        let span = Span::mixed_site();
        let mut all = TokenStream::new();
        for Limit { call, .. } in &self.limits {
            all.extend(quote_spanned!(span=> #place = #place.#call;));
        }
        if let Some(text) = &self.description {
            let text = quote_spanned!(span=> ::std::string::String::from(#text));
            all.extend(quote_spanned! {span=>
                #place.annotations.description = ::core::option::Option::Some(#text);
            });
        }
        for note in &self.notes {
            all.extend(quote_spanned! {span=>
                #place.annotations.notes.push(::std::string::String::from(#note));
            });
        }
        for example in &self.examples {
            let document = example.document(root, ty);
            all.extend(quote_spanned! {span=>
                #place.annotations.examples.push(#document.root().to_value());
            });
        }
        all
    }
}

fn limit(key: &str, entries: &mut Entries, errors: &mut Errors) -> Option<Limit> {
    let entry = entries.take(key)?;
    let span = Span::mixed_site();
    if key == "unique" {
        entry.flag(errors);
        return Some(Limit { marker: "ListArg", call: quote_spanned!(span=> with_unique()) });
    }
    let value = entry.expr(errors)?;
    let bound = wide(&value);
    Some(match key {
        "min" => Limit { marker: "NumericArg", call: quote_spanned!(span=> with_min(#bound)) },
        "max" => Limit { marker: "NumericArg", call: quote_spanned!(span=> with_max(#bound)) },
        "multiple_of" => {
            Limit { marker: "IntegerArg", call: quote_spanned!(span=> with_multiple_of(#value)) }
        }
        "min_len" => {
            Limit { marker: "LengthArg", call: quote_spanned!(span=> with_min_length(#value)) }
        }
        "max_len" => {
            Limit { marker: "LengthArg", call: quote_spanned!(span=> with_max_length(#value)) }
        }
        _ => Limit { marker: "TextArg", call: quote_spanned!(span=> with_pattern(#value)) },
    })
}
