//! The tests of the view helper and of other parts that need no browser.

use std::path::Path;
use std::process::Command;

#[test]
fn the_view_helper_passes_its_tests() {
    if !haft_testkit::has_program("node") {
        return;
    }
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let files = ["view.test.mjs", "page.test.mjs"].map(|it| dir.join(it));
    // Days are those of the person at the page, on both sides of Greenwich.
    for zone in ["UTC", "Pacific/Kiritimati", "America/Los_Angeles"] {
        let mut node = Command::new("node");
        let output = node.arg("--test").args(&files).env("TZ", zone).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{zone}: {text}");
    }
}
