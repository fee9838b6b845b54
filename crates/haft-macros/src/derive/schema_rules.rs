//! Constraints and annotations that attributes add to the schema of a type.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote_spanned};
use syn::{Attribute, Expr, Ident, Path, Type};

use super::schema_value::{SchemaValue, widened_bound};
use crate::attribute::{AttributeEntries, MacroErrors, mixed_site_span};
use crate::doc_comment;

/// Keys that explain a value to the model.
pub(super) const ANNOTATION_KEYS: &[&str] = &["description", "note", "example"];

/// Keys that restrict a value.
pub(super) const LIMIT_KEYS: &[&str] =
    &["min", "max", "multiple_of", "min_len", "max_len", "pattern", "unique"];

/// The constraints and annotations of one list of attributes.
pub(super) struct SchemaRules {
    description: Option<TokenStream>,
    notes: Vec<Expr>,
    examples: Vec<SchemaValue>,
    limits: Vec<SchemaLimit>,
}

struct SchemaLimit {
    /// The marker trait of types that can have it.
    marker: &'static str,
    /// The method of `Schema` that sets it, with its argument.
    call: TokenStream,
}

impl SchemaRules {
    /// Takes all keys of rules; the documentation comment is the default of the description.
    pub(super) fn new(
        attrs: &[Attribute],
        entries: &mut AttributeEntries,
        errors: &mut MacroErrors,
    ) -> Self {
        let given = entries.take("description").and_then(|it| it.require_expr(errors));
        let description = match given {
            Some(expr) => Some(expr.into_token_stream()),
            None => doc_comment::doc_text(attrs).map(quote::ToTokens::into_token_stream),
        };
        let notes =
            entries.take_all("note").into_iter().filter_map(|it| it.require_expr(errors)).collect();
        let examples: Vec<_> = entries
            .take_all("example")
            .into_iter()
            .filter_map(|it| it.require_expr(errors))
            .collect();
        let examples = examples.iter().map(|it| SchemaValue::new(it, errors)).collect();
        let limits = LIMIT_KEYS.iter().filter_map(|key| take_limit(key, entries, errors)).collect();
        Self { description, notes, examples, limits }
    }

    /// Calls on a schema builder that set description and notes.
    pub(super) fn annotation_calls(&self) -> TokenStream {
        let description = self.description.iter();
        let notes = &self.notes;
        quote_spanned!(Span::mixed_site()=> #(.description(#description))* #(.note(#notes))*)
    }

    pub(super) fn add_note(&mut self, text: &str) {
        self.notes.push(syn::parse_quote!(#text));
    }

    /// Statements that fail to compile, at the type, if the type cannot have one of the limits.
    fn limit_checks(&self, ty: &Type, root: &Path) -> TokenStream {
        let checks = self.limits.iter().map(|SchemaLimit { marker, .. }| {
            let marker = Ident::new(marker, Span::mixed_site());
            let check = quote_spanned!(mixed_site_span(ty)=> allowed::<#ty>());
            quote_spanned! {Span::mixed_site()=> {
                fn allowed<T: #root::#marker>() {}
                #check;
            }}
        });
        checks.collect()
    }

    /// Statements that change the schema at `place`, a schema of the type `ty`.
    pub(super) fn schema_statements(
        &self,
        place: &TokenStream,
        ty: &Type,
        root: &Path,
    ) -> TokenStream {
        let check = self.limit_checks(ty, root);
        let change = self.unchecked_schema_statements(place, ty, root);
        quote_spanned!(Span::mixed_site()=> #check #change)
    }

    /// [`Self::schema_statements`] for a type that is checked elsewhere.
    pub(super) fn unchecked_schema_statements(
        &self,
        place: &TokenStream,
        ty: &Type,
        root: &Path,
    ) -> TokenStream {
        let span = Span::mixed_site();
        let mut all = TokenStream::new();
        for SchemaLimit { call, .. } in &self.limits {
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
            let document = example.document_expr(root, ty);
            all.extend(quote_spanned! {span=>
                #place.annotations.examples.push(#document.root().to_value());
            });
        }
        all
    }
}

fn take_limit(
    key: &str,
    entries: &mut AttributeEntries,
    errors: &mut MacroErrors,
) -> Option<SchemaLimit> {
    let entry = entries.take(key)?;
    let span = Span::mixed_site();
    if key == "unique" {
        entry.require_flag(errors);
        return Some(SchemaLimit { marker: "ListArg", call: quote_spanned!(span=> with_unique()) });
    }
    let value = entry.require_expr(errors)?;
    let bound = widened_bound(&value);
    Some(match key {
        "min" => {
            SchemaLimit { marker: "NumericArg", call: quote_spanned!(span=> with_min(#bound)) }
        }
        "max" => {
            SchemaLimit { marker: "NumericArg", call: quote_spanned!(span=> with_max(#bound)) }
        }
        "multiple_of" => SchemaLimit {
            marker: "IntegerArg",
            call: quote_spanned!(span=> with_multiple_of(#value)),
        },
        "min_len" => SchemaLimit {
            marker: "LengthArg",
            call: quote_spanned!(span=> with_min_length(#value)),
        },
        "max_len" => SchemaLimit {
            marker: "LengthArg",
            call: quote_spanned!(span=> with_max_length(#value)),
        },
        _ => SchemaLimit { marker: "TextArg", call: quote_spanned!(span=> with_pattern(#value)) },
    })
}
