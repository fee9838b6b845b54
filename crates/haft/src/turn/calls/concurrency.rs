//! Which calls of one step may run in parallel.

use std::collections::HashMap;

use haft_core::call::ToolCall;
use haft_core::json::{Document, canonical_text};
use haft_core::schema::args::Args;
use haft_core::tool::{Concurrency, Tool};

/// Which calls must not run in parallel.
pub(super) enum ConcurrencyClass {
    Parallel,
    Exclusive,
    Keyed(String),
}

impl ConcurrencyClass {
    /// The class of a call. Its key is that of the arguments that the handler gets: a model can write one value in many
    /// ways, and a default can stand for it.
    pub(super) fn of(tool: &Tool, call: &ToolCall) -> Self {
        match tool.concurrency() {
            Concurrency::Exclusive => Self::Exclusive,
            Concurrency::Keyed(pointer) => {
                let name = tool.name().as_str();
                let accepted = tool.input_schema().accept(name, call.proposed(), tool.strictness());
                match accepted {
                    Ok(accepted) => Self::Keyed(key_text(&accepted.args, pointer)),
                    // The call ends without its handler.
                    Err(_) => Self::Parallel,
                }
            }
            _ => Self::Parallel,
        }
    }
}

/// The part of the arguments that a pointer names, as canonical JSON text; empty if there is none.
fn key_text(args: &Args, pointer: &str) -> String {
    let args = args.to_value();
    let key = args.pointer(pointer).and_then(|key| Document::from_value(key).ok());
    key.map(|key| canonical_text(key.root())).unwrap_or_default()
}

/// The calls of one step: each is ready when the earlier calls have ended that it must not run in parallel with.
pub(super) struct CallQueue<T> {
    entries: Vec<QueueEntry<T>>,
}

struct QueueEntry<T> {
    /// Until it is ready.
    call: Option<T>,
    /// How many calls it waits for.
    blockers: usize,
    /// The calls that wait for it.
    dependents: Vec<usize>,
}

impl<T> CallQueue<T> {
    /// Orders calls. Each waits only for the last calls before it that it must not run in parallel with: those wait for
    /// the calls before them.
    pub(super) fn new(calls: impl IntoIterator<Item = (ConcurrencyClass, T)>) -> Self {
        let mut queue = Self { entries: Vec::new() };
        let mut last_exclusive = None;
        let mut since_exclusive: Vec<usize> = Vec::new();
        let mut last_by_key: HashMap<String, usize> = HashMap::new();
        for (at, (class, call)) in calls.into_iter().enumerate() {
            queue.entries.push(QueueEntry {
                call: Some(call),
                blockers: 0,
                dependents: Vec::new(),
            });
            match class {
                ConcurrencyClass::Exclusive => {
                    let earlier = std::mem::take(&mut since_exclusive);
                    let earlier = if earlier.is_empty() {
                        last_exclusive.into_iter().collect()
                    } else {
                        earlier
                    };
                    earlier.into_iter().for_each(|blocker| queue.block(at, blocker));
                    last_by_key.clear();
                    last_exclusive = Some(at);
                    continue;
                }
                ConcurrencyClass::Keyed(key) => {
                    let last = last_by_key.insert(key, at).or(last_exclusive);
                    last.into_iter().for_each(|blocker| queue.block(at, blocker));
                }
                ConcurrencyClass::Parallel => {
                    last_exclusive.into_iter().for_each(|blocker| queue.block(at, blocker));
                }
            }
            since_exclusive.push(at);
        }
        queue
    }

    fn block(&mut self, at: usize, blocker: usize) {
        if let Some(entry) = self.entries.get_mut(blocker) {
            entry.dependents.push(at);
        }
        if let Some(entry) = self.entries.get_mut(at) {
            entry.blockers += 1;
        }
    }

    /// Takes the calls that wait for no other, each with its place.
    pub(super) fn take_ready(&mut self) -> Vec<(usize, T)> {
        let entries = self.entries.iter_mut().enumerate().filter(|(_, entry)| entry.blockers == 0);
        entries.filter_map(|(at, entry)| Some((at, entry.call.take()?))).collect()
    }

    /// Notes that a call has ended, and takes the calls that are ready now.
    pub(super) fn end_call(&mut self, at: usize) -> Vec<(usize, T)> {
        let ended = self.entries.get_mut(at).map(|entry| std::mem::take(&mut entry.dependents));
        let mut ready = Vec::new();
        for dependent in ended.unwrap_or_default() {
            let Some(entry) = self.entries.get_mut(dependent) else { continue };
            entry.blockers = entry.blockers.saturating_sub(1);
            if entry.blockers == 0 {
                ready.extend(entry.call.take().map(|call| (dependent, call)));
            }
        }
        ready
    }
}

#[cfg(test)]
mod tests {
    use super::{CallQueue, ConcurrencyClass};
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// The calls that an earlier call blocks, by the rule of the documentation: `x` is exclusive, `p` is parallel,
    /// anything else is a key.
    fn conflicts(one: char, other: char) -> bool {
        one == 'x' || other == 'x' || (one == other && one != 'p')
    }

    fn queue(classes: &[char]) -> CallQueue<usize> {
        let class = |class: &char| match class {
            'x' => ConcurrencyClass::Exclusive,
            'p' => ConcurrencyClass::Parallel,
            key => ConcurrencyClass::Keyed(key.to_string()),
        };
        CallQueue::new(classes.iter().map(class).zip(0..))
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// In whatever order calls end, a call is ready as soon as and not before the earlier calls have ended that it
        /// conflicts with.
        #[test]
        fn a_call_is_ready_when_those_it_conflicts_with_have_ended(
            classes in vec(prop_oneof![Just('x'), Just('p'), Just('a'), Just('b')], 1..12),
            picks in vec(any::<prop::sample::Index>(), 12),
        ) {
            let mut queue = queue(&classes);
            let mut running: Vec<usize> = queue.take_ready().into_iter().map(|(at, _)| at).collect();
            let mut ended = vec![false; classes.len()];
            let mut started = running.clone();
            for pick in picks {
                let expected: Vec<usize> = (0..classes.len())
                    .filter(|at| (0..*at).all(|it| ended[it] || !conflicts(classes[it], classes[*at])))
                    .collect();
                started.sort_unstable();
                prop_assert_eq!(&started, &expected);
                if running.is_empty() {
                    break;
                }
                let at = running.swap_remove(pick.index(running.len()));
                ended[at] = true;
                let ready = queue.end_call(at).into_iter().map(|(at, _)| at);
                for at in ready {
                    running.push(at);
                    started.push(at);
                }
            }
            prop_assert!(ended.iter().all(|it| *it), "every call runs");
        }
    }

    #[test]
    fn the_waits_of_a_step_grow_with_its_calls() {
        for class in ['x', 'a', 'p'] {
            let queue = queue(&vec![class; 1000]);
            let waits: usize = queue.entries.iter().map(|entry| entry.dependents.len()).sum();
            assert!(waits < 1000, "{class}: {waits}");
        }
        let queue = queue(&['p', 'x'].repeat(500));
        let waits: usize = queue.entries.iter().map(|entry| entry.dependents.len()).sum();
        assert!(waits < 1000, "{waits}");
    }
}
