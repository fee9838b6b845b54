//! What the fuzzer asserts about messages of servers, on a few inputs that look like messages.

#[path = "../../../../fuzz/src/mcp.rs"]
#[expect(unreachable_pub, reason = "the fuzzer calls it from outside")]
mod mcp;

use haft_testkit::cases;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

const WORDS: &[&str] = &[
    "{\"jsonrpc\":\"2.0\",",
    "\"id\":1,",
    "\"result\":{\"content\":[",
    "{\"type\":\"text\",\"text\":\"",
    "\"}",
    "]}",
    "}",
    "\n",
    "\r\n",
    "a long text that is spooled",
    "\\u00e9",
    "\"method\":\"notifications/progress\",",
    "\"params\":{}",
    "null",
    "[",
    ",",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"12345678\"}]}}\n",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"aGFsbG8gd2VsdA==\"}]}}\n",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]

    #[test]
    fn messages_do_not_depend_on_chunks(
        settings in any::<[u8; 2]>(),
        pieces in vec(
            prop_oneof![
                8 => select(WORDS).prop_map(|it| it.as_bytes().to_vec()),
                1 => vec(any::<u8>(), 1..4),
            ],
            0..12,
        ),
    ) {
        mcp::mcp_messages(&[settings.to_vec(), pieces.concat()].concat());
    }
}
