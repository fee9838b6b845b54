mod calls;
mod definitions;
mod faults;
mod questions;
mod scripted_server;
