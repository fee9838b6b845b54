//! The macros as a user meets them.

#[cfg(all(test, feature = "testing"))]
mod agreement;
#[cfg(test)]
mod derive;
#[cfg(test)]
mod examples;
#[cfg(test)]
mod mistakes;
#[cfg(test)]
mod tool;
