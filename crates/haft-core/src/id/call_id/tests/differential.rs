//! Ten thousand random calls, hashed by node as well.

use std::io::Write as _;
use std::process::{Command, Stdio};

use super::CallId;
use crate::json::Document;

/// Reads one document per line and prints the call id of each, by ECMAScript's own rules.
const SCRIPT: &str = r#"
const { createHash } = require("crypto");
const canonical = (it) =>
  Array.isArray(it) ? "[" + it.map(canonical).join(",") + "]"
  : it !== null && typeof it === "object"
    ? "{" + Object.keys(it).sort().map((key) => JSON.stringify(key) + ":" + canonical(it[key])).join(",") + "}"
  : JSON.stringify(it);
const lines = require("fs").readFileSync(0, "utf8").split("\n");
lines.pop();
const ids = lines.map((line) => {
  const text = canonical({ tool: "tool \"1\"", args: JSON.parse(line) });
  return createHash("sha256").update(text).digest("hex");
});
process.stdout.write(ids.join("\n"));
"#;

/// A generator that needs no dependency and gives the same calls every time.
struct Random(u64);

impl Random {
    /// The next number of the splitmix sequence.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn value(&mut self, depth: u64) -> String {
        match self.below(8 + depth) {
            0 => "null".to_owned(),
            1 => "true".to_owned(),
            2 => self.string(),
            3 => self.double(),
            4 => format!("{}.{}", self.below(1000), self.below(100_000)),
            // Beyond 2^53 node rounds integers, which is where the two differ on purpose.
            5 => (self.next() as i64 >> 10 >> self.below(53)).to_string(),
            6 => format!("{}e{}", self.below(100_000), self.below(15)),
            7 => self.string(),
            n if n % 2 == 0 => self.list('[', ']', |it| it.value(depth - 1)),
            _ => self.list('{', '}', |it| it.string() + ": " + &it.value(depth - 1)),
        }
    }

    fn list(&mut self, open: char, close: char, item: impl Fn(&mut Self) -> String) -> String {
        let items: Vec<String> = (0..self.below(7)).map(|_| item(self)).collect();
        format!("{open}{}{close}", items.join(", "))
    }

    fn string(&mut self) -> String {
        const CHARACTERS: [&str; 16] = [
            "a", "b", "key", "Z", "0", "9", "_", " ", "\\n", "\\\"", "\\u0001", "\\u00e9", "ü",
            "～", "😀", "\u{e000}",
        ];
        let text: String =
            (0..self.below(9)).map(|_| CHARACTERS[self.below(16) as usize]).collect();
        format!("\"{text}\"")
    }

    /// Any finite double that is not an integer beyond 2^53 within 64 bits.
    fn double(&mut self) -> String {
        let value = f64::from_bits(self.next());
        let plain = value.is_finite() && !(9e15..2e19).contains(&value.abs());
        if plain { format!("{value:e}") } else { "0.5".to_owned() }
    }
}

#[test]
fn node_computes_the_same_ids() {
    if !haft_testkit::has_program("node") {
        return;
    }
    let mut node = Command::new("node")
        .args(["-e", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut random = Random(20_260_605);
    let lines: Vec<String> = (0..10_000).map(|_| random.value(8)).collect();
    let mut input = node.stdin.take().unwrap();
    let text = lines.join("\n") + "\n";
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = node.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let output = String::from_utf8(output.stdout).unwrap();
    let theirs: Vec<&str> = output.lines().collect();
    assert_eq!(theirs.len(), lines.len());
    for (line, theirs) in lines.iter().zip(theirs) {
        let doc = Document::parse(line).unwrap();
        assert_eq!(CallId::of("tool \"1\"", doc.root()).to_string(), theirs, "{line}");
    }
}
