use super::{OfferPoint, ToolRegistry};
use crate::artifact::ArtifactKind;
use crate::id::{CallId, RecordId};
use crate::tool::{Tool, ToolBuilder, ToolChanges, ToolName};

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
    let tools = ToolRegistry::new([tool("a"), tool("b"), tool("c")]).unwrap();
    tools.unregister("b");
    assert_eq!(block(&tools), ["a", "c"]);
    tools.offer_tools(OfferPoint::new());
    tools.unregister("a");
    tools.unregister("c");
    tools.register(tool("b")).unwrap();
    tools.register(tool("d")).unwrap();
    assert_eq!(block(&tools), ["a", "c", "b", "d"]);
    tools.offer_tools(OfferPoint::new().has_reasoned(true));
    assert_eq!(block(&tools), ["a", "c", "b", "d"]);
    let added: Vec<bool> = tools.tool_block().iter().map(|it| it.added_at.is_some()).collect();
    assert_eq!(added, [false, false, true, true]);
    assert_eq!(names(&tools.all()), ["b", "d"], "what was removed is not registered");
    for name in ["a", "c"] {
        assert!(tools.find(name).unwrap_err().to_string().contains("it was removed"));
    }
    // A removed tool that is registered again has its place, and a copy for another turn begins anew.
    tools.register(tool("a")).unwrap();
    assert!(tools.find("a").is_ok());
    assert_eq!(block(&tools), ["a", "c", "b", "d"]);
    assert_eq!(tools.len(), 3);
}

#[test]
fn a_query_tool_is_added_unless_a_program_has_the_name() {
    let forged = |name: &str| {
        let tool = Tool::builder(name).description("Forged.").handler(|| "forged");
        tool.artifact_query().ephemeral().build().unwrap()
    };
    let tools = ToolRegistry::new([tool("a"), tool("query")]).unwrap();
    let before = tools.clone();
    tools.register_missing([forged("query"), forged("other")]);
    assert_eq!(names(&tools.all()), ["a", "query", "other"]);
    assert!(!tools.get("query").unwrap().is_ephemeral(), "a program has the last word");
    assert!(tools.changes_since(&before).is_empty(), "ephemeral tools are not journaled");
    assert_eq!(tools.prune_ephemeral(), 1);
    assert_eq!(names(&tools.all()), ["a", "query"]);
}

/// What a turn journals is enough to have the same block in another process, however the journal is cut into entries.
#[test]
fn a_restored_registry_has_the_same_block() {
    let own = || ToolRegistry::new([tool("a"), tool("b"), tool("c")]).unwrap();
    let tools = own();
    let mut journaled = tools.clone();
    let mut entries = Vec::new();
    let mut journal = |tools: &ToolRegistry| {
        entries.push(tools.changes_since(&journaled));
        journaled = tools.clone();
    };
    tools.register(tool("early")).unwrap();
    tools.unregister("c");
    tools.offer_tools(OfferPoint::new());
    journal(&tools);
    tools.register(tool("late")).unwrap();
    tools.unregister("a");
    journal(&tools);
    tools.unregister("b");
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
    assert_eq!(restored.len(), tools.len());
    assert!(restored.find("a").is_err() && restored.find("b").is_err());
}

/// A provider that binds reasoning to the tools of a request needs it in another process, too.
#[test]
fn a_restored_tool_has_the_point_at_which_it_was_added() {
    let call = RecordId::first(CallId::of_text("a", "{}"));
    for (has_reasoned, last_call) in
        [(false, None), (true, None), (false, Some(call)), (true, Some(call))]
    {
        let tools = ToolRegistry::default();
        let restored = ToolRegistry::default();
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

/// Another process needs the last definition of a tool, and learns once that a tool is gone.
#[test]
fn a_tool_is_journaled_when_it_is_added_changed_or_removed() {
    let other = Tool::builder("a").description("Another one.").handler(|| "").build().unwrap();
    let tools = ToolRegistry::new([tool("a"), tool("b")]).unwrap();
    tools.offer_tools(OfferPoint::new());
    let mut journaled = tools.clone();
    let mut check = |registered: &[&Tool], removed: &[&str]| {
        let changes = tools.changes_since(&journaled);
        let found: Vec<_> =
            changes.registered.iter().map(|it| (it.name.as_str(), it.definition)).collect();
        let expected: Vec<_> =
            registered.iter().map(|it| (it.name().as_str(), it.definition_digest())).collect();
        assert_eq!(found, expected);
        let names = |names: &[ToolName]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(names(&changes.removed), removed);
        assert_eq!(changes.still_offered, changes.removed);
        journaled = tools.clone();
    };
    tools.overwrite(tool("a")).unwrap();
    check(&[], &[]);
    tools.overwrite(other.clone()).unwrap();
    check(&[&other], &[]);
    tools.unregister("a");
    check(&[], &["a"]);
    tools.register(other.clone()).unwrap();
    check(&[&other], &[]);
    // An ephemeral tool is not one of the application, which may add one of that name later.
    let ephemeral = Tool::builder("c").description("A tool.").ephemeral().handler(|| "");
    tools.register(ephemeral.build().unwrap()).unwrap();
    check(&[], &[]);
    tools.overwrite(tool("c")).unwrap();
    check(&[&tool("c")], &[]);
}

/// A tool of a source that comes late in another process is removed as it was.
#[test]
fn a_tool_that_is_registered_again_stays_removed_until_the_next_request() {
    let tools = ToolRegistry::new([tool("a")]).unwrap();
    let restored = tools.clone();
    let before = tools.clone();
    tools.register(tool("late")).unwrap();
    tools.register(tool("gone")).unwrap();
    tools.offer_tools(OfferPoint::new());
    let between = tools.clone();
    tools.unregister("gone");
    tools.unregister("a");

    restored.restore(&between.changes_since(&before));
    restored.restore(&tools.changes_since(&between));
    restored.register(tool("late")).unwrap();
    restored.register(tool("gone")).unwrap();
    assert_eq!(names(&restored.all()), ["late"]);
    assert!(!restored.has("gone") && restored.unregister("a").is_none());
    assert!(restored.find("a").unwrap_err().to_string().contains("it was removed"));
    restored.offer_tools(OfferPoint::new());
    assert_eq!(block(&restored), ["a", "late", "gone"]);
    assert_eq!(names(&restored.all()), ["late"]);
    restored.register(tool("gone")).unwrap();
    assert!(restored.find("gone").is_ok());
}

#[test]
fn declared_kinds_are_those_of_all_tools_each_once() {
    let reads = |name: &str, add: fn(ToolBuilder) -> ToolBuilder| {
        add(Tool::builder(name).description("Reads.").handler(|| "")).build().unwrap()
    };
    let json = ArtifactKind::JSON;
    let markdown = ArtifactKind::MARKDOWN;
    let tools = ToolRegistry::new([
        reads("a", |it| it.artifact_kinds([ArtifactKind::JSON])),
        reads("b", |it| it.artifact_kinds([ArtifactKind::MARKDOWN, ArtifactKind::JSON])),
        reads("c", |it| it),
    ]);
    assert_eq!(tools.unwrap().declared_kinds(), [json, markdown]);
    assert!(ToolRegistry::new([tool("a")]).unwrap().declared_kinds().is_empty());
}
