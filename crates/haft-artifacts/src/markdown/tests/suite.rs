//! The examples of the CommonMark specification, which lives outside the project.

use super::differential::Found;
use crate::markdown::MarkdownIndex;

#[test]
fn reads_the_examples_of_the_specification() {
    let Some(path) = haft_testkit::suite("commonmark/spec.txt") else { return };
    let text = std::fs::read_to_string(path).unwrap();
    let examples = examples(&text);
    assert_eq!(examples.len(), 652);
    let mut wrong = Vec::new();
    for (number, example) in examples.iter().enumerate() {
        // A line before it, so that none begins with front matter.
        let example = format!("\n{example}");
        let ours = Found::ours(&MarkdownIndex::parse(&example));
        let oracle = Found::oracle(&example);
        if ours != oracle {
            wrong
                .push(format!("{}: {example:?}\n ours   {ours:?}\n oracle {oracle:?}", number + 1));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));

    // The specification itself is a document, too.
    let index = MarkdownIndex::parse(&text);
    assert_eq!(index.front_matter().unwrap().unwrap()["version"], "0.31.2");
    let lines = index.front_matter_source().unwrap().end_line() + 1;
    let body: String = text.split_inclusive('\n').skip(lines).collect();
    assert_eq!(Found::ours(&MarkdownIndex::parse(&body)), Found::oracle(&body));
}

fn examples(text: &str) -> Vec<String> {
    let fence = "`".repeat(32);
    let mut examples = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line == format!("{fence} example") {
            let source: Vec<&str> = lines.by_ref().take_while(|it| *it != ".").collect();
            let source: String = source.iter().map(|it| format!("{it}\n")).collect();
            examples.push(source.replace('→', "\t"));
            lines.find(|it| *it == fence);
        }
    }
    examples
}
