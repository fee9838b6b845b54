use super::{or_default, slice, split, text};

#[test]
fn what_is_in_range_is_returned() {
    assert_eq!(slice(&[1, 2, 3], 1..), [2, 3]);
    assert!(slice::<u8, _>(&[], 0..0).is_empty());
    assert_eq!(text("aé", 1..3), "é");
    assert_eq!(split(&[1, 2], 2), ([1, 2].as_slice(), [].as_slice()));
    assert_eq!(or_default(Some(1), "there is one"), 1);
}

/// What a broken invariant does: a debug build stops, a release build goes on with something empty.
fn check_broken<T: PartialEq + std::fmt::Debug>(broken: fn() -> T, fallback: &T) {
    let result = std::panic::catch_unwind(broken);
    if cfg!(debug_assertions) {
        let panic = result.unwrap_err();
        let message = panic.downcast_ref::<String>().unwrap();
        assert!(message.starts_with("broken invariant at "), "{message}");
        assert!(message.contains("invariant/tests.rs"), "the caller is named: {message}");
    } else {
        assert_eq!(&result.unwrap(), fallback);
    }
}

#[test]
fn what_is_out_of_range_is_reported() {
    check_broken(|| slice(&[1, 2, 3], 4..), &[].as_slice());
    check_broken(|| text("é", 1..), &"");
    check_broken(|| split(&[1], 2), &([1].as_slice(), [].as_slice()));
    check_broken(|| or_default(None::<u8>, "there is one"), &0);
}
