//! The variants of a tagged enum.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::{Field, Fields, FieldsUnnamed, Ident, Path, Type, Variant};

use super::super::named_fields::NamedFields;
use super::super::newtype::UNNAMED_FIELD;
use super::super::schema_rules::SchemaRules;
use super::super::{local_ident, take_rename_all};
use crate::attribute::{AttributeEntries, AttributePosition, MacroErrors, mixed_site_span};

const MERGED: AttributePosition = AttributePosition { owner: "a merged struct", allowed_keys: &[] };

/// The code of one variant.
pub(super) struct VariantCode {
    pub(super) name: String,
    /// An expression for the fields next to the tag, with `definitions`.
    pub(super) schema: TokenStream,
    /// An expression of type `Result<Self, DecodeError>`, with `value`.
    pub(super) decode: TokenStream,
    pub(super) pattern: TokenStream,
    /// Statements that write what stands next to the tag, with `out` and `?`.
    pub(super) encode: TokenStream,
}

/// The parts that every kind of variant has.
struct VariantHeader<'v> {
    name: String,
    ident: &'v Ident,
    /// An expression for an object with the variant's annotations and without fields.
    empty_object: TokenStream,
}

/// How the enum is laid out in JSON, the same for all variants.
pub(super) struct UnionLayout<'f> {
    pub(super) root: &'f Path,
    pub(super) tag: &'f str,
    pub(super) content: Option<&'f str>,
}

impl UnionLayout<'_> {
    /// The code of a variant; `None` if the layout cannot represent it.
    pub(super) fn variant_code(
        &self,
        variant: &Variant,
        name: String,
        mut entries: AttributeEntries,
        errors: &mut MacroErrors,
    ) -> Option<VariantCode> {
        let span = Span::mixed_site();
        let root = self.root;
        let ident = &variant.ident;
        let case = take_rename_all(&mut entries, errors);
        let rules = SchemaRules::new(&variant.attrs, &mut entries, errors);
        let annotations = rules.annotation_calls();
        let empty_object = quote_spanned!(span=> #root::object()#annotations);
        let header = VariantHeader { name, ident, empty_object };
        match (&variant.fields, self.content) {
            (Fields::Unit, _) => Some(VariantCode {
                name: header.name,
                schema: header.empty_object,
                decode: quote_spanned!(span=> ::core::result::Result::Ok(Self::#ident)),
                pattern: quote_spanned!(span=> Self::#ident),
                encode: TokenStream::new(),
            }),
            (Fields::Named(fields), content) => {
                let taken: &[&str] = if content.is_none() { &[self.tag] } else { &[] };
                let fields = NamedFields::new(fields, case, taken, errors);
                Some(self.named_fields_code(header, &fields))
            }
            (Fields::Unnamed(fields), _) if fields.unnamed.is_empty() => {
                errors.push_spanned(ident, "a variant without data is written without brackets");
                None
            }
            (Fields::Unnamed(fields), Some(content)) => {
                Some(self.unnamed_fields_code(header, fields, content, errors))
            }
            (Fields::Unnamed(fields), None) if fields.unnamed.len() == 1 => {
                let ty = &fields.unnamed.first()?.ty;
                for field in &fields.unnamed {
                    AttributeEntries::from_attributes(&field.attrs, &MERGED, errors);
                }
                Some(self.merged_struct_code(header, ty))
            }
            (Fields::Unnamed(fields), None) => {
                errors.push_spanned(
                    fields,
                    "fields beside a tag need names: write `Variant { field: Type }`, or add \
                     `content = \"value\"` beside `tag`, so that the fields become a list under that key",
                );
                None
            }
        }
    }

    /// Named fields, next to the tag or in an object under the content key.
    fn named_fields_code(
        &self,
        VariantHeader { name, ident, empty_object }: VariantHeader<'_>,
        fields: &NamedFields,
    ) -> VariantCode {
        let span = Span::mixed_site();
        let root = self.root;
        let constructor = quote_spanned!(span=> Self::#ident);
        let add = fields.schema_statements(root);
        let made = fields.decode_expr(root, &constructor);
        let write = fields.encode_statements(root);
        let pattern = fields.binding_pattern(&constructor);
        let Some(content) = self.content else {
            return VariantCode {
                name,
                schema: quote_spanned!(span=> { let object = #empty_object; #add object }),
                decode: quote_spanned!(span=> ::core::result::Result::Ok(#made)),
                pattern,
                encode: write,
            };
        };
        VariantCode {
            name,
            schema: quote_spanned! {span=> {
                let object = #root::object();
                #add
                #empty_object.field(#content, object.required())
            }},
            decode: self.decode_content(content, &made),
            pattern,
            encode: quote_spanned! {span=>
                out.key(#content).try_object(|out| {
                    let _ = &out;
                    #write
                    ::core::result::Result::Ok(())
                })?;
            },
        }
    }

    /// An expression of type `Result<Self, DecodeError>` from one that makes `Self` of the content.
    fn decode_content(&self, content: &str, made: &TokenStream) -> TokenStream {
        let root = self.root;
        quote_spanned! {Span::mixed_site()=> {
            let made = |value: #root::ValueRef<'_>|
                -> ::core::result::Result<Self, #root::DecodeError> {
                ::core::result::Result::Ok(#made)
            };
            match value.get(#content) {
                ::core::option::Option::Some(value) => made(value),
                ::core::option::Option::None => ::core::result::Result::Err(
                    #root::DecodeError::new("a value, got nothing"),
                ),
            }
            .map_err(|error| error.below(#content))
        }}
    }

    /// A struct whose fields stand next to the tag.
    fn merged_struct_code(
        &self,
        VariantHeader { name, ident, empty_object }: VariantHeader<'_>,
        ty: &Type,
    ) -> VariantCode {
        let span = Span::mixed_site();
        let root = self.root;
        let slot = local_ident("field", 0);
        let args = quote_spanned!(mixed_site_span(ty)=> <#ty as #root::ToolArgs>);
        let value = quote_spanned!(mixed_site_span(ty)=> <#ty as #root::ArgValue>);
        VariantCode {
            name,
            schema: quote_spanned!(span=> #args::add_fields(#empty_object, definitions)),
            decode: quote_spanned!(span=> #value::decode(value).map(Self::#ident)),
            pattern: quote_spanned!(span=> Self::#ident(#slot)),
            encode: quote_spanned!(span=> #args::encode_members(#slot, out)?;),
        }
    }

    /// One value, or a list of values, under the content key.
    fn unnamed_fields_code(
        &self,
        header: VariantHeader<'_>,
        fields: &FieldsUnnamed,
        content: &str,
        errors: &mut MacroErrors,
    ) -> VariantCode {
        let fields: Vec<UnnamedField<'_>> = fields
            .unnamed
            .iter()
            .enumerate()
            .map(|(at, field)| UnnamedField::new(at, field, errors))
            .collect();
        match fields.as_slice() {
            [field] => self.content_value_code(header, field, content),
            fields => self.content_list_code(header, fields, content),
        }
    }

    /// One value under the content key.
    fn content_value_code(
        &self,
        VariantHeader { name, ident, empty_object }: VariantHeader<'_>,
        UnnamedField { ty, slot, rules }: &UnnamedField<'_>,
        content: &str,
    ) -> VariantCode {
        let span = Span::mixed_site();
        let root = self.root;
        let value = quote_spanned!(mixed_site_span(ty)=> <#ty as #root::ArgValue>);
        let rules = rules.schema_statements(&quote_spanned!(span=> field.schema), ty, root);
        let mutable = (!rules.is_empty()).then(|| quote_spanned!(span=> mut));
        VariantCode {
            name,
            schema: quote_spanned! {span=> {
                let #mutable field = #value::field(definitions);
                #rules
                #empty_object.field(#content, field)
            }},
            decode: quote_spanned! {span=>
                #value::decode_field(#content, value.get(#content)).map(Self::#ident)
            },
            pattern: quote_spanned!(span=> Self::#ident(#slot)),
            encode: quote_spanned!(span=> #value::encode_field(#slot, #content, out)?;),
        }
    }

    /// A list of values under the content key.
    fn content_list_code(
        &self,
        VariantHeader { name, ident, empty_object }: VariantHeader<'_>,
        fields: &[UnnamedField<'_>],
        content: &str,
    ) -> VariantCode {
        let span = Span::mixed_site();
        let root = self.root;
        let count = fields.len();
        let slots: Vec<&Ident> = fields.iter().map(|it| &it.slot).collect();
        let expected = format!("a list of exactly {count} elements");
        let schemas = fields.iter().map(|it| it.element_schema_expr(root));
        let decodes = fields.iter().enumerate().map(|(at, it)| it.decode_statements(at, root));
        let encodes = fields.iter().map(|it| it.encode_statement(root));
        VariantCode {
            name,
            schema: quote_spanned! {span=>
                #empty_object.field(#content, #root::tuple([#(#schemas),*]).required())
            },
            decode: self.decode_content(
                content,
                &quote_spanned! {span=> {
                    let mut elements = value.elements();
                    let mut next = || elements.next().ok_or(#root::DecodeError::new(#expected));
                    #(#decodes)*
                    if value.len() != #count {
                        return ::core::result::Result::Err(#root::DecodeError::new(#expected));
                    }
                    Self::#ident(#(#slots),*)
                }},
            ),
            pattern: quote_spanned!(span=> Self::#ident(#(#slots),*)),
            encode: quote_spanned! {span=>
                out.key(#content).try_array(|out| {
                    #(#encodes)*
                    ::core::result::Result::Ok(())
                })?;
            },
        }
    }
}

/// A field of a variant without field names.
struct UnnamedField<'v> {
    ty: &'v Type,
    /// The local variable that holds the field.
    slot: Ident,
    rules: SchemaRules,
}

impl<'v> UnnamedField<'v> {
    fn new(at: usize, field: &'v Field, errors: &mut MacroErrors) -> Self {
        let mut entries = AttributeEntries::from_attributes(&field.attrs, &UNNAMED_FIELD, errors);
        let rules = SchemaRules::new(&field.attrs, &mut entries, errors);
        Self { ty: &field.ty, slot: local_ident("field", at), rules }
    }

    /// An expression for the schema of the field as an element of a list.
    fn element_schema_expr(&self, root: &Path) -> TokenStream {
        let span = Span::mixed_site();
        let ty = self.ty;
        let schema =
            quote_spanned!(mixed_site_span(ty)=> <#ty as #root::ArgValue>::schema(definitions));
        let rules = self.rules.schema_statements(&quote_spanned!(span=> schema), ty, root);
        let mutable = (!rules.is_empty()).then(|| quote_spanned!(span=> mut));
        quote_spanned!(span=> { let #mutable schema = #schema; #rules schema })
    }

    /// Statements that decode the next element of the list into the slot, with `?`.
    fn decode_statements(&self, at: usize, root: &Path) -> TokenStream {
        let ty = self.ty;
        let slot = &self.slot;
        let value = quote_spanned!(mixed_site_span(ty)=> <#ty as #root::ArgValue>::decode(element));
        quote_spanned! {Span::mixed_site()=>
            let element = next()?;
            let #slot = #value.map_err(|error| error.below(#at))?;
        }
    }

    fn encode_statement(&self, root: &Path) -> TokenStream {
        let ty = self.ty;
        let slot = &self.slot;
        quote_spanned!(mixed_site_span(ty)=> <#ty as #root::ArgValue>::encode(#slot, out)?;)
    }
}
