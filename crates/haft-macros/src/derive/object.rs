//! A struct with named fields: an object, and so the only kind that can be the arguments as a whole.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::{DeriveInput, FieldsNamed, parse_quote};

use super::fields::Named;
use super::rules::{Rules, WORDS};
use super::{Container, rename_all};
use crate::attr::{Entries, Errors, Place};

const STRUCT: Place =
    Place { what: "a struct with named fields", keys: &[&["crate", "rename_all"], WORDS] };

pub(super) fn expand(input: &DeriveInput, fields: &FieldsNamed) -> syn::Result<TokenStream> {
    let mut errors = Errors::default();
    let mut entries = Entries::of(&input.attrs, &STRUCT, &mut errors);
    let container = Container::new(input, &mut entries, &mut errors);
    let case = rename_all(&mut entries, &mut errors);
    let rules = Rules::new(&input.attrs, &mut entries, &mut errors);
    let fields = Named::new(fields, case, &[], &mut errors);
    errors.finish(write(&container, &fields, &rules))
}

fn write(container: &Container<'_>, fields: &Named, rules: &Rules) -> TokenStream {
    let span = Span::mixed_site();
    let (root, name) = (&container.root, container.name());
    let constructor = quote_spanned!(span=> Self);
    let (add, decode) = (fields.schema(root), fields.decode(root, &constructor));
    let (pattern, encode) = (fields.pattern(&constructor), fields.encode(root));
    let rules = rules.apply(&quote_spanned!(span=> schema), &parse_quote!(Self), root);
    let mutable = (!rules.is_empty()).then(|| quote_spanned!(span=> mut));
    let value = container.arg_value(&quote_spanned! {span=>
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
    let args = container.implement(
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
