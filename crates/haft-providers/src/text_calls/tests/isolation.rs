//! An example of each format is a call to its own format only.

use super::{OFFERED, TextCallFormat};

const EXAMPLES: [(TextCallFormat, &str); 12] = [
    (
        TextCallFormat::Hermes,
        r#"<tool_call>{"name":"weather","arguments":{"city":"Paris"}}</tool_call>"#,
    ),
    (TextCallFormat::Gemma, r#"<|tool_call>call:weather{city:<|"|>Paris<|"|>}<tool_call|>"#),
    (TextCallFormat::Gemma, "call:weather{city:Paris}"),
    (TextCallFormat::Gemma, "weather{city:Paris}"),
    (
        TextCallFormat::GptOss,
        r#"<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{"city":"Paris"}<|call|>"#,
    ),
    (TextCallFormat::Pythonic, "[weather(city='Paris')]"),
    (TextCallFormat::BarePythonic, "weather(city='Paris')"),
    (TextCallFormat::LooseKeyed, "weather\ncity: Paris"),
    (TextCallFormat::Llama3Json, r#"{"name":"weather","parameters":{"city":"Paris"}}"#),
    (TextCallFormat::Mistral, r#"[TOOL_CALLS][{"name":"weather","arguments":{"city":"Paris"}}]"#),
    (
        TextCallFormat::Qwen3Coder,
        "<tool_call>\n<function=weather>\n<parameter=city>\nParis\n</parameter>\n</function>\n</tool_call>",
    ),
    (TextCallFormat::Phi, r#"functools[{"name":"weather","arguments":{"city":"Paris"}}]"#),
];

#[test]
fn every_format_reads_its_own_and_no_other() {
    let expect = serde_json::json!([["weather", { "city": "Paris" }]]);
    for (own, text) in EXAMPLES {
        for format in TextCallFormat::ALL {
            let parsed = format.parse(text, OFFERED);
            let reads = format == own
                || format == TextCallFormat::Auto
                // A call with brackets around it is one without them too.
                || (format, own) == (TextCallFormat::BarePythonic, TextCallFormat::Pythonic);
            if reads {
                assert_eq!(super::calls(&parsed), expect, "{format:?}: {text}");
            } else {
                assert_eq!((parsed.calls.len(), parsed.text.as_str()), (0, text), "{format:?}");
            }
        }
    }
}

#[test]
fn weak_forms_need_an_offered_name_and_others_do_not() {
    for (own, text) in EXAMPLES {
        let is_weak = matches!(own, TextCallFormat::BarePythonic | TextCallFormat::LooseKeyed)
            || text.starts_with("weather{");
        assert_eq!(own.parse(text, &[]).calls.is_empty(), is_weak, "{text}");
    }
}

#[test]
fn every_prefix_of_an_example_is_no_call() {
    for (own, text) in EXAMPLES {
        for (at, _) in text.char_indices() {
            let cut = text.get(..at).unwrap();
            let parsed = own.parse(cut, OFFERED);
            let may_be = match own {
                TextCallFormat::Gemma => {
                    parsed.calls.iter().all(|it| it.is_cut_off || cut.contains('}'))
                }
                // What is not known to be cut off, is a value.
                TextCallFormat::LooseKeyed => cut.contains(':'),
                _ => false,
            };
            assert!(parsed.calls.is_empty() || may_be, "{own:?}: {cut}");
        }
    }
}
