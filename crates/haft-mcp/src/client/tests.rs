mod calls;
mod definitions;
mod faults;
mod hostile_results;
#[cfg(feature = "oauth")]
mod login_pages;
mod questions;
mod scripted_server;
