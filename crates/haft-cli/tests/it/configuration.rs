//! The user's configuration, providers, `haft models` and `haft doctor`.

use std::path::Path;

use insta::assert_snapshot;

use super::http::{response, serve, serve_all, serve_responses};
use super::support::{haft, run_haft, transcript, write_agent};

const MODELS: &str = r#"{"object":"list","data":[{"id":"small"},{"id":"large"}]}"#;
const ANSWER: &str = r#"{"id":"c","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":12,"completion_tokens":3}}"#;
const CALL: &str = r#"{"id":"c","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"report_number","arguments":"{\"number\":7}"}}]},"finish_reason":"tool_calls"}]}"#;

fn json(body: &str) -> String {
    response("200 OK\r\ncontent-type: application/json", body)
}

fn set(dir: &Path, key: &str, value: &str) -> String {
    run_haft(dir, &["config", "set", key, value])
}

#[test]
fn values_are_set_read_and_removed_and_comments_stay() {
    let dir = tempfile::tempdir().unwrap();
    let cli = |words: &[&str]| run_haft(dir.path(), words);
    assert!(cli(&["config"]).contains("does not exist"));
    assert!(set(dir.path(), "model", "local:m").starts_with("exit 0"));
    let path = dir.path().join(".config/haft/config.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("# mine\n{text}")).unwrap();
    assert_eq!(set(dir.path(), "providers.local.base_url", "http://127.0.0.1:1/v1"), "exit 0");
    assert_eq!(set(dir.path(), "providers.local.options.temperature", "0.5"), "exit 0");
    assert_eq!(set(dir.path(), "prices.\"local:m\".input", "1"), "exit 0");
    assert_snapshot!(std::fs::read_to_string(&path).unwrap(), @r#"
    # mine
    model = "local:m"

    [providers.local]
    base_url = "http://127.0.0.1:1/v1"

    [providers.local.options]
    temperature = 0.5

    [prices."local:m"]
    input = 1
    "#);
    assert_eq!(cli(&["config", "get", "model"]), "exit 0\n--- out\nlocal:m");
    assert_eq!(cli(&["config", "unset", "prices"]), "exit 0");
    assert!(cli(&["config", "unset", "prices"]).starts_with("exit 3"));
    assert!(cli(&["config", "get", "providers.x"]).starts_with("exit 3"));
    // What the file does not allow is not written.
    for (key, value) in [("modle", "x"), ("providers.local.dialect", "soap"), ("model.x", "y")] {
        assert!(set(dir.path(), key, value).starts_with("exit 1"), "{key}");
    }
    let refused = set(dir.path(), "modle", "x");
    assert!(refused.contains("unknown field `modle`\nhint: did you mean `model`?"), "{refused}");
    let refused = set(dir.path(), "providers.local.dialect", "soap");
    assert!(refused.contains("hint: valid names: chat-completions, responses"), "{refused}");
    std::fs::write(&path, "model = 7\n").unwrap();
    let broken = cli(&["models"]);
    assert!(broken.contains("haft/config.toml:1: invalid type"), "{broken}");
}

/// A default model that no run could use is refused; one whose provider is still to come is not.
#[test]
fn a_default_model_is_checked() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(
        set(dir.path(), "model", "gpt-5-mini"),
        "exit 1\n--- err\nerror: `gpt-5-mini` names no provider\n\
         hint: write PROVIDER:MODEL, such as openai:gpt-5-mini"
    );
    assert_eq!(set(dir.path(), "model", "openai:m"), "exit 0");
    assert_eq!(
        set(dir.path(), "model", "local:m"),
        "exit 0\n--- err\nwarning: unknown provider `local`\n\
         hint: `haft models` lists the providers; `haft config set providers.local.base_url URL` adds one"
    );
    assert_eq!(set(dir.path(), "providers.local.base_url", "http://localhost:1/v1"), "exit 0");
    assert_eq!(set(dir.path(), "model", "local:m"), "exit 0");
}

#[test]
fn a_provider_of_the_configuration_runs_an_agent() {
    let dir = tempfile::tempdir().unwrap();
    write_agent(dir.path(), "system = 'x'\nprompt = 'Go.'");
    let (port, requests) = serve(json(ANSWER));
    set(dir.path(), "model", "local:small");
    set(dir.path(), "providers.local.base_url", &format!("http://127.0.0.1:{port}/v1"));
    set(dir.path(), "providers.local.key_env", "LOCAL_KEY");
    set(dir.path(), "providers.local.options.temperature", "0.25");
    let mut run = haft(dir.path());
    let ran = transcript(&run.args(["run", "a"]).env("LOCAL_KEY", "sk-local").output().unwrap());
    assert!(ran.starts_with("exit 0\n--- out\nok"), "{ran}");
    let request = requests.recv().unwrap();
    assert!(request.starts_with("POST /v1/chat/completions"), "{request}");
    assert!(request.to_lowercase().contains("authorization: bearer sk-local"), "{request}");
    assert!(request.contains("\"temperature\":0.25"), "{request}");
    // Another dialect, with the token of a gateway and its path.
    let (port, requests) = serve(response("500 X", "{}"));
    let mut run = haft(dir.path());
    run.env("ANTHROPIC_AUTH_TOKEN", "t-1").args(["models", "anthropic"]);
    run.env("ANTHROPIC_BASE_URL", format!("http://127.0.0.1:{port}/api"));
    assert!(transcript(&run.output().unwrap()).starts_with("exit 1"));
    let request = requests.recv().unwrap().to_lowercase();
    assert!(request.starts_with("get /api/v1/models"), "{request}");
    assert!(request.contains("authorization: bearer t-1") && !request.contains("x-api-key"));
    // The host of Ollama by its own variable.
    let (port, requests) = serve(json(r#"{"models":[{"name":"llama3"}]}"#));
    let mut run = haft(dir.path());
    run.env("OLLAMA_HOST", format!("127.0.0.1:{port}")).args(["models", "ollama"]);
    assert_eq!(transcript(&run.output().unwrap()), "exit 0\n--- out\nollama:llama3");
    assert!(requests.recv().unwrap().starts_with("GET /api/tags"));
}

/// Azure OpenAI by the variables of its own libraries, and by the configuration.
#[test]
fn azure_has_its_own_paths_and_headers() {
    let dir = tempfile::tempdir().unwrap();
    write_agent(dir.path(), "system = 'x'\nprompt = 'Go.'");
    let run = |words: &[&str], env: &[(&str, &str)]| {
        let (port, requests) = serve(json(ANSWER));
        let mut run = haft(dir.path());
        run.args(words).env("AZURE_OPENAI_ENDPOINT", format!("http://127.0.0.1:{port}/"));
        run.envs(env.iter().copied());
        (transcript(&run.output().unwrap()), requests.try_recv().unwrap_or_default().to_lowercase())
    };
    let key = ("AZURE_OPENAI_API_KEY", "az-1");
    let (ran, request) = run(&["run", "a", "--model", "azure:chat-1"], &[key]);
    assert!(ran.starts_with("exit 0\n--- out\nok"), "{ran}");
    assert!(request.starts_with("post /openai/v1/chat/completions http"), "{request}");
    assert!(request.contains("api-key: az-1") && !request.contains("authorization"), "{request}");
    assert!(request.contains("\"model\":\"chat-1\""), "{request}");
    let token = ("AZURE_OPENAI_AD_TOKEN", "t-1");
    let (_, request) = run(&["models", "azure"], &[token]);
    assert!(request.starts_with("get /openai/v1/models http"), "{request}");
    assert!(request.contains("authorization: bearer t-1"), "{request}");
    let (_, request) = run(&["run", "a", "--model", "azure-responses:r"], &[key]);
    assert!(request.starts_with("post /openai/v1/responses http"), "{request}");
    // Without a key or an endpoint it says what is missing.
    let (ran, _) = run(&["run", "a", "--model", "azure:chat-1"], &[]);
    assert!(
        ran.contains("AZURE_OPENAI_API_KEY is not set\nhint: set it, or AZURE_OPENAI_AD_TOKEN")
    );
    let mut without = haft(dir.path());
    without.args(["run", "a", "--model", "azure:chat-1"]).env(key.0, key.1);
    let without = transcript(&without.output().unwrap());
    assert!(without.contains("has no endpoint\nhint: set AZURE_OPENAI_ENDPOINT"), "{without}");
    // A second resource has its own table.
    let (port, requests) = serve(json(ANSWER));
    set(dir.path(), "providers.west.preset", "azure");
    set(dir.path(), "providers.west.base_url", &format!("http://127.0.0.1:{port}/openai/v1/"));
    set(dir.path(), "providers.west.key_env", "WEST_KEY");
    let mut run = haft(dir.path());
    run.args(["run", "a", "--model", "west:m"]).env("WEST_KEY", "w");
    assert!(transcript(&run.output().unwrap()).starts_with("exit 0"));
    let request = requests.recv().unwrap();
    assert!(request.starts_with("POST /openai/v1/chat/completions HTTP"), "{request}");
}

/// The headers of the configuration, and with them those of an agent, are in every request: of a run, of the turn when it
/// is resumed, and of the list of models.
#[test]
fn headers_of_the_configuration_are_sent_with_every_request() {
    let dir = tempfile::tempdir().unwrap();
    let agent = "system = 'x'\nprompt = 'Go.'\nmodel = 'gateway:m'\n\
                 options = { headers = { x-agent = 'a' }, retry = { maxAttempts = 1 } }\n";
    write_agent(dir.path(), agent);
    let away = response("503 X", "{}");
    let (port, requests) = serve_responses(vec![away, json(ANSWER), json(MODELS)]);
    set(dir.path(), "providers.gateway.base_url", &format!("http://127.0.0.1:{port}/v1"));
    set(dir.path(), "providers.gateway.options.headers.x-team", "blue");
    assert!(run_haft(dir.path(), &["run", "a"]).contains("interrupted: 0 steps"));
    // The list of turns and the turn say it in the same word, and programs read the status of the store.
    let listed = run_haft(dir.path(), &["turns"]);
    assert!(listed.contains("  interrupted  "), "{listed}");
    assert!(run_haft(dir.path(), &["show", "last"]).contains("  interrupted  "));
    assert!(run_haft(dir.path(), &["turns", "--json"]).contains(r#""status":"interrupted""#));
    assert!(run_haft(dir.path(), &["resume", "last"]).starts_with("exit 0\n--- out\nok"));
    assert!(run_haft(dir.path(), &["models", "gateway"]).starts_with("exit 0"));
    for request in ["run", "resume", "models"] {
        let sent = requests.recv().unwrap().to_lowercase();
        assert!(sent.contains("x-team: blue"), "{request}: {sent}");
        assert_eq!(sent.contains("x-agent: a"), request != "models", "{request}: {sent}");
    }
    // A header may be a key.
    set(dir.path(), "providers.gateway.base_url", "http://192.0.2.1/v1");
    let refused = run_haft(dir.path(), &["models", "gateway"]);
    assert!(refused.contains("not sent over unencrypted HTTP"), "{refused}");
}

/// As the libraries of OpenAI do.
#[test]
fn the_organization_and_the_project_of_openai_come_from_the_environment() {
    let dir = tempfile::tempdir().unwrap();
    write_agent(dir.path(), "system = 'x'\nprompt = 'Go.'");
    let (port, requests) = serve_responses(vec![json(ANSWER), json(MODELS)]);
    let send = |words: &[&str]| {
        let mut command = haft(dir.path());
        command.env("OPENAI_BASE_URL", format!("http://127.0.0.1:{port}/v1"));
        command.env("OPENAI_ORG_ID", "org-1").env("OPENAI_PROJECT_ID", "proj-2");
        let said = transcript(&command.args(words).output().unwrap());
        assert!(said.starts_with("exit 0"), "{said}");
        requests.recv().unwrap().to_lowercase()
    };
    for words in [&["run", "a", "--model", "openai:m"][..], &["models", "openai"]] {
        let sent = send(words);
        assert!(sent.contains("openai-organization: org-1"), "{sent}");
        assert!(sent.contains("openai-project: proj-2"), "{sent}");
    }
}

#[test]
fn proxies_of_the_environment_are_used() {
    let dir = tempfile::tempdir().unwrap();
    let (port, requests) = serve(json(MODELS));
    set(dir.path(), "providers.far.base_url", "http://models.example/v1");
    let mut run = haft(dir.path());
    run.env("HTTP_PROXY", format!("http://127.0.0.1:{port}")).args(["models", "far"]);
    assert_eq!(transcript(&run.output().unwrap()), "exit 0\n--- out\nfar:large\nfar:small");
    let request = requests.recv().unwrap();
    assert!(request.starts_with("GET http://models.example/v1/models"), "{request}");
}

#[test]
fn the_doctor_finds_what_works() {
    let dir = tempfile::tempdir().unwrap();
    let port = serve_all(vec![json(MODELS), json(ANSWER), json(CALL), json(ANSWER)]);
    set(dir.path(), "providers.local.base_url", &format!("http://127.0.0.1:{port}/v1"));
    let mut doctor = haft(dir.path());
    doctor.env("HAFT_NO_SANDBOX", "1").args(["doctor", "--model", "local:small"]);
    let healthy = transcript(&doctor.output().unwrap());
    let names: Vec<&str> =
        healthy.lines().skip(2).map(|line| line.get(..20).unwrap().trim()).collect();
    assert_eq!(
        names,
        [
            "ok      config",
            "ok      store",
            "skipped sandbox",
            "ok      model",
            "ok      key",
            "ok      reachable",
            "ok      response",
            "ok      tool call",
        ],
        "{healthy}"
    );
    assert!(healthy.contains("report_number {\"number\":7}"), "{healthy}");
    let sick = run_haft(dir.path(), &["doctor", "--model", "groq:x", "--json"]);
    assert!(sick.starts_with("exit 1") && sick.contains("GROQ_API_KEY is not set"), "{sick}");
    let none = run_haft(dir.path(), &["doctor", "--model", "nope"]);
    assert!(none.starts_with("exit 1") && none.contains("PROVIDER:MODEL"), "{none}");
}
