use super::*;

#[test]
fn the_exponent_tells_growth() {
    let exponent = |value: fn(f64) -> f64| {
        growth_exponent([100.0, 200.0, 400.0, 800.0].into_iter().map(|n| (n, value(n))))
    };
    assert!((exponent(|n| 7.0 * n) - 1.0).abs() < 1e-9);
    assert!((exponent(|n| n * n) - 2.0).abs() < 1e-9);
    assert!(exponent(|_| 50.0).abs() < 1e-9);
}

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
