//! Titles of conversations.

use std::collections::BTreeMap;

use haft_core::store::{MAX_TITLE_CHARS, NewTurn, StoreError, TurnStore, TurnStoreExt as _};

use super::{
    ContractViolation, end_turn, expect_ok, expect_refusal, lease_request, remove_turn, turn_id,
};

pub(super) async fn check(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    titles_are_kept(store).await?;
    titles_go_with_their_conversations(store).await
}

async fn titles_are_kept(store: &dyn TurnStore) -> Result<(), ContractViolation> {
    let long = "ü".repeat(MAX_TITLE_CHARS);
    let all = [
        ("", "talk", "A title"),
        ("", "Talk", "%_ \"'\n\u{10ffff}"),
        ("shop", "talk", "Another title"),
        ("sho", "ptalk", "Not the same"),
        ("", "", long.as_str()),
    ];
    for (tenant, conversation, title) in all {
        set_title(store, (tenant, conversation), Some("before")).await?;
        set_title(store, (tenant, conversation), Some(title)).await?;
    }
    let promise = "a conversation of a tenant has the title that was set last";
    for (tenant, ..) in all {
        let expected = all.iter().filter(|it| it.0 == tenant).map(|it| (it.1, it.2));
        check_titles(promise, store, tenant, expected.collect()).await?;
    }
    let promise = "a title that cannot be stored is refused and changes nothing";
    let long = "x".repeat(MAX_TITLE_CHARS + 1);
    for title in ["", "a\0b", long.as_str()] {
        let set = store.set_title(String::new(), "talk".to_owned(), Some(title.to_owned())).await;
        expect_refusal(promise, set, |it| matches!(it, StoreError::Invalid { .. }))?;
    }
    let shop = vec![("talk", "Another title")];
    check_titles(promise, store, "shop", shop.clone()).await?;
    for (tenant, conversation, _) in all.into_iter().filter(|it| it.0 != "shop") {
        for _ in 0..2 {
            set_title(store, (tenant, conversation), None).await?;
        }
        check_titles("a title that was taken away is gone", store, "shop", shop.clone()).await?;
    }
    for tenant in ["", "sho"] {
        check_titles("a title that was taken away is gone", store, tenant, Vec::new()).await?;
    }
    set_title(store, ("shop", "talk"), None).await
}

async fn titles_go_with_their_conversations(
    store: &dyn TurnStore,
) -> Result<(), ContractViolation> {
    let mut leases = Vec::new();
    for (tenant, name) in [("", "one"), ("", "two"), ("shop", "three")] {
        let new = NewTurn::new(turn_id(name)?).conversation("talk").tenant(tenant);
        leases.push(expect_ok("a turn can begin", store.create(new, lease_request("a")).await)?);
        if name == "one" {
            set_title(store, ("", "talk"), Some("Ours")).await?;
            set_title(store, ("shop", "talk"), Some("Theirs")).await?;
        }
    }
    let promise = "a title goes with the last turn of its conversation";
    let mut leases = leases.into_iter();
    for ours in [vec![("talk", "Ours")], Vec::new()] {
        if let Some(lease) = leases.next() {
            end_turn(store, lease).await?;
        }
        check_titles(promise, store, "", ours).await?;
        check_titles(promise, store, "shop", vec![("talk", "Theirs")]).await?;
    }
    for lease in leases {
        expect_ok("a lease can be given back", store.release(lease.clone()).await)?;
        remove_turn(store, &lease.turn, true).await?;
    }
    check_titles(promise, store, "shop", Vec::new()).await
}

async fn set_title(
    store: &dyn TurnStore,
    (tenant, conversation): (&str, &str),
    title: Option<&str>,
) -> Result<(), ContractViolation> {
    let title = title.map(str::to_owned);
    let set = store.set_title(tenant.to_owned(), conversation.to_owned(), title).await;
    expect_ok("a conversation can get a title", set)
}

async fn check_titles(
    promise: &'static str,
    store: &dyn TurnStore,
    tenant: &str,
    expected: Vec<(&str, &str)>,
) -> Result<(), ContractViolation> {
    let asked = ["talk", "Talk", "ptalk", "", "none"].map(str::to_owned).to_vec();
    let found = expect_ok("titles can be loaded", store.titles(tenant.to_owned(), asked).await)?;
    let expected: BTreeMap<String, String> =
        expected.into_iter().map(|(id, title)| (id.to_owned(), title.to_owned())).collect();
    ContractViolation::ensure_equal(promise, &found, &expected)
}
