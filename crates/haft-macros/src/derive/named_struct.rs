//! A struct with named fields: an object, and so the only kind that can be the arguments as a whole.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::{DeriveInput, FieldsNamed, parse_quote};

use super::named_fields::NamedFields;
use super::schema_rules::{ANNOTATION_KEYS, SchemaRules};
use super::{DerivedType, take_rename_all};
use crate::attribute::{AttributeEntries, AttributePosition, MacroErrors};

const STRUCT: AttributePosition = AttributePosition {
    owner: "a struct with named fields",
    allowed_keys: &[&["crate", "rename_all"], ANNOTATION_KEYS],
};

pub(super) fn expand_struct(input: &DeriveInput, fields: &FieldsNamed) -> syn::Result<TokenStream> {
    let mut errors = MacroErrors::default();
    let mut entries = AttributeEntries::from_attributes(&input.attrs, &STRUCT, &mut errors);
    let container = DerivedType::new(input, &mut entries, &mut errors);
    let case = take_rename_all(&mut entries, &mut errors);
    let rules = SchemaRules::new(&input.attrs, &mut entries, &mut errors);
    let fields = NamedFields::new(fields, case, &[], &mut errors);
    errors.into_result(struct_code(&container, &fields, &rules))
}

fn struct_code(
    container: &DerivedType<'_>,
    fields: &NamedFields,
    rules: &SchemaRules,
) -> TokenStream {
    let span = Span::mixed_site();
    let root = &container.root;
    let name = container.type_name();
    let constructor = quote_spanned!(span=> Self);
    let add = fields.schema_statements(root);
    let decode = fields.decode_expr(root, &constructor);
    let pattern = fields.binding_pattern(&constructor);
    let encode = fields.encode_statements(root);
    let rules = rules.schema_statements(&quote_spanned!(span=> schema), &parse_quote!(Self), root);
    let mutable = (!rules.is_empty()).then(|| quote_spanned!(span=> mut));
    let value = container.implement_arg_value(&quote_spanned! {span=>
        fn schema(definitions: &mut #root::ArgDefinitions) -> #root::Schema {
            definitions.named::<Self>(#name, |definitions| {
                let object = #root::object();
                let object = <Self as #root::ToolArgs>::add_fields(object, definitions);
                let #mutable schema = #root::Schema::from(object);
                #rules
                schema
            })
        }

        fn decode(
            value: #root::ValueRef<'_>,
        ) -> ::core::result::Result<Self, #root::DecodeError> {
            ::core::result::Result::Ok(#decode)
        }

        fn encode(
            &self,
            out: &mut #root::JsonWriter,
        ) -> ::core::result::Result<(), #root::UnrepresentableValue> {
            out.try_object(|out| #root::ToolArgs::encode_members(self, out)).map(|_| ())
        }
    });
    let args = container.implement_trait(
        "ToolArgs",
        &quote_spanned! {span=>
            fn add_fields(
                object: #root::ObjectSchema,
                definitions: &mut #root::ArgDefinitions,
            ) -> #root::ObjectSchema {
                let _ = &definitions;
                #add
                object
            }

            fn encode_members(
                &self,
                out: &mut #root::JsonWriter,
            ) -> ::core::result::Result<(), #root::UnrepresentableValue> {
                let _ = &out;
                let #pattern = self;
                #encode
                ::core::result::Result::Ok(())
            }
        },
    );
    quote_spanned!(span=> #value #args)
}
