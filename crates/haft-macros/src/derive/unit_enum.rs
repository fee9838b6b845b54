//! An enum without data: one of a list of names.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::{DataEnum, parse_quote};

use super::schema_rules::SchemaRules;
use super::{DerivedType, json_name, take_rename_all};
use crate::attribute::{AttributeEntries, AttributePosition, MacroErrors};
use crate::doc_comment;
use crate::name_case::NameCase;

const VARIANT: AttributePosition = AttributePosition {
    owner: "a variant without data",
    allowed_keys: &[&["rename", "description"]],
};

pub(super) fn expand_unit_enum(
    container: &DerivedType<'_>,
    data: &DataEnum,
    mut entries: AttributeEntries,
    errors: &mut MacroErrors,
) -> TokenStream {
    let case = take_rename_all(&mut entries, errors).unwrap_or(NameCase::Snake);
    let mut rules = SchemaRules::new(container.attrs, &mut entries, errors);
    if let Some(content) = entries.take("content") {
        errors.push_at(content.key.span(), "`content` needs `tag` beside it");
    }
    let mut names: Vec<String> = Vec::new();
    let mut idents = Vec::new();
    for variant in &data.variants {
        let mut entries = AttributeEntries::from_attributes(&variant.attrs, &VARIANT, errors);
        let (name, span) = json_name(&variant.ident, Some(case), &mut entries, errors);
        if names.contains(&name) {
            errors.push_at(span, format!("the name `{name}` is taken by another variant"));
        }
        let given = entries.take("description").and_then(|it| it.require_string(errors));
        if let Some(text) =
            given.map(|it| it.value()).or_else(|| doc_comment::doc_text(&variant.attrs))
        {
            rules.add_note(&format!("`{name}`: {text}"));
        }
        names.push(name);
        idents.push(&variant.ident);
    }
    let span = Span::mixed_site();
    let root = &container.root;
    let rules = rules.schema_statements(&quote_spanned!(span=> schema), &parse_quote!(Self), root);
    let mutable = (!rules.is_empty()).then(|| quote_spanned!(span=> mut));
    let expected = format!("one of {}", names.join(", "));
    container.implement_arg_value(&quote_spanned! {span=>
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
