use std::fs;

use super::check;

#[track_caller]
fn leads(link: &str, expect: bool) {
    let dir = tempfile::tempdir().unwrap();
    let other =
        "# Other `page`\n\n## Part [two](x.md)\n\n## Again\n\n## Again\n\n```\n# No heading\n```\n";
    fs::write(dir.path().join("other.md"), other).unwrap();
    fs::write(dir.path().join("whole.md"), "{{#include other.md}}\n").unwrap();
    let page = format!(
        "# A page, with signs!\n\n## Named {{#own}}\n\nSee [it]({link}), and `[no](#code)`.\n"
    );
    let result = check(&dir.path().join("page.md"), &page);
    assert_eq!(result.is_ok(), expect, "{link}: {result:?}");
}

#[test]
fn links_lead_to_headings() {
    leads("other.md#other-page", true);
    leads("other.md#part-two", true);
    leads("other.md#again-1", true);
    leads("#a-page-with-signs", true);
    leads("#own", true);
    leads("whole.md#part-two", true);
    leads("other.md", true);
    leads("https://example.invalid/#x", true);
}

#[test]
fn a_heading_that_was_renamed_is_found() {
    leads("other.md#old", false);
    leads("other.md#again-2", false);
    leads("other.md#no-heading", false);
    leads("missing.md#x", false);
    leads("whole.md#old", false);
    leads("#old", false);
}
