//! The contract of artifact formats.

use std::num::NonZeroUsize;
use std::sync::Arc;

use bytes::Bytes;
use haft_core::artifact::{ArtifactKind, Budget, SpooledArtifact};
use haft_core::forge::{ArtifactFormat, Formats};
use haft_core::spool::SpoolStore as _;
use haft_core::tool::ToolError;
use haft_core::trust::TrustTier;
use haft_core::{DispatchContext, ToolOutput};

use haft_core::contract::ContractViolation;
use haft_stores::MemorySpoolStore;

/// A sample of content that a format reads, with queries.
#[derive(Clone, Debug)]
#[must_use = "a sample is for `artifact_format`"]
pub struct FormatSample {
    kind: ArtifactKind,
    content: Bytes,
    questions: Vec<(String, String)>,
}

impl FormatSample {
    /// Content of a kind.
    pub fn new(kind: ArtifactKind, content: impl Into<Bytes>) -> Self {
        Self { kind, content: content.into(), questions: Vec::new() }
    }

    /// Adds a query: the tool, and its arguments as JSON without `callId`.
    pub fn ask(mut self, tool: impl Into<String>, args: impl Into<String>) -> Self {
        self.questions.push((tool.into(), args.into()));
        self
    }
}

/// Checks that a format keeps its contract: its own tools are valid, and questions are answered for the samples, deterministically and within the budget, and broken or hostile content leads to a result or an error
/// message, never to a panic.
///
/// ```
/// use haft::artifacts::ArtifactKind;
/// use haft_conformance::FormatSample;
/// use haft::artifacts::TextFormat;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), haft_conformance::ContractViolation> {
/// let sample = FormatSample::new(ArtifactKind::TEXT, "one\ntwo\n")
///     .ask("artifact_read", "{}")
///     .ask("artifact_grep", r#"{"pattern": "two"}"#);
/// haft_conformance::artifact_format(TextFormat::new(), &[sample]).await
/// # }
/// ```
///
/// # Errors
///
/// The first promise that is not kept.
pub async fn artifact_format(
    format: impl ArtifactFormat,
    samples: &[FormatSample],
) -> Result<(), ContractViolation> {
    let names = |format: &dyn ArtifactFormat| -> Vec<String> {
        format.tools().iter().map(|query| query.name().to_owned()).collect()
    };
    let (first, again) = (names(&format), names(&format));
    ContractViolation::ensure_equal("a format always has the same tools", &again, &first)?;
    for sample in samples {
        ContractViolation::ensure_equal(
            "a format reads what its samples are",
            &format.reads(&sample.kind),
            &true,
        )?;
    }
    let formats = Formats::new().with(format);
    let formats = formats
        .map_err(|error| ContractViolation::new("the tools of a format are sound", error))?;
    let small = formats.clone().budget(sample_budget());
    for sample in samples {
        let answers = ask_queries(&formats, sample, &sample.content).await?;
        for ((tool, args), answer) in sample.questions.iter().zip(&answers) {
            if let Err(error) = answer {
                let found = format!("`{tool}` with {args}: {error}");
                return Err(ContractViolation::new("a sample answers what is asked of it", found));
            }
        }
        let again = ask_queries(&formats, sample, &sample.content).await?;
        ContractViolation::ensure_equal("the same question has the same answer", &again, &answers)?;
        let half = sample.content.slice(..sample.content.len() / 2);
        for content in hostile_contents().into_iter().chain([sample.content.clone(), half]) {
            for answer in ask_queries(&small, sample, &content).await?.into_iter().flatten() {
                let (bytes, lines) = (answer.len(), answer.lines().count());
                if bytes > BYTES + NOTES || lines > LINES + 8 {
                    let found = format!("{bytes} bytes and {lines} lines");
                    return Err(ContractViolation::new("every answer keeps to its budget", found));
                }
            }
        }
    }
    Ok(())
}

/// Runs the queries of a sample on some content.
async fn ask_queries(
    formats: &Formats,
    sample: &FormatSample,
    content: &Bytes,
) -> Result<Vec<Result<String, String>>, ContractViolation> {
    let unusable = |error: &dyn std::fmt::Display| {
        ContractViolation::new("the tools of a format can be forged and called", error)
    };
    let reader = MemorySpoolStore::new().write("sample".into(), content.clone().into()).await;
    let reader = reader.map_err(|error| unusable(&error))?;
    let ctx = DispatchContext::builder("conformance").build();
    let artifact = SpooledArtifact::new(sample.kind.clone(), reader, TrustTier::UNTRUSTED);
    let put = ctx.artifacts().put_retrieved("sample", artifact);
    put.map_err(|error| unusable(&error))?;
    let tools = formats.forge(&Arc::clone(ctx.artifacts())).map_err(|error| unusable(&error))?;
    let mut answers = Vec::new();
    for (tool, args) in &sample.questions {
        let found = tools.find(tool).map_err(|error| unusable(&error))?;
        let more = args.trim().trim_start_matches('{').trim_end_matches('}').trim();
        let comma = if more.is_empty() { "" } else { ", " };
        let args = format!("{{{more}{comma}\"callId\": \"sample\"}}");
        let done = found.executor(&ctx).call(args.as_str()).await;
        answers.push(match done.outcome {
            Ok(ToolOutput::Answer { text, .. }) => Ok(text),
            Ok(other) => Err(format!("{other:?}")),
            Err(error @ ToolError::Panicked { .. }) => {
                let found = format!("`{tool}`: {error:?}");
                return Err(ContractViolation::new("no content makes a query panic", found));
            }
            Err(error) => Err(error.to_string()),
        });
    }
    Ok(answers)
}

/// Content that no format expects.
fn hostile_contents() -> Vec<Bytes> {
    vec![
        Bytes::new(),
        Bytes::from_static(b"\n"),
        Bytes::from_static(b"\0"),
        Bytes::from_static(b"\xff\xfe\xfa"),
        Bytes::from_static(b"\xef\xbb\xbf"),
        Bytes::from(vec![b'['; 100_000]),
        Bytes::from(vec![b'a'; 1024 * 1024]),
        Bytes::from("a\r\n".repeat(5_000)),
    ]
}

fn sample_budget() -> Budget {
    let lines = NonZeroUsize::new(LINES).unwrap_or(NonZeroUsize::MIN);
    Budget::new().lines(lines).bytes(BYTES)
}

const LINES: usize = 10;
const BYTES: usize = 512;
/// The room for notes in addition to a result.
const NOTES: usize = 2048;
