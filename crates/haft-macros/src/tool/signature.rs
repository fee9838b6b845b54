//! The signatures that a tool's function can have.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote_spanned};
use syn::{FnArg, Ident, Path, ReturnType, Safety, Signature, Type, parse_quote};

use crate::attribute::{MacroErrors, mixed_site_span};

/// The parameters of the function.
pub(super) struct ToolParameters<'s> {
    args: Option<&'s Type>,
    context: Option<ContextParameter<'s>>,
}

/// The context as the function takes it.
struct ContextParameter<'s> {
    ty: &'s Type,
    borrowed: bool,
}

impl<'s> ToolParameters<'s> {
    /// Reads a signature; `None` if a tool cannot have it.
    pub(super) fn new(sig: &'s Signature, errors: &mut MacroErrors) -> Option<Self> {
        check_modifiers(sig, errors);
        let mut types = Vec::new();
        for input in &sig.inputs {
            match input {
                FnArg::Typed(it) => types.push(it.ty.as_ref()),
                FnArg::Receiver(it) => {
                    errors.push_spanned(
                        it,
                        "a tool is a free function: the model cannot pass `self`; for a tool with state, \
                         give a closure to `Tool::builder(…).handler(…)`",
                    );
                    return None;
                }
            }
        }
        match types.as_slice() {
            [] => Some(Self { args: None, context: None }),
            [only] if names_context(only) => {
                Some(Self { args: None, context: Some(ContextParameter::new(only, errors)?) })
            }
            [args] => Some(Self { args: Some(require_owned_type(args, errors)?), context: None }),
            [args, ctx] => {
                let (args, context) =
                    (require_owned_type(args, errors), ContextParameter::new(ctx, errors));
                Some(Self { args: Some(args?), context: Some(context?) })
            }
            [_, _, rest @ ..] => {
                for ty in rest {
                    errors.push_spanned(
                        ty,
                        "a tool takes at most its arguments and its context: put every argument into one \
                         struct that derives `ToolArgs`",
                    );
                }
                None
            }
        }
    }

    /// The calls on the builder that set the handler: a closure of one known signature, so that the
    /// compiler can say which part of the function does not fit.
    pub(super) fn handler_call(&self, sig: &Signature, root: &Path) -> TokenStream {
        let span = Span::mixed_site();
        let is_async = sig.asyncness.is_some();
        // A context without arguments: the arguments are `{}`, and are left aside.
        let any: Type = parse_quote!(#root::Args);
        let input = match (self.args, &self.context) {
            (None, Some(_)) => Some(quote_spanned!(span=> .input(#root::object()))),
            _ => None,
        };
        let (name, args) = match (self.args, &self.context) {
            (None, Some(_)) => (quote_spanned!(span=> _), Some(&any)),
            (args, _) => (quote_spanned!(span=> args), args),
        };
        let context = self.context.as_ref().map(|_| match is_async {
            true => quote_spanned!(span=> , ctx: #root::DispatchContext),
            false => quote_spanned!(span=> , ctx: &#root::DispatchContext),
        });
        let at = args.map_or_else(|| mixed_site_span(&sig.ident), mixed_site_span);
        let parameters = args.map(|ty| quote_spanned!(at=> #name: #ty #context));
        let kind = self.handler_kind(is_async, args, root);
        let body = self.handler_body(sig, root, at);
        quote_spanned!(at=> #input .handler::<#kind>(|#parameters| #body))
    }

    /// The marker of the closure's signature.
    fn handler_kind(&self, is_async: bool, args: Option<&Type>, root: &Path) -> TokenStream {
        let span = Span::mixed_site();
        let kind = match (args.is_some(), self.context.is_some(), is_async) {
            (false, _, false) => "WithoutArgs",
            (false, _, true) => "AsyncWithoutArgs",
            (true, false, false) => "WithArgs",
            (true, false, true) => "AsyncWithArgs",
            (true, true, false) => "WithContext",
            (true, true, true) => "AsyncWithContext",
        };
        let (kind, args) = (Ident::new(kind, span), args.iter());
        quote_spanned!(span=> #root::signature::#kind #(<#args>)*)
    }

    /// The call of the function. Each part is reported where the function states it.
    fn handler_body(&self, sig: &Signature, root: &Path, at: Span) -> TokenStream {
        let name = &sig.ident;
        let is_async = sig.asyncness.is_some();
        let args = self.args.map(|_| quote_spanned!(Span::mixed_site()=> args,));
        let context = self.context.as_ref().map(|it| it.argument_expr(is_async));
        let call = quote_spanned!(mixed_site_span(name)=> #name(#args #context));
        let output = match &sig.output {
            ReturnType::Type(_, ty) if can_be_named(ty) => {
                quote_spanned!(mixed_site_span(ty)=> <#ty as #root::IntoToolOutput>::into_tool_output)
            }
            _ => quote_spanned!(mixed_site_span(name)=> #root::IntoToolOutput::into_tool_output),
        };
        match is_async {
            true => quote_spanned!(at=> async move { #output(#call.await) }),
            false => quote_spanned!(at=> { #output(#call) }),
        }
    }
}

impl<'s> ContextParameter<'s> {
    fn new(ty: &'s Type, errors: &mut MacroErrors) -> Option<Self> {
        match ty {
            Type::Reference(it) if it.mutability.is_some() => {
                errors.push_spanned(ty, "the context is shared: take `&DispatchContext`");
                None
            }
            Type::Reference(_) => Some(Self { ty, borrowed: true }),
            _ => Some(Self { ty, borrowed: false }),
        }
    }

    /// The expression that passes it on: the closure around an async function owns it, any other borrows it.
    fn argument_expr(&self, is_async: bool) -> TokenStream {
        let at = mixed_site_span(self.ty);
        match (is_async, self.borrowed) {
            (true, true) => quote_spanned!(at=> &ctx),
            (true, false) | (false, true) => quote_spanned!(at=> ctx),
            (false, false) => quote_spanned!(at=> ctx.clone()),
        }
    }
}

fn check_modifiers(sig: &Signature, errors: &mut MacroErrors) {
    if !sig.generics.params.is_empty() {
        errors.push_spanned(
            &sig.generics.params,
            "a tool has one schema, so its function cannot be generic: name the types",
        );
    }
    if let Some(word) = &sig.constness {
        errors.push_spanned(word, "a tool's function cannot be `const`");
    }
    if !matches!(sig.safety, Safety::Default) {
        errors.push_spanned(&sig.safety, "a tool's function cannot be `unsafe`: a model calls it");
    }
    if let Some(abi) = &sig.abi {
        errors.push_spanned(abi, "a tool's function has the ABI of Rust");
    }
    if let Some(variadic) = &sig.variadic {
        errors.push_spanned(variadic, "a tool's function has a fixed number of parameters");
    }
}

fn require_owned_type<'t>(ty: &'t Type, errors: &mut MacroErrors) -> Option<&'t Type> {
    match ty {
        Type::Reference(_) => {
            errors.push_spanned(ty, "the arguments are passed by value: leave out the `&`");
            None
        }
        Type::ImplTrait(_) => {
            errors.push_spanned(ty, "a tool has one schema: name the type of its arguments");
            None
        }
        _ => Some(ty),
    }
}

/// Whether the type can be written outside the signature, which `impl Trait` cannot.
fn can_be_named(ty: &Type) -> bool {
    !ty.to_token_stream().to_string().split(' ').any(|word| word == "impl")
}

/// Whether the type is written `DispatchContext` or a reference to it.
fn names_context(ty: &Type) -> bool {
    match ty {
        Type::Reference(it) => names_context(&it.elem),
        Type::Path(it) => it.path.segments.last().is_some_and(|it| it.ident == "DispatchContext"),
        _ => false,
    }
}
