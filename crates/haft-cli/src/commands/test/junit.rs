//! Results in the format of JUnit, which CI services read.

use super::TestResult;

/// Writes the results of an agent's tests as XML.
pub(super) fn write_junit(agent: &str, results: &[TestResult]) -> String {
    let failures = results.iter().filter(|it| it.failure.is_some()).count();
    let seconds: f64 = results.iter().map(|it| it.duration.as_secs_f64()).sum();
    let agent = escape(agent);
    let count = results.len();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"{agent}\" tests=\"{count}\" \
         failures=\"{failures}\" time=\"{seconds:.3}\">\n"
    );
    for result in results {
        let name = escape(&result.name);
        let seconds = result.duration.as_secs_f64();
        let case = format!("<testcase classname=\"{agent}\" name=\"{name}\" time=\"{seconds:.3}\"");
        match &result.failure {
            None => text.push_str(&format!("{case}/>\n")),
            Some(failure) => {
                let first = escape(failure.lines().next().unwrap_or_default());
                let failure = escape(failure);
                text.push_str(&format!(
                    "{case}>\n<failure message=\"{first}\">{failure}</failure>\n</testcase>\n"
                ));
            }
        }
    }
    text.push_str("</testsuite>\n</testsuites>\n");
    text
}

/// Escapes text for XML. Characters that XML does not allow are replaced.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(character),
            it if it.is_control() || matches!(it, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            it => out.push(it),
        }
    }
    out
}
