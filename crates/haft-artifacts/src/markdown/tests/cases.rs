//! A table of documents and what is in them.

use crate::markdown::MarkdownIndex;

/// Headings as `h<depth>`, code blocks as `fenced` or `indented`, with lines and text or language; `>` marks what
/// is inside a quote or list.
fn outline(document: &str) -> String {
    let index = MarkdownIndex::parse(document);
    let mut found = Vec::new();
    if let Some(it) = index.front_matter_source() {
        found.push(format!("{:?} {}-{}", it.kind(), it.start_line(), it.end_line()));
    }
    let mark = |nested: bool| if nested { ">" } else { "" };
    for it in index.headings() {
        let nested = mark(it.nested);
        let start = it.start_line;
        let end = it.end_line;
        found
            .push(format!("h{}{nested} {start}-{end} {}", it.depth, it.text).trim_end().to_owned());
    }
    for it in index.code_blocks() {
        let kind = if it.fenced { "fenced" } else { "indented" };
        let nested = mark(it.nested);
        let start = it.start_line;
        let end = it.end_line;
        let lang = it.lang.as_deref().unwrap_or("");
        found.push(format!("{kind}{nested} {start}-{end} {lang}").trim_end().to_owned());
    }
    found.join("; ")
}

#[test]
fn finds_what_the_table_says() {
    for (document, expected) in CASES {
        assert_eq!(outline(document), *expected, "document: {document:?}");
    }
}

#[test]
fn line_ends_do_not_matter() {
    for (document, expected) in CASES {
        if !document.contains('\r') {
            let document = document.replace('\n', "\r\n");
            assert_eq!(outline(&document), *expected, "document: {document:?}");
        }
    }
}

const CASES: &[(&str, &str)] = &[
    // ATX headings
    ("# a", "h1 0-0 a"),
    ("## a", "h2 0-0 a"),
    ("### a", "h3 0-0 a"),
    ("#### a", "h4 0-0 a"),
    ("##### a", "h5 0-0 a"),
    ("###### a", "h6 0-0 a"),
    ("####### a", ""),
    ("#a", ""),
    ("#", "h1 0-0"),
    ("# ", "h1 0-0"),
    ("##", "h2 0-0"),
    ("#\ta", "h1 0-0 a"),
    ("# a #", "h1 0-0 a"),
    ("# a ##  ", "h1 0-0 a"),
    ("# a#", "h1 0-0 a#"),
    ("# a \\#", "h1 0-0 a #"),
    ("# a ## b", "h1 0-0 a ## b"),
    ("## ##", "h2 0-0"),
    ("### ###", "h3 0-0"),
    ("# #", "h1 0-0"),
    ("#  a  b ", "h1 0-0 a b"),
    ("   # a", "h1 0-0 a"),
    ("    # a", "indented 0-0"),
    ("\t# a", "indented 0-0"),
    ("\\# a", ""),
    ("# *a* **b** `c`", "h1 0-0 a b c"),
    ("# [a](u) ![b](u)", "h1 0-0 a b"),
    ("# a\n# b", "h1 0-0 a; h1 1-1 b"),
    ("x\n# a\ny", "h1 1-2 a"),
    ("# a &amp; b", "h1 0-0 a & b"),
    ("# a \\\\", "h1 0-0 a \\"),
    ("# <b>a</b>", "h1 0-0 a"),
    ("# ~~a~~", "h1 0-0 a"),
    ("# `#`", "h1 0-0 #"),
    ("# a\\", "h1 0-0 a\\"),
    ("#\u{a0}a", ""),
    ("# ä中", "h1 0-0 ä中"),
    ("#5 bolt", ""),
    ("# a\r\n## b\r\n", "h1 0-1 a; h2 1-1 b"),
    ("\u{feff}# a", "h1 0-0 a"),
    ("# <https://e.org>", "h1 0-0 https://e.org"),
    // underlined headings
    ("a\n=", "h1 0-1 a"),
    ("a\n===", "h1 0-1 a"),
    ("a\n---", "h2 0-1 a"),
    ("a\n-", "h2 0-1 a"),
    ("a\n--", "h2 0-1 a"),
    ("a\nb\n===", "h1 0-2 a b"),
    ("a\n  b  \nc\n---", "h2 0-3 a b c"),
    ("a\n ===", "h1 0-1 a"),
    ("a\n   ===", "h1 0-1 a"),
    ("a\n    ===", ""),
    ("    a\n===", "indented 0-0"),
    ("a\n=== ", "h1 0-1 a"),
    ("a\n=== b", ""),
    ("a\n= =", ""),
    ("a\n\n===", ""),
    ("===", ""),
    ("===\n===", "h1 0-1 ==="),
    ("---", ""),
    ("a\n***", ""),
    ("# a\n===", "h1 0-1 a"),
    ("*a\nb*\n===", "h1 0-2 a b"),
    ("`a\n===\nb`", "h1 0-2 `a"),
    ("a\\\n===", "h1 0-1 a\\"),
    ("a  \n===", "h1 0-1 a"),
    ("- a\n===", ""),
    ("- a\n---", ""),
    ("- a\n  ===", "h1> 0-1 a"),
    ("> a\n===", ""),
    ("> a\n---", ""),
    ("> a\n> ===", "h1> 0-1 a"),
    ("> a\n> b\n===", ""),
    ("a\n- b\n===", ""),
    ("a\n> b\n---", ""),
    ("a\n```\n===\n```", "fenced 1-3"),
    ("a\n<div>\n===", ""),
    ("a\r\n===\r\nb\r\n", "h1 0-2 a"),
    ("***\na\n===", "h1 1-2 a"),
    ("a\n1. b\n---", ""),
    ("a\n2. b\n===", "h1 0-2 a 2. b"),
    ("a\n-\nb\n=", "h2 0-1 a; h1 2-3 b"),
    ("    a\nb\n-", "h2 1-2 b; indented 0-0"),
    ("a\n===\nb\n---\nc", "h1 0-4 a; h2 2-4 b"),
    // fences
    ("```\n# a\n```", "fenced 0-2"),
    ("```rust\nx\n```", "fenced 0-2 rust"),
    ("```  rust  ignore\n```", "fenced 0-1 rust"),
    ("~~~\n# a\n~~~", "fenced 0-2"),
    ("~~~ a`b\n~~~", "fenced 0-1 a`b"),
    ("``` a`b\n# c", "h1 1-1 c"),
    ("```\n# a", "fenced 0-1"),
    ("```\n~~~\n```", "fenced 0-2"),
    ("````\n```\n````", "fenced 0-2"),
    ("```\n````", "fenced 0-1"),
    ("``\n# a\n``", "h1 1-2 a"),
    ("  ```\n  x\n  ```", "fenced 0-2"),
    ("   ```\n# a\n   ```", "fenced 0-2"),
    ("    ```\n# a", "h1 1-1 a; indented 0-0"),
    ("```\n    ```\n# a\n```", "fenced 0-3"),
    ("```\n   ```\n# b", "h1 2-2 b; fenced 0-1"),
    ("a\n```\n# b\n```\n# c", "h1 4-4 c; fenced 1-3"),
    ("> ```\n> # a\n# b", "h1 2-2 b; fenced> 0-1"),
    ("- ```\n  # a\n  ```\n  # b", "h1> 3-3 b; fenced> 0-2"),
    ("- ```\n  # a\n# b", "h1 2-2 b; fenced> 0-1"),
    ("```a&amp;b\n```", "fenced 0-1 a&b"),
    ("```a\\_b\n```", "fenced 0-1 a_b"),
    ("```\n\n\n```", "fenced 0-3"),
    ("```\n```\n# a", "h1 2-2 a; fenced 0-1"),
    ("```x```\n# a", "h1 1-1 a"),
    ("~~~~    ruby startline=3 $%@#$\nx\n~~~~~~~", "fenced 0-2 ruby"),
    ("```\r\n# a\r\n```\r\n# b", "h1 3-3 b; fenced 0-2"),
    ("``` \n```", "fenced 0-1"),
    ("```js {1}\n``` x\n```", "fenced 0-2 js"),
    // indented code
    ("    a", "indented 0-0"),
    ("\ta", "indented 0-0"),
    ("a\n    b", ""),
    ("    a\n\n    b\n\nc", "indented 0-2"),
    ("    a\n\n\n", "indented 0-0"),
    ("    # a\n# b", "h1 1-1 b; indented 0-0"),
    ("- a\n\n      b", "indented> 2-2"),
    ("-     a", "indented> 0-0"),
    ("- \n      a", "indented> 1-1"),
    ("# a\n    b\n---", "h1 0-2 a; indented 1-1"),
    ("    a\n   b\n---", "h2 1-2 b; indented 0-0"),
    ("  \ta", "indented 0-0"),
    (">     a", "indented> 0-0"),
    (">\t\ta", "indented> 0-0"),
    // HTML
    ("<div>\n# a\n\n# b", "h1 3-3 b"),
    ("<!-- x\n\n# a\n-->\n# b", "h1 4-4 b"),
    ("<!-- x -->\n# a", "h1 1-1 a"),
    ("<?x\n# a\n?>\n# b", "h1 3-3 b"),
    ("<!X\n# a>\n# b", "h1 2-2 b"),
    ("<![CDATA[\n# a\n]]>\n# b", "h1 3-3 b"),
    ("<script>\n\n# a\n</script>\n# b", "h1 4-4 b"),
    ("<pre>\n# a\n\n# b</pre>\n# c", "h1 4-4 c"),
    ("<STYLE>\n# a\n</style>\n# b", "h1 3-3 b"),
    ("<pre>\n</script>\n# a", "h1 2-2 a"),
    ("<pre>\n</PRE>\n# a", "h1 2-2 a"),
    ("<b>\n# a\n\n# b", "h1 3-3 b"),
    ("<b> x\n# a", "h1 1-1 a"),
    ("</b>\n# a\n\n# b", "h1 3-3 b"),
    ("x\n<b>\n===", "h1 0-2 x"),
    ("x\n<div>\n===", ""),
    ("<a href='x' b=\"c\" d=e f/>\n# a", ""),
    ("<a href='x\n# a", "h1 1-1 a"),
    ("<a b='c'd>\n# a", "h1 1-1 a"),
    ("<1>\n# a", "h1 1-1 a"),
    ("   <div>\n# a", ""),
    ("    <div>\n# a", "h1 1-1 a; indented 0-0"),
    ("<divx>x\n# a", "h1 1-1 a"),
    ("<hr/>\n# a", ""),
    ("<!-->\n# a", "h1 1-1 a"),
    ("<textarea>\n\n# a", ""),
    ("<del>*a*</del>\n# b", "h1 1-1 b"),
    ("<search>\n# a", ""),
    // definitions
    ("[a]: /u\n===", ""),
    ("[a]: /u\nb\n===", "h1 1-2 b"),
    ("[a]: /u 't'\nb\n===", "h1 1-2 b"),
    ("[a]: /u\n't'\nb\n===", "h1 2-3 b"),
    ("[a]: /u\n't' x\n===", "h1 1-2 't' x"),
    ("[a]: /u 't\n===", "h1 0-1 [a]: /u 't"),
    ("[a]: /u x\n===", "h1 0-1 [a]: /u x"),
    ("[a]:\n/u\nb\n===", "h1 2-3 b"),
    ("[a]:\n===", "h1 0-1 [a]:"),
    ("[a\nb]: /u\nc\n---", "h2 2-3 c"),
    ("[a]: <x y>\nb\n---", "h2 1-2 b"),
    ("[a]: <x\ny>\n---", "h2 0-2 [a]:"),
    ("[]: /u\n---", "h2 0-1 []: /u"),
    ("[a]: /u\n[b]: /v\nc\n---", "h2 2-3 c"),
    ("[a]: /u\n---", ""),
    ("[a]: /u\n# b", "h1 1-1 b"),
    ("# [a]\n\n[a]: /u", "h1 0-2 a"),
    ("# [x][a]\n\n[A]: /u", "h1 0-2 x"),
    ("# [x][b]\n\n[a]: /u", "h1 0-2 [x][b]"),
    ("x\n[a]: /u\n===", "h1 0-2 x [a]: /u"),
    ("[a]: /u (t)\nb\n===", "h1 1-2 b"),
    ("[a]: /u \"t\n\nu\"\nb\n===", "h1 2-4 u\" b"),
    ("> [a]: /u\nb\n===", ""),
    ("[a]: /u\n    b\n===", "h1 1-2 b"),
    ("[a]: /u(\nb\n===", "h1 0-2 [a]: /u( b"),
    // containers
    ("> # a", "h1> 0-0 a"),
    ("> # a\n# b", "h1> 0-0 a; h1 1-1 b"),
    ("># a", "h1> 0-0 a"),
    (">    # a", "h1> 0-0 a"),
    (">     # a", "indented> 0-0"),
    ("- # a\n- # b", "h1> 0-0 a; h1> 1-1 b"),
    ("1. # a", "h1> 0-0 a"),
    ("10) # a", "h1> 0-0 a"),
    ("1234567890. # a", ""),
    ("- a\n  # b", "h1> 1-1 b"),
    ("- a\n # b", "h1 1-1 b"),
    ("-\n  # a", "h1> 1-1 a"),
    ("-\n\n  # a", "h1 2-2 a"),
    ("- - # a", "h1> 0-0 a"),
    ("> - # a\n>   # b", "h1> 0-0 a; h1> 1-1 b"),
    ("- > # a\n  > # b", "h1> 0-0 a; h1> 1-1 b"),
    ("* * *\n# a", "h1 1-1 a"),
    ("- ---\n  # a", "h1 1-1 a"),
    ("* a\n  b\n  ===", "h1> 0-2 a b"),
    ("1. a\n   ---", "h2> 0-1 a"),
    ("- a\n\n  # b\n\n# c", "h1> 2-3 b; h1 4-4 c"),
    ("> a\n\n# b", "h1 2-2 b"),
    ("+ # a", "h1> 0-0 a"),
    ("+a\n===", "h1 0-1 +a"),
    ("-\ta\n\n\t# b", "h1> 2-2 b"),
    ("> > # a\n> # b\n# c", "h1> 0-0 a; h1> 1-1 b; h1 2-2 c"),
    // tables
    ("a | b\n---|---\nc | d\n---", ""),
    ("|a|b|\n|-|-|\n===", ""),
    ("|a|b|\n|-|-|\nx\n===", ""),
    ("a | b\n---|\n===", "h1 0-2 a | b ---|"),
    ("a | b\n---\n", "h2 0-1 a | b"),
    ("x\n|a|\n|-|\ny\n===", ""),
    ("|a|\n|-|\n# b", "h1 2-2 b"),
    ("|a|\n|-|\n\nb\n===", "h1 3-4 b"),
    ("a \\| b\n-|-\n---", "h2 0-2 a | b -|-"),
    ("|a|\n|-|\n- b\n===", ""),
    ("|a|\n:-:\n===", "h1 0-2 |a| :-:"),
    ("[x]: /u\na|b\n-|-\n---", ""),
    ("> |a|\n> |-|\n> b\n> ===", ""),
    // front matter
    ("---\na: 1\n---\n# b", "Yaml 0-2; h1 3-3 b"),
    ("---\n# a\n", "h1 1-1 a"),
    ("---\n# a\n...\n# b", "Yaml 0-2; h1 3-3 b"),
    ("+++\na = 1\n+++\n# b", "Toml 0-2; h1 3-3 b"),
    ("---\n---\n# a", "Yaml 0-1; h1 2-2 a"),
    (" ---\na\n---", "h2 1-2 a"),
    ("\u{feff}---\nt: 1\n---\n# a", "Yaml 0-2; h1 3-3 a"),
    ("---\r\na: 1\r\n---\r\n# b\r\n", "Yaml 0-2; h1 3-3 b"),
    ("--- x\na\n---", "h2 0-2 --- x a"),
    ("---  \n# a\n---  \n# b", "Yaml 0-2; h1 3-3 b"),
    ("\n---\na\n---", "h2 2-3 a"),
    // the rest
    ("", ""),
    ("\n", ""),
    ("a", ""),
    ("a\n", ""),
    ("\n\n\n# a\n\n", "h1 3-4 a"),
    ("# a\n\n\n## b\nx\n# c\n", "h1 0-4 a; h2 3-4 b; h1 5-5 c"),
    ("# a\n## b\n### c\n## d\n# e", "h1 0-3 a; h2 1-2 b; h3 2-2 c; h2 3-3 d; h1 4-4 e"),
    ("### a\n# b\n## c", "h3 0-0 a; h1 1-2 b; h2 2-2 c"),
    ("> # a\n> ## b\n\nc\n\n# d", "h1> 0-1 a; h2> 1-1 b; h1 5-5 d"),
    ("# a\n- # b\n  c\n\nd\n## e", "h1 0-5 a; h1> 1-3 b; h2 5-5 e"),
];
