//! What every fuzz target asserts, as plain functions that any harness can call.
//!
//! A function takes the fuzzer's bytes and panics when a promise is broken. Input that a target has
//! no use for is passed over.

use std::sync::LazyLock;

use haft_core::args::{RawArgs, Strictness};
use haft_core::call::{CallId, RecordId};
use haft_core::json::{Document, View, canonical_text};
use haft_core::jsonpath::{JsonPath, Limits, Step};
use haft_core::media::{Media, MediaFile, MediaId, MediaKind, StashEntry};
use haft_core::schema::{
    InputSchema, any, array, boolean, integer, map, number, object, one_of, string, tuple, union,
};
use haft_core::trust::{
    EnvelopeKey, HandlePart, MediaFallbackPart, MemoryPart, MessagePart, Origin, PeerPart,
    PromptText, Renderer, ThoughtPart, ToolResultPart, TrustLabel, TrustTier,
};

/// The canonical text of a document parses to the same document, and is its own canonical text.
///
/// Documents with a key that occurs twice are only written: no call is made with them.
pub fn canonical_json(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let Ok(document) = Document::parse(text) else { return };
    let canonical = canonical_text(document.root());
    if document.duplicate_key().is_some() {
        return;
    }
    let again = match Document::parse(&canonical) {
        Ok(again) => again,
        Err(error) => panic!("canonical text does not parse: {error}\n{canonical}"),
    };
    assert_eq!(again, document, "canonical text holds another value");
    assert_eq!(canonical_text(again.root()), canonical, "canonical text is no fixed point");
}

/// Lenient parsing accepts what strict parsing accepts, as the same value and without a repair.
pub fn lenient_json(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let lenient = Document::parse_lenient(text);
    let Ok(strict) = Document::parse(text) else { return };
    match lenient {
        Ok((document, repairs)) => {
            assert!(repairs.is_empty(), "strict JSON was repaired: {repairs:?}");
            assert_eq!(document, strict, "lenient parsing gives another value");
        }
        Err(error) => panic!("strict JSON is refused: {error}"),
    }
}

/// Any text is judged: accepted, mended or refused. What was mended is accepted as it is, what strict
/// mode accepts is not touched beyond its defaults, and a refusal is short and says the same twice.
pub fn schema_validation(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    judge(&SCHEMA, text);
}

/// Any JSON is a schema from elsewhere or an error, and a schema judges any text.
///
/// The first line is the schema, what follows are the arguments.
pub fn foreign_schema(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let (schema, args) = text.split_once('\n').unwrap_or((text, "{}"));
    let Ok(schema) = serde_json::from_str(schema) else { return };
    if let Ok(input) = InputSchema::from_json_schema(schema) {
        judge(&input, args);
    }
}

fn judge(input: &InputSchema, text: &str) {
    let raw = RawArgs::text(text);
    let _ = raw.call_id("tool");
    let strict = input.accept("tool", &raw, Strictness::Strict);
    match input.accept("tool", &raw, Strictness::Coerce) {
        Ok(mended) => {
            let again = RawArgs::from(mended.args.clone());
            match input.accept("tool", &again, Strictness::Strict) {
                Ok(same) => {
                    assert_eq!(same.args, mended.args, "strict mode changed {}", mended.args)
                }
                Err(problems) => panic!("mended into what is refused: {}\n{problems}", mended.args),
            }
            if let Ok(strict) = strict {
                assert_eq!(strict.args, mended.args, "coercion touched what was right");
            }
        }
        Err(problems) => {
            assert!(strict.is_err(), "coercion refuses what strict mode accepts: {problems}");
            assert!(problems.to_string().len() < 16 * 1024, "a long refusal");
            let again = input.accept("tool", &raw, Strictness::Coerce);
            assert_eq!(again.err(), Some(problems), "a refusal that changes");
        }
    }
}

/// A schema with every shape in it.
static SCHEMA: LazyLock<InputSchema> = LazyLock::new(|| {
    let figure = union("kind")
        .variant("point", object())
        .variant("circle", object().field("r", number().min(0).required()));
    let schema = object()
        .field("s", string().min_length(1).max_length(8).pattern("^[a-z]*$").alias("text"))
        .field("i", integer().min(-5).max(1000).multiple_of(5).default(10))
        .field("n", number().above(-1.5).below(1e18).nullable())
        .field("b", boolean().default(false))
        .field("e", one_of(["on", "off", "Off"]))
        .field("a", array(integer()).max_items(4).unique())
        .field("t", tuple([string().into(), boolean().into()]))
        .field("m", map(array(string())).max_entries(3))
        .field("u", figure)
        .field("any", any());
    InputSchema::new(schema).unwrap_or_else(|faults| panic!("{faults:?}"))
});

/// Any text is a path or an error, the text of a path is a fixed point, a prefix and the rest are
/// the whole, and the path of every value leads back to it.
///
/// The first line is the path, what follows is the document.
pub fn jsonpath(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let (path, document) = text.split_once('\n').unwrap_or((text, "null"));
    let strict = JsonPath::parse(path);
    let lenient = JsonPath::parse_lenient(path);
    if let (Ok(strict), Ok(lenient)) = (&strict, &lenient) {
        assert_eq!(strict.to_string(), lenient.to_string(), "the readings differ");
    }
    for parse in [JsonPath::parse, JsonPath::parse_lenient] {
        let Ok(parsed) = parse(path) else { continue };
        // A text of many escapes can grow beyond what is read.
        if parsed.to_string().len() <= haft_core::jsonpath::MAX_PATH {
            let again = parse(&parsed.to_string());
            assert_eq!(again.as_ref(), Ok(&parsed), "the text is no fixed point");
        }
    }
    let (Ok(path), Ok(document)) = (lenient, Document::parse(document)) else { return };
    let limits = Limits::default().max_nodes_visited(100_000).max_matches(1000);
    let found = path.select_with(document.root(), &limits);
    if found.truncated().is_some() {
        return;
    }
    assert_eq!(path.matches(document.root()), !found.is_empty());
    for (place, view) in found.located().take(20) {
        if place.len() > haft_core::jsonpath::MAX_PATH {
            continue;
        }
        let path = match JsonPath::parse(&place) {
            Ok(path) => path,
            Err(error) => panic!("a place is no path: {error}\n{place}"),
        };
        assert_eq!(path.select(document.root()).views(), [view], "{place} leads elsewhere");
    }
    if document.duplicate_key().is_none() {
        assert_eq!(in_two_parts(&path, document.root()), found.views());
    }
}

/// Follows the prefix step by step and evaluates the rest on what it leads to.
fn in_two_parts<'d>(path: &JsonPath, root: View<'d>) -> Vec<View<'d>> {
    let mut views = vec![root];
    for step in path.prefix() {
        views = views
            .into_iter()
            .flat_map(|view| -> Vec<View<'d>> {
                match step {
                    Step::Name(name) => view.get(name).into_iter().collect(),
                    Step::Index(at) => {
                        usize::try_from(*at).ok().and_then(|at| view.item(at)).into_iter().collect()
                    }
                    Step::Wildcard => {
                        view.elements().chain(view.members().map(|(_, value)| value)).collect()
                    }
                }
            })
            .collect();
    }
    let rest = path.after_prefix();
    views.into_iter().flat_map(|view| rest.select(view)).collect()
}

/// No content closes its envelope or opens another, wherever it stands, and rendering twice gives
/// the same text.
///
/// The text is used as a body, a name, an id, a source and a type at once, and with the tags of the
/// envelope that it would be in put before and behind it.
pub fn envelope(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let renderer = Renderer::new(EnvelopeKey::from_bytes([1; 32]));
    for render in PARTS {
        let rendered = render(&renderer, text);
        check_envelope(&rendered);
        assert_eq!(render(&renderer, text), rendered, "the second rendering differs");
        let inner = format!("{rendered}{text}{rendered}");
        check_envelope(&render(&renderer, &inner));
    }
    let bare = renderer.message(&MessagePart::new(text, text));
    assert_eq!(reserved_tags(bare.as_str()), 0, "a tag stands in a message:\n{bare}");
}

type Render = fn(&Renderer, &str) -> PromptText;

/// Every sort of part that is one envelope.
const PARTS: [Render; 7] = [
    |it, text| it.tool_result(&ToolResultPart::new(text, call(), TrustLabel::UNTRUSTED, text)),
    |it, text| {
        let label = TrustLabel::declared(TrustTier::FirstParty);
        it.tool_result(&ToolResultPart::new(text, call(), label, text))
    },
    |it, text| it.handle(&HandlePart::new(Origin::Retrieved(text), text, text)),
    |it, text| {
        it.memories(&[MemoryPart::new(text, TrustLabel::UNTRUSTED, text).source(text).kind(text)])
    },
    |it, text| it.peer(&PeerPart::new(text, text, text)),
    |it, text| it.thought(&ThoughtPart::own(text, text, text)),
    |it, text| {
        let file = MediaFile::new(text, text, "");
        let media = Media::user_attachment(MediaKind::Image, file)
            .with_id(MediaId::new(text))
            .with_entry("text:caption", StashEntry::new(text, TrustTier::FirstParty));
        it.media_fallback(&MediaFallbackPart::new(Origin::Message(text), 0, &media))
    },
];

fn call() -> RecordId {
    RecordId::first(CallId::of_text("fetch", "https://example.com/"))
}

/// The text is one envelope: it opens with the tag that closes it, and there is no other tag.
fn check_envelope(rendered: &PromptText) {
    let text = rendered.as_str();
    let name = text.strip_prefix('<').and_then(|rest| rest.split(' ').next());
    let Some(name) = name else { panic!("no tag at the start:\n{text}") };
    assert!(text.ends_with(&format!("\n</{name}>")), "another tag at the end:\n{text}");
    assert_eq!(reserved_tags(text), 2, "not one envelope:\n{text}");
}

/// How many tags of envelopes a lenient reader finds.
fn reserved_tags(text: &str) -> usize {
    const NAMES: [&str; 8] = [
        "untrusted_content",
        "trusted_content",
        "memor",
        "retrieved",
        "thought",
        "peer_agent_output",
        "message",
        "system_instructions",
    ];
    let seen = |ch: &char| !matches!(ch, '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}');
    let text: String = text.chars().filter(seen).collect::<String>().to_ascii_lowercase();
    let is_tag = |rest: &&str| {
        let rest = rest.trim_start_matches(|ch: char| ch.is_ascii_whitespace() || ch == '/');
        NAMES.iter().any(|name| {
            let next = rest.strip_prefix(name).map(|rest| match *name {
                "memor" => rest.strip_prefix('y').or(rest.strip_prefix("ies")).unwrap_or("x"),
                _ => rest,
            });
            next.is_some_and(|rest| !rest.starts_with(|ch: char| ch.is_ascii_alphanumeric()))
        })
    };
    text.split('<').skip(1).filter(is_tag).count()
}
