use super::*;

#[test]
fn counts_in_summaries() {
    let callgrind = "==7== Events    : Ir\n==7== Collected : 1315063\n==7== \n";
    assert_eq!(parse_count(Counted::Instructions, callgrind), Some(1_315_063.0));
    let dhat =
        "==7== Total:     1,234,567 bytes in 8,901 blocks\n==7== At t-gmax: 12 bytes in 3 blocks\n";
    assert_eq!(parse_count(Counted::Allocations, dhat), Some(8_901.0));
    assert_eq!(parse_count(Counted::Allocations, callgrind), None);
}
