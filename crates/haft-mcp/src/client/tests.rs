mod calls;
mod definitions;
mod faults;
mod hostile_results;
#[cfg(feature = "oauth")]
mod login_pages;
#[cfg(feature = "oauth")]
mod oauth_requests;
mod questions;
mod scripted_server;
