//! `#[derive(ToolArgs)]`: one module per kind of type.

mod named_fields;
mod named_struct;
mod newtype;
mod schema_rules;
mod schema_value;
mod tagged_enum;
mod unit_enum;

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::ext::IdentExt as _;
use syn::{
    Attribute, Data, DeriveInput, Fields, GenericParam, Generics, Ident, Path, parse_quote, parse2,
};

use crate::attribute::{AttributeEntries, AttributeEntry, AttributePosition, MacroErrors};
use crate::name_case::NameCase;

/// What every kind of type has.
struct DerivedType<'i> {
    ident: &'i Ident,
    attrs: &'i [Attribute],
    /// With `T: ArgValue` for every parameter.
    generics: Generics,
    /// The crate that the expansion refers to.
    root: Path,
}

pub(crate) fn expand_tool_args(input: TokenStream) -> syn::Result<TokenStream> {
    let input: DeriveInput = parse2(input)?;
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => named_struct::expand_struct(&input, fields),
            Fields::Unnamed(fields) => newtype::expand_newtype(&input, fields),
            Fields::Unit => Err(syn::Error::new_spanned(
                &input.ident,
                "a unit struct has no fields for the model to fill in; arguments without fields are \
                 written `struct Name {}`",
            )),
        },
        Data::Enum(data) if data.variants.is_empty() => Err(syn::Error::new_spanned(
            &input.ident,
            "an enum without variants has no value that the model could send",
        )),
        Data::Enum(data) => {
            let mut errors = MacroErrors::default();
            let mut entries = AttributeEntries::from_attributes(&input.attrs, &ENUM, &mut errors);
            let container = DerivedType::new(&input, &mut entries, &mut errors);
            let tag = entries.take("tag");
            let units = data.variants.iter().all(|it| matches!(it.fields, Fields::Unit));
            let body = match tag {
                Some(tag) => {
                    tagged_enum::expand_tagged_enum(&container, data, tag, entries, &mut errors)
                }
                None if units => {
                    unit_enum::expand_unit_enum(&container, data, entries, &mut errors)
                }
                None => {
                    errors.push_spanned(&input.ident, NO_TAG);
                    TokenStream::new()
                }
            };
            errors.into_result(body)
        }
        Data::Union(_) => Err(syn::Error::new_spanned(
            &input.ident,
            "the fields of a union cannot be told apart in JSON; use an enum with \
             `#[arg(tag = \"…\")]`",
        )),
    }
}

const ENUM: AttributePosition = AttributePosition {
    owner: "an enum",
    allowed_keys: &[&["crate", "rename_all", "tag", "content"], schema_rules::ANNOTATION_KEYS],
};

const NO_TAG: &str = "variants with data need a tag, so that the model can say and the schema can check \
which one is meant: add `#[arg(tag = \"type\")]`, or `#[arg(tag = \"type\", content = \"value\")]` for \
variants without named fields";

impl<'i> DerivedType<'i> {
    fn new(
        input: &'i DeriveInput,
        entries: &mut AttributeEntries,
        errors: &mut MacroErrors,
    ) -> Self {
        let root = expansion_root(entries.take("crate"), errors);
        let mut generics = input.generics.clone();
        for parameter in &mut generics.params {
            match parameter {
                GenericParam::Type(it) => it.bounds.push(parse_quote!(#root::ArgValue)),
                GenericParam::Lifetime(it) => errors.push_spanned(
                    &it.lifetime,
                    "arguments own their data, because they outlive the text they came from: use \
                     `String` for `&str` and `Vec<T>` for `&[T]`",
                ),
                GenericParam::Const(_) => {}
            }
        }
        Self { ident: &input.ident, attrs: &input.attrs, generics, root }
    }

    /// The type's name as people write it.
    fn type_name(&self) -> String {
        self.ident.unraw().to_string()
    }

    /// `impl ArgValue for Type { body }`
    fn implement_arg_value(&self, body: &TokenStream) -> TokenStream {
        self.implement_trait("ArgValue", body)
    }

    /// `impl Trait for Type { body }`
    fn implement_trait(&self, name: &str, body: &TokenStream) -> TokenStream {
        let Self { ident, root, generics, .. } = self;
        let name = Ident::new(name, Span::mixed_site());
        let (generics, parameters, bounds) = generics.split_for_impl();
        quote_spanned! {Span::mixed_site()=>
            #[automatically_derived]
            impl #generics #root::#name for #ident #parameters #bounds { #body }
        }
    }
}

/// The module that an expansion takes every name from: `__macro` of the crate that the option `crate` names, by default
/// of `haft`.
pub(crate) fn expansion_root(entry: Option<AttributeEntry>, errors: &mut MacroErrors) -> Path {
    let krate =
        entry.and_then(|it| it.require_path(errors)).unwrap_or_else(|| parse_quote!(::haft));
    parse_quote!(#krate::__macro)
}

/// The spelling that `rename_all` asks for.
fn take_rename_all(entries: &mut AttributeEntries, errors: &mut MacroErrors) -> Option<NameCase> {
    entries.take("rename_all")?.require_choice(&NameCase::ALL, errors)
}

/// The name in JSON: as `rename` says, or respelled.
fn json_name(
    ident: &Ident,
    case: Option<NameCase>,
    entries: &mut AttributeEntries,
    errors: &mut MacroErrors,
) -> (String, Span) {
    if let Some(text) = entries.take("rename").and_then(|it| it.require_string(errors)) {
        return (text.value(), text.span());
    }
    let name = ident.unraw().to_string();
    (case.map_or_else(|| name.clone(), |it| it.convert(&name)), ident.span())
}

/// A local variable that the user's code cannot see.
fn local_ident(name: &str, at: usize) -> Ident {
    Ident::new(&format!("{name}{at}"), Span::mixed_site())
}
