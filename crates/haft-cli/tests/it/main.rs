//! Tests of the `haft` program as users run it: command lines, output and exit codes.

#[cfg(test)]
mod agent_tests;
#[cfg(test)]
mod agents;
#[cfg(test)]
mod answers;
#[cfg(test)]
mod artifacts;
#[cfg(test)]
mod calls;
#[cfg(test)]
mod checks;
#[cfg(test)]
mod cleanup;
#[cfg(test)]
mod colors;
#[cfg(test)]
mod configuration;
#[cfg(test)]
mod costs;
#[cfg(test)]
mod examples;
#[cfg(test)]
mod gates;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod http;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod listing;
#[cfg(test)]
mod lost_outputs;
#[cfg(test)]
mod mcp_login;
#[cfg(test)]
mod mcp_servers;
#[cfg(test)]
mod mcp_serving;
#[cfg(not(feature = "cluster"))]
#[cfg(test)]
mod missing_features;
#[cfg(test)]
mod models;
#[cfg(test)]
mod outages;
#[cfg(test)]
mod outputs;
#[cfg(test)]
mod packs;
#[cfg(test)]
mod redaction;
#[cfg(test)]
mod requests;
#[cfg(test)]
mod sandbox;
#[cfg(test)]
mod schemas;
#[cfg(test)]
mod screens;
#[cfg(test)]
mod serve;
#[cfg(feature = "cluster")]
#[cfg(test)]
mod shared_stores;
#[cfg(test)]
mod shows;
#[cfg(test)]
mod stopping;
#[cfg(test)]
#[cfg(test)]
mod stores;
#[cfg(test)]
mod support;
#[cfg(test)]
mod sweeps;
#[cfg(feature = "cluster")]
#[cfg(test)]
mod telemetry;
#[cfg(test)]
mod terminal;
#[cfg(test)]
mod tools;
#[cfg(test)]
mod usage;
#[cfg(test)]
mod web;
#[cfg(test)]
mod without_terminal;
#[cfg(feature = "cluster")]
#[cfg(test)]
mod worker_faults;
#[cfg(test)]
mod workers;
