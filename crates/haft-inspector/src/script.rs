//! Joins the modules of the page into one script: one request instead of one for each module, and a smaller page.
//!
//! The modules are written so that this needs no parser: every import and export stands at the beginning of a line, and every
//! import in one line. Each module becomes a function that returns what it exports.

use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The script of a module and of everything that it imports.
pub(crate) fn join_modules(entry: &str, source: &dyn Fn(&str) -> Option<&'static str>) -> String {
    let mut joined = Joined { source, done: BTreeSet::new(), text: String::new() };
    joined.add(entry);
    joined.text
}

struct Joined<'s> {
    source: &'s dyn Fn(&str) -> Option<&'static str>,
    done: BTreeSet<String>,
    text: String,
}

impl Joined<'_> {
    /// Adds a module behind those that it imports.
    fn add(&mut self, module: &str) {
        if !self.done.insert(module.to_owned()) {
            return;
        }
        let Some(source) = (self.source)(module) else { return };
        let (mut body, mut exported) = (String::new(), Vec::new());
        let lines = source.lines().map(str::trim);
        for line in lines.filter(|line| is_code_line(line) && !is_inside_comment(line)) {
            match Statement::of(line) {
                Statement::Import { names, module } => {
                    self.add(module);
                    let _ = writeln!(body, "const {names} = {};", variable(module));
                }
                Statement::Export { name, declaration } => {
                    exported.push(name);
                    let _ = writeln!(body, "{declaration}");
                }
                Statement::ExportList(names) => exported.push(names),
                Statement::Other(line) => {
                    let _ = writeln!(body, "{line}");
                }
            }
        }
        let _ = writeln!(
            self.text,
            "const {} = (() => {{\n{body}return {{ {} }};\n}})();",
            variable(module),
            exported.join(", ")
        );
    }
}

/// The variable that holds what a module exports.
fn variable(module: &str) -> String {
    format!("${}", module.trim_end_matches(".js"))
}

/// A line of a module.
enum Statement<'l> {
    Import { names: &'l str, module: &'l str },
    Export { name: &'l str, declaration: &'l str },
    ExportList(&'l str),
    Other(&'l str),
}

impl<'l> Statement<'l> {
    fn of(line: &'l str) -> Self {
        if let Some((names, module)) =
            line.strip_prefix("import ").and_then(|it| it.split_once(" from \"./"))
        {
            return Self::Import { names, module: module.trim_end_matches("\";") };
        }
        let Some(declaration) = line.strip_prefix("export ") else { return Self::Other(line) };
        if let Some(names) = declaration.strip_prefix("{ ") {
            return Self::ExportList(names.trim_end_matches(" };"));
        }
        let is_keyword = |word: &&str| !matches!(*word, "async" | "function" | "class" | "const");
        let name = declaration.split([' ', '(', '=']).find(is_keyword).unwrap_or_default();
        Self::Export { name, declaration }
    }
}

/// Whether a line is sent: it has something on it, and is no comment. Comments of the page stand in lines of their own.
pub(crate) fn is_code_line(line: &str) -> bool {
    let is_comment = line.starts_with("//") || (line.starts_with("/*") && line.ends_with("*/"));
    !line.is_empty() && !is_comment
}

/// Whether a line belongs to a comment of several lines.
fn is_inside_comment(line: &str) -> bool {
    line.starts_with("/**") || line.starts_with("* ") || line == "*/"
}

#[cfg(test)]
mod tests {
    use super::join_modules;

    #[test]
    fn modules_become_functions_behind_what_they_import() {
        let source = |name: &str| match name {
            "a.js" => Some(
                "// The first.\nimport { b, c } from \"./b.js\";\n\nexport async function run() {\n  return b(c);\n}\n",
            ),
            "b.js" => Some(
                "/** Doubles. */\nexport const b = (x) => 2 * x;\nconst c = 21;\nexport { c };\n",
            ),
            _ => None,
        };
        assert_eq!(
            join_modules("a.js", &source),
            "const $b = (() => {\nconst b = (x) => 2 * x;\nconst c = 21;\nreturn { b, c };\n})();\n\
             const $a = (() => {\nconst { b, c } = $b;\nasync function run() {\nreturn b(c);\n}\nreturn { run };\n})();\n"
        );
    }
}
