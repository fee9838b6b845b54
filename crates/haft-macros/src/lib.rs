//! The macros of Haft. Use them through the crate `haft`, whose documentation explains them.
//!
//! Both macros expand to code that a user could write by hand: [`macro@ToolArgs`] to implementations of `ArgValue` and
//! `ToolArgs`, [`macro@tool`] to a function around `Tool::builder`. The expansions take every name from the hidden module
//! `__macro` of the crate `haft`, or of the crate that the option `crate` names. This crate depends on no other crate of
//! Haft.
//!
//! ```text
//! use haft::{ToolArgs, ToolFailure, tool};
//!
//! #[derive(ToolArgs)]
//! struct Greeting {
//!     /// Whom to greet.
//!     name: String,
//! }
//!
//! /// Greets a person by name.
//! #[tool]
//! async fn greet(args: Greeting) -> Result<String, ToolFailure> {
//!     Ok(format!("Hello, {}!", args.name))
//! }
//! ```
#![cfg_attr(docsrs, feature(doc_cfg))]

mod attribute;
mod derive;
mod doc_comment;
mod name_case;
mod tool;

use proc_macro::TokenStream;

/// Makes a type usable in the arguments of a tool: one schema, and the decoder that belongs to it.
///
/// On a struct with named fields the type can be the arguments as a whole. On a struct with one unnamed
/// field, on an enum without data and on a tagged enum it can be a part of them. Every attribute is listed
/// where the crate `haft` exports this macro.
#[proc_macro_derive(ToolArgs, attributes(arg))]
pub fn derive_tool_args(input: TokenStream) -> TokenStream {
    derive::expand_tool_args(input.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Turns a function into a tool: the function's name, its documentation, the schema of its argument type.
///
/// The function becomes `fn name() -> ToolBuilder`; its body runs when the tool is called. Every option is listed where the
/// crate `haft` exports this macro.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    tool::expand_tool(options.into(), item.into()).into()
}
