//! Whether a provider says that the quota is spent, and not that it was asked too often.

use serde_json::Value;

/// Whether the text of an error says so by its code.
pub(super) fn is_spent(text: &str) -> bool {
    let Ok(error) = serde_json::from_str::<Value>(text) else { return false };
    let said = |path| error.pointer(path).and_then(Value::as_str);
    PLACES.into_iter().filter_map(said).any(|code| SPENT.contains(&code))
}

/// Where errors have their codes.
const PLACES: [&str; 4] = ["/error/code", "/error/type", "/code", "/type"];

/// What only a payment, or another key, helps against.
const SPENT: [&str; 5] = [
    "billing_hard_limit_reached",
    "billing_not_active",
    "insufficient_balance",
    "insufficient_quota",
    "insufficient_user_quota",
];
