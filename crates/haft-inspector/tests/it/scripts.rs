//! The tests of the view helper, and the size of the page.

use std::io::Write as _;
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

/// What a browser loads is at most 60 KB, each file compressed for itself.
#[test]
fn the_page_is_small() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("web");
    let mut total = 0;
    for file in std::fs::read_dir(dir).unwrap() {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(&std::fs::read(file.unwrap().path()).unwrap()).unwrap();
        total += encoder.finish().unwrap().len();
    }
    assert!(total <= 60_000, "{total} bytes");
}
