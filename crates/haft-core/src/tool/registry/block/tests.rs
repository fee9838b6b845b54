use super::{OfferPoint, ToolChanges, ToolRegistry};
use crate::artifact::ArtifactKind;
use crate::id::{CallId, RecordId};
use crate::tool::{Tool, ToolBuilder, ToolName};

fn tool(name: &str) -> Tool {
    Tool::builder(name).description("A tool.").handler(|| "").build().unwrap()
}

fn names(tools: &[Tool]) -> Vec<String> {
    tools.iter().map(|tool| tool.name().to_string()).collect()
}

fn block(tools: &ToolRegistry) -> Vec<String> {
    tools.tool_block().iter().map(|it| it.tool.name().to_string()).collect()
}

#[test]
fn the_block_only_grows_at_its_end() {
    let tools = ToolRegistry::with_tools([tool("a"), tool("b"), tool("c")]).unwrap();
    tools.hide(["b"]).unwrap();
    assert_eq!(block(&tools), ["a", "c"]);
    tools.offer_tools(OfferPoint::new());
    tools.unregister("a");
    tools.hide(["c"]).unwrap();
    tools.register(tool("d")).unwrap();
    tools.unhide(["b"]).unwrap();
    assert_eq!(block(&tools), ["a", "c", "b", "d"]);
    tools.offer_tools(OfferPoint::new().has_reasoned(true));
    assert_eq!(block(&tools), ["a", "c", "b", "d"]);
    let added: Vec<bool> = tools.tool_block().iter().map(|it| it.added_at.is_some()).collect();
    assert_eq!(added, [false, false, true, true]);
    assert_eq!(names(&tools.all()), ["b", "c", "d"], "what was removed is not registered");
    assert!(tools.find("a").unwrap_err().to_string().contains("it was removed"));
    assert!(tools.find("c").unwrap_err().to_string().contains("not offered at this point"));
    // A removed tool that is registered again has its place, and a copy for another turn begins anew.
    tools.register(tool("a")).unwrap();
    assert!(tools.find("a").is_ok());
    assert_eq!(block(&tools), ["a", "c", "b", "d"]);
    assert_eq!(tools.len(), 4);
}

#[test]
fn a_tool_that_the_model_never_saw_can_be_called_while_hidden() {
    let tools = ToolRegistry::with_tools([tool("a"), tool("b")]).unwrap();
    tools.hide(["b"]).unwrap();
    tools.offer_tools(OfferPoint::new());
    assert!(tools.find("b").is_ok());
    assert!(!tools.has_new_tools());
}

#[test]
fn an_overlay_covers_and_uncovers() {
    let forged = |name: &str| {
        let tool = Tool::builder(name).description("Forged.").handler(|| "forged");
        tool.artifact_query().ephemeral().build().unwrap()
    };
    let tools = ToolRegistry::with_tools([tool("a"), tool("query")]).unwrap();
    let before = tools.clone();
    tools.extend_overlay([forged("query"), forged("other")]);
    assert_eq!(names(&tools.all()), ["a", "query", "other"]);
    assert!(tools.get("query").unwrap().is_ephemeral());
    assert!(tools.changes_since(&before).is_empty(), "overlays are not journaled");
    // A program that forges by hand has the last word.
    let own = forged("other");
    tools.overwrite(own.clone());
    tools.extend_overlay([forged("other")]);
    assert_eq!(tools.get("other").unwrap().description(), own.description());
    tools.replace_overlay([]);
    assert!(!tools.get("query").unwrap().is_ephemeral());
    tools.extend_overlay([forged("query")]);
    assert_eq!(tools.prune_ephemeral(), 2);
    assert_eq!(names(&tools.all()), ["a", "query"]);
    assert!(!tools.get("query").unwrap().is_ephemeral());
}

/// What a turn journals is enough to have the same block in another process, however the journal is cut into entries.
#[test]
fn a_restored_registry_has_the_same_block() {
    let own = || ToolRegistry::with_tools([tool("a"), tool("b"), tool("c")]).unwrap();
    let tools = own();
    let mut journaled = tools.clone();
    let mut entries = Vec::new();
    let mut journal = |tools: &ToolRegistry| {
        entries.push(tools.changes_since(&journaled));
        journaled = tools.clone();
    };
    tools.register(tool("early")).unwrap();
    tools.hide(["c"]).unwrap();
    tools.offer_tools(OfferPoint::new());
    journal(&tools);
    tools.register(tool("late")).unwrap();
    tools.unregister("a");
    journal(&tools);
    tools.hide(["b"]).unwrap();
    tools.offer_tools(OfferPoint::new().has_reasoned(true));
    journal(&tools);
    tools.register(tool("last")).unwrap();
    journal(&tools);
    let text = serde_json::to_string(&entries).unwrap();
    let entries: Vec<ToolChanges> = serde_json::from_str(&text).unwrap();

    let restored = own();
    entries.iter().for_each(|entry| restored.restore(entry));
    assert!(restored.find("late").unwrap_err().to_string().contains("not added again"));
    for name in ["last", "late", "early"] {
        restored.register(tool(name)).unwrap();
    }
    let point = OfferPoint::new().has_reasoned(true);
    restored.offer_tools(point);
    tools.offer_tools(point);
    assert_eq!(block(&restored), block(&tools));
    assert_eq!(block(&restored), ["a", "b", "early", "late", "last"]);
    let added =
        |tools: &ToolRegistry| tools.tool_block().iter().map(|it| it.added_at).collect::<Vec<_>>();
    assert_eq!(added(&restored), added(&tools));
    assert_eq!(names(&restored.hidden()), names(&tools.hidden()));
    assert!(restored.find("a").is_err() && restored.find("b").is_err());
}

/// A provider that binds reasoning to the tools of a request needs it in another process, too.
#[test]
fn a_restored_tool_has_the_point_at_which_it_was_added() {
    let call = RecordId::first(CallId::of_text("a", "{}"));
    for (has_reasoned, last_call) in
        [(false, None), (true, None), (false, Some(call)), (true, Some(call))]
    {
        let (tools, restored) = (ToolRegistry::new(), ToolRegistry::new());
        tools.register(tool("a")).unwrap();
        restored.register(tool("a")).unwrap();
        tools.offer_tools(OfferPoint::new());
        let journaled = tools.clone();
        tools.register(tool("late")).unwrap();
        tools.offer_tools(OfferPoint::new().after_call(last_call).has_reasoned(has_reasoned));
        restored.restore(&tools.changes_since(&journaled));
        restored.register(tool("late")).unwrap();
        restored.offer_tools(OfferPoint::new());
        for tools in [tools, restored] {
            let added = tools.tool_block().into_iter().map(|it| it.added_at);
            let added: Vec<_> =
                added.map(|at| at.map(|at| (at.has_reasoned, at.last_call))).collect();
            assert_eq!(added, [None, Some((has_reasoned, last_call))]);
        }
    }
}

/// Another process needs the last definition of a tool, and learns once that a tool is hidden or gone.
#[test]
fn a_tool_is_journaled_when_it_is_added_changed_hidden_or_removed() {
    let other = Tool::builder("a").description("Another one.").handler(|| "").build().unwrap();
    let tools = ToolRegistry::with_tools([tool("a"), tool("b")]).unwrap();
    tools.offer_tools(OfferPoint::new());
    let mut journaled = tools.clone();
    let mut check = |registered: &[&Tool], hidden: &[&str], removed: &[&str]| {
        let changes = tools.changes_since(&journaled);
        let found: Vec<_> =
            changes.registered.iter().map(|it| (it.name.as_str(), it.definition)).collect();
        let expected: Vec<_> =
            registered.iter().map(|it| (it.name().as_str(), it.definition_digest())).collect();
        assert_eq!(found, expected);
        let list = |names: &[ToolName]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(list(&changes.hidden), hidden);
        assert_eq!(list(&changes.removed), removed);
        journaled = tools.clone();
    };
    tools.overwrite(tool("a"));
    check(&[], &[], &[]);
    tools.overwrite(other.clone());
    check(&[&other], &[], &[]);
    tools.unregister("a");
    check(&[], &[], &["a"]);
    tools.hide(["b"]).unwrap();
    check(&[], &["b"], &[]);
    tools.register(other.clone()).unwrap();
    check(&[&other], &[], &[]);
    // A tool that covers a name is not one of the application, which may add one of that name later.
    tools.extend_overlay([tool("c")]);
    tools.hide(["c"]).unwrap();
    check(&[], &[], &[]);
    tools.overwrite(tool("c"));
    check(&[&tool("c")], &["c"], &[]);
}

/// A tool of a source that comes late in another process is as hidden as it was.
#[test]
fn a_tool_that_is_registered_again_has_its_status() {
    let tools = ToolRegistry::with_tools([tool("a")]).unwrap();
    let before = tools.clone();
    tools.register(tool("late")).unwrap();
    tools.register(tool("gone")).unwrap();
    tools.hide(["late"]).unwrap();
    tools.unregister("gone");
    let changes = tools.changes_since(&before);

    let restored = ToolRegistry::with_tools([tool("a")]).unwrap();
    restored.restore(&changes);
    restored.register(tool("late")).unwrap();
    assert_eq!(names(&restored.hidden()), ["late"]);
    assert_eq!(names(&restored.visible()), ["a"]);
}

#[test]
fn tools_of_the_overlay_are_told_from_those_of_the_application() {
    let tools = ToolRegistry::with_tools([tool("own"), tool("covered")]).unwrap();
    let query = Tool::builder("query").description("A query.").handler(|| "").artifact_query();
    tools.register(query.build().unwrap()).unwrap();
    tools.extend_overlay([tool("covered"), tool("added")]);
    for (name, expected) in
        [("own", false), ("covered", true), ("added", true), ("query", true), ("unknown", false)]
    {
        assert_eq!(tools.has_overlay(name), expected, "{name}");
    }
    assert_eq!(names(&tools.without_overlay()), ["own", "covered", "query"]);
    tools.replace_overlay([]);
    assert!(!tools.has_overlay("covered") && !tools.has_overlay("added"));
}

#[test]
fn declared_kinds_are_those_of_all_tools_each_once() {
    let reads = |name: &str, add: fn(ToolBuilder) -> ToolBuilder| {
        add(Tool::builder(name).description("Reads.").handler(|| "")).build().unwrap()
    };
    let (json, markdown) = (ArtifactKind::JSON, ArtifactKind::MARKDOWN);
    let tools = ToolRegistry::with_tools([
        reads("a", |it| it.artifact_kinds([ArtifactKind::JSON])),
        reads("b", |it| it.artifact_kinds([ArtifactKind::MARKDOWN, ArtifactKind::JSON])),
        reads("c", |it| it),
    ]);
    assert_eq!(tools.unwrap().declared_kinds(), [json, markdown]);
    assert!(ToolRegistry::with_tools([tool("a")]).unwrap().declared_kinds().is_empty());
}
