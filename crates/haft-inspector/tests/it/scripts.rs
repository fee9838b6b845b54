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
    let output = Command::new("node").arg("--test").args(files).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
