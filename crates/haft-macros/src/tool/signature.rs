//! The signatures that a tool's function can have.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, format_ident, quote, quote_spanned};
use syn::{
    FnArg, GenericArgument, Ident, Pat, Path, PathArguments, ReturnType, Safety, Signature, Type,
    parse_quote,
};

use crate::attribute::{MacroErrors, mixed_site_span};

/// The parameters of the function.
pub(super) struct ToolParameters<'s> {
    args: Option<&'s Type>,
    context: Option<ContextParameter<'s>>,
    states: Vec<StateParameter<'s>>,
    /// Everything, in the order of the signature.
    order: Vec<ParameterRole>,
}

/// What a parameter is for.
#[derive(Clone, Copy)]
enum ParameterRole {
    Args,
    Context,
    /// The state with this index.
    State(usize),
}

/// A value that all calls share, written `State<T>`.
struct StateParameter<'s> {
    name: Ident,
    /// The type inside of `State`.
    ty: &'s Type,
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
        let mut states = Vec::new();
        let mut order = Vec::new();
        for input in &sig.inputs {
            match input {
                FnArg::Typed(it) => match state_type(&it.ty) {
                    Some(ty) => {
                        order.push(ParameterRole::State(states.len()));
                        states.push(StateParameter { name: state_name(&it.pat, states.len()), ty });
                    }
                    None => {
                        let is_context = !types.is_empty() || names_context(&it.ty);
                        order.push(if is_context {
                            ParameterRole::Context
                        } else {
                            ParameterRole::Args
                        });
                        types.push(it.ty.as_ref());
                    }
                },
                FnArg::Receiver(it) => {
                    errors.push_spanned(
                        it,
                        "a tool is a free function: the model cannot pass `self`; take shared values as \
                         `State<T>`",
                    );
                    return None;
                }
            }
        }
        let (args, context) = match types.as_slice() {
            [] => (None, None),
            [only] if names_context(only) => (None, Some(ContextParameter::new(only, errors)?)),
            [args] => (Some(require_owned_type(args, errors)?), None),
            [args, ctx] => {
                let args = require_owned_type(args, errors);
                let context = ContextParameter::new(ctx, errors);
                (Some(args?), Some(context?))
            }
            [_, _, rest @ ..] => {
                for ty in rest {
                    errors.push_spanned(
                        ty,
                        "a tool takes at most its arguments, its context and `State<T>`: put every argument \
                         into one struct that derives `ToolArgs`",
                    );
                }
                return None;
            }
        };
        Some(Self { args, context, states, order })
    }

    /// The parameters of the function that returns the tool: the shared values.
    pub(super) fn shared_values(&self) -> TokenStream {
        let values = self.states.iter().map(|StateParameter { name, ty }| quote!(#name: #ty));
        quote!(#(#values),*)
    }

    /// Reports a type that cannot be shared, where the function names it.
    pub(super) fn shared_checks(&self, root: &Path) -> TokenStream {
        let checks = self.states.iter().map(|StateParameter { name, ty }| {
            quote_spanned!(mixed_site_span(ty)=> let #name = #root::shared_state::<#ty>(#name);)
        });
        checks.collect()
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
            true => quote_spanned!(span=> , ctx: #root::CallContext),
            false => quote_spanned!(span=> , ctx: &#root::CallContext),
        });
        let at = args.map_or_else(|| mixed_site_span(&sig.ident), mixed_site_span);
        let parameters = args.map(|ty| quote_spanned!(at=> #name: #ty #context));
        let kind = self.handler_kind(is_async, args, root);
        let body = self.handler_body(sig, root, at);
        let captured = (!self.states.is_empty()).then(|| quote_spanned!(at=> move));
        quote_spanned!(at=> #input .handler::<#kind>(#captured |#parameters| #body))
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
        let kind = Ident::new(kind, span);
        let args = args.iter();
        quote_spanned!(span=> #root::signature::#kind #(<#args>)*)
    }

    /// The call of the function. Each part is reported where the function states it.
    fn handler_body(&self, sig: &Signature, root: &Path, at: Span) -> TokenStream {
        let name = &sig.ident;
        let is_async = sig.asyncness.is_some();
        let passed = self.order.iter().map(|role| self.argument(*role, is_async, root));
        let call = quote_spanned!(mixed_site_span(name)=> #name(#(#passed),*));
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

    /// The expression that passes a parameter on.
    fn argument(&self, role: ParameterRole, is_async: bool, root: &Path) -> TokenStream {
        let state = match role {
            ParameterRole::Args => return quote_spanned!(Span::mixed_site()=> args),
            ParameterRole::Context => {
                return self
                    .context
                    .as_ref()
                    .map(|it| it.argument_expr(is_async))
                    .into_token_stream();
            }
            ParameterRole::State(at) => self.states.get(at),
        };
        let Some(StateParameter { name, ty }) = state else { return TokenStream::new() };
        let at = mixed_site_span(ty);
        match is_async {
            // The closure is cloned for each call, and gives away what it captured.
            true => quote_spanned!(at=> #root::State(#name)),
            false => quote_spanned!(at=> #root::State(::core::clone::Clone::clone(&#name))),
        }
    }
}

impl<'s> ContextParameter<'s> {
    fn new(ty: &'s Type, errors: &mut MacroErrors) -> Option<Self> {
        match ty {
            Type::Reference(it) if it.mutability.is_some() => {
                errors.push_spanned(ty, "the context is shared: take `&CallContext`");
                None
            }
            _ if named_other_context(ty) => {
                errors.push_spanned(
                    ty,
                    "a handler receives a call: take `&CallContext`, whose `turn()` is the turn; only executors and \
                     middleware receive a dispatch",
                );
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

/// The type inside, if the type is written `State<T>`.
fn state_type(ty: &Type) -> Option<&Type> {
    let Type::Path(it) = ty else { return None };
    let last = it.path.segments.last().filter(|it| it.ident == "State")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first() {
        Some(GenericArgument::Type(ty)) if arguments.args.len() == 1 => Some(ty),
        _ => None,
    }
}

/// The name that the function gives to a shared value: `State(client)` and `client` are both called `client`.
fn state_name(pattern: &Pat, at: usize) -> Ident {
    let inner = match pattern {
        Pat::TupleStruct(it) if it.elems.len() == 1 => it.elems.first(),
        other => Some(other),
    };
    match inner {
        Some(Pat::Ident(it)) => it.ident.clone(),
        _ => format_ident!("state_{at}"),
    }
}

/// Whether the type is written as a context or a reference to one.
fn names_context(ty: &Type) -> bool {
    match ty {
        Type::Reference(it) => names_context(&it.elem),
        Type::Path(it) => it
            .path
            .segments
            .last()
            .is_some_and(|it| it.ident == "CallContext" || is_other_context(&it.ident)),
        _ => false,
    }
}

/// Whether the type is written as a context that handlers do not receive, or a reference to one.
fn named_other_context(ty: &Type) -> bool {
    match ty {
        Type::Reference(it) => named_other_context(&it.elem),
        Type::Path(it) => it.path.segments.last().is_some_and(|it| is_other_context(&it.ident)),
        _ => false,
    }
}

fn is_other_context(name: &Ident) -> bool {
    ["DispatchContext", "TurnContext", "StepContext"].iter().any(|it| name == it)
}
