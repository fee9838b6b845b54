//! A tagged enum: an object whose tag says which variant it is.
//!
//! With `tag` alone the fields of a variant stand next to the tag. With `content` too, the variant's data
//! stands under that key, and can then be anything.

mod variant;

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::{DataEnum, parse_quote};

use self::variant::{Form, Parts};
use super::rules::Rules;
use super::{Container, name_of, rename_all};
use crate::attr::{Entries, Entry, Errors, Place};
use crate::case::Case;

const VARIANT: Place =
    Place { what: "a variant", keys: &[&["rename", "rename_all"], &["description", "note"]] };

pub(super) fn expand(
    container: &Container<'_>,
    data: &DataEnum,
    tag: Entry,
    mut entries: Entries,
    errors: &mut Errors,
) -> TokenStream {
    let case = rename_all(&mut entries, errors).unwrap_or(Case::Snake);
    let rules = Rules::new(container.attrs, &mut entries, errors);
    let tag = tag.text(errors).map(|it| it.value()).unwrap_or_default();
    let content = entries.take("content").and_then(|it| it.text(errors));
    if let Some(text) = content.as_ref().filter(|it| it.value() == tag) {
        errors.add(text.span(), "`tag` and `content` need different names");
    }
    let content = content.map(|it| it.value());
    let form = Form { root: &container.root, tag: &tag, content: content.as_deref() };
    let mut variants: Vec<Parts> = Vec::new();
    for variant in &data.variants {
        let mut entries = Entries::of(&variant.attrs, &VARIANT, errors);
        let (name, span) = name_of(&variant.ident, Some(case), &mut entries, errors);
        if variants.iter().any(|it| it.name == name) {
            errors.add(span, format!("the name `{name}` is taken by another variant"));
        }
        variants.extend(form.variant(variant, name, entries, errors));
    }
    write(container, &tag, &variants, &rules)
}

fn write(container: &Container<'_>, tag: &str, variants: &[Parts], rules: &Rules) -> TokenStream {
    let (span, root, type_name) = (Span::mixed_site(), &container.root, container.name());
    let rules = rules.apply(&quote_spanned!(span=> schema), &parse_quote!(Self), root);
    let mutable = (!rules.is_empty()).then(|| quote_spanned!(span=> mut));
    let names: Vec<&str> = variants.iter().map(|it| it.name.as_str()).collect();
    let schemas = variants.iter().map(|it| &it.schema);
    let decodes = variants.iter().map(|it| &it.decode);
    let patterns = variants.iter().map(|it| &it.pattern);
    let encodes = variants.iter().map(|it| &it.encode);
    let expected = format!("one of {}", names.join(", "));
    container.arg_value(&quote_spanned! {span=>
        fn schema(definitions: &mut #root::ArgDefinitions) -> #root::Schema {
            definitions.named::<Self>(#type_name, |definitions| {
                let _ = &definitions;
                let union = #root::union(#tag);
                #(let union = union.variant(#names, #schemas);)*
                let #mutable schema = #root::Schema::from(union);
                #rules
                schema
            })
        }

        fn decode(
            value: #root::ValueRef<'_>,
        ) -> ::core::result::Result<Self, #root::DecodeError> {
            match value.get(#tag).and_then(|tag| tag.as_str()) {
                #(::core::option::Option::Some(#names) => #decodes,)*
                _ => {
                    let error = #root::DecodeError::new(#expected);
                    ::core::result::Result::Err(error.below(#tag))
                }
            }
        }

        fn encode(
            &self,
            out: &mut #root::JsonWriter,
        ) -> ::core::result::Result<(), #root::UnrepresentableValue> {
            out.try_object(|out| {
                match self {
                    #(#patterns => {
                        out.key(#tag).string(#names);
                        #encodes
                    })*
                }
                ::core::result::Result::Ok(())
            })
            .map(|_| ())
        }
    })
}
