//! `#[tool]`: a function with its name, its documentation and the schema of its argument type.

mod options;
mod signature;

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, format_ident, quote_spanned};
use syn::ext::IdentExt as _;
use syn::{Attribute, ItemFn, Path, parse2};

use self::options::ToolOptions;
use self::signature::ToolParameters;
use crate::attribute::MacroErrors;
use crate::doc_comment;

const NO_FUNCTION: &str = "`#[tool]` goes on a free function: \
`async fn name(args: A, ctx: &CallContext) -> Result<String, ToolFailure>`";

pub(crate) fn expand_tool(options: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = MacroErrors::default();
    let function: ItemFn = match parse2(item.clone()) {
        Ok(function) => function,
        // A mistake inside a function is the compiler's to explain.
        Err(_) if looks_like_function(&item) => return item,
        Err(_) => return syn::Error::new_spanned(item, NO_FUNCTION).into_compile_error(),
    };
    let options = ToolOptions::new(options, &mut errors);
    let parameters = ToolParameters::new(&function.sig, &mut errors);
    let description = match &options.description {
        Some(text) => Some(text.to_token_stream()),
        None => doc_comment::doc_text(&function.attrs).map(quote::ToTokens::into_token_stream),
    };
    if description.is_none() {
        errors.push_spanned(
            &function.sig.ident,
            "a tool needs a description, which the model chooses by: document the function with `///`, \
             or write `#[tool(description = \"…\")]`",
        );
    }
    let values = parameters.as_ref().map(ToolParameters::shared_values).unwrap_or_default();
    let body = match (parameters, description) {
        (Some(parameters), Some(text)) => {
            tool_function_body(&function, &options, &parameters, &text)
        }
        _ => TokenStream::new(),
    };
    match errors.into_result(()) {
        Ok(()) => tool_function(&function, &options.root, &values, &body),
        // A function of the promised type, so that its callers do not fail as well.
        Err(error) => {
            let body = quote_spanned!(Span::mixed_site()=> ::core::unimplemented!());
            let stub = tool_function(&function, &options.root, &values, &body);
            let error = error.into_compile_error();
            quote_spanned!(Span::mixed_site()=> #error #stub)
        }
    }
}

/// The function that returns the builder of the tool, from the values that its calls share.
fn tool_function(
    function: &ItemFn,
    root: &Path,
    values: &TokenStream,
    body: &TokenStream,
) -> TokenStream {
    let vis = &function.vis;
    let name = &function.sig.ident;
    let attrs = function.attrs.iter().filter(|it| belongs_to_tool_function(it));
    quote_spanned! {Span::mixed_site()=>
        #(#attrs)*
        #vis fn #name(#values) -> #root::ToolBuilder {
            #body
        }
    }
}

/// The user's function, and the definition around it.
fn tool_function_body(
    function: &ItemFn,
    options: &ToolOptions,
    parameters: &ToolParameters<'_>,
    description: &TokenStream,
) -> TokenStream {
    let sig = &function.sig;
    let block = &function.block;
    let root = &options.root;
    let attrs = function
        .attrs
        .iter()
        .filter(|it| !belongs_to_tool_function(it) || it.path().is_ident("allow"));
    let name = match &options.name {
        Some(name) => name.to_token_stream(),
        None => sig.ident.unraw().to_string().into_token_stream(),
    };
    // By value is how the arguments come, whatever the body does with them.
    let by_value = sig
        .asyncness
        .is_none()
        .then(|| quote_spanned!(Span::mixed_site()=> #[allow(clippy::needless_pass_by_value)]));
    let handler = parameters.handler_call(sig, root);
    let builder_calls = &options.builder_calls;
    let checks = parameters.shared_checks(root);
    quote_spanned! {Span::mixed_site()=>
        #(#attrs)*
        #by_value
        #sig #block

        #checks
        #root::Tool::builder(#name)
            .description(#description)
            #handler
            #builder_calls
    }
}

/// Whether an attribute belongs to the function that returns the tool.
fn belongs_to_tool_function(attr: &Attribute) -> bool {
    ["doc", "cfg", "deprecated", "allow"].iter().any(|it| attr.path().is_ident(it))
}

/// Whether the tokens were meant to be a function.
fn looks_like_function(item: &TokenStream) -> bool {
    let function = format_ident!("fn");
    let kinds =
        ["struct", "enum", "union", "trait", "impl", "mod", "const", "static", "type", "use"];
    let word = |it: proc_macro2::TokenTree| match it {
        proc_macro2::TokenTree::Ident(word) => Some(word),
        _ => None,
    };
    let mut words = item.clone().into_iter().filter_map(word);
    words.find(|it| *it == function || kinds.iter().any(|kind| it == kind)) == Some(function)
}
