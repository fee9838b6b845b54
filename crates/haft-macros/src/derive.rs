//! `#[derive(ToolArgs)]`: one module per kind of type.

mod fields;
mod literal;
mod newtype;
mod object;
mod rules;
mod union;
mod units;

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::ext::IdentExt as _;
use syn::{
    Attribute, Data, DeriveInput, Fields, GenericParam, Generics, Ident, Path, parse_quote, parse2,
};

use crate::attr::{Entries, Entry, Errors, Place};
use crate::case::Case;

/// What every kind of type has.
struct Container<'i> {
    ident: &'i Ident,
    attrs: &'i [Attribute],
    /// With `T: ArgValue` for every parameter.
    generics: Generics,
    /// The crate that the expansion refers to.
    root: Path,
}

pub(crate) fn expand(input: TokenStream) -> syn::Result<TokenStream> {
    let input: DeriveInput = parse2(input)?;
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => object::expand(&input, fields),
            Fields::Unnamed(fields) => newtype::expand(&input, fields),
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
            let mut errors = Errors::default();
            let mut entries = Entries::of(&input.attrs, &ENUM, &mut errors);
            let container = Container::new(&input, &mut entries, &mut errors);
            let tag = entries.take("tag");
            let units = data.variants.iter().all(|it| matches!(it.fields, Fields::Unit));
            let body = match tag {
                Some(tag) => union::expand(&container, data, tag, entries, &mut errors),
                None if units => units::expand(&container, data, entries, &mut errors),
                None => {
                    errors.at(&input.ident, NO_TAG);
                    TokenStream::new()
                }
            };
            errors.finish(body)
        }
        Data::Union(_) => Err(syn::Error::new_spanned(
            &input.ident,
            "the fields of a union cannot be told apart in JSON; use an enum with \
             `#[arg(tag = \"…\")]`",
        )),
    }
}

const ENUM: Place =
    Place { what: "an enum", keys: &[&["crate", "rename_all", "tag", "content"], rules::WORDS] };

const NO_TAG: &str = "variants with data need a tag, so that the model can say and the schema can check \
which one is meant: add `#[arg(tag = \"type\")]`, or `#[arg(tag = \"type\", content = \"value\")]` for \
variants without named fields";

impl<'i> Container<'i> {
    fn new(input: &'i DeriveInput, entries: &mut Entries, errors: &mut Errors) -> Self {
        let root = expansion_root(entries.take("crate"), errors);
        let mut generics = input.generics.clone();
        for parameter in &mut generics.params {
            match parameter {
                GenericParam::Type(it) => it.bounds.push(parse_quote!(#root::ArgValue)),
                GenericParam::Lifetime(it) => errors.at(
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
    fn name(&self) -> String {
        self.ident.unraw().to_string()
    }

    /// `impl ArgValue for Type { body }`
    fn arg_value(&self, body: &TokenStream) -> TokenStream {
        self.implement("ArgValue", body)
    }

    /// `impl Trait for Type { body }`
    fn implement(&self, name: &str, body: &TokenStream) -> TokenStream {
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
pub(crate) fn expansion_root(entry: Option<Entry>, errors: &mut Errors) -> Path {
    let krate = entry.and_then(|it| it.path(errors)).unwrap_or_else(|| parse_quote!(::haft));
    parse_quote!(#krate::__macro)
}

/// The spelling that `rename_all` asks for.
fn rename_all(entries: &mut Entries, errors: &mut Errors) -> Option<Case> {
    entries.take("rename_all")?.choice(&Case::ALL, errors)
}

/// The name in JSON: as `rename` says, or respelled.
fn name_of(
    ident: &Ident,
    case: Option<Case>,
    entries: &mut Entries,
    errors: &mut Errors,
) -> (String, Span) {
    if let Some(text) = entries.take("rename").and_then(|it| it.text(errors)) {
        return (text.value(), text.span());
    }
    let name = ident.unraw().to_string();
    (case.map_or_else(|| name.clone(), |it| it.apply(&name)), ident.span())
}

/// A local variable that the user's code cannot see.
fn local(name: &str, at: usize) -> Ident {
    Ident::new(&format!("{name}{at}"), Span::mixed_site())
}
