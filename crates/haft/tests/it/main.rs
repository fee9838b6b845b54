//! The crate as a user meets it.

#[cfg(test)]
mod agreement;
#[cfg(test)]
#[cfg(feature = "formats")]
mod artifacts;
#[cfg(test)]
#[cfg(feature = "formats")]
mod data;
#[cfg(test)]
mod derive;
#[cfg(test)]
mod events;
#[cfg(test)]
mod examples;
#[cfg(test)]
mod executors;
#[cfg(test)]
#[cfg(all(feature = "formats", feature = "tools"))]
mod fuzz_targets;
#[cfg(test)]
mod growth;
#[cfg(test)]
mod json;
#[cfg(test)]
mod media;
#[cfg(test)]
#[cfg(feature = "formats")]
mod middleware;
#[cfg(test)]
#[cfg(all(feature = "http", feature = "formats"))]
mod providers;
#[cfg(test)]
mod records;
#[cfg(test)]
#[cfg(feature = "formats")]
mod replay;
#[cfg(test)]
#[cfg(feature = "formats")]
mod script;
#[cfg(test)]
mod spool;
#[cfg(test)]
mod store;
#[cfg(test)]
#[cfg(all(feature = "http", feature = "formats", feature = "tools", feature = "tokens"))]
mod token_costs;
#[cfg(test)]
mod tool;
#[cfg(test)]
#[cfg(feature = "tools")]
mod tools;
#[cfg(test)]
mod turn;
