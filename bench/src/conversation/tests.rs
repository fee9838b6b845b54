use super::*;

#[test]
fn every_tenth_is_a_sample() {
    let samples = measure(20, hydrate_conversation()).unwrap();
    assert_eq!(
        samples.iter().map(|it| it.turns).collect::<Vec<_>>(),
        [2, 4, 6, 8, 10, 12, 14, 16, 18, 20]
    );
    assert!(samples.iter().all(|it| it.bytes > 0.0 && it.hydration > 0.0));
    assert_eq!(rows("name", &samples).len(), 11);
}
