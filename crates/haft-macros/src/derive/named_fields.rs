//! Named fields of a struct or of a variant: their schema, decoding and encoding.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::{Expr, FieldsNamed, Ident, Path, PathArguments, Type};

use super::schema_rules::{ANNOTATION_KEYS, LIMIT_KEYS, SchemaRules};
use super::schema_value::SchemaValue;
use super::{json_name, local_ident};
use crate::attribute::{
    AttributeEntries, AttributeEntry, AttributePosition, MacroErrors, mixed_site_span,
};
use crate::name_case::NameCase;

const FIELD: AttributePosition = AttributePosition {
    owner: "a field",
    allowed_keys: &[&["default", "rename", "alias", "flatten"], LIMIT_KEYS, ANNOTATION_KEYS],
};

pub(super) struct NamedFields(Vec<NamedField>);

struct NamedField {
    ident: Ident,
    ty: Type,
    /// The local variable that holds the field or what was found for it.
    slot: Ident,
    kind: FieldKind,
}

enum FieldKind {
    /// A member of the object.
    Member {
        name: String,
        aliases: Vec<String>,
        default: Option<FieldDefault>,
        rules: Box<SchemaRules>,
    },
    /// A struct whose members stand in the same object.
    Flattened,
}

/// The value of a field that is absent.
enum FieldDefault {
    /// `Default::default()`
    DefaultTrait,
    Value(SchemaValue),
}

impl NamedFields {
    /// Reads the fields. `taken` are names that stand in the same object already.
    pub(super) fn new(
        fields: &FieldsNamed,
        case: Option<NameCase>,
        taken: &[&str],
        errors: &mut MacroErrors,
    ) -> Self {
        let mut names: Vec<String> = taken.iter().map(|it| String::from(*it)).collect();
        let mut all = Vec::new();
        for (at, field) in fields.named.iter().enumerate() {
            let Some(ident) = field.ident.clone() else { continue };
            let mut entries = AttributeEntries::from_attributes(&field.attrs, &FIELD, errors);
            let kind = match entries.take("flatten") {
                Some(flag) => take_flatten(flag, &entries, errors),
                None => {
                    let (name, span) = json_name(&ident, case, &mut entries, errors);
                    if names.contains(&name) {
                        errors.push_at(span, format!("the name `{name}` is taken in this object"));
                    }
                    names.push(name.clone());
                    let aliases = entries.take_all("alias").into_iter();
                    FieldKind::Member {
                        name,
                        aliases: aliases
                            .filter_map(|it| Some(it.require_string(errors)?.value()))
                            .collect(),
                        default: entries
                            .take("default")
                            .and_then(|it| take_default(it, &field.ty, errors)),
                        rules: Box::new(SchemaRules::new(&field.attrs, &mut entries, errors)),
                    }
                }
            };
            all.push(NamedField {
                ident,
                ty: field.ty.clone(),
                slot: local_ident("field", at),
                kind,
            });
        }
        Self(all)
    }

    /// Statements that add the fields to the builder `object`.
    pub(super) fn schema_statements(&self, root: &Path) -> TokenStream {
        self.0.iter().map(|it| it.schema_statements(root)).collect()
    }

    /// An expression that makes `constructor { … }` from the object `value`, with `?`.
    pub(super) fn decode_expr(&self, root: &Path, constructor: &TokenStream) -> TokenStream {
        let span = Span::mixed_site();
        let members = || self.0.iter().filter_map(NamedField::slot_and_name);
        let slots = members().map(|(slot, _)| slot);
        let arms = members().map(|(slot, name)| {
            quote_spanned!(span=> #name => #slot = ::core::option::Option::Some(value),)
        });
        let idents = self.0.iter().map(|it| &it.ident);
        let values = self.0.iter().map(|it| it.decode_expr(root));
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
    pub(super) fn binding_pattern(&self, constructor: &TokenStream) -> TokenStream {
        let idents = self.0.iter().map(|it| &it.ident);
        let slots = self.0.iter().map(|it| &it.slot);
        quote_spanned!(Span::mixed_site()=> #constructor { #(#idents: #slots,)* })
    }

    /// Statements that write the fields that [`Self::binding_pattern`] has bound, with `?`.
    pub(super) fn encode_statements(&self, root: &Path) -> TokenStream {
        let fields = self.0.iter().map(|NamedField { ty, slot, kind, .. }| match kind {
            FieldKind::Member { name, .. } => quote_spanned! {mixed_site_span(ty)=>
                <#ty as #root::ArgValue>::encode_field(#slot, #name, out)?;
            },
            FieldKind::Flattened => quote_spanned! {mixed_site_span(ty)=>
                <#ty as #root::ToolArgs>::encode_members(#slot, out)?;
            },
        });
        fields.collect()
    }
}

impl NamedField {
    fn slot_and_name(&self) -> Option<(&Ident, &str)> {
        match &self.kind {
            FieldKind::Member { name, .. } => Some((&self.slot, name)),
            FieldKind::Flattened => None,
        }
    }

    fn schema_statements(&self, root: &Path) -> TokenStream {
        let span = Span::mixed_site();
        let ty = &self.ty;
        let at = mixed_site_span(ty);
        let FieldKind::Member { name, aliases, default, rules } = &self.kind else {
            return quote_spanned! {at=>
                let object = <#ty as #root::ToolArgs>::add_fields(object, definitions);
            };
        };
        let field = quote_spanned!(at=> <#ty as #root::ArgValue>::field(definitions));
        let rules = rules.schema_statements(&quote_spanned!(span=> field.schema), ty, root);
        let default = default.as_ref().map(|it| {
            let document = it.schema_value(ty).document_expr(root, ty);
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

    fn decode_expr(&self, root: &Path) -> TokenStream {
        let ty = &self.ty;
        let slot = &self.slot;
        let at = mixed_site_span(ty);
        let FieldKind::Member { name, default, .. } = &self.kind else {
            return quote_spanned!(at=> <#ty as #root::ArgValue>::decode(value)?);
        };
        let found = quote_spanned! {at=>
            <#ty as #root::ArgValue>::decode_field(#name, #slot)?
        };
        let absent = match default {
            None => return found,
            Some(FieldDefault::DefaultTrait) => {
                quote_spanned!(at=> <#ty as ::core::default::Default>::default())
            }
            Some(FieldDefault::Value(SchemaValue::Typed(value))) => {
                quote_spanned! {Span::mixed_site()=> {
                    let value: #ty = #value;
                    value
                }}
            }
            Some(FieldDefault::Value(literal)) => {
                let document = literal.document_expr(root, ty);
                quote_spanned! {at=> <#ty as #root::ArgValue>::decode_field(
                    #name,
                    ::core::option::Option::Some(#document.root()),
                )?}
            }
        };
        quote_spanned!(Span::mixed_site()=> if #slot.is_some() { #found } else { #absent })
    }
}

impl FieldDefault {
    fn schema_value(&self, ty: &Type) -> std::borrow::Cow<'_, SchemaValue> {
        match self {
            Self::Value(shown) => std::borrow::Cow::Borrowed(shown),
            Self::DefaultTrait => std::borrow::Cow::Owned(SchemaValue::Typed(
                quote_spanned!(mixed_site_span(ty)=> <#ty as ::core::default::Default>::default()),
            )),
        }
    }
}

fn take_flatten(
    flag: AttributeEntry,
    rest: &AttributeEntries,
    errors: &mut MacroErrors,
) -> FieldKind {
    flag.require_flag(errors);
    for key in rest.remaining_keys() {
        errors.push_at(
            key.span(),
            format!("`{key}` and `flatten` exclude each other: a flattened field has no member of its own"),
        );
    }
    FieldKind::Flattened
}

fn take_default(
    entry: AttributeEntry,
    ty: &Type,
    errors: &mut MacroErrors,
) -> Option<FieldDefault> {
    if is_option(ty) {
        errors.push_at(
            entry.key.span(),
            "an `Option` is `None` when it is absent, so a default would never show; take the type \
             without `Option`, or leave `default` out",
        );
        return None;
    }
    if entry.has_value() {
        let value: Expr = entry.require_expr(errors)?;
        return Some(FieldDefault::Value(SchemaValue::new(&value, errors)));
    }
    Some(FieldDefault::DefaultTrait)
}

/// Whether the type is written `Option<…>`.
fn is_option(ty: &Type) -> bool {
    let Type::Path(path) = ty else { return false };
    path.path.segments.last().is_some_and(|last| {
        last.ident == "Option" && matches!(last.arguments, PathArguments::AngleBracketed(_))
    })
}
