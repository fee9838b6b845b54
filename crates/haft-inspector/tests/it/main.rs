//! Tests of the inspector: its files, its protection, and the page in a real browser.

#[cfg(test)]
mod browser;
#[cfg(test)]
mod embedding;
#[cfg(test)]
mod example;
#[cfg(test)]
mod protection;
#[cfg(test)]
mod scripts;
