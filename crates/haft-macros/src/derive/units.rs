//! An enum without data: one of a list of names.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::{DataEnum, parse_quote};

use super::rules::Rules;
use super::{Container, name_of, rename_all};
use crate::attr::{Entries, Errors, Place};
use crate::case::Case;
use crate::docs;

const VARIANT: Place =
    Place { what: "a variant without data", keys: &[&["rename", "description"]] };

pub(super) fn expand(
    container: &Container<'_>,
    data: &DataEnum,
    mut entries: Entries,
    errors: &mut Errors,
) -> TokenStream {
    let case = rename_all(&mut entries, errors).unwrap_or(Case::Snake);
    let mut rules = Rules::new(container.attrs, &mut entries, errors);
    if let Some(content) = entries.take("content") {
        errors.add(content.key.span(), "`content` needs `tag` beside it");
    }
    let mut names: Vec<String> = Vec::new();
    let mut idents = Vec::new();
    for variant in &data.variants {
        let mut entries = Entries::of(&variant.attrs, &VARIANT, errors);
        let (name, span) = name_of(&variant.ident, Some(case), &mut entries, errors);
        if names.contains(&name) {
            errors.add(span, format!("the name `{name}` is taken by another variant"));
        }
        let given = entries.take("description").and_then(|it| it.text(errors));
        if let Some(text) = given.map(|it| it.value()).or_else(|| docs::text(&variant.attrs)) {
            rules.note(&format!("`{name}`: {text}"));
        }
        names.push(name);
        idents.push(&variant.ident);
    }
    let (span, root) = (Span::mixed_site(), &container.root);
    let rules = rules.apply(&quote_spanned!(span=> schema), &parse_quote!(Self), root);
    let mutable = (!rules.is_empty()).then(|| quote_spanned!(span=> mut));
    let expected = format!("one of {}", names.join(", "));
    container.arg_value(&quote_spanned! {span=>
        fn schema(_: &mut #root::ArgDefinitions) -> #root::Schema {
            let #mutable schema = #root::Schema::from(#root::one_of([#(#names),*]));
            #rules
            schema
        }

        fn decode(
            value: #root::ValueRef<'_>,
        ) -> ::core::result::Result<Self, #root::DecodeError> {
            match value.as_str() {
                #(::core::option::Option::Some(#names) => ::core::result::Result::Ok(Self::#idents),)*
                _ => ::core::result::Result::Err(#root::DecodeError::new(#expected)),
            }
        }

        fn encode(
            &self,
            out: &mut #root::JsonWriter,
        ) -> ::core::result::Result<(), #root::UnrepresentableValue> {
            out.string(match self { #(Self::#idents => #names,)* });
            ::core::result::Result::Ok(())
        }
    })
}
