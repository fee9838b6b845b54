//! What six tasks cost in tokens. `haft-bench tokens` prints them beside those of other toolkits.

mod workloads;

use haft::artifacts::tokens::Encoding;

use self::workloads::{LOG_LINE_BYTES, LargeResults, count_costs, workloads};

/// How long the log is here: what a model is sent does not depend on it, apart from a few digits.
const LOG_BYTES: u64 = 2_000_000;

/// By task: tokens of the first request, of an envelope and of all requests, and how much of a request the next one
/// begins with, in thousandths.
const EXPECTED: [(&str, [u64; 4]); 6] = [
    ("files", [1766, 20, 8981, 993]),
    ("log", [693, 21, 5569, 985]),
    ("tables", [729, 21, 8894, 988]),
    ("three MCP servers", [2372, 20, 13660, 994]),
    ("chat of 30 turns", [720, 21, 74600, 991]),
    ("30 calls", [721, 21, 78717, 993]),
];

/// The counts are exact. A change that costs or saves more than 2 % writes down what it does.
#[tokio::test]
async fn tasks_cost_the_tokens_that_they_are_known_to_cost() {
    let dir = tempfile::tempdir().unwrap();
    let mut found = Vec::new();
    for workload in workloads(LOG_BYTES / LOG_LINE_BYTES, dir.path()).unwrap() {
        let bodies = workload.requests(LargeResults::Queried).await.unwrap();
        let costs = count_costs(&bodies, Encoding::O200kBase).unwrap();
        found.push((workload.name, [costs.first, costs.envelope, costs.total, costs.reusable]));
    }
    let is_near = |found: u64, expected: u64| found.abs_diff(expected) * 50 <= expected;
    let are_near = found.len() == EXPECTED.len()
        && found.iter().zip(&EXPECTED).all(|(found, expected)| {
            found.0 == expected.0 && found.1.iter().zip(expected.1).all(|(a, b)| is_near(*a, b))
        });
    assert!(are_near, "found {found:?}");
    for (name, [_, envelope, _, reusable]) in found {
        assert!(envelope <= 25, "{name}: an envelope costs {envelope} tokens");
        assert!(reusable >= 950, "{name}: a cache can reuse {reusable} thousandths");
    }
}

/// What handles are for: tables of 45 kB and 100 kB cost less than a fifth of what it costs to show them.
#[tokio::test]
async fn large_results_cost_less_than_they_would_in_the_prompt() {
    let dir = tempfile::tempdir().unwrap();
    let all = workloads(LOG_BYTES / LOG_LINE_BYTES, dir.path()).unwrap();
    let tables = all.iter().find(|it| it.name == "tables").unwrap();
    let [queried, shown] = [LargeResults::Queried, LargeResults::Shown];
    let queried = count_costs(&tables.requests(queried).await.unwrap(), Encoding::O200kBase);
    let shown = count_costs(&tables.requests(shown).await.unwrap(), Encoding::O200kBase);
    let [queried, shown] = [queried.unwrap().total, shown.unwrap().total];
    assert!(queried * 5 < shown, "{queried} tokens queried, {shown} shown");
}
