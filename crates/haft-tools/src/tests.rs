//! Every tool agrees with its schema, and answers whatever it is given.

use haft_conformance::{Agreement, Disagreement, Generator, ProofOptions, prove};
use haft_core::artifact::ArtifactKind;
use haft_core::tool::{Tool, ToolEffect, ToolError, ToolOutput, ToolRole};
use haft_core::{DispatchContext, json::Document};

use super::{FilesOptions, Pack, PackOptions};

type Proof = fn(ProofOptions) -> Result<Agreement, Disagreement>;

const PROOFS: &[(&str, Proof)] = &[
    ("read_file", prove::<super::files::read_file::ReadFileArgs>),
    ("list_files", prove::<super::files::list_files::ListFilesArgs>),
    ("find_files", prove::<super::files::find_files::FindFilesArgs>),
    ("search_files", prove::<super::files::search_files::SearchFilesArgs>),
    ("write_file", prove::<super::files::write_file::WriteFileArgs>),
    ("edit_file", prove::<super::files::edit_file::EditFileArgs>),
    ("get_current_time", prove::<super::time::get_current_time::GetCurrentTimeArgs>),
    ("convert_time", prove::<super::time::convert_time::ConvertTimeArgs>),
    ("date_add", prove::<super::time::date_add::DateAddArgs>),
    ("date_diff", prove::<super::time::date_diff::DateDiffArgs>),
    ("date_calendar_info", prove::<super::time::date_calendar_info::DateCalendarInfoArgs>),
    ("calculate", prove::<super::math::calculate::CalculateArgs>),
    ("convert_unit", prove::<super::math::convert_unit::ConvertUnitArgs>),
    ("text_analyze", prove::<super::text::text_analyze::TextAnalyzeArgs>),
    ("string_transform", prove::<super::text::string_transform::StringTransformArgs>),
    ("text_diff", prove::<super::text::text_diff::TextDiffArgs>),
    ("string_extract", prove::<super::text::string_extract::StringExtractArgs>),
    ("encode_text", prove::<super::text::encode_text::EncodeTextArgs>),
    ("text_hash", prove::<super::text::text_hash::TextHashArgs>),
    ("parse_csv", prove::<super::data::parse_csv::ParseCsvArgs>),
    ("parse_json", prove::<super::data::parse_json::ParseJsonArgs>),
    ("parse_yaml", prove::<super::data::parse_yaml::ParseYamlArgs>),
    ("stats_describe", prove::<super::data::stats_describe::StatsDescribeArgs>),
    ("stats_histogram", prove::<super::data::stats_histogram::StatsHistogramArgs>),
    ("group_rows", prove::<super::data::group_rows::GroupRowsArgs>),
    ("format_table", prove::<super::data::format_table::FormatTableArgs>),
    ("list_memories", prove::<super::memory::list_memories::ListMemoriesArgs>),
    ("store_memory", prove::<super::memory::store_memory::StoreMemoryArgs>),
    ("update_memory", prove::<super::memory::update_memory::UpdateMemoryArgs>),
    ("delete_memory", prove::<super::memory::delete_memory::DeleteMemoryArgs>),
    #[cfg(feature = "http")]
    ("web_fetch", prove::<super::web::web_fetch::WebFetchArgs>),
];

/// The tools of all packs, on a folder with a few files. The network leads nowhere.
fn all(folder: &std::path::Path) -> Vec<Tool> {
    std::fs::write(folder.join("a.txt"), "one\ntwo\n").unwrap();
    std::fs::write(folder.join("b.bin"), [0, 1, 2]).unwrap();
    std::fs::create_dir(folder.join("sub")).unwrap();
    std::fs::create_dir(folder.join("notes")).unwrap();
    std::fs::write(folder.join("notes/todo.md"), "- [ ] water the plants\n").unwrap();
    std::fs::write(folder.join("sub/c.json"), format!("[{}1]", "1,".repeat(5000))).unwrap();
    let options = PackOptions::default().files(FilesOptions::new(folder).unwrap());
    #[cfg(feature = "http")]
    let options = options.web(super::WebOptions::only_hosts(["nowhere.invalid"]).unwrap());
    let packs = Pack::ALL.into_iter().filter(|it| cfg!(feature = "http") || *it != Pack::Web);
    packs.flat_map(|pack| pack.build(&options).unwrap()).collect()
}

#[test]
fn every_tool_agrees_with_its_schema() {
    let options = ProofOptions::default().values(150).seed(7);
    for (name, proof) in PROOFS {
        match proof(options) {
            Ok(held) => assert!(held.accepted > 5 && held.refused > 5, "{name}: {held:?}"),
            Err(disagreement) => panic!("{name}: {disagreement}"),
        }
    }
}

#[test]
fn every_tool_has_its_proof_and_is_listed_in_its_pack() {
    let folder = tempfile::tempdir().unwrap();
    let tools = all(folder.path());
    let names: Vec<&str> = tools.iter().map(|it| it.name().as_str()).collect();
    let proofs: Vec<&str> = PROOFS.iter().map(|it| it.0).collect();
    assert_eq!(names, proofs);
    let packs = Pack::ALL.into_iter().filter(|it| cfg!(feature = "http") || *it != Pack::Web);
    let listed: Vec<&str> = packs.flat_map(|it| it.tools().iter().copied()).collect();
    assert_eq!(names, listed);
}

/// A model that chooses a tool reads what it does, what it returns and what each argument is.
#[test]
fn every_tool_is_described() {
    let folder = tempfile::tempdir().unwrap();
    for tool in all(folder.path()) {
        let name = tool.name();
        let text = tool.description();
        assert!((80..1500).contains(&text.len()), "{name}: {} bytes", text.len());
        assert!(text.ends_with('.'), "{name}: {text}");
        let schema = tool.input_schema().json_schema();
        let examples = schema.to_string().contains("\"examples\"");
        assert!(examples, "{name} shows no example: {schema}");
        for (field, schema) in schema["properties"].as_object().unwrap() {
            let plain = schema.get("default").is_some();
            assert!(schema.get("description").is_some() || plain, "{name}: {field}");
        }
    }
}

/// A schema goes into every request.
#[test]
fn no_schema_is_long() {
    let folder = tempfile::tempdir().unwrap();
    for tool in all(folder.path()) {
        let bytes = tool.input_schema().json_schema().to_string().len();
        assert!(bytes < 1500, "{}: {bytes} bytes", tool.name());
    }
}

#[test]
fn effects_and_leave() {
    let folder = tempfile::tempdir().unwrap();
    for tool in all(folder.path()) {
        let (effect, asks) = match tool.name().as_str() {
            "write_file" => (ToolEffect::Idempotent, true),
            "edit_file" => (ToolEffect::Once, true),
            "store_memory" | "update_memory" | "delete_memory" => (ToolEffect::Idempotent, false),
            _ => (ToolEffect::ReadOnly, false),
        };
        let found = (tool.effect(), tool.requires_approval().is_some());
        assert_eq!(found, (effect, asks), "{}", tool.name());
        let computed = matches!(
            tool.name().as_str(),
            "calculate"
                | "convert_unit"
                | "get_current_time"
                | "convert_time"
                | "date_add"
                | "date_diff"
                | "date_calendar_info"
        );
        assert_eq!(tool.is_trusted(), computed, "{}", tool.name());
    }
}

/// Any arguments: no panic, and an answer or a failure that is text. JSON is JSON.
#[test]
fn any_arguments_are_answered() {
    let folder = tempfile::tempdir().unwrap();
    let tools = all(folder.path());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for (seed, tool) in (0..).zip(&tools) {
        // Asking the network is slow, and is put to the test elsewhere.
        let rounds = if tool.name().as_str() == "web_fetch" { 5 } else { 300 };
        let (root, definitions) = tool.input_schema().tree().unwrap();
        let mut generator = Generator::new(seed);
        let ctx = DispatchContext::builder("turn").build();
        let mut answered = 0;
        for round in 0..rounds {
            let value = match round % 4 {
                0 => Some(generator.near_miss(root, definitions)),
                _ => generator.valid(root, definitions),
            };
            let Some(value) = value else { continue };
            let text = value.to_string();
            let outcome = runtime.block_on(tool.executor(&ctx).call(text.as_str())).outcome;
            answered += usize::from(outcome.is_ok());
            check(tool, &text, outcome);
        }
        let can_succeed =
            !matches!(tool.name().as_str(), "edit_file" | "update_memory" | "web_fetch");
        assert!(answered > 0 || !can_succeed, "{} never answers", tool.name());
    }
}

#[track_caller]
fn check(tool: &Tool, args: &str, outcome: Result<ToolOutput, ToolError>) {
    let json = *tool.role() == ToolRole::Standard(ArtifactKind::JSON);
    match outcome {
        Ok(ToolOutput::Text(text) | ToolOutput::Answer { text, .. }) if json => {
            assert!(Document::parse(&text).is_ok(), "{} {args}: {text}", tool.name());
        }
        Err(ToolError::Panicked { panic, .. }) => panic!("{} {args}: {panic}", tool.name()),
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(_) => {}
    }
}

/// Accepted arguments with any path, in a folder full of ways out: what is outside is neither shown nor changed.
#[test]
fn accepted_arguments_never_leave_the_root() {
    let outer = tempfile::tempdir().unwrap();
    let root = outer.path().join("root");
    std::fs::create_dir_all(root.join("sub")).unwrap();
    std::fs::create_dir(outer.path().join("outside")).unwrap();
    for secret in ["secret", "outside/secret"] {
        std::fs::write(outer.path().join(secret), SECRET).unwrap();
    }
    std::fs::write(root.join("sub/inside"), "inside").unwrap();
    #[cfg(unix)]
    for (link, to) in [("out", "../outside"), ("sub/up", "../.."), ("file", "../secret")] {
        std::os::unix::fs::symlink(to, root.join(link)).unwrap();
    }
    let absolute = outer.path().join("secret").display().to_string();
    let parts = ["..", ".", "", "sub", "up", "out", "file", "secret", "outside", "root", "inside"];
    let options = PackOptions::default().files(FilesOptions::new(&root).unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let ctx = DispatchContext::builder("turn").build();
    for (seed, tool) in (100..).zip(Pack::Files.build(&options).unwrap()) {
        let (schema, definitions) = tool.input_schema().tree().unwrap();
        let mut generator = Generator::new(seed);
        let mut random = seed;
        let mut pick = |most: usize| {
            // Enough to mix a few parts, and the same in every run.
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(random >> 33).unwrap() % most
        };
        let mut accepted = 0;
        for round in 0..400 {
            let Some(mut args) = generator.valid(schema, definitions) else { continue };
            let path =
                (0..=pick(4)).map(|_| parts[pick(parts.len())]).collect::<Vec<_>>().join("/");
            args["path"] = match round % 8 {
                0 => absolute.clone().into(),
                1 => continue,
                _ => path.into(),
            };
            let call = runtime.block_on(tool.executor(&ctx).call(args.to_string().as_str()));
            accepted += usize::from(call.accepted.is_some());
            let shown = format!("{:?}", call.outcome);
            assert!(!shown.contains(SECRET), "{} {args}: {shown}", tool.name());
            check(&tool, &args.to_string(), call.outcome);
        }
        assert!(accepted > 100, "{}: {accepted} accepted", tool.name());
    }
    for secret in ["secret", "outside/secret"] {
        assert_eq!(std::fs::read_to_string(outer.path().join(secret)).unwrap(), SECRET);
    }
    let mut names: Vec<_> =
        std::fs::read_dir(outer.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["outside", "root", "secret"]);
    assert_eq!(std::fs::read_dir(outer.path().join("outside")).unwrap().count(), 1);
}

const SECRET: &str = "what nobody may see";

/// Those that write ask, and the application may have it otherwise for every one of them.
#[test]
fn the_application_says_who_asks() {
    let folder = tempfile::tempdir().unwrap();
    let options = PackOptions::default().files(FilesOptions::new(folder.path()).unwrap());
    #[cfg(feature = "http")]
    let options = options.web(super::WebOptions::only_hosts(["nowhere.invalid"]).unwrap());
    let packs = Pack::ALL.into_iter().filter(|it| cfg!(feature = "http") || *it != Pack::Web);
    let tools: Vec<Tool> = packs.flat_map(|pack| pack.build(&options).unwrap()).collect();
    let asking: Vec<_> =
        tools.iter().filter_map(|it| Some((it.name().as_str(), it.requires_approval()?))).collect();
    let writing =
        [("write_file", "May this file be written?"), ("edit_file", "May this file be changed?")];
    assert_eq!(asking, writing);
    for tool in tools {
        let asks = tool.with_approval("May it?").unwrap();
        assert_eq!(asks.requires_approval(), Some("May it?"));
        assert_eq!(asks.describe(), tool.describe());
        assert_eq!(tool.without_approval().requires_approval(), None);
    }
}
