//! Values in attributes: JSON literals, and expressions of the field's type.

use proc_macro2::{Literal, Span, TokenStream};
use quote::{ToTokens as _, quote_spanned};
use syn::{Expr, ExprLit, ExprUnary, Lit, Path, Type, UnOp};

use crate::attribute::MacroErrors;

/// A value that a schema shows: a default or an example.
#[derive(Clone)]
pub(super) enum SchemaValue {
    /// A JSON literal, independent of the type: the method call that writes it.
    Literal(TokenStream),
    /// A value of the field's type.
    Typed(TokenStream),
}

impl SchemaValue {
    pub(super) fn new(expr: &Expr, errors: &mut MacroErrors) -> Self {
        match literal_writer_call(expr) {
            Some(Ok(write)) => Self::Literal(write),
            Some(Err(error)) => {
                errors.push(error);
                Self::Typed(TokenStream::new())
            }
            None => Self::Typed(expr.to_token_stream()),
        }
    }

    /// An expression for the document that holds the value. A value that JSON cannot write becomes
    /// `null`, which the schema then refuses.
    pub(super) fn document_expr(&self, root: &Path, ty: &Type) -> TokenStream {
        let write = match self {
            Self::Literal(write) => quote_spanned!(Span::mixed_site()=> out.#write;),
            Self::Typed(value) => quote_spanned! {Span::mixed_site()=>
                let value: #ty = #value;
                if #root::ArgValue::encode(&value, &mut out).is_err() {
                    out = #root::JsonWriter::new();
                }
            },
        };
        quote_spanned! {Span::mixed_site()=> {
            let mut out = #root::JsonWriter::new();
            #write
            out.finish()
        }}
    }
}

/// The method call that writes a literal, or `None` if the expression is not a literal.
fn literal_writer_call(expr: &Expr) -> Option<syn::Result<TokenStream>> {
    let (lit, sign) = match expr {
        Expr::Lit(ExprLit { lit, .. }) => (lit, ""),
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => match expr.as_ref() {
            Expr::Lit(ExprLit { lit: lit @ (Lit::Int(_) | Lit::Float(_)), .. }) => (lit, "-"),
            _ => return None,
        },
        _ => return None,
    };
    let span = Span::mixed_site();
    Some(Ok(match lit {
        Lit::Str(text) => quote_spanned!(span=> string(#text)),
        Lit::Char(letter) => {
            let text = letter.value().to_string();
            quote_spanned!(span=> string(#text))
        }
        Lit::Bool(value) => quote_spanned!(span=> boolean(#value)),
        Lit::Int(digits) => {
            let text = format!("{sign}{}", digits.base10_digits());
            match (text.parse::<i64>(), text.parse::<u64>()) {
                (Ok(value), _) => quote_spanned!(span=> integer(#value)),
                (_, Ok(value)) => quote_spanned!(span=> unsigned(#value)),
                _ => return Some(Err(syn::Error::new_spanned(expr, "integers have 64 bits"))),
            }
        }
        Lit::Float(digits) => match format!("{sign}{}", digits.base10_digits()).parse::<f64>() {
            Ok(value) if value.is_finite() => quote_spanned!(span=> float(#value).ok()),
            _ => return Some(Err(syn::Error::new_spanned(expr, "numbers are finite"))),
        },
        _ => return None,
    }))
}

/// A bound with the widest type it fits, so that the compiler has nothing to guess.
pub(super) fn widened_bound(expr: &Expr) -> TokenStream {
    let (lit, sign) = match expr {
        Expr::Lit(ExprLit { lit: Lit::Int(lit), .. }) => (lit, ""),
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr: inner, .. }) => match inner.as_ref() {
            Expr::Lit(ExprLit { lit: Lit::Int(lit), .. }) => (lit, "-"),
            _ => return expr.to_token_stream(),
        },
        _ => return expr.to_token_stream(),
    };
    if !lit.suffix().is_empty() {
        return expr.to_token_stream();
    }
    let text = format!("{sign}{}", lit.base10_digits());
    let mut wide = match (text.parse::<i64>(), text.parse::<u64>()) {
        (Ok(value), _) => return signed_literal(value, lit.span()),
        (_, Ok(value)) => Literal::u64_suffixed(value),
        _ => return expr.to_token_stream(),
    };
    wide.set_span(lit.span());
    wide.into_token_stream()
}

fn signed_literal(value: i64, span: Span) -> TokenStream {
    let mut literal = Literal::i64_suffixed(value);
    literal.set_span(span);
    literal.into_token_stream()
}
