use super::*;

#[test]
fn the_exponent_of_a_power_is_found() {
    let points = |b: f64| [10.0_f64, 20.0, 40.0, 80.0].map(|n| (n, 1000.0 * n.powf(b))).into_iter();
    for b in [0.0, 1.0, 2.0] {
        assert!((growth_exponent(points(b)) - b).abs() < 1e-9);
    }
}

#[test]
fn every_row_can_be_measured_at_a_small_size() {
    for row in ROWS {
        let small = Growth { sizes: [5, 6, 7, 8], ..*row };
        measure(&small).unwrap_or_else(|error| panic!("{}: {error}", row.name));
    }
}
