//! Paths on content that is too large for a tree.

use std::ops::ControlFlow;

use haft_core::artifact::Listing;
use haft_core::json::View;
use haft_core::jsonpath::{FilterRef, JsonPath, SelectorRef};

use super::children::{Child, Flow, NEXT};
use super::container::{Container, ContainerKind};
use super::error::{JsonQueryError, Trouble};
use super::scan::Engine;

/// What takes the values that a path selects.
pub(super) enum Sink<'l> {
    Listing(&'l mut Listing, usize),
    /// Wants to know whether there is one.
    Any(&'l mut bool),
}

impl Sink<'_> {
    /// Offers what a path selects in a value.
    pub(super) fn select(&mut self, path: &JsonPath, view: View<'_>) -> Flow {
        match self {
            Self::Any(found) => {
                **found = path.matches(view);
                Ok(if **found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            }
            Self::Listing(listing, _) if path.segment_count() == 0 => Ok(listing.push(view)),
            Self::Listing(listing, _) => {
                let found = path.select(view);
                let flow = found.iter().try_for_each(|it| listing.push(it));
                if flow.is_continue() && found.truncated().is_some() {
                    return Err(JsonQueryError::TooMuchWork.into());
                }
                Ok(flow)
            }
        }
    }

    /// Offers a value that is too large for a tree.
    pub(super) fn large(&mut self, engine: &mut Engine, start: u64, depth: usize) -> Flow {
        match self {
            Self::Any(found) => {
                **found = true;
                Ok(ControlFlow::Break(()))
            }
            Self::Listing(listing, _) if listing.skips_next() => Ok(listing.push_start_of("", 0)),
            Self::Listing(listing, shown) => {
                let bytes = engine.end_of(start, depth)? - start;
                let text = engine.start_of(start, *shown)?;
                Ok(listing.push_start_of(&text, bytes))
            }
        }
    }

    fn skips_next(&self) -> bool {
        match self {
            Self::Listing(listing, _) => listing.skips_next(),
            Self::Any(_) => false,
        }
    }
}

/// Selects from a value, which is nested in `depth` others, and is the path's `$`.
pub(super) fn select(
    engine: &mut Engine,
    path: &JsonPath,
    (start, depth): (u64, usize),
    sink: &mut Sink<'_>,
) -> Flow {
    if let Some(doc) = engine.tree(start, depth)? {
        return sink.select(path, doc.root());
    }
    if path.looks_at_root() {
        return Err(JsonQueryError::TooLarge {
            what: format!(
                "a filter that refers to `$` needs the whole value, and this one has more than {} bytes",
                engine.value_bytes()
            ),
            hint: "ask for what `$` leads to first, and write its value into the filter",
        }
        .into());
    }
    select_large(engine, path, (start, depth), sink)
}

/// Selects from a value of any size.
fn select_from(
    engine: &mut Engine,
    path: &JsonPath,
    (start, depth): (u64, usize),
    sink: &mut Sink<'_>,
) -> Flow {
    if path.segment_count() == 0 && sink.skips_next() {
        return sink.large(engine, start, depth);
    }
    match engine.tree(start, depth)? {
        Some(doc) => sink.select(path, doc.root()),
        None => select_large(engine, path, (start, depth), sink),
    }
}

/// Selects from a value that is too large for a tree. Recurses as deep as the content is nested.
fn select_large(
    engine: &mut Engine,
    path: &JsonPath,
    (start, depth): (u64, usize),
    sink: &mut Sink<'_>,
) -> Flow {
    let Some(segment) = path.segment(0) else { return sink.large(engine, start, depth) };
    let Some(container) = engine.container(start, depth)? else { return NEXT };
    let rest = path.without_first(1);
    for selector in segment.selectors() {
        engine.check_work()?;
        let flow = apply(engine, selector, &rest, &container, sink)?;
        if flow.is_break() {
            return Ok(flow);
        }
    }
    if !segment.is_descendant() {
        return NEXT;
    }
    engine.each(&container, 0, &mut |engine, child| match child {
        Child::Tree(view) => sink.select(path, view),
        Child::Large(start, depth) => select_large(engine, path, (start, depth), sink),
    })
}

/// Applies a selector, and the rest of the path to what it selects.
fn apply(
    engine: &mut Engine,
    selector: SelectorRef<'_>,
    rest: &JsonPath,
    container: &Container,
    sink: &mut Sink<'_>,
) -> Flow {
    let list = container.kind == ContainerKind::Array;
    let at = match selector {
        SelectorRef::Name(name) => {
            if list {
                return NEXT;
            }
            return match engine.member(container, name)? {
                Some(value) => select_from(engine, rest, (value, container.depth), sink),
                None => NEXT,
            };
        }
        SelectorRef::Wildcard => return apply_to_all(engine, rest, container, sink),
        SelectorRef::Filter(filter) => {
            return apply_filter(engine, filter, rest, container, sink);
        }
        SelectorRef::Slice(slice) if list => {
            for at in slice.positions(container.count) {
                let flow = apply_at(engine, at, rest, container, sink)?;
                if flow.is_break() {
                    return Ok(flow);
                }
            }
            return NEXT;
        }
        SelectorRef::Slice(_) => return NEXT,
        SelectorRef::Index(at) => Some(at),
        SelectorRef::FromEnd(back) => container.count.checked_sub(back),
    };
    match at.filter(|at| list && *at < container.count) {
        Some(at) => apply_at(engine, at, rest, container, sink),
        None => NEXT,
    }
}

fn apply_at(
    engine: &mut Engine,
    at: u64,
    rest: &JsonPath,
    list: &Container,
    sink: &mut Sink<'_>,
) -> Flow {
    if rest.segment_count() == 0 && sink.skips_next() {
        return sink.large(engine, 0, 0);
    }
    let place = engine.place(list, at)?;
    select_from(engine, rest, (place, list.depth), sink)
}

fn apply_to_all(
    engine: &mut Engine,
    rest: &JsonPath,
    container: &Container,
    sink: &mut Sink<'_>,
) -> Flow {
    let mut from = 0;
    if rest.segment_count() == 0 && container.kind == ContainerKind::Array {
        while from < container.count && sink.skips_next() {
            let _ = sink.large(engine, 0, 0)?;
            from += 1;
        }
    }
    engine.each(container, from, &mut |engine, child| match child {
        Child::Tree(view) => sink.select(rest, view),
        Child::Large(start, depth) => select_large(engine, rest, (start, depth), sink),
    })
}

fn apply_filter(
    engine: &mut Engine,
    filter: FilterRef<'_>,
    rest: &JsonPath,
    container: &Container,
    sink: &mut Sink<'_>,
) -> Flow {
    engine.each(container, 0, &mut |engine, child| match child {
        Child::Tree(view) if filter.holds(view) => sink.select(rest, view),
        Child::Tree(_) => NEXT,
        Child::Large(start, _) => Err(too_large_to_judge(engine, start)),
    })
}

/// Filters look at trees.
pub(super) fn too_large_to_judge(engine: &Engine, start: u64) -> Trouble {
    let most = engine.value_bytes();
    JsonQueryError::TooLarge {
        what: format!(
            "the value at byte {start} has more than {most} bytes, too many for a filter"
        ),
        hint: "select it by name or index, and filter what is in it",
    }
    .into()
}
