//! Breakpoints of the prompt cache.
//!
//! The cache stores prefixes in the order tools, system, messages. A breakpoint marks the end of a prefix that a later
//! request will have too: the part of the system text that rarely changes, all of the system text, and the last two
//! messages of the user, so that the prefix with which the previous request ended is found again.

use super::options::Breakpoints;
use super::wire::{Block, CacheControl, Message, RequestBody, Role};

/// The most breakpoints that a request may have.
const MAX: usize = 4;

/// Sets breakpoints. The first `stable` parts of the system text are the same in every turn.
pub(super) fn set_breakpoints<'b>(
    body: &mut RequestBody<'b>,
    breakpoints: Breakpoints,
    ttl: Option<&'b str>,
    stable: usize,
) {
    let mut left = MAX;
    let mut mark = |slot: &mut Option<CacheControl<'b>>| {
        if left > 0 && slot.is_none() {
            left -= 1;
            *slot = Some(CacheControl { ttl });
        }
    };
    if breakpoints == Breakpoints::Off {
        return;
    }
    if let Some(slot) = body.system.last_mut().and_then(Block::cache_control) {
        mark(slot);
    } else if let Some(tool) = body.tools.iter_mut().rfind(|tool| !tool.defer_loading) {
        mark(&mut tool.cache_control);
    }
    let ahead = stable.checked_sub(1).and_then(|it| body.system.get_mut(it));
    if let Some(slot) = ahead.and_then(Block::cache_control) {
        mark(slot);
    }
    if breakpoints == Breakpoints::Auto {
        let is_user = |it: &&mut Message<'b>| it.role == Role::User;
        for message in body.messages.iter_mut().rev().filter(is_user).take(2) {
            if let Some(slot) = message.content.last_mut().and_then(Block::cache_control) {
                mark(slot);
            }
        }
    }
}
