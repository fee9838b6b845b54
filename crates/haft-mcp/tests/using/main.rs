//! The client with servers that are not part of Haft, and under the official conformance suite.

#[cfg(test)]
mod conformance;
#[cfg(test)]
#[path = "../support/running_server.rs"]
mod running_server;
#[cfg(test)]
mod servers;
