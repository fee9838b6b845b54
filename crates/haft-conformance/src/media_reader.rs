//! The contract of media readers.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_core::Stream;
use haft_core::media::{MediaReader, ReaderDescriptor, ReaderResolvers};
use haft_core::tool::ByteStream;

use haft_core::contract::ContractViolation;

/// Checks readers of media. `make` stores the given content and returns a reader of it; `resolvers` know the tag of its
/// descriptor, if it has one.
///
/// ```
/// use std::sync::Arc;
///
/// use haft::media::{MediaReader, MemoryReader, ReaderResolvers};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), haft_conformance::ContractViolation> {
/// let make = |content| async { Arc::new(MemoryReader::new(content)) as Arc<dyn MediaReader> };
/// haft_conformance::media_reader(make, &ReaderResolvers::default()).await
/// # }
/// ```
///
/// # Errors
///
/// The first promise of [`MediaReader`] that is not kept.
pub async fn media_reader<F>(
    make: impl Fn(Bytes) -> F + Send + Sync,
    resolvers: &ReaderResolvers,
) -> Result<(), ContractViolation>
where
    F: Future<Output = Arc<dyn MediaReader>> + Send,
{
    for content in sample_contents() {
        let reader = make(content.clone()).await;
        check_length(&*reader, &content)?;
        for _ in 0..2 {
            expect_same_bytes(&read_stream(reader.open()).await?, &content)?;
        }
        check_length(&*reader, &content)?;
        streams_can_be_dropped(&*reader, &content).await?;
        streams_are_apart(&*reader, &content).await?;
        descriptors_lead_back(&*reader, resolvers, &content).await?;
    }
    Ok(())
}

fn sample_contents() -> [Bytes; 5] {
    let large: Vec<u8> = (0..300_001_u32).flat_map(u32::to_le_bytes).skip(1).collect();
    [
        Bytes::new(),
        Bytes::from_static(b"\0"),
        (0..=u8::MAX).collect(),
        Bytes::from_static(b"\xef\xbb\xbfmarked\r\nlines\r"),
        large.into(),
    ]
}

fn check_length(reader: &dyn MediaReader, content: &[u8]) -> Result<(), ContractViolation> {
    match reader.byte_length() {
        None => Ok(()),
        Some(length) => ContractViolation::ensure_equal(
            "byte_length is the number of bytes, or nothing",
            &length,
            &(content.len() as u64),
        ),
    }
}

async fn streams_can_be_dropped(
    reader: &dyn MediaReader,
    content: &[u8],
) -> Result<(), ContractViolation> {
    drop(reader.open());
    let mut half = reader.open();
    let first = next_chunk(&mut half).await?;
    drop(half);
    let found = first.unwrap_or_default();
    ContractViolation::ensure_equal(
        "a stream begins at the start",
        &content.starts_with(&found),
        &true,
    )?;
    expect_same_bytes(&read_stream(reader.open()).await?, content)
}

async fn streams_are_apart(
    reader: &dyn MediaReader,
    content: &[u8],
) -> Result<(), ContractViolation> {
    let mut streams: Vec<_> = (0..3).map(|_| (reader.open(), Vec::new(), false)).collect();
    while streams.iter().any(|(.., ended)| !ended) {
        for (stream, bytes, ended) in streams.iter_mut().filter(|(.., ended)| !ended) {
            match next_chunk(stream).await? {
                Some(chunk) => bytes.extend_from_slice(&chunk),
                None => *ended = true,
            }
        }
    }
    streams.into_iter().try_for_each(|(_, bytes, _)| expect_same_bytes(&bytes, content))
}

async fn descriptors_lead_back(
    reader: &dyn MediaReader,
    resolvers: &ReaderResolvers,
    content: &[u8],
) -> Result<(), ContractViolation> {
    let Some(descriptor) = reader.describe() else { return Ok(()) };
    let again = reader.describe();
    ContractViolation::ensure_equal(
        "a descriptor stays the same",
        &again.as_ref(),
        &Some(&descriptor),
    )?;
    let stored = serde_json::to_string(&descriptor)
        .and_then(|text| serde_json::from_str::<ReaderDescriptor>(&text));
    let stored =
        stored.map_err(|error| ContractViolation::new("a descriptor can be stored", error))?;
    let found = resolvers.resolve(&stored);
    let found =
        found.map_err(|error| ContractViolation::new("a descriptor can be resolved", error))?;
    let described = found.describe();
    ContractViolation::ensure_equal(
        "it describes what it was made of",
        &described,
        &Some(descriptor),
    )?;
    check_length(&*found, content)?;
    expect_same_bytes(&read_stream(found.open()).await?, content)
}

async fn read_stream(mut stream: ByteStream) -> Result<Vec<u8>, ContractViolation> {
    let mut bytes = Vec::new();
    while let Some(chunk) = next_chunk(&mut stream).await? {
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

async fn next_chunk(stream: &mut ByteStream) -> Result<Option<Bytes>, ContractViolation> {
    let next = poll_fn(|cx| Pin::new(&mut *stream).poll_next(cx)).await;
    next.transpose().map_err(|failure| ContractViolation::new("a stream gives the bytes", failure))
}

fn expect_same_bytes(found: &[u8], content: &[u8]) -> Result<(), ContractViolation> {
    if found == content {
        return Ok(());
    }
    let found = format!("{} bytes instead of {}, or others", found.len(), content.len());
    Err(ContractViolation::new("every stream gives all bytes, from the start", found))
}
