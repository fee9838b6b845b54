use super::*;

#[track_caller]
fn check_median(values: &[f64], expected: f64) {
    assert_eq!(median(values.iter().copied()), expected);
}

#[test]
fn median_is_the_middle() {
    check_median(&[3.0, 1.0, 2.0], 2.0);
    check_median(&[4.0, 1.0, 2.0, 3.0], 2.5);
    check_median(&[7.0], 7.0);
    assert!(median(std::iter::empty()).is_nan());
}

#[test]
fn ratio_is_the_median_of_ratios_and_not_the_ratio_of_medians() {
    // The second round was disturbed for both: the ratio of each round is 2 all the same.
    let samples = [vec![10.0, 100.0, 12.0], vec![20.0, 200.0, 24.0]];
    let figures = figures(&["floor", "other"], &samples);
    let expected = [
        Figure { name: "floor", value: 12.0, ratio: 1.0 },
        Figure { name: "other", value: 24.0, ratio: 2.0 },
    ];
    assert_eq!(figures, expected);
}

fn variant(name: &'static str, answer: &'static str) -> Variant {
    Variant::new(name, move || answer, str::to_owned)
}

#[test]
fn a_wrong_answer_is_refused_before_timing() {
    let error = compare("a", vec![variant("floor", "a"), variant("wrong", "b")], Plan::QUICK);
    assert_eq!(error.unwrap_err(), "`wrong` answers `b` where `a` is expected");
}

#[test]
fn every_variant_gets_a_figure() {
    let variants = vec![variant("floor", "a"), variant("differs", "b").differing()];
    let plan = Plan { rounds: 2, sample: Duration::from_micros(50), counted: 2 };
    let figures = compare("a", variants, plan).unwrap();
    assert_eq!(figures.iter().map(|it| it.name).collect::<Vec<_>>(), ["floor", "differs"]);
}
