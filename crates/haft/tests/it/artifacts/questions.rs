//! Sixty questions over six formats, each with the call that answers it, and mistakes with what leads to that call.

use haft::artifacts::ArtifactKind;

use super::Turn;

const LOG: &str = "09:00 INFO start\n09:01 WARN disk low\n09:02 ERROR payment timed out\n09:03 INFO retry\n09:04 error mailbox full\n09:05 INFO stop";

const ORDERS: &str = r#"{"shop": "Oslo", "orders": [
    {"id": 1, "status": "open", "total": 120.5, "customer": {"name": "Ada", "city": "Paris"}, "tags": ["new"]},
    {"id": 2, "status": "paid", "total": 80, "customer": {"name": "Bob", "city": "Rome"}, "tags": []},
    {"id": 3, "status": "open", "total": 300, "customer": {"name": "Cy", "city": "Paris"}, "tags": ["vip", "new"]}
]}"#;

const EVENTS: &str = "{\"user\":\"ada\",\"act\":\"login\",\"ms\":12}\n{\"user\":\"bob\",\"act\":\"login\",\"ms\":30}\n{\"user\":\"ada\",\"act\":\"buy\",\"ms\":200}\n";

const SALES: &str = "region,product,sold,price\nnorth,pen,3,1.50\nsouth,pen,5,1.50\nnorth,ink,2,8\nsouth,\"ink, red\",,9.25\n";

const CONFIG: &str = "kind: Service\nname: web\nport: 80\n---\nkind: Deployment\nname: web\nreplicas: 3\nenv:\n  - name: MODE\n    value: fast\n  - name: LEVEL\n    value: info\n";

const FEED: &str = "<feed><title>News</title><item id=\"1\"><title>Rain</title><score>7</score></item><item id=\"2\"><title>Sun</title><score>12</score></item></feed>";

const GUIDE: &str = "---\nauthor: Ada\n---\n# Guide\n\nWelcome.\n\n## Install\n\n```sh\ncargo install haft\n```\n\nSee [the book](https://example.org/book).\n\n## Use\n\nRun it.\n";

/// A question in words, the tool that answers it, its arguments without the handle, and the answer.
type Question = (&'static str, &'static str, &'static str, &'static str);

async fn check(kind: ArtifactKind, content: &'static str, questions: &[Question]) -> usize {
    let mut turn = Turn::new();
    let id = turn.hold(kind, content).await;
    for (words, tool, args, expected) in questions {
        let more = args.trim_start_matches('{').trim_end_matches('}');
        let comma = if more.is_empty() { "" } else { "," };
        let args = format!("{{\"callId\":\"{id}\"{comma}{more}}}");
        let answer = turn.ask(tool, &args).await;
        let is_answered = match *tool {
            "artifact_info" => answer.contains(expected),
            _ => answer == *expected,
        };
        assert!(is_answered, "{words}\n{tool} {args}\n{answer}\ninstead of\n{expected}");
    }
    questions.len()
}

#[tokio::test]
async fn sixty_questions_are_answered() {
    let (info, read, grep, query) =
        ("artifact_info", "artifact_read", "artifact_grep", "artifact_query");
    let mut count = check(
        ArtifactKind::TEXT,
        LOG,
        &[
            ("How many lines are there?", info, "{}", "6 lines"),
            ("How large is it?", info, "{}", "124 bytes (about 31 tokens)"),
            ("How does it begin?", read, r#"{"end":1}"#, "09:00 INFO start"),
            ("How does it end?", read, r#"{"start":-1}"#, "09:05 INFO stop"),
            (
                "What stands in line 3?",
                read,
                r#"{"start":3,"end":3}"#,
                "09:02 ERROR payment timed out",
            ),
            (
                "Where are errors?",
                grep,
                r#"{"pattern":"ERROR"}"#,
                "3:09:02 ERROR payment timed out",
            ),
            (
                "Where are errors in any case?",
                grep,
                r#"{"pattern":"error","ignoreCase":true}"#,
                "3:09:02 ERROR payment timed out\n5:09:04 error mailbox full",
            ),
            (
                "What was before and after the warning?",
                grep,
                r#"{"pattern":"WARN","context":1}"#,
                "1-09:00 INFO start\n2:09:01 WARN disk low\n3-09:02 ERROR payment timed out",
            ),
            (
                "What is informed after line 3?",
                grep,
                r#"{"pattern":"INFO","start":4}"#,
                "4:09:03 INFO retry\n6:09:05 INFO stop",
            ),
            ("Is there a crash?", grep, r#"{"pattern":"panic|crash"}"#, "(empty list)"),
        ],
    )
    .await;
    count += check(
        ArtifactKind::JSON,
        ORDERS,
        &[
            ("What is in it?", info, "{}", "one object\nkeys: shop, orders (list of 3)"),
            ("Which shop is it?", query, r#"{"query":"$.shop"}"#, "Oslo"),
            ("Who ordered?", query, r#"{"query":"$.orders[*].customer.name"}"#, "Ada\nBob\nCy"),
            ("Who ordered last?", query, r#"{"query":"$.orders[-1].customer.name"}"#, "Cy"),
            ("Which orders are open?", query, r#"{"query":"$.orders[?@.status == 'open'].id"}"#, "[\n  1,\n  3\n]"),
            ("Whose orders are above 100?", query, r#"{"query":"$.orders[?@.total > 100].customer.name"}"#, "Ada\nCy"),
            ("What are open orders worth?", query, r#"{"query":"SELECT sum(total) FROM $.orders WHERE status = 'open'"}"#, "sum(total)\n420.5"),
            (
                "How many orders has each city?",
                query,
                r#"{"query":"SELECT customer.city, count(*) AS n FROM $.orders GROUP BY customer.city ORDER BY n DESC"}"#,
                "customer.city,n\nParis,2\nRome,1",
            ),
            ("Which order is the largest?", query, r#"{"query":"SELECT id FROM $.orders ORDER BY total DESC LIMIT 1"}"#, "id\n3"),
            ("Which tags are there?", query, r#"{"query":"$..tags[*]"}"#, "new\nvip\nnew"),
        ],
    )
    .await;
    count += check(
        ArtifactKind::JSONL,
        EVENTS,
        &[
            ("How many events are there?", info, "{}", "3 records, one per line"),
            ("Which fields have they?", info, "{}", "keys: user, act, ms"),
            ("Which users?", query, r#"{"query":"$.user"}"#, "ada\nbob\nada"),
            ("What did the first one do?", query, r#"{"query":"$[0].act"}"#, "login"),
            ("What did Ada do?", query, r#"{"query":"$[?@.user == 'ada'].act"}"#, "login\nbuy"),
            (
                "How long did it take on average?",
                query,
                r#"{"query":"SELECT avg(ms) FROM data"}"#,
                "avg(ms)\n80.6666666666667",
            ),
            (
                "Who was slow?",
                query,
                r#"{"query":"SELECT DISTINCT user FROM data WHERE ms >= 30"}"#,
                "user\nbob\nada",
            ),
            (
                "Which line is the purchase?",
                grep,
                r#"{"pattern":"buy"}"#,
                "3:{\"user\":\"ada\",\"act\":\"buy\",\"ms\":200}",
            ),
            (
                "How many acts of each kind?",
                query,
                r#"{"query":"SELECT act, count(*) FROM data GROUP BY act"}"#,
                "act,count(*)\nlogin,2\nbuy,1",
            ),
            ("The last two users?", query, r#"{"query":"$[-2:].user"}"#, "bob\nada"),
        ],
    )
    .await;
    count += check(
        ArtifactKind::CSV,
        SALES,
        &[
            ("Which columns are there?", info, "{}", "columns: region, product, sold, price"),
            ("How many rows?", info, "{}", "4 rows and a header"),
            ("What does it look like?", read, r#"{"end":2}"#, "region,product,sold,price\nnorth,pen,3,1.50"),
            ("What is sold in the north?", query, r#"{"query":"SELECT product FROM data WHERE region = 'north'"}"#, "product\npen\nink"),
            (
                "How many are sold by region?",
                query,
                r#"{"query":"SELECT region, sum(sold) FROM data GROUP BY region ORDER BY sum(sold) DESC"}"#,
                "region,sum(sold)\nnorth,5\nsouth,5",
            ),
            ("What came in?", query, r#"{"query":"SELECT sum(sold * price) AS worth FROM data"}"#, "worth\n28"),
            ("Which rows lack a number?", query, r#"{"query":"SELECT region, product FROM data WHERE sold IS NULL"}"#, "region,product\nsouth,\"ink, red\""),
            ("Which products are inks?", query, r#"{"query":"SELECT product, price FROM data WHERE product LIKE 'ink%'"}"#, "product,price\nink,8\n\"ink, red\",9.25"),
            ("What is the dearest price?", query, r#"{"query":"SELECT max(price) FROM data"}"#, "max(price)\n9.25"),
            ("How many products are there?", query, r#"{"query":"SELECT count(DISTINCT product) FROM data"}"#, "count(DISTINCT product)\n3"),
        ],
    )
    .await;
    count += check(
        ArtifactKind::YAML,
        CONFIG,
        &[
            ("How many documents?", info, "{}", "a stream of 2 documents"),
            ("Of which kinds?", query, r#"{"query":"$.kind"}"#, "Service\nDeployment"),
            (
                "Which port has the service?",
                query,
                r#"{"query":"$[?@.kind == 'Service'].port"}"#,
                "[\n  80\n]",
            ),
            ("How many replicas?", query, r#"{"query":"$[1].replicas"}"#, "[\n  3\n]"),
            ("Which mode is set?", query, r#"{"query":"$..env[?@.name == 'MODE'].value"}"#, "fast"),
            (
                "In which lines is the name?",
                grep,
                r#"{"pattern":"^name:"}"#,
                "2:name: web\n6:name: web",
            ),
        ],
    )
    .await;
    count += check(
        ArtifactKind::XML,
        FEED,
        &[
            ("What is the root?", info, "{}", "root element `feed` with 3 child elements"),
            ("Which elements are there?", info, "{}", "elements: feed, item, score, title"),
            ("What is the title?", query, r#"{"query":"$.feed.title"}"#, "News"),
            ("Which items are there?", query, r#"{"query":"$.feed.item[*].title"}"#, "Rain\nSun"),
            (
                "Which item scores above 10?",
                query,
                r#"{"query":"$.feed.item[?@.score > 10].title"}"#,
                "Sun",
            ),
            (
                "What is the best score?",
                query,
                r#"{"query":"SELECT max(score) FROM $.feed.item"}"#,
                "max(score)\n12",
            ),
            (
                "Which id has the item Sun?",
                query,
                r#"{"query":"$..item[?@.title == 'Sun']._id"}"#,
                "2",
            ),
        ],
    )
    .await;
    count += check(
        ArtifactKind::MARKDOWN,
        GUIDE,
        &[
            ("What is in it?", info, "{}", "4: # Guide\n8: ## Install\n16: ## Use"),
            ("How is it installed?", read, r#"{"section":"install"}"#, "## Install\n\n```sh\ncargo install haft\n```\n\nSee [the book](https://example.org/book).\n"),
            ("Which links are there?", query, r#"{"query":"links"}"#, "14: [the book](https://example.org/book)"),
            ("Where is code?", query, r#"{"query":"code sh"}"#, "10-12: sh"),
            ("Who wrote it?", query, r#"{"query":"frontmatter"}"#, "{\n  \"author\": \"Ada\"\n}"),
            ("Where is cargo named?", grep, r#"{"pattern":"cargo"}"#, "11:cargo install haft"),
            ("How does it begin?", read, r#"{"start":4,"end":6}"#, "# Guide\n\nWelcome."),
        ],
    )
    .await;
    assert_eq!(count, 60);
}

/// A wrong call is answered with what leads to the right one.
#[tokio::test]
async fn mistakes_lead_to_the_right_call() {
    for (kind, content, tool, args, leads) in [
        (
            ArtifactKind::CSV,
            SALES,
            "artifact_query",
            r#""query":"$.region""#,
            "`SELECT region, sum(sold) FROM data",
        ),
        (
            ArtifactKind::CSV,
            SALES,
            "artifact_query",
            r#""query":"SELECT cost FROM data""#,
            "the columns are `region`, `product`, `sold`, `price`",
        ),
        (
            ArtifactKind::CSV,
            SALES,
            "artifact_query",
            r#""query":"north""#,
            "its columns are region, product, sold, price",
        ),
        (
            ArtifactKind::CSV,
            SALES,
            "artifact_query",
            r#""query":"SELECT upper(region) FROM data""#,
            "with count, sum, avg, min and max",
        ),
        (
            ArtifactKind::JSON,
            ORDERS,
            "artifact_query",
            r#""query":"SELECT id FROM data""#,
            "FROM $.name takes the records from a list in it",
        ),
        (
            ArtifactKind::JSON,
            ORDERS,
            "artifact_query",
            r#""query":"$.orders[?status == 'open']""#,
            "filters need `@`: try `[?@.status",
        ),
        (
            ArtifactKind::JSON,
            ORDERS,
            "artifact_read",
            r#""section":"orders""#,
            "read it by `start` and `end`",
        ),
        (
            ArtifactKind::JSONL,
            EVENTS,
            "artifact_query",
            r#""query":"SELECT name FROM data""#,
            "the first one has user, act, ms",
        ),
        (
            ArtifactKind::MARKDOWN,
            GUIDE,
            "artifact_query",
            r#""query":"$.title""#,
            "`headings`, `links`, `code`",
        ),
        (
            ArtifactKind::MARKDOWN,
            GUIDE,
            "artifact_query",
            r#""query":"Install""#,
            "call artifact_read with section \"Install\"",
        ),
        (
            ArtifactKind::MARKDOWN,
            GUIDE,
            "artifact_read",
            r#""section":"Setup""#,
            "the headings are: Guide; Install; Use",
        ),
        (
            ArtifactKind::TEXT,
            LOG,
            "artifact_query",
            r#""query":"$.error""#,
            "artifact_grep finds lines by a regular expression",
        ),
        (ArtifactKind::TEXT, LOG, "artifact_read", r#""start":100"#, "(there are 6 lines)"),
        (
            ArtifactKind::TEXT,
            LOG,
            "artifact_grep",
            r#""pattern":"a(?!b)""#,
            "look-around does not exist here",
        ),
        (
            ArtifactKind::XML,
            FEED,
            "artifact_query",
            r#""query":"$.feed.title[?@ == 'News']""#,
            "`$..[?...]` finds it in any case",
        ),
        (ArtifactKind::YAML, CONFIG, "artifact_query", r#""query":"SELECT port""#, "port"),
    ] {
        let mut turn = Turn::new();
        let id = turn.hold(kind, content).await;
        let answer = turn.ask(tool, &format!("{{\"callId\":\"{id}\",{args}}}")).await;
        assert!(answer.contains(leads), "{tool} {args}: {answer}");
    }
    let mut turn = Turn::new();
    turn.hold(ArtifactKind::TEXT, LOG).await;
    let unknown = turn.ask("artifact_info", "{}").await;
    assert!(unknown.contains("text 124 bytes, retrieved"), "{unknown}");
}
