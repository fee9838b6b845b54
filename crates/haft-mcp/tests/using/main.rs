//! The client with servers that are not part of Haft, and under the official conformance suite.

mod conformance;
mod servers;
