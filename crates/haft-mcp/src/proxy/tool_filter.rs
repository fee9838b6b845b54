//! Which tools of the servers a client may use.

/// Patterns of tool names, in which `*` stands for any characters.
#[derive(Clone, Debug, Default)]
pub(super) struct ToolFilter {
    allowed: Vec<String>,
    denied: Vec<String>,
}

impl ToolFilter {
    pub(super) fn allow(&mut self, pattern: String) {
        self.allowed.push(pattern);
    }

    pub(super) fn deny(&mut self, pattern: String) {
        self.denied.push(pattern);
    }

    /// Whether a tool may be used. A denial wins.
    pub(super) fn admits(&self, name: &str) -> bool {
        let is_allowed = self.allowed.is_empty() || self.allowed.iter().any(|it| matches(it, name));
        is_allowed && !self.denied.iter().any(|it| matches(it, name))
    }
}

/// Whether a name has the form of a pattern. Every part between stars is searched once, from left to right.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(first) else { return false };
    let mut parts = rest.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return name.ends_with(part);
        }
        let Some((_, after)) = name.split_once(part) else { return false };
        name = after;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_characters() {
        for (pattern, name, expected) in [
            ("read", "read", true),
            ("read", "read_file", false),
            ("read*", "read_file", true),
            ("*_file", "read_file", true),
            ("*_file", "read_files", false),
            ("r*d*e", "read_file", true),
            ("*", "", true),
            ("a*a", "a", false),
            ("*a*", "bab", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_denial_wins() {
        let mut filter = ToolFilter::default();
        assert!(filter.admits("read"));
        filter.allow("read*".to_owned());
        filter.deny("read_secret".to_owned());
        assert!(filter.admits("read_file") && !filter.admits("write"));
        assert!(!filter.admits("read_secret"));
    }
}
