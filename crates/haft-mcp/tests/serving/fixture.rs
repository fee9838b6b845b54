//! The server that the conformance suite asks for: the tools that Haft can express go through [`McpServer`]; prompts,
//! static resources, sampling and roots, which Haft does not offer, are added around it.
#![expect(clippy::disallowed_methods, reason = "the suite wants pauses between notifications")]
#![expect(deprecated, reason = "the suite tests sampling and logging too")]

use haft::media::{MediaFile, MediaKind, MemoryReader};
use haft::turn::GateRequest;
use haft::{DispatchContext, Media, Tool, ToolFailure};
use haft_core::event::LogLevel;
use haft_core::schema::{object, string};
use haft_core::tool::ToolEffect;
use haft_mcp::McpServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities,
    CompleteRequestParams, CompleteResult, CreateMessageRequestParams, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, InitializeResult, InputRequiredResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, RequestStateCodec,
    SamplingMessage, ServerCapabilities, SetLevelRequestParams, SubscribeRequestParams,
    SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A red pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

/// Silence.
const WAV: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";

#[derive(Clone, Debug)]
pub(crate) struct Fixture {
    pub(crate) server: McpServer,
}

/// The fixture, with the tools that go through the server.
pub(crate) fn fixture() -> Fixture {
    let mut server = McpServer::builder("haft-conformance");
    for tool in [
        plain("test_simple_text").handler(|| "This is a simple text response for testing."),
        plain("test_image_content").handler(|| media(MediaKind::Image, "image/png", PNG)),
        plain("test_audio_content").handler(|| media(MediaKind::Audio, "audio/wav", WAV)),
        plain("test_error_handling").handler(|| {
            Err::<String, _>(ToolFailure::new(
                "This tool intentionally returns an error for testing",
            ))
        }),
        plain("test_tool_with_logging").handler(log_steps),
        plain("test_logging_tool").handler(log_steps),
        plain("test_tool_with_progress").handler(async |_: haft::Args, ctx: DispatchContext| {
            for progress in [0, 50, 100] {
                let payload = json!({"progress": progress, "total": 100});
                ctx.log(LogLevel::Info, "progress", "", Some(payload));
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
            "done"
        }),
        described("test_elicitation")
            .input(object().field("message", string().required()))
            .handler(async |args: haft::Args, ctx: DispatchContext| {
                let message = args
                    .root()
                    .get("message")
                    .and_then(haft_core::json::ValueRef::as_str)
                    .unwrap_or_default();
                let schema = form(&json!({
                    "username": {"type": "string", "description": "User's response"},
                    "email": {"type": "string", "description": "User's email address"},
                }));
                let reply = ctx.wait_for(GateRequest::new(message).schema(schema)).await?;
                Ok::<_, ToolFailure>(format!("User response: {reply}"))
            }),
        asking(
            "test_elicitation_sep1034_defaults",
            "form",
            json!({
                "name": {"type": "string", "default": "John Doe"},
                "age": {"type": "integer", "default": 30},
                "score": {"type": "number", "default": 95.5},
                "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
                "verified": {"type": "boolean", "default": true},
            }),
        ),
        asking("test_elicitation_sep1330_enums", "form", enum_fields()),
        asking("test_input_required_result_elicitation", "user_name", name_field()),
        asking(
            "test_input_required_result_request_state",
            "confirm",
            json!({"ok": {"type": "boolean"}}),
        ),
        asking(
            "test_input_required_result_tampered_state",
            "confirm",
            json!({"ok": {"type": "boolean"}}),
        ),
        asking("test_streaming_elicitation", "user_name", name_field()),
        plain("test_input_required_result_multi_round").handler(
            async |_: haft::Args, ctx: DispatchContext| {
                let color = json!({"color": {"type": "string"}});
                for (key, fields) in [("step1", name_field()), ("step2", color)] {
                    let request = GateRequest::new(format!("{key}: please say"))
                        .payload(json!({"name": key}));
                    ctx.wait_for(request.schema(form(&fields))).await?;
                }
                Ok::<_, ToolFailure>("both rounds are done")
            },
        ),
    ] {
        server = server.tool(tool.build().unwrap());
    }
    Fixture { server: server.build().unwrap() }
}

fn described(name: &str) -> haft_core::tool::ToolBuilder {
    Tool::builder(name).description("A tool of the conformance suite.").effect(ToolEffect::ReadOnly)
}

/// A tool without arguments.
fn plain(name: &str) -> haft_core::tool::ToolBuilder {
    described(name).input(object())
}

/// A tool that asks its user for these fields.
fn asking(name: &str, key: &'static str, fields: Value) -> haft_core::tool::ToolBuilder {
    plain(name).handler(move |_: haft::Args, ctx: DispatchContext| {
        let request = GateRequest::new("Please fill in the form.").payload(json!({"name": key}));
        let request = request.schema(form(&fields));
        async move {
            let reply = ctx.wait_for(request).await?;
            Ok::<_, ToolFailure>(format!("Elicitation completed: state-ok, content={reply}"))
        }
    })
}

async fn log_steps(_: haft::Args, ctx: DispatchContext) -> &'static str {
    for step in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        ctx.log(LogLevel::Info, "fixture", step, None);
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    "done"
}

fn media(kind: MediaKind, mime: &str, base64: &str) -> Media {
    let bytes = haft_core::media::decode_base64(base64.as_bytes()).unwrap();
    let file = MediaFile::read_by("fixture", mime, std::sync::Arc::new(MemoryReader::new(bytes)));
    Media::tool_generated(kind, file)
}

fn name_field() -> Value {
    json!({"name": {"type": "string"}})
}

/// The schema of a form whose fields are all required.
fn form(fields: &Value) -> Value {
    let required: Vec<&String> = fields.as_object().unwrap().keys().collect();
    json!({"type": "object", "properties": fields, "required": required})
}

fn enum_fields() -> Value {
    let titled = json!([
        {"const": "value1", "title": "First"}, {"const": "value2", "title": "Second"},
        {"const": "value3", "title": "Third"},
    ]);
    let options = json!(["option1", "option2", "option3"]);
    json!({
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {
            "type": "string", "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    })
}

fn typed<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// A result that says that it is complete, as the revision 2026-07-28 wants.
fn complete<T: DeserializeOwned>(mut value: Value) -> T {
    value["resultType"] = "complete".into();
    typed(value)
}

/// Tools that need what Haft does not offer.
fn extra_tools() -> Vec<rmcp::model::Tool> {
    let names = [
        "test_embedded_resource",
        "test_multiple_content_types",
        "test_sampling",
        "test_missing_capability",
        "test_input_required_result_sampling",
        "test_input_required_result_list_roots",
        "test_input_required_result_multiple_inputs",
        "test_input_required_result_capabilities",
    ];
    let tool = |name| {
        typed(json!({
            "name": name, "description": "A tool of the conformance suite.", "inputSchema": {"type": "object"},
        }))
    };
    names.into_iter().map(tool).collect()
}

fn sampling(text: &str) -> Value {
    json!({"method": "sampling/createMessage", "params": {
        "messages": [{"role": "user", "content": {"type": "text", "text": text}}], "maxTokens": 100,
    }})
}

fn elicitation() -> Value {
    json!({"method": "elicitation/create", "params": {
        "mode": "form", "message": "What is your name?", "requestedSchema": form(&name_field()),
    }})
}

impl Fixture {
    /// Requires input under these keys, unless it came with the request.
    fn require(params: &CallToolRequestParams, requests: Value) -> CallToolResponse {
        let codec = RequestStateCodec::try_new(*b"the key of the conformance suite").unwrap();
        let replies = params.input_responses.clone().unwrap_or_default();
        let keys = requests.as_object().unwrap();
        if keys.keys().all(|key| replies.contains_key(key)) {
            let content = json!([{"type": "text", "text": format!("{replies:?}")}]);
            return complete::<CallToolResult>(json!({"content": content})).into();
        }
        let (requests, state) = (typed(requests), codec.seal(b"state"));
        InputRequiredResult::new(Some(requests), Some(state)).into()
    }

    async fn call_extra(
        params: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let embedded = |uri: &str, mime: &str, text: &str| {
            json!({
                "type": "resource", "resource": {"uri": uri, "mimeType": mime, "text": text},
            })
        };
        let content = match params.name.as_ref() {
            "test_embedded_resource" => {
                json!([embedded(
                    "test://embedded-resource",
                    "text/plain",
                    "This is an embedded resource content."
                )])
            }
            "test_multiple_content_types" => json!([
                {"type": "text", "text": "Multiple content types test:"},
                {"type": "image", "data": PNG, "mimeType": "image/png"},
                embedded("test://mixed-content-resource", "application/json", r#"{"test":"data","value":123}"#),
            ]),
            "test_sampling" => {
                let prompt = params.arguments.as_ref().and_then(|it| it.get("prompt"));
                let message =
                    SamplingMessage::user_text(prompt.and_then(Value::as_str).unwrap_or_default());
                let request = CreateMessageRequestParams::new(vec![message], 100);
                let reply = context.peer.create_message(request).await;
                let reply =
                    reply.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
                json!([{"type": "text", "text": format!("LLM response: {reply:?}")}])
            }
            "test_missing_capability" => {
                if context.client_capabilities().is_none_or(|it| it.sampling.is_none()) {
                    let required = ClientCapabilities::builder().enable_sampling().build();
                    return Err(ErrorData::missing_required_client_capability(required));
                }
                json!([{"type": "text", "text": "sampling is there"}])
            }
            "test_input_required_result_sampling" => {
                let question = sampling("What is the capital of France?");
                return Ok(Self::require(&params, json!({"capital_question": question})));
            }
            "test_input_required_result_list_roots" => {
                return Ok(Self::require(
                    &params,
                    json!({"client_roots": {"method": "roots/list", "params": {}}}),
                ));
            }
            "test_input_required_result_multiple_inputs" => {
                return Ok(Self::require(
                    &params,
                    json!({
                        "user_name": elicitation(), "greeting": sampling("Generate a greeting"),
                        "client_roots": {"method": "roots/list", "params": {}},
                    }),
                ));
            }
            _ => {
                let has_forms =
                    context.client_capabilities().is_some_and(|it| it.elicitation.is_some());
                let request = if has_forms { elicitation() } else { sampling("Who are you?") };
                return Ok(Self::require(&params, json!({"question": request})));
            }
        };
        Ok(complete::<CallToolResult>(json!({"content": content})).into())
    }
}

impl ServerHandler for Fixture {
    fn get_info(&self) -> InitializeResult {
        let mut info = self.server.get_info();
        info.capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_prompts()
            .enable_completions()
            .enable_logging()
            .build();
        info
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut list = self.server.list_tools(request, context).await?;
        list.tools.extend(extra_tools());
        Ok(list)
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if extra_tools().iter().any(|tool| tool.name == params.name) {
            return Self::call_extra(params, &context).await;
        }
        self.server.call_tool(params, context).await
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let argument =
            |name: &str| json!({"name": name, "description": "An argument", "required": true});
        let prompt = |name: &str, arguments: Value| {
            json!({
                "name": name, "description": "A prompt of the conformance suite.", "arguments": arguments,
            })
        };
        Ok(complete(json!({"prompts": [
            prompt("test_simple_prompt", json!([])),
            prompt("test_prompt_with_arguments", json!([argument("arg1"), argument("arg2")])),
            prompt("test_prompt_with_embedded_resource", json!([argument("resourceUri")])),
            prompt("test_prompt_with_image", json!([])),
            prompt("test_input_required_result_prompt", json!([])),
        ]})))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let argument = |name: &str| {
            arguments.get(name).map(|it| it.as_str().unwrap_or_default()).unwrap_or_default()
        };
        let text = |text: &str| json!({"role": "user", "content": {"type": "text", "text": text}});
        let messages = match request.name.as_str() {
            "test_simple_prompt" => json!([text("This is a simple prompt for testing.")]),
            "test_prompt_with_arguments" => {
                let (one, two) = (argument("arg1"), argument("arg2"));
                json!([text(&format!("Prompt with arguments: arg1='{one}', arg2='{two}'"))])
            }
            "test_prompt_with_embedded_resource" => json!([
                {"role": "user", "content": {"type": "resource", "resource": {
                    "uri": argument("resourceUri"), "mimeType": "text/plain",
                    "text": "Embedded resource content for testing.",
                }}},
                text("Please process the embedded resource above."),
            ]),
            "test_prompt_with_image" => json!([
                {"role": "user", "content": {"type": "image", "data": PNG, "mimeType": "image/png"}},
                text("Please analyze the image above."),
            ]),
            "test_input_required_result_prompt" if request.input_responses.is_none() => {
                let requests = typed(json!({"user_context": elicitation()}));
                return Ok(InputRequiredResult::from_input_requests(requests).into());
            }
            "test_input_required_result_prompt" => {
                json!([text("With the context that was given.")])
            }
            other => {
                return Err(ErrorData::invalid_params(format!("unknown prompt `{other}`"), None));
            }
        };
        Ok(complete::<GetPromptResult>(json!({"messages": messages})).into())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resource = |uri: &str, mime: &str| {
            json!({
                "uri": uri, "name": uri, "description": "A resource of the conformance suite.", "mimeType": mime,
            })
        };
        Ok(complete(json!({"resources": [
            resource("test://static-text", "text/plain"), resource("test://static-binary", "image/png"),
            resource("test://watched-resource", "text/plain"),
        ]})))
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let mut list = self.server.list_resource_templates(request, context).await?;
        list.resource_templates.push(typed(json!({
            "uriTemplate": "test://template/{id}/data", "name": "data", "mimeType": "application/json",
            "description": "A template of the conformance suite.",
        })));
        Ok(list)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri.clone();
        let template = uri.strip_prefix("test://template/").and_then(|it| it.strip_suffix("/data"));
        let mut content = match (uri.as_str(), template) {
            (_, Some(id)) => {
                let data =
                    json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
                json!({"mimeType": "application/json", "text": data.to_string()})
            }
            ("test://static-text", _) => {
                json!({"mimeType": "text/plain", "text": "This is the content of the static text resource."})
            }
            ("test://static-binary", _) => json!({"mimeType": "image/png", "blob": PNG}),
            ("test://watched-resource", _) => json!({"mimeType": "text/plain", "text": "watched"}),
            _ => return self.server.read_resource(request, context).await,
        };
        content["uri"] = uri.into();
        Ok(complete::<ReadResourceResult>(json!({"contents": [content]})).into())
    }

    async fn complete(
        &self,
        _request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Ok(CompleteResult::default())
    }

    async fn subscribe(
        &self,
        _request: SubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        context.cancelled().await;
        Ok(())
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.server.set_level(request, context).await
    }
}
