use super::*;

#[test]
fn plain_definition_gives_the_known_id() {
    let call = json!({ "tool": "search", "args": { "query": "hello" } });
    assert_eq!(canonical(&call), r#"{"args":{"query":"hello"},"tool":"search"}"#);
    assert_eq!(
        hex(Sha256::digest(canonical(&call)).into()),
        "e0b6feaa14a993179f474568e2c0a63075752fe3a8bc629bc0cd1442a002448e"
    );
}

#[test]
fn sizes_are_what_their_names_say() {
    let sizes = SIZES.map(|(_, records)| call(records).to_string().len());
    let bounds = [200..240, 4_300..4_900, 950_000..1_050_000];
    for (size, bounds) in sizes.into_iter().zip(bounds) {
        assert!(bounds.contains(&size), "{size} is not in {bounds:?}");
    }
}
