use super::*;

#[test]
fn counts_both_directions_and_shapes() {
    let mut counted = Disagreements::default();
    counted.add_shape([(true, true), (false, false)].into_iter());
    counted.add_shape([(true, false), (true, false), (false, true)].into_iter());
    let expected =
        Disagreements { shapes: 2, disagreeing_shapes: 1, handler_refuses: 2, schema_refuses: 1 };
    assert_eq!(counted, expected);
}

#[cfg(feature = "peers")]
#[test]
fn serde_and_its_schema_disagree() {
    let counted = shapes::disagreements(&documents::all()).unwrap();
    assert!(counted.shapes >= 32);
    assert!(counted.handler_refuses > 0 && counted.schema_refuses > 0);
}

#[test]
fn our_schema_and_handler_agree() {
    let counted = ours::disagreements(&documents::all()).unwrap();
    assert!(counted.shapes >= 32);
    assert_eq!(counted.total(), 0);
}

#[track_caller]
fn check_proof(format: Format, expected: &str) {
    let proof =
        Proof { shape: "U8", values: 2_000, accepted: 900, refused: 1_100, ..Proof::default() };
    let mut out = Vec::new();
    proof.print(format, &mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

#[test]
fn proofs_print_in_both_forms() {
    check_proof(
        Format::Table,
        "proof U8                    2,000 values       900 accepted     1,100 refused    0 disagreements\n",
    );
    check_proof(
        Format::JsonLines,
        "{\"name\":\"proof/U8\",\"ours\":0,\"unit\":\"disagreements\",\"values\":2000,\"accepted\":900,\"refused\":1100}\n",
    );
}
