//! What talks to model providers, over sockets of this machine and from files.
//!
//! What has to hold, line by line, and the tests that hold it; names without a crate are of this module, and those with
//! `src::` stand beside the code in `providers`.
//!
//! | behaviour | held by |
//! |---|---|
//! | 1 options: each key accepted and refused as it should, three layers, maps merged by key, a wrong stash fails before the network | `src::chat_completions::tests::every_option_is_accepted_and_refused_as_it_should`, `src::anthropic_messages::tests::options_are_those_of_the_api`, `src::openai_responses::tests::options_are_those_of_the_api`, `src::options::tests`, `provider::options_of_the_turn_hold_for_the_turn` |
//! | 2 one slash at the end of an address goes, headers win, no option of the core is in a body | `provider::a_turn_with_a_call_and_an_answer`, `provider::no_option_of_the_core_is_ever_sent`, `transport::a_request_arrives_as_it_was_made` |
//! | 3 the order of buckets, none, what stands behind the timeline; ties by number, not by time | `assembly::buckets_stand_before_the_timeline`, `assembly::nothing_at_all_is_a_prompt_too`, `assembly::one_generation_is_one_entry`, `messages::what_stands_behind_the_timeline_is_said_by_the_user` |
//! | 4 envelopes: exact bytes, closers of its own, of siblings and of other tiers, reserved tags, hostile ids, names and types | `haft_core::trust::tests::render`, `haft_core::trust::tests::hostile`, `haft_core::trust::tests::properties`, `haft_core::trust::tests::sanitize`, `hostile::nothing_escapes` |
//! | 5 results: trusted, untrusted, unknown tools; handles are untrusted; media answer for themselves; the floor; a secret behind a handle is in no request | `haft_core::trust::tests::render::results_of_tools`, `haft_core::trust::tests::labels`, `assembly::a_tool_that_is_registered_later_does_not_raise_what_was_said_before`, `assembly::what_is_behind_a_handle_is_nowhere_in_the_prompt`, `assembly::media_that_cannot_be_shown_follow_the_policy` |
//! | 6 tools: what is shown is what holds, the same bytes every time (one schema: changed on purpose) | `chat_completions::tools_are_the_same_bytes_in_every_request`, `src::down_schema::tests`, `down_schema`, `responses::tools_are_flat_and_the_same_every_time` |
//! | 7 execution: arguments of every wrong kind, unknown and nameless tools, failing handlers, equal ids, an end between two calls | `turn::calls::every_call_ends_as_one_record_in_the_order_asked`, `turn::calls::cancelling_reaches_the_handlers_and_leaves_records`, `src::chat_completions::tests::calls_of_all_who_speak_the_dialect`, `src::names::tests::ids_are_kept_where_they_can_be`, `servers::faults_of_a_server_end_in_an_answer_or_an_error` |
//! | 8 streams: cut characters, line ends, comments, several lines, no end, residue, garbage, usage apart, errors | `sse`, `src::chat_completions::tests`, `provider::what_is_no_answer_fails_and_makes_no_calls`, `provider::an_answer_without_done_but_with_a_reason_is_whole`, `provider::errors_have_the_codes_of_the_dialect` |
//! | 8 streams: a stall, a stall and a cancellation, a stall inside of a call, a stall behind the end, signs of life | `recovery::a_stream_that_stalls_is_left_and_nothing_of_it_is_kept`, `recovery::a_cancellation_is_no_stall`, `recovery::a_stream_that_stalls_behind_its_end_is_whole`, `recovery::a_stream_that_makes_progress_is_waited_for`, `recovery::comments_that_keep_a_connection_open_are_no_progress` |
//! | 9 retries: what passes, how often, which statuses, when by seconds and by date, never early, not at all; an end of waiting at once; time-outs and broken connections | `retry`, `recovery::a_provider_that_wants_to_be_left_alone_is_not_asked_early`, `provider::a_request_is_sent_again_and_nothing_doubles`, `provider::a_provider_that_is_silent_is_left`, `recovery::a_response_that_breaks_off_is_requested_again_and_nothing_of_it_is_kept`, `recovery::an_outage_of_the_provider_leaves_the_turn_resumable` |
//! | 10 costs: with, without, apart, none | `src::generation::tests::costs_are_what_was_said_last`, `src::chat_completions::tests::text_cost_and_why_it_ended`, `provider::a_turn_with_a_call_and_an_answer` |
//! | 11 fields of reasoning: one, equal, different, their order, blank; in pieces and whole | `src::chat_completions::tests::reasoning_fields_and_their_order`, `src::generation::tests::the_same_thought_in_two_fields_is_one`, `src::chat_completions::tests::an_answer_that_comes_whole` |
//! | 12 the context window: refused, or made to fit by thoughts, results, records, memories and exchanges, in this order | `provider::a_prompt_that_does_not_fit_is_refused_or_made_to`, `long_turns::thoughts_of_earlier_iterations_go_first`, `long_turns::results_that_were_read_become_handles`, `long_turns::records_go_by_their_score_and_memories_by_their_importance` |
//! | 13 calls in texts: every form, markers in strings, what breaks off, all forms together, long arguments | `src::text_calls::tests`, `provider::calls_and_reasoning_that_stand_in_the_text` |
//! | reasoning that went back and was refused is left out, once | `recovery::reasoning_that_responses_refuse_is_left_out_once`, `recovery::thinking_that_anthropic_refuses_is_left_out_once` |
//! | keys are shown nowhere and go over no open line | `provider::keys_are_shown_nowhere`, `recovery::keys_do_not_go_over_plain_http_to_others`, `recovery::a_key_in_the_options_of_a_turn_does_not_go_out_either` |
//! | the same medium is not read in every iteration | `long_turns::a_medium_is_read_once_in_a_turn`, `long_turns::the_cache_holds_no_more_than_it_may` |
//! | a summary stands for what is old, is paid for, and is no more trusted than that | `summary` |

pub(crate) mod answers;
mod assembly;
mod chaos;
mod chat_completions;
mod down_schema;
mod foreign_responses;
mod hostile;
mod long_turns;
mod messages;
mod prefix;
pub(crate) mod provider;
mod recovery;
mod responses;
mod retry;
mod server;
mod servers;
mod sse;
mod summary;
pub(crate) mod transcripts;
mod transport;
mod typed_answers;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use haft::BoxFuture;
use haft::providers::transport::{Body, HttpError, Request, Response, Transport};
use http::{HeaderMap, HeaderName, HeaderValue};

/// Gives these answers, one after the other, and keeps what was asked.
#[derive(Debug, Default)]
pub(crate) struct Scripted {
    answers: Mutex<VecDeque<Result<Reply, HttpError>>>,
    asked: Mutex<Vec<SentRequest>>,
}

impl Scripted {
    pub(crate) fn new(answers: impl IntoIterator<Item = Result<Reply, HttpError>>) -> Arc<Self> {
        let answers = Mutex::new(answers.into_iter().collect());
        Arc::new(Self { answers, asked: Mutex::default() })
    }

    pub(crate) fn asked(&self) -> Vec<SentRequest> {
        self.asked.lock().unwrap().clone()
    }
}

impl Transport for Scripted {
    fn send(&self, request: SentRequest) -> BoxFuture<'_, Result<Response<Body>, HttpError>> {
        self.asked.lock().unwrap().push(request);
        let answer = self.answers.lock().unwrap().pop_front().expect("asked too often");
        Box::pin(async move { answer })
    }
}

type SentRequest = Request<Bytes>;
pub(crate) type Reply = Response<Body>;

fn post(url: impl AsRef<str>, body: impl Into<Bytes>) -> SentRequest {
    haft::providers::transport::post(url.as_ref(), body).unwrap()
}

fn get(url: &str) -> SentRequest {
    Request::get(url).body(Bytes::new()).unwrap()
}

fn respond(status: u16, body: Body) -> Reply {
    haft::providers::transport::response(status, body).unwrap()
}

/// Adds headers to requests and responses. A secret is marked as sensitive.
trait WithHeader: Sized {
    fn map(&mut self) -> &mut HeaderMap;

    fn with_header(mut self, name: &str, value: impl IntoHeader) -> Self {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        self.map().append(name, value.into_header());
        self
    }
}

impl<B> WithHeader for Request<B> {
    fn map(&mut self) -> &mut HeaderMap {
        self.headers_mut()
    }
}

impl<B> WithHeader for Response<B> {
    fn map(&mut self) -> &mut HeaderMap {
        self.headers_mut()
    }
}

trait IntoHeader {
    fn into_header(self) -> HeaderValue;
}

impl IntoHeader for &str {
    fn into_header(self) -> HeaderValue {
        HeaderValue::from_str(self).unwrap()
    }
}

impl IntoHeader for String {
    fn into_header(self) -> HeaderValue {
        self.as_str().into_header()
    }
}

impl IntoHeader for haft::providers::transport::Secret {
    fn into_header(self) -> HeaderValue {
        self.to_header_value().unwrap()
    }
}

/// The text of a header.
trait HeaderText {
    fn header_text(&self, name: &str) -> Option<&str>;
}

impl<B> HeaderText for Request<B> {
    fn header_text(&self, name: &str) -> Option<&str> {
        self.headers().get(name).map(|it| it.to_str().unwrap())
    }
}

impl<B> HeaderText for Response<B> {
    fn header_text(&self, name: &str) -> Option<&str> {
        self.headers().get(name).map(|it| it.to_str().unwrap())
    }
}
