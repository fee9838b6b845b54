//! What the journal says about the request of a step.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};

use haft_core::step::StepRequest;
use serde::{Deserialize, Serialize};

/// The hash and the size of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::turn) struct RequestDigest {
    pub(in crate::turn) sha256: String,
    pub(in crate::turn) bytes: u64,
    /// How many bytes at its beginning are those of the request before, in whole blocks. Nothing for the first request
    /// that a process sends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::turn) prefix: Option<u64>,
}

/// The tools that a request offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::turn) struct OfferedTools {
    /// The digest of their definitions.
    pub(in crate::turn) sha256: String,
    /// The names that no earlier request of the turn offered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::turn) appended: Vec<String>,
}

/// What is known of the requests that a turn has sent so far.
#[derive(Debug, Default)]
pub(in crate::turn) struct RequestHistory {
    /// The hashes of the blocks of the last request. A hash of a block is much shorter than the block, and turns can wait
    /// for days.
    last: Option<Vec<u64>>,
    last_bytes: u64,
    /// How many bytes of the request before the last one were not the beginning of the last one.
    lost_bytes: u64,
    offered: HashSet<String>,
    hasher: RandomState,
}

/// The unit in which the common beginning of two requests is measured.
const BLOCK_BYTES: usize = 256;

/// Less than this is not worth a warning.
const MIN_LOST_BYTES: u64 = 4 * 1024;

impl RequestHistory {
    /// The history of a turn whose earlier requests offered these tools.
    pub(in crate::turn) fn new(offered: HashSet<String>) -> Self {
        Self { offered, ..Self::default() }
    }

    /// Adds a request, and returns what the journal says about it.
    pub(in crate::turn) fn add(
        &mut self,
        request: &StepRequest,
    ) -> (Box<RequestDigest>, Box<OfferedTools>) {
        let bytes = request.body.len() as u64;
        let blocks = request.body.chunks(BLOCK_BYTES).map(|block| self.hasher.hash_one(block));
        let blocks: Vec<u64> = blocks.collect();
        let prefix = self.last.replace(blocks.clone()).map(|last| {
            let equal = last.iter().zip(&blocks).take_while(|(last, now)| last == now).count();
            bytes.min((equal * BLOCK_BYTES) as u64)
        });
        self.lost_bytes = prefix.map_or(0, |prefix| self.last_bytes.saturating_sub(prefix));
        self.last_bytes = bytes;
        let appended = request.tools.iter().filter(|name| self.offered.insert((*name).clone()));
        let appended = appended.cloned().collect();
        let tools = OfferedTools { sha256: request.tools_sha256.clone(), appended };
        let digest = RequestDigest { sha256: request.sha256(), bytes, prefix };
        (Box::new(digest), Box::new(tools))
    }

    /// What to tell the operator if the last request has less than half of the one before in common with it.
    pub(in crate::turn) fn cache_warning(&self, digest: &RequestDigest) -> Option<String> {
        let prefix = digest.prefix?;
        if self.lost_bytes <= prefix || self.lost_bytes < MIN_LOST_BYTES {
            return None;
        }
        Some(format!(
            "the request begins like the one before for only {prefix} of {} bytes; a provider's cache has to read the rest again",
            prefix + self.lost_bytes
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCK_BYTES, RequestHistory, StepRequest};

    fn request(body: String) -> StepRequest {
        StepRequest::new("m", body)
    }

    #[test]
    fn the_common_beginning_is_counted_in_blocks() {
        let mut history = RequestHistory::default();
        let first = "a".repeat(3 * BLOCK_BYTES);
        assert_eq!(history.add(&request(first.clone())).0.prefix, None);
        let second = format!("{first}{}", "b".repeat(100));
        assert_eq!(history.add(&request(second.clone())).0.prefix, Some(3 * BLOCK_BYTES as u64));
        assert_eq!(history.add(&request(second.clone())).0.prefix, Some(second.len() as u64));
        let third = format!("{}c{}", "a".repeat(BLOCK_BYTES), "a".repeat(2 * BLOCK_BYTES));
        assert_eq!(history.add(&request(third)).0.prefix, Some(BLOCK_BYTES as u64));
    }

    #[test]
    fn the_loss_of_most_of_a_request_is_told() {
        let mut history = RequestHistory::default();
        let mut warning = |body: String| {
            let (digest, _) = history.add(&request(body));
            history.cache_warning(&digest)
        };
        let blocks = |n: usize, letter: &str| letter.repeat(n * BLOCK_BYTES);
        assert_eq!(warning(blocks(40, "a")), None);
        assert_eq!(warning(blocks(60, "a")), None, "it only grew");
        assert_eq!(warning(blocks(30, "a") + &blocks(30, "b")), None, "half of it stayed");
        let told = warning(blocks(20, "a") + &blocks(60, "c")).unwrap();
        assert!(told.contains("only 5120 of 15360 bytes"), "{told}");
        let mut small = RequestHistory::default();
        small.add(&request(blocks(10, "a")));
        let (digest, _) = small.add(&request(blocks(10, "b")));
        assert_eq!(small.cache_warning(&digest), None, "it is small");
    }

    #[test]
    fn a_tool_is_named_when_it_is_offered_first() {
        let mut history = RequestHistory::new(["a".to_owned()].into());
        let offer = |names: &[&str]| {
            let tools = names.iter().map(|name| [*name, "", "{}"]);
            request(String::new()).tools(tools.collect::<Vec<_>>())
        };
        let (_, first) = history.add(&offer(&["a", "b"]));
        assert_eq!(first.appended, ["b"]);
        let (_, second) = history.add(&offer(&["a", "b", "c"]));
        assert_eq!(second.appended, ["c"]);
        assert_ne!(first.sha256, second.sha256);
        assert_eq!(history.add(&offer(&["a", "b", "c"])).1.sha256, second.sha256);
    }
}
