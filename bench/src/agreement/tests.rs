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
