//! Rules about names.

use super::report;
use crate::source;

/// Public types that share their name with another of the same crate, by crate. The numbers only go down.
const SHARED: [(&str, usize); 0] = [];

#[test]
fn public_types_of_a_crate_have_names_of_their_own() {
    let mut problems = Vec::new();
    for krate in source::read_crates(crate::root()).unwrap() {
        let found = source::definitions(&krate);
        let shared = found.shared_public_names();
        let known = SHARED.iter().find(|(name, _)| *name == krate.name).map_or(0, |(_, it)| *it);
        if shared.len() > known {
            problems
                .push(format!("{}: at most {known} public types may share a name:", krate.name));
            problems.extend(shared.iter().map(|it| format!("  {}: {}", it.place, it.name)));
        } else if shared.len() < known {
            problems.push(format!("{}: lower its number to {}", krate.name, shared.len()));
        }
    }
    report(&problems);
}

/// A change of the public API shows in `xtask/api`, where a reviewer sees it.
#[test]
fn the_public_api_is_written_down() {
    report(&crate::api::differences(crate::root()).unwrap());
}
