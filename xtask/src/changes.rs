//! What has changed since the work on it began, as git tells it.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Whether something has changed that decides which code is compiled: a manifest, the lock file, a build script, a
/// workspace of its own, or a line that asks for a feature.
///
/// The comparison is with the commit at which this branch left `main`, and on `main` itself with the commit before;
/// `HAFT_BASE` names another one. Where git cannot tell, everything may have changed.
pub(crate) fn may_concern_features(root: &Path) -> bool {
    find_base(root)
        .and_then(|base| Changes::read(root, &base))
        .is_none_or(|it| it.concern_features())
}

/// Files and lines that differ from a commit.
#[derive(Debug, Default)]
struct Changes {
    /// The paths of files that were changed, removed or added.
    paths: Vec<String>,
    /// The difference of the sources, as git prints it.
    difference: String,
    /// The texts of new sources that git does not know yet.
    new_sources: Vec<String>,
}

impl Changes {
    fn read(root: &Path, base: &str) -> Option<Self> {
        let changed = read_git(root, &["diff", "--name-only", base, "--"])?;
        let new = read_git(root, &["ls-files", "--others", "--exclude-standard"])?;
        let difference = read_git(root, &["diff", "--unified=0", base, "--", "*.rs"])?;
        let sources = new.lines().filter(|it| it.ends_with(".rs"));
        let new_sources = sources.filter_map(|it| fs::read_to_string(root.join(it)).ok()).collect();
        let paths = changed.lines().chain(new.lines()).map(str::to_owned).collect();
        Some(Self { paths, difference, new_sources })
    }

    fn concern_features(&self) -> bool {
        let is_changed = |line: &&str| line.starts_with(['+', '-']);
        self.paths.iter().any(|it| decides_features(it))
            || self.difference.lines().filter(is_changed).any(asks_for_feature)
            || self.new_sources.iter().any(|it| asks_for_feature(it))
    }
}

fn find_base(root: &Path) -> Option<String> {
    if let Some(base) = std::env::var_os("HAFT_BASE") {
        return base.into_string().ok();
    }
    let head = read_git(root, &["rev-parse", "HEAD"])?;
    let mains = ["origin/main", "main"];
    let base = mains.iter().find_map(|it| read_git(root, &["merge-base", "HEAD", it]))?;
    if base == head { read_git(root, &["rev-parse", "HEAD^"]) } else { Some(base) }
}

fn decides_features(path: &str) -> bool {
    let is_elsewhere = ["fuzz/", "examples/with-sqlx/"].iter().any(|it| path.starts_with(it));
    let name = path.rsplit('/').next().unwrap_or(path);
    is_elsewhere || matches!(name, "Cargo.toml" | "Cargo.lock" | "build.rs")
}

fn asks_for_feature(text: &str) -> bool {
    text.contains("feature = \"")
}

/// What git prints, without the line break at its end; nothing if it fails.
fn read_git(root: &Path, args: &[&str]) -> Option<String> {
    let output = Command::new("git").current_dir(root).args(args).stderr(Stdio::null()).output();
    let output = output.ok().filter(|it| it.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::Changes;

    #[test]
    fn manifests_and_features_are_noticed() {
        #[track_caller]
        fn check(paths: &[&str], difference: &str, new_source: &str, expect: bool) {
            let changes = Changes {
                paths: paths.iter().map(|&it| it.to_owned()).collect(),
                difference: difference.to_owned(),
                new_sources: vec![new_source.to_owned()],
            };
            assert_eq!(changes.concern_features(), expect, "{changes:?}");
        }
        check(&[], "", "", false);
        check(&["README.md", "crates/haft/src/lib.rs"], "", "fn main() {}", false);
        check(&["Cargo.lock"], "", "", true);
        check(&["crates/haft/Cargo.toml"], "", "", true);
        check(&["crates/haft/build.rs"], "", "", true);
        check(&["fuzz/src/lib.rs"], "", "", true);
        check(&["docs/my-Cargo.toml.md"], "", "", false);
        check(&[], "@@ -1 +1 @@\n-a\n+#[cfg(feature = \"mcp\")]\n", "", true);
        check(&[], "@@ -1 +1 @@\n-#![cfg(not(feature = \"mcp\"))]\n", "", true);
        check(&[], "@@ -1 +1 @@ #[cfg(feature = \"mcp\")]\n-a\n+b\n", "", false);
        check(&[], "", "#[cfg(feature = \"mcp\")]\nmod a;\n", true);
    }
}
