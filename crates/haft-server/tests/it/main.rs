//! Tests of the API over a store in memory: lists, windows, live streams and actions.

#[cfg(test)]
mod actions;
#[cfg(test)]
mod client;
#[cfg(test)]
mod lists;
#[cfg(test)]
mod live;
#[cfg(test)]
mod verification;
#[cfg(test)]
mod windows;
