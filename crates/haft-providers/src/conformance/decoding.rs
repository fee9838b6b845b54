//! Checks of decoding that every dialect must pass.

use bytes::Bytes;
use serde_json::{Map, Value};

use super::{ContractViolation, DialectSample, ensure};
use crate::dialect::{DecodeError, Delivery, Dialect, ModelRequest, ResponseDecoder, StreamEvent};
use crate::framing::{Frame, FrameDecoder};
use crate::generation::{
    Generation, GenerationAssembler, GenerationEvent, GenerationOutcome, ResponseTooLarge,
};
use crate::prompt::Prompt;

pub(super) fn check(
    dialect: &dyn Dialect,
    sample: &DialectSample,
) -> Result<(), ContractViolation> {
    let stream = &sample.stream;
    let complete = decode_stream(dialect, sample, [stream.clone()]);
    let complete =
        complete.map_err(|error| ContractViolation::new("a sample can be decoded", error))?;
    check_content("a stream has the content of its sample", &complete, sample)?;
    check_splits(dialect, sample, &complete)?;
    check_prefixes(dialect, sample)?;
    check_invalid(dialect, sample)?;
    check_whole(dialect, sample)
}

type Decoded = (Generation, GenerationOutcome);

fn check_content(
    promise: &'static str,
    (generation, outcome): &Decoded,
    sample: &DialectSample,
) -> Result<(), ContractViolation> {
    let expected = match sample.calls.is_empty() {
        true => GenerationOutcome::Completed,
        false => GenerationOutcome::ToolCalls,
    };
    ensure(*outcome == expected, promise, || format!("the outcome is {outcome:?}"))?;
    ensure(generation.text == sample.text, promise, || format!("{:?}", generation.text))?;
    let is_same = calls_of(generation) == expected_calls(sample);
    ensure(is_same, promise, || format!("{:?}", generation.calls))
}

/// Calls by name, with arguments compared as values.
fn calls_of(generation: &Generation) -> Vec<(&str, Option<Value>)> {
    let calls = generation.calls.iter();
    calls.map(|it| (it.name.as_str(), serde_json::from_str(&it.arguments).ok())).collect()
}

fn expected_calls(sample: &DialectSample) -> Vec<(&str, Option<Value>)> {
    let calls = sample.calls.iter();
    calls.map(|(name, args)| (name.as_str(), serde_json::from_str(args).ok())).collect()
}

/// The generation does not depend on where the bytes are cut.
fn check_splits(
    dialect: &dyn Dialect,
    sample: &DialectSample,
    complete: &Decoded,
) -> Result<(), ContractViolation> {
    let promise = "the generation does not depend on where the bytes are cut";
    let stream = &sample.stream;
    let bytes = (0..stream.len()).map(|at| stream.slice(at..=at));
    let cut = decode_stream(dialect, sample, bytes);
    ensure(cut.as_ref() == Ok(complete), promise, || format!("byte by byte: {cut:?}"))?;
    for at in 1..stream.len() {
        let chunks = [stream.slice(..at), stream.slice(at..)];
        let cut = decode_stream(dialect, sample, chunks);
        ensure(cut.as_ref() == Ok(complete), promise, || format!("at byte {at}: {cut:?}"))?;
    }
    Ok(())
}

/// The beginning of a stream is a truncation or an error, and never a success with other content.
fn check_prefixes(dialect: &dyn Dialect, sample: &DialectSample) -> Result<(), ContractViolation> {
    let promise = "an incomplete stream is a truncation or an error";
    for end in 0..sample.stream.len() {
        let Ok(decoded) = decode_stream(dialect, sample, [sample.stream.slice(..end)]) else {
            continue;
        };
        if decoded.1 != GenerationOutcome::Truncated {
            check_content(promise, &decoded, sample)?;
        }
    }
    Ok(())
}

/// Data that is not of the dialect is an error.
fn check_invalid(dialect: &dyn Dialect, sample: &DialectSample) -> Result<(), ContractViolation> {
    let promise = "data that is not of the dialect is an error";
    for data in ["{", "<html>", "\u{0}"] {
        let mut target = DecodeTarget::new(dialect, sample, Delivery::Streamed);
        let streamed = target.decode_event(StreamEvent::new(data));
        ensure(streamed.is_err(), promise, || format!("{data:?} in a stream"))?;
        let mut target = DecodeTarget::new(dialect, sample, Delivery::Whole);
        let whole = target.decode_whole(data.as_bytes());
        ensure(whole.is_err(), promise, || format!("{data:?} as a whole"))?;
    }
    Ok(())
}

fn check_whole(dialect: &dyn Dialect, sample: &DialectSample) -> Result<(), ContractViolation> {
    let Some(whole) = &sample.whole else { return Ok(()) };
    let mut target = DecodeTarget::new(dialect, sample, Delivery::Whole);
    let decoded = target.decode_whole(whole).map_err(|error| error.to_string());
    decoded.map_err(|error| ContractViolation::new("a whole response can be decoded", error))?;
    let decoded = target.finish();
    let decoded = decoded
        .map_err(|error| ContractViolation::new("a whole response can be assembled", error))?;
    check_content("a whole response has the content of its sample", &decoded, sample)
}

/// Decodes a stream as a provider does.
fn decode_stream(
    dialect: &dyn Dialect,
    sample: &DialectSample,
    chunks: impl IntoIterator<Item = Bytes>,
) -> Result<Decoded, String> {
    let mut target = DecodeTarget::new(dialect, sample, Delivery::Streamed);
    let mut frames = FrameDecoder::new(dialect.framing());
    for chunk in chunks {
        frames.feed(chunk);
        while let Some(frame) = frames.next_frame().map_err(|error| error.to_string())? {
            target.decode_frame(&frame).map_err(|error| error.to_string())?;
        }
        if target.assembler.is_over() {
            break;
        }
    }
    if !target.assembler.is_complete()
        && let Some(frame) = frames.take_rest()
        && let Err(error @ DecodeError::Provider { .. }) = target.decode_frame(&frame)
    {
        return Err(error.to_string());
    }
    target.finish().map_err(|error| error.to_string())
}

/// A decoder, and the generation that it fills.
struct DecodeTarget {
    decoder: Box<dyn ResponseDecoder>,
    assembler: GenerationAssembler,
    error: Option<ResponseTooLarge>,
}

impl DecodeTarget {
    fn new(dialect: &dyn Dialect, sample: &DialectSample, delivery: Delivery) -> Self {
        let prompt = Prompt::default();
        let options: &Map<String, Value> = &sample.options;
        let request = ModelRequest::new("conformance-model", &prompt, options).delivery(delivery);
        let decoder = dialect.response_decoder(&request);
        Self { decoder, assembler: GenerationAssembler::new(), error: None }
    }

    fn decode_frame(&mut self, frame: &Frame<'_>) -> Result<(), DecodeError> {
        self.decode_event(frame.event()?)
    }

    fn decode_event(&mut self, event: StreamEvent<'_>) -> Result<(), DecodeError> {
        let assembler = &mut self.assembler;
        let failed = &mut self.error;
        self.decoder.decode_event(event, &mut |event| push(assembler, failed, event))
    }

    fn decode_whole(&mut self, body: &[u8]) -> Result<(), DecodeError> {
        let assembler = &mut self.assembler;
        let failed = &mut self.error;
        self.decoder.decode_whole(body, &mut |event| push(assembler, failed, event))
    }

    fn finish(self) -> Result<Decoded, ResponseTooLarge> {
        match self.error {
            Some(error) => Err(error),
            None => Ok(self.assembler.finish()),
        }
    }
}

fn push(
    assembler: &mut GenerationAssembler,
    failed: &mut Option<ResponseTooLarge>,
    event: GenerationEvent<'_>,
) {
    if let Err(error) = assembler.push(event) {
        failed.get_or_insert(error);
    }
}
