#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| haft_fuzz::mcp_messages(data));
