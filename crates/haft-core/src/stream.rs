//! Text as it is written.
