//! What turns cost, and the limit of it.

use std::path::Path;

use super::http::{response, serve_all};
use super::support::{haft, run_haft, transcript, write_scripted_agent};

/// A call, which leads to another request: 1000 tokens read, 500 written.
const CALL: &str = r#"{"id":"c","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"calculate","arguments":"{\"expression\":\"1+1\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1000,"completion_tokens":500,"total_tokens":1500}}"#;
const ANSWER: &str = r#"{"id":"c","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Two."},"finish_reason":"stop"}],"usage":{"prompt_tokens":1000,"completion_tokens":500,"total_tokens":1500}}"#;

fn run_with_model(dir: &Path, responses: &[&str], words: &[&str]) -> String {
    let json = |body: &&str| response("200 OK\r\ncontent-type: application/json", body);
    let port = serve_all(responses.iter().map(json).collect());
    let mut command = haft(dir);
    command.env("OPENAI_BASE_URL", format!("http://127.0.0.1:{port}/v1")).args(words);
    transcript(&command.output().unwrap())
}

/// Two dollars for a million tokens that are read, eight for those that are written: 0.006 dollars for a response.
fn set_prices(dir: &Path) {
    for (key, price) in [("input", "2"), ("output", "8.0")] {
        let key = format!("prices.\"openai:m\".{key}");
        assert_eq!(run_haft(dir, &["config", "set", &key, price]), "exit 0");
    }
}

fn write_agent(dir: &Path, limits: &str) {
    let text = format!("prompt = 'Go.'\n[tools.math]\n[limits]\n{limits}\n");
    write_scripted_agent(dir, &text, "steps:\n  - say: From the script.\n");
}

#[test]
fn the_cost_of_a_turn_is_printed_where_prices_are_known() {
    let dir = tempfile::tempdir().unwrap();
    write_agent(dir.path(), "");
    let words = ["run", "a", "--model", "openai:m"];
    let unknown = run_with_model(dir.path(), &[CALL, ANSWER], &words);
    assert!(unknown.contains(": 2 steps, 1 call, 3,000 tokens, "), "{unknown}");
    assert!(!unknown.contains('$'), "{unknown}");
    let shown = run_haft(dir.path(), &["show", "last"]);
    assert!(shown.contains("tokens, cost unknown (no prices of `openai:m`), "), "{shown}");
    set_prices(dir.path());
    let known = run_with_model(dir.path(), &[CALL, ANSWER], &words);
    assert!(known.contains(": 2 steps, 1 call, 3,000 tokens, $0.0120, "), "{known}");
    let shown = run_haft(dir.path(), &["show", "last"]);
    assert!(shown.contains("2,000 prompt + 1,000 completion tokens, $0.0120"), "{shown}");
    assert!(
        shown.contains("── step 1 · 1,000 prompt + 500 completion tokens · $0.0060"),
        "{shown}"
    );
    let followed = run_haft(dir.path(), &["watch", "last"]);
    assert!(followed.contains("3,000 tokens, $0.0120"), "{followed}");
    let script = run_haft(dir.path(), &["run", "a"]);
    assert!(script.contains("completed: 1 step") && !script.contains('$'), "{script}");
}

#[test]
fn a_turn_ends_when_it_has_cost_as_much_as_it_may() {
    let dir = tempfile::tempdir().unwrap();
    write_agent(dir.path(), "cost = 0.01");
    set_prices(dir.path());
    let words = ["run", "a", "--model", "openai:m"];
    // The second response passes the limit, and the third request is not sent.
    let ended = run_with_model(dir.path(), &[CALL, CALL], &words);
    assert!(ended.starts_with("exit 1"), "{ended}");
    assert!(ended.contains("reached its limit of cost: 2 steps, 2 calls"), "{ended}");
    assert!(ended.contains("$0.0120"), "{ended}");
    let done = run_with_model(dir.path(), &[CALL, ANSWER], &words);
    assert!(done.starts_with("exit 0\n--- out\nTwo."), "{done}");
}

#[test]
fn a_limit_of_cost_needs_prices() {
    let dir = tempfile::tempdir().unwrap();
    write_agent(dir.path(), "cost = 2");
    let cli = |words: &[&str]| run_haft(dir.path(), words);
    // A script costs nothing.
    assert!(cli(&["run", "a"]).starts_with("exit 0"));
    assert!(cli(&["check", "a"]).starts_with("exit 0"));
    let refused = run_with_model(dir.path(), &[], &["run", "a", "--model", "openai:m"]);
    assert!(refused.starts_with("exit 1"), "{refused}");
    let problem = "a/agent.toml:6: `limits.cost`: the limit `cost` needs the prices of `openai:m`";
    assert!(refused.contains(problem), "{refused}");
    assert!(
        refused.contains("haft config set 'prices.\"openai:m\".input' 0.25"),
        "the hint is a command: {refused}"
    );
    let checked = cli(&["check", "a", "--model", "openai:m"]);
    assert!(checked.starts_with("exit 1") && checked.contains(problem), "{checked}");
    for bad in ["0", "-1.5", "nan", "inf"] {
        write_agent(dir.path(), &format!("cost = {bad}"));
        let checked = cli(&["check", "a"]);
        assert!(
            checked.contains("`limits.cost`: the limit must be more than 0"),
            "{bad}: {checked}"
        );
    }
}

/// Four million tokens read, half of them from a cache, and a million written.
const CACHED: &str = r#"{"id":"c","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Two."},"finish_reason":"stop"}],"usage":{"prompt_tokens":4000000,"completion_tokens":1000000,"total_tokens":5000000,"prompt_tokens_details":{"cached_tokens":2000000}}}"#;

/// The table has 0.25 dollars for a million tokens, 0.025 from a cache and 2 for those that are written.
#[test]
fn known_models_have_prices_of_one_day() {
    let dir = tempfile::tempdir().unwrap();
    write_agent(dir.path(), "cost = 9");
    let words = ["run", "a", "--model", "openai:gpt-5-mini"];
    let known = run_with_model(dir.path(), &[CACHED], &words);
    assert!(known.starts_with("exit 0"), "{known}");
    let models = run_haft(dir.path(), &["models"]);
    let (_, rest) = models.split_once("costs are counted by the prices of ").unwrap();
    let (date, _) = rest.split_once(' ').unwrap();
    assert!(known.contains(&format!("tokens, $2.5500 (prices of {date}), ")), "{known}");
    let shown = run_haft(dir.path(), &["show", "last"]);
    assert!(shown.contains(&format!("tokens, $2.5500 (prices of {date}), ")), "{shown}");
    // The user's own prices go before them: tokens of a cache cost as much as others, or have a price of their own.
    let set = |key: &str, price: &str| {
        let key = format!("prices.\"openai:gpt-5-mini\".{key}");
        assert_eq!(run_haft(dir.path(), &["config", "set", &key, price]), "exit 0");
        run_haft(dir.path(), &["show", "last"])
    };
    assert!(set("input", "1").contains("tokens, $6.0000, "), "4 + 2");
    assert!(set("cached", "0.5").contains("tokens, $5.0000, "), "2 + 1 + 2");
}
