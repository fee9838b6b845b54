//! What clients are told of the tools.

use haft::Tool;
use haft_core::artifact::ArtifactKind;
use haft_core::schema::{InputSchema, array, integer, object, string};
use haft_core::tool::ToolEffect;
use haft_mcp::McpServer;
use rmcp::model::Tool as ToolDefinition;
use serde_json::{Value, json};

use crate::client::{LIFECYCLES, TestClient, connect};

/// A tool with arguments of several shapes.
fn order(effect: ToolEffect) -> Tool {
    let lines = array(object().field("sku", string().required()).field("count", integer().min(1)));
    let input = object()
        .field("customer", string().description("Who orders.").required())
        .field("lines", lines.required())
        .field("note", string().default("none"));
    let tool = Tool::builder("order").description("Orders.").effect(effect).input(input);
    tool.handler(|_: haft::Args| "done").build().unwrap()
}

/// The definitions that a client of either lifecycle gets.
async fn definitions(tool: Tool) -> Vec<ToolDefinition> {
    let server = McpServer::builder("test").tool(tool).build().unwrap();
    let mut seen: Option<Vec<ToolDefinition>> = None;
    for lifecycle in LIFECYCLES {
        let client = connect(&server, TestClient::default(), lifecycle).await;
        let listed = client.list_all_tools().await.unwrap();
        assert!(seen.is_none_or(|it| it == listed), "both lifecycles show the same");
        seen = Some(listed);
    }
    seen.unwrap()
}

#[tokio::test]
async fn a_client_gets_the_schema_that_a_model_gets() {
    let tool = order(ToolEffect::Once);
    let listed = definitions(tool.clone()).await.remove(0);
    assert_eq!(Value::Object((*listed.input_schema).clone()), tool.input_schema().json_schema());
    assert_eq!((&*listed.name, listed.description.as_deref()), ("order", Some(tool.description())));
    assert_eq!(listed.input_schema["required"], json!(["customer", "lines"]));
    assert_eq!(listed.input_schema["properties"]["customer"]["description"], "Who orders.");
}

#[tokio::test]
async fn query_tools_have_the_schemas_that_a_model_gets() {
    let listed = definitions(order(ToolEffect::Once)).await.split_off(1);
    let queries = haft::artifacts::standard_formats().query_tools(&[ArtifactKind::TEXT]).unwrap();
    assert!(listed.len() == 4 && listed.len() == queries.len(), "{}", listed.len());
    for (listed, query) in listed.iter().zip(&queries) {
        let schema = Value::Object((*listed.input_schema).clone());
        assert_eq!(
            (&*listed.name, &schema),
            (query.name().as_str(), &query.input_schema().json_schema())
        );
        InputSchema::from_json_schema(schema).unwrap();
        assert!(
            listed
                .description
                .as_ref()
                .is_some_and(|it| it.starts_with(query.description().trim_end()))
        );
    }
}

#[tokio::test]
async fn only_a_tool_without_effects_is_announced_as_read_only() {
    let changing = json!({"readOnlyHint": false, "idempotentHint": false});
    for (effect, expected) in [
        (ToolEffect::ReadOnly, json!({"readOnlyHint": true, "destructiveHint": false})),
        // Each call of a client has a key of its own, so that a repeated call has a second effect.
        (ToolEffect::Idempotent, changing.clone()),
        (ToolEffect::Once, changing),
    ] {
        let mut listed = definitions(order(effect)).await;
        let queries = listed.split_off(1);
        let announced = |tool: &ToolDefinition| serde_json::to_value(&tool.annotations).unwrap();
        assert_eq!(announced(&listed[0]), expected, "{effect:?}");
        let query = json!({"readOnlyHint": true, "destructiveHint": false, "openWorldHint": false});
        assert!(queries.iter().all(|it| announced(it) == query), "{queries:?}");
    }
}
