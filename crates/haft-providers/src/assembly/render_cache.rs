//! A cache of rendered parts, so that a request renders only what is new in its turn.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use haft_core::call::ToolCall;
use haft_core::record::{Memory, Message, Retrievable, Thought};
use haft_core::tool::Digest;
use haft_core::trust::PromptText;
use serde_json::Value;

use crate::prompt::{AssistantThought, CallArgs, ContentPart, PromptSection};

/// The rendered parts of prompts, cached from one iteration of a turn to the next. Clones share their entries.
///
/// A part is found by its record itself and not by the id of the record: a record that was replaced is rendered again.
/// It is found only for the turn and the key of envelopes for which it was rendered, and a handle
/// only for the same query tools, because its text follows from these and from the record. Media are not in it; see
/// [`MediaCache`](super::MediaCache).
///
/// It never holds more than its bound. The parts of the turn that was rendered longest ago are evicted first, and those of
/// turns that have ended earlier than that.
///
/// ```
/// use haft_providers::internals::RenderCache;
///
/// let cache = RenderCache::new(16 << 20);
/// assert_eq!(cache.used_bytes(), 0);
/// ```
#[derive(Clone, Default)]
pub struct RenderCache {
    /// `None` if nothing is cached.
    turns: Option<Arc<Mutex<CachedTurns>>>,
}

#[derive(Default)]
struct CachedTurns {
    bound: u64,
    used_bytes: u64,
    /// Counts the uses of all turns.
    uses: u64,
    by_id: HashMap<Arc<str>, (u64, RenderedParts)>,
    /// Ids by their last use.
    by_use: BTreeMap<u64, Arc<str>>,
}

/// The query tools that handles name, by their names on the wire.
pub(super) type QueryDefinitions = Vec<(Arc<str>, Digest)>;

/// The rendered parts of one turn. An assembly takes them out of the cache and puts them back.
#[derive(Default)]
pub(super) struct RenderedParts {
    /// The fingerprint of the renderer.
    renderer: String,
    /// What the handles of calls and retrieved records name.
    queries: QueryDefinitions,
    /// The texts of messages, for those that have one.
    pub(super) messages: PartMap<Message, Option<PromptText>>,
    pub(super) thoughts: PartMap<Thought, AssistantThought>,
    pub(super) calls: PartMap<ToolCall, RenderedCall>,
    /// Calls whose results were left out.
    pub(super) omitted: PartMap<ToolCall, RenderedCall>,
    pub(super) memories: SectionMap<Memory>,
    pub(super) retrievables: SectionMap<Retrievable>,
}

/// What is shown of a call and its end.
#[derive(Clone)]
pub(super) struct RenderedCall {
    pub(super) args: CallArgs,
    pub(super) opaque: Option<Arc<Value>>,
    pub(super) content: Vec<ContentPart>,
    pub(super) is_error: bool,
    /// The handles of its artifacts when it was rendered.
    pub(super) handles: Vec<String>,
    /// Whether these were the first handles of their step.
    pub(super) has_first_handles: bool,
}

/// The rendered parts of one sort of record, by the address of the record. An address is not used again while a weak
/// reference to it exists.
pub(super) struct PartMap<R, V> {
    all: HashMap<usize, CachedPart<R, V>>,
    /// Of the assembly that runs or ran last.
    round: u64,
    rendered: usize,
    bytes: u64,
}

struct CachedPart<R, V> {
    record: Weak<R>,
    value: V,
    /// The round in which it was used last.
    round: u64,
    bytes: u64,
}

/// Sections that consist of records, and the records that they were rendered of.
pub(super) struct SectionMap<R> {
    all: HashMap<(PromptSection, bool), CachedSection<R>>,
    rendered: usize,
}

struct CachedSection<R> {
    records: Vec<Weak<R>>,
    text: PromptText,
}

impl RenderCache {
    /// A cache with a maximum size in bytes. Zero disables it.
    #[must_use]
    pub fn new(bound: u64) -> Self {
        let turns = CachedTurns { bound, ..CachedTurns::default() };
        Self { turns: (bound > 0).then(|| Arc::new(Mutex::new(turns))) }
    }

    /// How many bytes it holds.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        self.lock().map_or(0, |turns| turns.used_bytes)
    }

    /// Removes and returns the rendered parts of a turn. They are empty if they were rendered under other conditions.
    pub(super) fn take(
        &self,
        turn: &str,
        renderer: String,
        queries: QueryDefinitions,
    ) -> RenderedParts {
        let cached = self.lock().and_then(|mut turns| turns.take(turn));
        match cached {
            Some(mut parts) if parts.renderer == renderer => {
                parts.begin_round();
                if parts.queries != queries {
                    parts.forget_handles();
                    parts.queries = queries;
                }
                parts
            }
            _ => RenderedParts { renderer, queries, ..RenderedParts::default() },
        }
    }

    /// Puts back what an assembly took.
    pub(super) fn put_back(&self, turn: &str, mut parts: RenderedParts) {
        if let Some(mut turns) = self.lock() {
            parts.forget_unused();
            turns.put(turn, parts);
        }
    }

    fn lock(&self) -> Option<MutexGuard<'_, CachedTurns>> {
        // A panic leaves the entries consistent: no foreign code runs between two changes.
        Some(self.turns.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl CachedTurns {
    fn take(&mut self, turn: &str) -> Option<RenderedParts> {
        let (used, parts) = self.by_id.remove(turn)?;
        self.by_use.remove(&used);
        self.used_bytes = self.used_bytes.saturating_sub(parts.bytes());
        Some(parts)
    }

    fn put(&mut self, turn: &str, parts: RenderedParts) {
        drop(self.take(turn));
        let bytes = parts.bytes();
        if bytes > self.bound {
            return;
        }
        // Two for each that is added, so that turns that have ended do not stay.
        for _ in 0..2 {
            self.evict_oldest_if(|_, oldest| oldest.is_dead());
        }
        while self.evict_oldest_if(|turns, _| turns.used_bytes.saturating_add(bytes) > turns.bound)
        {
        }
        let (turn, used) = (Arc::<str>::from(turn), self.uses);
        self.uses = self.uses.saturating_add(1);
        self.used_bytes = self.used_bytes.saturating_add(bytes);
        self.by_use.insert(used, Arc::clone(&turn));
        self.by_id.insert(turn, (used, parts));
    }

    /// Evicts the turn that was used longest ago if this is true of it.
    fn evict_oldest_if(&mut self, is_evicted: impl FnOnce(&Self, &RenderedParts) -> bool) -> bool {
        let oldest = self.by_use.first_key_value().map(|(_, turn)| Arc::clone(turn));
        let Some(oldest) = oldest else { return false };
        let is_evicted = self.by_id.get(&oldest).is_some_and(|(_, parts)| is_evicted(self, parts));
        if is_evicted {
            drop(self.take(&oldest));
        }
        is_evicted
    }
}

impl RenderedParts {
    /// How many parts were rendered since the parts were taken; a section is one part.
    pub(super) fn rendered(&self) -> usize {
        let timeline = self.messages.rendered
            + self.thoughts.rendered
            + self.calls.rendered
            + self.omitted.rendered;
        timeline + self.memories.rendered + self.retrievables.rendered
    }

    fn bytes(&self) -> u64 {
        let timeline =
            self.messages.bytes + self.thoughts.bytes + self.calls.bytes + self.omitted.bytes;
        timeline + self.memories.bytes() + self.retrievables.bytes()
    }

    fn begin_round(&mut self) {
        self.messages.begin_round();
        self.thoughts.begin_round();
        self.calls.begin_round();
        self.omitted.begin_round();
        (self.memories.rendered, self.retrievables.rendered) = (0, 0);
    }

    /// Forgets the parts that name the query tools.
    fn forget_handles(&mut self) {
        self.calls.retain(|call| call.handles.is_empty());
        self.retrievables.all.clear();
    }

    fn forget_unused(&mut self) {
        self.messages.forget_unused();
        self.thoughts.forget_unused();
        self.calls.forget_unused();
        self.omitted.forget_unused();
    }

    /// Whether the turn has ended: nothing holds its records any more.
    fn is_dead(&self) -> bool {
        self.messages.is_dead() && self.calls.is_dead() && self.thoughts.is_dead()
    }
}

impl<R, V: Clone> PartMap<R, V> {
    pub(super) fn get(&mut self, record: &Arc<R>) -> Option<&V> {
        let part = self.all.get_mut(&Arc::as_ptr(record).addr())?;
        part.round = self.round;
        Some(&part.value)
    }

    /// Notes that a part was rendered, and what it takes to show it. `None` is not cached.
    pub(super) fn insert(&mut self, record: &Arc<R>, part: Option<(&V, usize)>) {
        self.rendered = self.rendered.saturating_add(1);
        let Some((value, length)) = part else { return };
        let bytes = PART_BYTES.saturating_add(length as u64);
        let (key, value) = (Arc::as_ptr(record).addr(), value.clone());
        let part = CachedPart { record: Arc::downgrade(record), value, round: self.round, bytes };
        let replaced = self.all.insert(key, part).map_or(0, |it| it.bytes);
        self.bytes = self.bytes.saturating_add(bytes).saturating_sub(replaced);
    }
}

/// What an entry takes in addition to its text.
const PART_BYTES: u64 = 192;

impl<R, V> PartMap<R, V> {
    fn begin_round(&mut self) {
        self.round = self.round.wrapping_add(1);
        self.rendered = 0;
    }

    /// Forgets parts that are not shown any more, once they are the majority: each is looked at a constant number of times.
    fn forget_unused(&mut self) {
        let round = self.round;
        let used = self.all.values().filter(|it| it.round == round).count();
        if self.all.len() > used.saturating_mul(2) {
            self.all.retain(|_, it| it.round == round);
            self.bytes = self.all.values().map(|it| it.bytes).sum();
        }
    }

    fn retain(&mut self, mut is_kept: impl FnMut(&V) -> bool) {
        self.all.retain(|_, it| is_kept(&it.value));
        self.bytes = self.all.values().map(|it| it.bytes).sum();
    }

    fn is_dead(&self) -> bool {
        self.all.values().next().is_none_or(|it| it.record.strong_count() == 0)
    }
}

impl<R, V> Default for PartMap<R, V> {
    fn default() -> Self {
        Self { all: HashMap::new(), round: 0, rendered: 0, bytes: 0 }
    }
}

impl<R> SectionMap<R> {
    /// The text of a section if it consists of the same records. Sections before and behind the timeline differ.
    pub(super) fn get<'r>(
        &self,
        at: (PromptSection, bool),
        records: impl ExactSizeIterator<Item = &'r Arc<R>>,
    ) -> Option<PromptText>
    where
        R: 'r,
    {
        let section = self.all.get(&at).filter(|it| it.records.len() == records.len())?;
        let is_same = |(known, record): (&Weak<R>, &Arc<R>)| known.as_ptr() == Arc::as_ptr(record);
        section.records.iter().zip(records).all(is_same).then(|| section.text.clone())
    }

    pub(super) fn insert<'r>(
        &mut self,
        at: (PromptSection, bool),
        records: impl Iterator<Item = &'r Arc<R>>,
        text: &PromptText,
    ) where
        R: 'r,
    {
        let records = records.map(Arc::downgrade).collect();
        self.rendered = self.rendered.saturating_add(1);
        self.all.insert(at, CachedSection { records, text: text.clone() });
    }

    fn bytes(&self) -> u64 {
        self.all.values().map(|it| PART_BYTES.saturating_add(it.text.len() as u64)).sum()
    }
}

impl<R> Default for SectionMap<R> {
    fn default() -> Self {
        Self { all: HashMap::new(), rendered: 0 }
    }
}

impl fmt::Debug for RenderCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RenderCache")
            .field("used_bytes", &self.used_bytes())
            .finish_non_exhaustive()
    }
}
