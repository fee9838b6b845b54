use std::sync::Arc;

use proptest::prelude::*;

use super::ToolRegistry;
use crate::error::Coded as _;
use crate::tool::context::DispatchContext;
use crate::tool::{OnCollision, Tool};

const POLICIES: [OnCollision; 3] = [OnCollision::Throw, OnCollision::Replace, OnCollision::Keep];

/// A tool whose description says which one it is.
fn tool(name: &str, origin: &str) -> Tool {
    Tool::builder(name).description(origin).handler(|| "").build().unwrap()
}

fn tool_with(name: &str, origin: &str, policy: OnCollision) -> Tool {
    let builder = Tool::builder(name).description(origin).handler(|| "");
    builder.on_collision(policy).build().unwrap()
}

fn ephemeral(name: &str) -> Tool {
    Tool::builder(name).description("forged").handler(|| "").ephemeral().build().unwrap()
}

fn names(tools: &[Tool]) -> Vec<String> {
    tools.iter().map(|tool| tool.name().to_string()).collect()
}

fn registry(names: &[&str]) -> ToolRegistry {
    ToolRegistry::new(names.iter().map(|name| tool(name, "base"))).unwrap()
}

#[test]
fn a_name_is_registered_once_and_the_error_names_it() {
    let tools = registry(&["a", "b"]);
    let error = tools.register(tool("a", "other")).unwrap_err();
    assert_eq!(error.code(), "E_TOOL_ALREADY_REGISTERED");
    assert_eq!(error.to_string(), "a tool `a` is registered already; `overwrite` replaces it");
    let policy = tool_with("a", "other", OnCollision::Replace);
    assert!(tools.register(policy).is_err(), "the tool's policy is for merges");
    assert!(ToolRegistry::new([tool("x", "1"), tool("x", "2")]).is_err());
}

#[test]
fn overwriting_keeps_the_position() {
    let tools = registry(&["a", "b", "c"]);
    let old = tools.overwrite(tool("b", "new")).unwrap().unwrap();
    assert_eq!(old.description(), "base");
    assert_eq!(names(&tools.all()), ["a", "b", "c"]);
    assert_eq!(tools.get("b").unwrap().description(), "new");
    assert!(tools.overwrite(tool("d", "new")).unwrap().is_none());
    assert_eq!(tools.len(), 4);
}

#[test]
fn a_removed_tool_can_be_registered_again_and_unknown_names_change_nothing() {
    let tools = registry(&["a", "b"]);
    assert!(tools.unregister("a").is_some());
    assert!(tools.unregister("a").is_none());
    tools.register(tool("a", "again")).unwrap();
    assert_eq!(names(&tools.all()), ["b", "a"]);
}

#[test]
fn missing_tools_are_added_and_registered_ones_stay() {
    let tools = registry(&["a", "b"]);
    tools.register_missing([tool("b", "other"), tool("c", "other")]);
    assert_eq!(names(&tools.all()), ["a", "b", "c"]);
    assert_eq!(tools.get("b").unwrap().description(), "base");
}

#[test]
fn an_unknown_tool_is_answered_with_near_names_and_all_if_they_are_few() {
    let tools = registry(&["get_weather", "search_docs"]);
    let text = |name: &str| tools.find(name).unwrap_err().to_string();
    assert_eq!(
        text("get_wether"),
        "there is no tool `get_wether`; did you mean `get_weather`? The tools are `get_weather` and `search_docs`"
    );
    let all = "the tools are `get_weather` and `search_docs`";
    assert_eq!(text("bake_cake"), format!("there is no tool `bake_cake`; {all}"));

    let many: Vec<String> = (0..40).map(|n| format!("lookup_{n:02}")).collect();
    let many = registry(&many.iter().map(String::as_str).collect::<Vec<_>>());
    let text = many.find("lookup_99").unwrap_err().to_string();
    assert_eq!(text.matches('`').count(), 8, "three near names of forty: {text}");
    let one_letter = registry(&["q"]).find("z").unwrap_err().to_string();
    assert!(!one_letter.contains("did you mean"), "{one_letter}");
    assert_eq!(registry(&[]).find("z").unwrap_err().to_string(), "there is no tool `z`");
}

#[test]
fn merge_follows_the_incoming_policy_and_then_its_own() {
    for own in POLICIES {
        for otherwise in POLICIES {
            let base = registry(&["a", "b"]);
            let late = ToolRegistry::new([tool("c", "late"), tool_with("a", "late", own)]).unwrap();
            let merged = ToolRegistry::merge([&base, &late], otherwise);
            let wins = match (own, otherwise) {
                (OnCollision::Replace, _) | (OnCollision::Throw, OnCollision::Replace) => "late",
                (OnCollision::Keep, _) | (OnCollision::Throw, OnCollision::Keep) => "base",
                (OnCollision::Throw, OnCollision::Throw) => {
                    let error = merged.unwrap_err();
                    assert_eq!(
                        error.to_string(),
                        "a tool `a` is registered already; `overwrite` replaces it"
                    );
                    continue;
                }
            };
            let merged = merged.unwrap();
            assert_eq!(merged.get("a").unwrap().description(), wins, "{own:?} {otherwise:?}");
            assert_eq!(
                names(&merged.all()),
                ["a", "b", "c"],
                "the first occurrence fixes the place"
            );
            assert_eq!(names(&base.all()), ["a", "b"]);
            assert_eq!(base.get("a").unwrap().description(), "base");
        }
    }
    assert!(ToolRegistry::merge([], OnCollision::Throw).unwrap().is_empty());
}

#[test]
fn ephemeral_tools_go_on_ack_and_stay_on_nack() {
    let build = || {
        let tools = registry(&["a"]);
        tools.register(ephemeral("artifact_read")).unwrap();
        Arc::new(tools)
    };
    let acked = build();
    let ctx = DispatchContext::builder("t").build();
    let _bound = acked.bind_context(&ctx);
    let _twice = acked.bind_context(&ctx);
    ctx.ack().unwrap();
    assert_eq!(names(&acked.all()), ["a"]);

    let nacked = build();
    let ctx = DispatchContext::builder("t").build();
    let _bound = nacked.bind_context(&ctx);
    ctx.nack("failed".into()).unwrap();
    assert_eq!(names(&nacked.all()), ["a", "artifact_read"]);

    let unbound = build();
    let ctx = DispatchContext::builder("t").build();
    unbound.bind_context(&ctx).cancel();
    ctx.ack().unwrap();
    assert_eq!(unbound.len(), 2);
    assert_eq!(unbound.prune_ephemeral(), 1);
    assert_eq!(unbound.prune_ephemeral(), 0);
}

#[test]
fn a_copy_is_its_own_and_the_baseline_never_changes() {
    let baseline = registry(&["a", "b"]);
    let turn = baseline.clone();
    turn.unregister("a");
    turn.register(tool("c", "turn")).unwrap();
    assert_eq!(names(&baseline.all()), ["a", "b"]);
    assert_eq!(names(&turn.all()), ["b", "c"]);
    let mut list = baseline.all();
    list.clear();
    assert_eq!(baseline.len(), 2);
}

/// What merge should do, written down directly.
fn model(lists: &[Vec<(u8, OnCollision)>], otherwise: OnCollision) -> Option<Vec<(u8, usize)>> {
    let mut merged: Vec<(u8, usize)> = Vec::new();
    for (origin, list) in lists.iter().enumerate() {
        for (name, own) in list {
            let policy = if *own == OnCollision::Throw { otherwise } else { *own };
            match merged.iter_mut().find(|it| it.0 == *name) {
                None => merged.push((*name, origin)),
                Some(_) if policy == OnCollision::Throw => return None,
                Some(_) if policy == OnCollision::Keep => {}
                Some(slot) => *slot = (*name, origin),
            }
        }
    }
    Some(merged)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(haft_testkit::cases(64)))]

    #[test]
    fn merge_agrees_with_the_model(
        lists in prop::collection::vec(
            prop::collection::btree_map(0_u8..6, 0_usize..3, 0..5), 0..4),
        otherwise in 0_usize..3,
    ) {
        let lists: Vec<Vec<_>> = lists
            .iter()
            .map(|list| list.iter().map(|(n, p)| (*n, POLICIES[*p])).collect())
            .collect();
        let registries: Vec<_> = lists.iter().enumerate().map(|(origin, list)| {
            let tools = list.iter().map(|(name, policy)| {
                tool_with(&format!("t{name}"), &origin.to_string(), *policy)
            });
            ToolRegistry::new(tools).unwrap()
        }).collect();
        let otherwise = POLICIES[otherwise];
        let merged = ToolRegistry::merge(&registries, otherwise).ok().map(|merged| {
            merged.all().iter().map(|tool| {
                let number: u8 = tool.name().as_str().trim_start_matches('t').parse().unwrap();
                let origin: usize = tool.description().parse().unwrap();
                (number, origin)
            }).collect::<Vec<_>>()
        });
        prop_assert_eq!(merged, model(&lists, otherwise));
    }
}
