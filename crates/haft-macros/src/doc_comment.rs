//! Reads a documentation comment as the description that the model sees.

use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// The documentation of an item: one line per paragraph. Nothing if there is none.
pub(crate) fn doc_text(attrs: &[Attribute]) -> Option<String> {
    let mut paragraphs = vec![String::new()];
    let lines: Vec<String> = attrs.iter().filter_map(doc_attribute_text).collect();
    for line in lines.iter().flat_map(|it| it.lines()).map(str::trim) {
        match paragraphs.last_mut() {
            Some(last) if !line.is_empty() => {
                if !last.is_empty() {
                    last.push(' ');
                }
                last.push_str(line);
            }
            Some(last) if last.is_empty() => {}
            _ => paragraphs.push(String::new()),
        }
    }
    paragraphs.retain(|it| !it.is_empty());
    (!paragraphs.is_empty()).then(|| paragraphs.join("\n"))
}

/// The text of one `#[doc = "…"]`, which is what a documentation comment is.
fn doc_attribute_text(attr: &Attribute) -> Option<String> {
    let Meta::NameValue(pair) = &attr.meta else { return None };
    match &pair.value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) if pair.path.is_ident("doc") => {
            // An empty comment line is the end of a paragraph.
            Some(if text.value().is_empty() { "\n".to_owned() } else { text.value() })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
