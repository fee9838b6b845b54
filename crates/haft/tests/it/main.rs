//! The crate as a user meets it.

#[cfg(all(test, feature = "testing"))]
mod agreement;
#[cfg(test)]
#[cfg(feature = "formats")]
mod data;
#[cfg(test)]
mod derive;
#[cfg(test)]
mod examples;
#[cfg(test)]
mod mistakes;
#[cfg(test)]
mod spool;
#[cfg(test)]
mod tool;
