//! Named fields, of a struct or of a variant: their schema, and the way from and to JSON.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::{Expr, FieldsNamed, Ident, Path, PathArguments, Type};

use super::literal::Shown;
use super::rules::{LIMITS, Rules, WORDS};
use super::{local, name_of};
use crate::attr::{Entries, Entry, Errors, Place, span_of};
use crate::case::Case;

const FIELD: Place =
    Place { what: "a field", keys: &[&["default", "rename", "alias", "flatten"], LIMITS, WORDS] };

pub(super) struct Named(Vec<Field>);

struct Field {
    ident: Ident,
    ty: Type,
    /// The local variable that holds the field or what was found for it.
    slot: Ident,
    kind: Kind,
}

enum Kind {
    /// A member of the object.
    Member { name: String, aliases: Vec<String>, default: Option<Absent>, rules: Box<Rules> },
    /// A struct whose members stand in the same object.
    Flat,
}

/// What a field is when it is absent.
enum Absent {
    /// `Default::default()`
    Trait,
    Shown(Shown),
}

impl Named {
    /// Reads the fields. `taken` are names that stand in the same object already.
    pub(super) fn new(
        fields: &FieldsNamed,
        case: Option<Case>,
        taken: &[&str],
        errors: &mut Errors,
    ) -> Self {
        let mut names: Vec<String> = taken.iter().map(|it| String::from(*it)).collect();
        let mut all = Vec::new();
        for (at, field) in fields.named.iter().enumerate() {
            let Some(ident) = field.ident.clone() else { continue };
            let mut entries = Entries::of(&field.attrs, &FIELD, errors);
            let kind = match entries.take("flatten") {
                Some(flag) => flat(flag, &entries, errors),
                None => {
                    let (name, span) = name_of(&ident, case, &mut entries, errors);
                    if names.contains(&name) {
                        errors.add(span, format!("the name `{name}` is taken in this object"));
                    }
                    names.push(name.clone());
                    let aliases = entries.take_all("alias").into_iter();
                    Kind::Member {
                        name,
                        aliases: aliases.filter_map(|it| Some(it.text(errors)?.value())).collect(),
                        default: entries
                            .take("default")
                            .and_then(|it| absent(it, &field.ty, errors)),
                        rules: Box::new(Rules::new(&field.attrs, &mut entries, errors)),
                    }
                }
            };
            all.push(Field { ident, ty: field.ty.clone(), slot: local("field", at), kind });
        }
        Self(all)
    }

    /// Statements that add the fields to the builder `object`.
    pub(super) fn schema(&self, root: &Path) -> TokenStream {
        self.0.iter().map(|it| it.schema(root)).collect()
    }

    /// An expression that makes `constructor { … }` from the object `value`, with `?`.
    pub(super) fn decode(&self, root: &Path, constructor: &TokenStream) -> TokenStream {
        let span = Span::mixed_site();
        let members = || self.0.iter().filter_map(Field::member);
        let slots = members().map(|(slot, _)| slot);
        let arms = members().map(|(slot, name)| {
            quote_spanned!(span=> #name => #slot = ::core::option::Option::Some(value),)
        });
        let idents = self.0.iter().map(|it| &it.ident);
        let values = self.0.iter().map(|it| it.decode(root));
        let walk = members().next().is_some().then(|| {
            quote_spanned! {span=>
                #(let mut #slots = ::core::option::Option::None;)*
                for (key, value) in value.members() {
                    match key {
                        #(#arms)*
                        _ => {}
                    }
                }
            }
        });
        quote_spanned! {span=> {
            if value.kind() != #root::ValueKind::Object {
                return ::core::result::Result::Err(#root::DecodeError::new("an object"));
            }
            #walk
            #constructor { #(#idents: #values,)* }
        }}
    }

    /// A pattern that binds every field.
    pub(super) fn pattern(&self, constructor: &TokenStream) -> TokenStream {
        let idents = self.0.iter().map(|it| &it.ident);
        let slots = self.0.iter().map(|it| &it.slot);
        quote_spanned!(Span::mixed_site()=> #constructor { #(#idents: #slots,)* })
    }

    /// Statements that write the fields that [`Self::pattern`] has bound, with `?`.
    pub(super) fn encode(&self, root: &Path) -> TokenStream {
        let fields = self.0.iter().map(|Field { ty, slot, kind, .. }| match kind {
            Kind::Member { name, .. } => quote_spanned! {span_of(ty)=>
                <#ty as #root::ArgValue>::encode_field(#slot, #name, out)?;
            },
            Kind::Flat => quote_spanned! {span_of(ty)=>
                <#ty as #root::ToolArgs>::encode_members(#slot, out)?;
            },
        });
        fields.collect()
    }
}

impl Field {
    fn member(&self) -> Option<(&Ident, &str)> {
        match &self.kind {
            Kind::Member { name, .. } => Some((&self.slot, name)),
            Kind::Flat => None,
        }
    }

    fn schema(&self, root: &Path) -> TokenStream {
        let (span, ty) = (Span::mixed_site(), &self.ty);
        let at = span_of(ty);
        let Kind::Member { name, aliases, default, rules } = &self.kind else {
            return quote_spanned! {at=>
                let object = <#ty as #root::ToolArgs>::add_fields(object, definitions);
            };
        };
        let field = quote_spanned!(at=> <#ty as #root::ArgValue>::field(definitions));
        let rules = rules.apply(&quote_spanned!(span=> field.schema), ty, root);
        let default = default.as_ref().map(|it| {
            let document = it.shown(ty).document(root, ty);
            quote_spanned! {span=>
                field.presence = #root::Presence::Optional;
                field.schema.annotations.default =
                    ::core::option::Option::Some(#document.root().to_value());
            }
        });
        let changed = !rules.is_empty() || default.is_some();
        let mutable = changed.then(|| quote_spanned!(span=> mut));
        quote_spanned! {span=>
            let #mutable field = #field;
            #rules
            #default
            let object = object.field(#name, field #(.alias(#aliases))*);
        }
    }

    fn decode(&self, root: &Path) -> TokenStream {
        let (ty, slot) = (&self.ty, &self.slot);
        let at = span_of(ty);
        let Kind::Member { name, default, .. } = &self.kind else {
            return quote_spanned!(at=> <#ty as #root::ArgValue>::decode(value)?);
        };
        let found = quote_spanned! {at=>
            <#ty as #root::ArgValue>::decode_field(#name, #slot)?
        };
        let absent = match default {
            None => return found,
            Some(Absent::Trait) => {
                quote_spanned!(at=> <#ty as ::core::default::Default>::default())
            }
            Some(Absent::Shown(Shown::Typed(value))) => quote_spanned! {Span::mixed_site()=> {
                let value: #ty = #value;
                value
            }},
            Some(Absent::Shown(literal)) => {
                let document = literal.document(root, ty);
                quote_spanned! {at=> <#ty as #root::ArgValue>::decode_field(
                    #name,
                    ::core::option::Option::Some(#document.root()),
                )?}
            }
        };
        quote_spanned!(Span::mixed_site()=> if #slot.is_some() { #found } else { #absent })
    }
}

impl Absent {
    fn shown(&self, ty: &Type) -> std::borrow::Cow<'_, Shown> {
        match self {
            Self::Shown(shown) => std::borrow::Cow::Borrowed(shown),
            Self::Trait => std::borrow::Cow::Owned(Shown::Typed(
                quote_spanned!(span_of(ty)=> <#ty as ::core::default::Default>::default()),
            )),
        }
    }
}

fn flat(flag: Entry, rest: &Entries, errors: &mut Errors) -> Kind {
    flag.flag(errors);
    for key in rest.rest() {
        errors.add(
            key.span(),
            format!("`{key}` and `flatten` exclude each other: a flattened field has no member of its own"),
        );
    }
    Kind::Flat
}

fn absent(entry: Entry, ty: &Type, errors: &mut Errors) -> Option<Absent> {
    if is_option(ty) {
        errors.add(
            entry.key.span(),
            "an `Option` is `None` when it is absent, so a default would never show; take the type \
             without `Option`, or leave `default` out",
        );
        return None;
    }
    if entry.has_value() {
        let value: Expr = entry.expr(errors)?;
        return Some(Absent::Shown(Shown::new(&value, errors)));
    }
    Some(Absent::Trait)
}

/// Whether the type is written `Option<…>`.
fn is_option(ty: &Type) -> bool {
    let Type::Path(path) = ty else { return false };
    path.path.segments.last().is_some_and(|last| {
        last.ident == "Option" && matches!(last.arguments, PathArguments::AngleBracketed(_))
    })
}
