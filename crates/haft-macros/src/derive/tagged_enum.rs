//! A tagged enum: an object whose tag says which variant it is.
//!
//! With `tag` alone the fields of a variant stand next to the tag. With `content` too, the variant's data
//! stands under that key, and can then be anything.

mod variant;

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::{DataEnum, parse_quote};

use self::variant::{UnionLayout, VariantCode};
use super::schema_rules::SchemaRules;
use super::{DerivedType, json_name, take_rename_all};
use crate::attribute::{AttributeEntries, AttributeEntry, AttributePosition, MacroErrors};
use crate::name_case::NameCase;

const VARIANT: AttributePosition = AttributePosition {
    owner: "a variant",
    allowed_keys: &[&["rename", "rename_all"], &["description", "note"]],
};

pub(super) fn expand_tagged_enum(
    container: &DerivedType<'_>,
    data: &DataEnum,
    tag: AttributeEntry,
    mut entries: AttributeEntries,
    errors: &mut MacroErrors,
) -> TokenStream {
    let case = take_rename_all(&mut entries, errors).unwrap_or(NameCase::Snake);
    let rules = SchemaRules::new(container.attrs, &mut entries, errors);
    let tag = tag.require_string(errors).map(|it| it.value()).unwrap_or_default();
    let content = entries.take("content").and_then(|it| it.require_string(errors));
    if let Some(text) = content.as_ref().filter(|it| it.value() == tag) {
        errors.push_at(text.span(), "`tag` and `content` need different names");
    }
    let content = content.map(|it| it.value());
    let layout = UnionLayout { root: &container.root, tag: &tag, content: content.as_deref() };
    let mut variants: Vec<VariantCode> = Vec::new();
    for variant in &data.variants {
        let mut entries = AttributeEntries::from_attributes(&variant.attrs, &VARIANT, errors);
        let (name, span) = json_name(&variant.ident, Some(case), &mut entries, errors);
        if variants.iter().any(|it| it.name == name) {
            errors.push_at(span, format!("the name `{name}` is taken by another variant"));
        }
        variants.extend(layout.variant_code(variant, name, entries, errors));
    }
    enum_code(container, &tag, &variants, &rules)
}

fn enum_code(
    container: &DerivedType<'_>,
    tag: &str,
    variants: &[VariantCode],
    rules: &SchemaRules,
) -> TokenStream {
    let span = Span::mixed_site();
    let root = &container.root;
    let type_name = container.type_name();
    let rules = rules.schema_statements(&quote_spanned!(span=> schema), &parse_quote!(Self), root);
    let mutable = (!rules.is_empty()).then(|| quote_spanned!(span=> mut));
    let names: Vec<&str> = variants.iter().map(|it| it.name.as_str()).collect();
    let schemas = variants.iter().map(|it| &it.schema);
    let decodes = variants.iter().map(|it| &it.decode);
    let patterns = variants.iter().map(|it| &it.pattern);
    let encodes = variants.iter().map(|it| &it.encode);
    let expected = format!("one of {}", names.join(", "));
    container.implement_arg_value(&quote_spanned! {span=>
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
