//! A model that answers from a list, by the number of its messages in the request.

use std::sync::Arc;

use bytes::Bytes;
use haft::providers::dialects::chat_completions::ChatCompletions;
use haft::providers::transport::{Body, Request, Transport, response};
use haft::providers::transport::{HttpError, Response};
use haft::{BoxFuture, Provider};
use serde_json::{Value, json};

use super::Example;

/// One response: milliseconds, thought, text, and calls with their arguments. `HANDLE` stands for the last handle.
type Answer = (u64, &'static str, &'static str, &'static [(&'static str, &'static str)]);

pub(super) const LOG_DETECTIVE: &[Answer] = &[
    (402, "", "I will look at what is there before I open anything.", &[("list_files", "{}")]),
    (
        700,
        "",
        "The log is large, so I open it and query it by its handle.",
        &[
            ("read_file", "{\"path\":\"README.md\"}"),
            ("read_file", "```json\n{\"path\":\"shop.log\",}\n```"),
        ],
    ),
    (
        507,
        "",
        "Errors first, from the top.",
        &[
            ("artifact_info", "{\"callId\":\"086ab5ee\"}"),
            (
                "artifact_grep",
                "{\"callId\":\"HANDLE\",\"pattern\":\"^\\\\S+ ERROR\",\"limit\":\"3\"}",
            ),
        ],
    ),
    (
        454,
        "",
        "Mail bounces are noise. Checkout is what the customers spoke of.",
        &[(
            "artifact_grep",
            "{\"callId\":\"HANDLE\",\"pattern\":\"ERROR +(checkout\",\"limit\":1}",
        )],
    ),
    (
        600,
        "",
        "The pattern had an open bracket. Once more.",
        &[(
            "artifact_grep",
            "{\"callId\":\"HANDLE\",\"pattern\":\"ERROR +checkout\",\"limit\":\"1\"}",
        )],
    ),
    (
        880,
        "",
        "I read the lines before the first failure.",
        &[("artifact_read", "{\"callId\":\"HANDLE\",\"start\":9997,\"end\":10001}")],
    ),
    (
        910,
        "",
        "Checkout failed from 09:14:31 to 10:51:51 UTC, because the payment service had too few connections.",
        &[],
    ),
];

pub(super) const APPROVAL_FLOW: &[Answer] = &[
    (620, "I look at the list before I change it.", "", &[("read_file", "{\"path\":\"list.md\"}")]),
    (
        810,
        "",
        "I would write the list without milk and with coffee.",
        &[(
            "write_file",
            "{\"path\":\"list.md\",\"content\":\"# Shopping list\\n\\n- bread\\n- two onions\\n- coffee\\n\"}",
        )],
    ),
    (340, "", "The list is written.", &[]),
];

/// The agent sees no earlier turns, so that it gives one reply to everything.
pub(super) const GARDENER: &[Answer] = &[(
    530,
    "",
    "In October, with the tip up, five centimetres deep in loose soil. Strawberries are good neighbours.",
    &[],
)];

/// A provider whose model is a list.
pub(super) fn provider(example: &Example, answers: &'static [Answer]) -> Provider {
    let transport = Arc::new(ListedModel { example: example.clone(), answers });
    let builder = Provider::builder(ChatCompletions::new(), "stand-in").name("openai");
    builder.base_url("http://127.0.0.1:9").transport(transport).build().unwrap()
}

struct ListedModel {
    example: Example,
    answers: &'static [Answer],
}

impl std::fmt::Debug for ListedModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ListedModel").finish_non_exhaustive()
    }
}

impl Transport for ListedModel {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<Body>, HttpError>> {
        let text = String::from_utf8_lossy(request.body()).into_owned();
        let body: Value = serde_json::from_slice(request.body()).unwrap();
        let said = body["messages"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|it| it["role"] == "assistant")
            .count();
        let (milliseconds, thought, words, calls) = self.answers[said.min(self.answers.len() - 1)];
        self.example.pass_time(milliseconds);
        let handle = text.rsplit("callId: ").next().and_then(|it| it.get(..8)).unwrap_or_default();
        let calls: Vec<Value> = calls
            .iter()
            .enumerate()
            .map(|(n, (tool, args))| {
                let function = json!({"name": tool, "arguments": args.replace("HANDLE", handle)});
                json!({"id": format!("call_{said}_{n}"), "type": "function", "function": function})
            })
            .collect();
        let mut message = json!({"role": "assistant", "content": words});
        if !thought.is_empty() {
            message["reasoning"] = thought.into();
        }
        if !calls.is_empty() {
            message["tool_calls"] = calls.into();
        }
        let usage =
            json!({"prompt_tokens": text.len() / 4, "completion_tokens": 20 + words.len() / 4});
        let reason = if message.get("tool_calls").is_some() { "tool_calls" } else { "stop" };
        let reply = json!({"id": "r", "model": "stand-in", "usage": usage,
            "choices": [{"index": 0, "message": message, "finish_reason": reason}]});
        Box::pin(async move {
            let mut reply = response(200, Body::from_chunks([Bytes::from(reply.to_string())]))?;
            reply
                .headers_mut()
                .insert("content-type", axum::http::HeaderValue::from_static("application/json"));
            Ok(reply)
        })
    }
}
