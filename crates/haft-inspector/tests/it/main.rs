//! Tests of the inspector: its files, its protection, and the page in a real browser.

mod browser;
mod example;
mod protection;
mod scripts;
