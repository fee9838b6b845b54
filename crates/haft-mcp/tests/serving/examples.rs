//! The example of the book runs, and prints what it should.

#[cfg(feature = "http")]
use std::process::Command;

/// Cargo builds the example next to the tests if the features that it needs are on.
#[cfg(feature = "http")]
#[test]
fn an_agent_uses_the_tools_of_another_one() {
    let tests = std::env::current_exe().unwrap();
    let built = tests.parent().and_then(|deps| deps.parent()).unwrap().join("examples");
    let output = Command::new(built.join("serve_and_use")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "The shop says: 3 offers of tulips\n");
}
