//! What is compared with what. A format of its own has a list of its own, and joins [`all`].

use std::ffi::OsString;

use super::data::Data;
use super::job::{Job, digest, numbers};
use super::process::{Clock, MISSING, Variant};
use crate::report::OURS;

/// One row: the first variant is what the others are compared with.
#[derive(Debug)]
pub(crate) struct Spec {
    pub(crate) name: &'static str,
    /// What our side is to reach.
    pub(crate) target: &'static str,
    pub(crate) clock: Clock,
    pub(crate) variants: Vec<Variant>,
}

/// All rows, in the order in which they are printed.
pub(crate) fn all(data: &Data) -> Vec<Spec> {
    let text = [spool(data), ranges(data), searches(data)];
    let formats = [json(data), markdown(data), tokens(data), handler(data)];
    text.into_iter().chain(formats).flatten().collect()
}

fn spool(data: &Data) -> Vec<Spec> {
    let log = data.log();
    let folder = data.folder();
    let copy = Job::Copy { source: log.clone(), target: folder.join("copy") };
    let spool = Job::Spool { source: log.clone(), folder: folder.join("second-spool") };
    let target = folder.join("cp").into_os_string();
    vec![
        row("idle process", "", Clock::Process, vec![Variant::ours(OURS, Job::Idle)]),
        row(
            "write",
            "<= 1.3 x, <= 64 MiB",
            Clock::Inside,
            vec![
                Variant::ours("read, write, sync", copy),
                Variant::ours(OURS, spool),
                Variant::program("cp (no sync)", "cp", [log.clone().into(), target], |_| {
                    String::new()
                })
                .unanswered(),
            ],
        ),
        row(
            "count lines, no index",
            "<= 1.0 x, <= 64 MiB",
            Clock::Process,
            vec![
                Variant::program("wc -l", "wc", ["-l".into(), log.into_os_string()], first_word),
                Variant::ours(OURS, Job::Count { spool: data.spool() }),
            ],
        ),
    ]
}

fn ranges(data: &Data) -> Vec<Spec> {
    let spool = data.spool();
    let log = data.log().into_os_string();
    let middle = data.lines / 2;
    let sed = OsString::from(format!("{},{}p;{}q", middle + 1, middle + 10, middle + 10));
    let ten = || [OsString::from("-n"), "10".into(), log.clone()];
    let hundred = [OsString::from("-n"), "100".into(), log.clone()];
    let lines = |runtime| Job::RandomLines { spool: spool.clone(), count: 2_000, runtime };
    let page = |index| Job::FirstPage { spool: spool.clone(), index };
    vec![
        row(
            "first 10 lines",
            "",
            Clock::Process,
            vec![
                Variant::program("head -n 10", "head", ten(), |it| digest(it)),
                Variant::ours(OURS, Job::Head { spool: spool.clone(), lines: 10 }),
            ],
        ),
        row(
            "last 10 lines",
            "",
            Clock::Process,
            vec![
                Variant::program("tail -n 10", "tail", ten(), |it| digest(it)),
                Variant::ours(OURS, Job::Tail { spool: spool.clone(), lines: 10 }),
            ],
        ),
        row(
            "10 lines from the middle",
            "",
            Clock::Process,
            vec![
                Variant::program("sed -n", "sed", ["-n".into(), sed, log.clone()], |it| digest(it)),
                Variant::ours(
                    OURS,
                    Job::Cat { spool: spool.clone(), start: middle, end: middle + 10 },
                ),
            ],
        ),
        row(
            "one random line, opened",
            "<= 0.02 ms",
            Clock::Inside,
            vec![Variant::ours(OURS, lines(true)), Variant::ours("haft, no runtime", lines(false))],
        ),
        row(
            "first page, unopened",
            "<= 5 ms",
            Clock::Inside,
            vec![
                Variant::program("head -n 100", "head", hundred, |it| digest(it)),
                Variant::ours(OURS, page(true)),
                Variant::ours("haft, index lost", page(false)),
            ],
        ),
    ]
}

fn searches(data: &Data) -> Vec<Spec> {
    let log = data.log().into_os_string();
    let search = |name, pattern: &'static str| {
        let peer = |flag: &str| [flag.into(), "-e".into(), pattern.into(), log.clone()];
        let ours = Job::Grep { spool: data.spool(), pattern: pattern.into() };
        row(
            name,
            "<= 1.0 x, <= 64 MiB",
            Clock::Process,
            vec![
                Variant::program("ripgrep -n", "rg", peer("-n"), line_numbers),
                Variant::ours(OURS, ours),
                Variant::program("ripgrep -c", "rg", peer("-c"), |_| String::new()).unanswered(),
                Variant::program("GNU grep -n", "grep", peer("-nE"), line_numbers),
            ],
        )
    };
    let page = Job::GrepPage { spool: data.spool(), pattern: ONE_PERCENT.into() };
    let hundred = ["-n", "-m", "200", "-e", ONE_PERCENT].map(OsString::from);
    let hundred = hundred.into_iter().chain([log.clone()]);
    vec![
        search("search, literal, 10 hits", "needle"),
        search("search, rare expression, 100 hits", "retry=[0-8]of9$"),
        search("search, expression, 1 % of lines", ONE_PERCENT),
        search(
            "search, literal inside, its prefix in all lines",
            "user=u[0-9]* took=[0-9]*ms needle",
        ),
        search("search, one of two literals inside", "status=[0-9]+ .*(needle|of9)"),
        search("search, one of three literals", "needle|of9|nowhere"),
        search("search, literal in any case", "[Nn][Ee][Ee][Dd][Ll][Ee]"),
        search("search, word", "\\bneedle\\b"),
        search("search, start of a line", "^2026-03-28T12:59:59.9"),
        search("search, literal behind digits", "[0-9]+ms needle"),
        search("search, literal of all lines", "[0-9]{9} status=50[1-4] user=u99"),
        search("search, literal that is nowhere", "nowhere in this log"),
        row(
            "search, first page of 1 %",
            "",
            Clock::Process,
            vec![
                Variant::program("ripgrep -n -m 200", "rg", hundred, |_| String::new())
                    .unanswered(),
                Variant::ours(OURS, page),
            ],
        ),
    ]
}

fn json(data: &Data) -> Vec<Spec> {
    let file = data.json().into_os_string();
    let last = data.items.saturating_sub(1);
    let path = format!("$.items[{last}].name");
    let get = |times| Job::JsonGet { spool: data.spool(), path: path.clone(), times };
    let jq = |program: String| [OsString::from("-r"), program.into(), file.clone()];
    let node = format!(
        "console.log(JSON.parse(require('fs').readFileSync(process.argv[1],'utf8')).items[{last}].name)"
    );
    let node = [OsString::from("-e"), node.into(), file.clone()];
    let dear =
        Job::JsonCount { spool: data.spool(), path: "$.items[?@.price > 999.98].name".to_owned() };
    let select = ".items[] | select(.price > 999.98) | .name".to_owned();
    vec![
        row(
            "JSON, name of the last element",
            "<= 2 x reading, <= 64 MiB",
            Clock::Process,
            vec![
                Variant::program("cat", "cat", [file.clone()], |_| String::new()).unanswered(),
                Variant::ours(OURS, get(1)),
                Variant::program("jq", "jq", jq(format!(".items[{last}].name")), |it| digest(it)),
                Variant::program("node JSON.parse", "node", node, |it| digest(it)),
            ],
        ),
        row(
            "JSON, the same asked again",
            "<= 1 ms",
            Clock::Inside,
            vec![Variant::ours(OURS, get(2))],
        ),
        row(
            "JSON, elements by value",
            "<= 64 MiB",
            Clock::Process,
            vec![
                Variant::program("jq", "jq", jq(select), |it| digest(it)),
                Variant::ours(OURS, dear),
            ],
        ),
    ]
}

fn handler(data: &Data) -> Vec<Spec> {
    let job = Job::Handler { source: data.log(), folder: data.folder().join("handler") };
    vec![row(
        "a handler's stream, spooled, ten queries",
        "<= 64 MiB",
        Clock::Inside,
        vec![Variant::ours(OURS, job)],
    )]
}

fn markdown(data: &Data) -> Vec<Spec> {
    let ours = Variant::ours(OURS, Job::Headings { path: data.markdown() });
    #[cfg(feature = "peers")]
    let peers = {
        let job = Job::HeadingsByPulldownCmark { path: data.markdown() };
        Some(Variant::ours("pulldown-cmark 0.13", job))
    };
    #[cfg(not(feature = "peers"))]
    let peers = None;
    let variants = peers.into_iter().chain([ours]).collect();
    vec![row("Markdown headings", "<= 0.5 x, <= 64 MiB", Clock::Process, variants)]
}

fn tokens(data: &Data) -> Vec<Spec> {
    let script = TIKTOKEN.replace("MISSING", MISSING);
    let args = ["-c".into(), script.into(), data.prose().into_os_string()];
    vec![row(
        "tokens, o200k_base",
        "",
        Clock::Process,
        vec![
            Variant::program("python tiktoken", "python3", args, first_word),
            Variant::ours(OURS, Job::Tokens { path: data.prose() }),
        ],
    )]
}

fn row(name: &'static str, target: &'static str, clock: Clock, variants: Vec<Variant>) -> Spec {
    Spec { name, target, clock, variants }
}

fn first_word(output: &str) -> String {
    output.split_whitespace().next().unwrap_or_default().to_owned()
}

/// The numbers before the lines that a search prints.
fn line_numbers(output: &str) -> String {
    let number = |line: &str| line.split_once(':').and_then(|(number, _)| number.parse().ok());
    numbers(output.lines().map(|line| number(line).unwrap_or(0)))
}

const ONE_PERCENT: &str = "status=5[0-9]{2} user";

const TIKTOKEN: &str = r#"
import sys
try:
    import tiktoken
    encoding = tiktoken.get_encoding("o200k_base")
except Exception as error:
    sys.exit(f"MISSING: {error}")
print(len(encoding.encode(open(sys.argv[1], encoding="utf-8").read(), disallowed_special=())))
"#;
