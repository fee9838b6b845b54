/// Every mistake is explained where it was made. The texts are part of what users get.
#[test]
fn mistakes_are_explained() {
    trybuild::TestCases::new().compile_fail("tests/ui/*/*.rs");
}
