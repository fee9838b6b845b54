//! The variants of a tagged enum.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::{Fields, FieldsUnnamed, Ident, Path, Type, Variant};

use super::super::fields::Named;
use super::super::newtype::UNNAMED;
use super::super::rules::Rules;
use super::super::{local, rename_all};
use crate::attr::{Entries, Errors, Place, span_of};

const MERGED: Place = Place { what: "a merged struct", keys: &[] };

/// The code of one variant.
pub(super) struct Parts {
    pub(super) name: String,
    /// An expression for the fields next to the tag, with `definitions`.
    pub(super) schema: TokenStream,
    /// An expression of type `Result<Self, DecodeError>`, with `value`.
    pub(super) decode: TokenStream,
    pub(super) pattern: TokenStream,
    /// Statements that write what stands next to the tag, with `out` and `?`.
    pub(super) encode: TokenStream,
}

/// What every kind of variant has.
struct Head<'v> {
    name: String,
    ident: &'v Ident,
    /// An expression for an object with the variant's words and without fields.
    empty: TokenStream,
}

/// What is the same for all variants.
pub(super) struct Form<'f> {
    pub(super) root: &'f Path,
    pub(super) tag: &'f str,
    pub(super) content: Option<&'f str>,
}

impl Form<'_> {
    /// The code of a variant; nothing if it is none that can stand here.
    pub(super) fn variant(
        &self,
        variant: &Variant,
        name: String,
        mut entries: Entries,
        errors: &mut Errors,
    ) -> Option<Parts> {
        let (span, root, ident) = (Span::mixed_site(), self.root, &variant.ident);
        let case = rename_all(&mut entries, errors);
        let rules = Rules::new(&variant.attrs, &mut entries, errors);
        let words = rules.words();
        let empty = quote_spanned!(span=> #root::object()#words);
        let head = Head { name, ident, empty };
        match (&variant.fields, self.content) {
            (Fields::Unit, _) => Some(Parts {
                name: head.name,
                schema: head.empty,
                decode: quote_spanned!(span=> ::core::result::Result::Ok(Self::#ident)),
                pattern: quote_spanned!(span=> Self::#ident),
                encode: TokenStream::new(),
            }),
            (Fields::Named(fields), content) => {
                let taken: &[&str] = if content.is_none() { &[self.tag] } else { &[] };
                let fields = Named::new(fields, case, taken, errors);
                Some(self.named(head, &fields))
            }
            (Fields::Unnamed(fields), _) if fields.unnamed.is_empty() => {
                errors.at(ident, "a variant without data is written without brackets");
                None
            }
            (Fields::Unnamed(fields), Some(content)) => {
                Some(self.unnamed(head, fields, content, errors))
            }
            (Fields::Unnamed(fields), None) if fields.unnamed.len() == 1 => {
                let ty = &fields.unnamed.first()?.ty;
                for field in &fields.unnamed {
                    Entries::of(&field.attrs, &MERGED, errors);
                }
                Some(self.merged(head, ty))
            }
            (Fields::Unnamed(fields), None) => {
                errors.at(
                    fields,
                    "fields beside a tag need names: write `Variant { field: Type }`, or add \
                     `content = \"value\"` beside `tag`, so that the fields become a list under that key",
                );
                None
            }
        }
    }

    /// Named fields, next to the tag or in an object under the content key.
    fn named(&self, Head { name, ident, empty }: Head<'_>, fields: &Named) -> Parts {
        let (span, root) = (Span::mixed_site(), self.root);
        let constructor = quote_spanned!(span=> Self::#ident);
        let add = fields.schema(root);
        let made = fields.decode(root, &constructor);
        let write = fields.encode(root);
        let pattern = fields.pattern(&constructor);
        let Some(content) = self.content else {
            return Parts {
                name,
                schema: quote_spanned!(span=> { let object = #empty; #add object }),
                decode: quote_spanned!(span=> ::core::result::Result::Ok(#made)),
                pattern,
                encode: write,
            };
        };
        Parts {
            name,
            schema: quote_spanned! {span=> {
                let object = #root::object();
                #add
                #empty.field(#content, object.required())
            }},
            decode: self.under_content(content, &made),
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
    fn under_content(&self, content: &str, made: &TokenStream) -> TokenStream {
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
    fn merged(&self, Head { name, ident, empty }: Head<'_>, ty: &Type) -> Parts {
        let (span, root, slot) = (Span::mixed_site(), self.root, local("field", 0));
        let args = quote_spanned!(span_of(ty)=> <#ty as #root::ToolArgs>);
        let value = quote_spanned!(span_of(ty)=> <#ty as #root::ArgValue>);
        Parts {
            name,
            schema: quote_spanned!(span=> #args::add_fields(#empty, definitions)),
            decode: quote_spanned!(span=> #value::decode(value).map(Self::#ident)),
            pattern: quote_spanned!(span=> Self::#ident(#slot)),
            encode: quote_spanned!(span=> #args::encode_members(#slot, out)?;),
        }
    }

    /// One value, or a list of values, under the content key.
    fn unnamed(
        &self,
        Head { name, ident, empty }: Head<'_>,
        fields: &FieldsUnnamed,
        content: &str,
        errors: &mut Errors,
    ) -> Parts {
        let (span, root) = (Span::mixed_site(), self.root);
        let count = fields.unnamed.len();
        let types: Vec<&Type> = fields.unnamed.iter().map(|it| &it.ty).collect();
        let slots: Vec<Ident> = (0..count).map(|at| local("field", at)).collect();
        let mut rules = Vec::new();
        for field in &fields.unnamed {
            let mut entries = Entries::of(&field.attrs, &UNNAMED, errors);
            rules.push(Rules::new(&field.attrs, &mut entries, errors));
        }
        let pattern = quote_spanned!(span=> Self::#ident(#(#slots),*));
        if let ([ty], [slot], [rules]) = (types.as_slice(), slots.as_slice(), rules.as_slice()) {
            let value = quote_spanned!(span_of(ty)=> <#ty as #root::ArgValue>);
            let rules = rules.apply(&quote_spanned!(span=> field.schema), ty, root);
            let mutable = (!rules.is_empty()).then(|| quote_spanned!(span=> mut));
            return Parts {
                name,
                schema: quote_spanned! {span=> {
                    let #mutable field = #value::field(definitions);
                    #rules
                    #empty.field(#content, field)
                }},
                decode: quote_spanned! {span=>
                    #value::decode_field(#content, value.get(#content)).map(Self::#ident)
                },
                pattern,
                encode: quote_spanned!(span=> #value::encode_field(#slot, #content, out)?;),
            };
        }
        let expected = format!("a list of exactly {count} elements");
        let decodes = types.iter().zip(&slots).enumerate().map(|(at, (ty, slot))| {
            let value = quote_spanned!(span_of(ty)=> <#ty as #root::ArgValue>::decode(element));
            quote_spanned! {span=>
                let element = next()?;
                let #slot = #value.map_err(|error| error.below(#at))?;
            }
        });
        let encodes = types.iter().zip(&slots).map(|(ty, slot)| {
            quote_spanned!(span_of(ty)=> <#ty as #root::ArgValue>::encode(#slot, out)?;)
        });
        let places = types.iter().zip(&rules).map(|(ty, rules)| {
            let schema =
                quote_spanned!(span_of(ty)=> <#ty as #root::ArgValue>::schema(definitions));
            let rules = rules.apply(&quote_spanned!(span=> schema), ty, root);
            let mutable = (!rules.is_empty()).then(|| quote_spanned!(span=> mut));
            quote_spanned!(span=> { let #mutable schema = #schema; #rules schema })
        });
        Parts {
            name,
            schema: quote_spanned! {span=>
                #empty.field(#content, #root::tuple([#(#places),*]).required())
            },
            decode: self.under_content(
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
            pattern,
            encode: quote_spanned! {span=>
                out.key(#content).try_array(|out| {
                    #(#encodes)*
                    ::core::result::Result::Ok(())
                })?;
            },
        }
    }
}
