//! A struct with one unnamed field: the same JSON as the field, with rules of its own.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::{DeriveInput, FieldsUnnamed, Type};

use super::DerivedType;
use super::schema_rules::{ANNOTATION_KEYS, LIMIT_KEYS, SchemaRules};
use crate::attribute::{AttributeEntries, AttributePosition, MacroErrors, mixed_site_span};

const NEWTYPE: AttributePosition = AttributePosition {
    owner: "a newtype",
    allowed_keys: &[&["crate"], LIMIT_KEYS, ANNOTATION_KEYS],
};

pub(super) const UNNAMED_FIELD: AttributePosition =
    AttributePosition { owner: "an unnamed field", allowed_keys: &[LIMIT_KEYS, ANNOTATION_KEYS] };

pub(super) fn expand_newtype(
    input: &DeriveInput,
    fields: &FieldsUnnamed,
) -> syn::Result<TokenStream> {
    let mut list = fields.unnamed.iter();
    let (Some(field), None) = (list.next(), list.next()) else {
        return Err(syn::Error::new_spanned(
            fields,
            "fields need names, by which the model fills them in: write `struct Name { field: Type }`; \
             only a struct with exactly one unnamed field can do without",
        ));
    };
    let mut errors = MacroErrors::default();
    let mut entries = AttributeEntries::from_attributes(&input.attrs, &NEWTYPE, &mut errors);
    let container = DerivedType::new(input, &mut entries, &mut errors);
    let outer = SchemaRules::new(&input.attrs, &mut entries, &mut errors);
    let mut entries = AttributeEntries::from_attributes(&field.attrs, &UNNAMED_FIELD, &mut errors);
    let inner = SchemaRules::new(&field.attrs, &mut entries, &mut errors);

    let span = Span::mixed_site();
    let ty = &field.ty;
    let root = &container.root;
    let schema = quote_spanned!(span=> schema);
    let place = quote_spanned!(span=> field.schema);
    let of_schema =
        [inner.schema_statements(&schema, ty, root), outer.schema_statements(&schema, ty, root)];
    let of_field = [
        inner.unchecked_schema_statements(&place, ty, root),
        outer.unchecked_schema_statements(&place, ty, root),
    ];
    let methods = newtype_methods(&container, ty, &of_schema, &of_field);
    errors.into_result(container.implement_arg_value(&methods))
}

/// The methods of a newtype: those of its field, with the statements that apply the rules of both.
fn newtype_methods(
    container: &DerivedType<'_>,
    ty: &Type,
    of_schema: &[TokenStream],
    of_field: &[TokenStream],
) -> TokenStream {
    let span = Span::mixed_site();
    let root = &container.root;
    let name = container.type_name();
    let value = quote_spanned!(mixed_site_span(ty)=> <#ty as #root::ArgValue>);
    let is_changed = of_schema.iter().any(|it| !it.is_empty());
    let mutable = is_changed.then(|| quote_spanned!(span=> mut));
    quote_spanned! {span=>
        fn schema(definitions: &mut #root::ArgDefinitions) -> #root::Schema {
            definitions.named::<Self>(#name, |definitions| {
                let #mutable schema = #value::schema(definitions);
                #(#of_schema)*
                schema
            })
        }

        fn decode(
            value: #root::ValueRef<'_>,
        ) -> ::core::result::Result<Self, #root::DecodeError> {
            #value::decode(value).map(Self)
        }

        fn encode(
            &self,
            out: &mut #root::JsonWriter,
        ) -> ::core::result::Result<(), #root::UnrepresentableValue> {
            #value::encode(&self.0, out)
        }

        fn field(definitions: &mut #root::ArgDefinitions) -> #root::Field {
            let #mutable field = #value::field(definitions);
            #(#of_field)*
            field
        }

        fn decode_field(
            name: &str,
            value: ::core::option::Option<#root::ValueRef<'_>>,
        ) -> ::core::result::Result<Self, #root::DecodeError> {
            #value::decode_field(name, value).map(Self)
        }

        fn encode_field(
            &self,
            name: &str,
            out: &mut #root::JsonWriter,
        ) -> ::core::result::Result<(), #root::UnrepresentableValue> {
            #value::encode_field(&self.0, name, out)
        }
    }
}
