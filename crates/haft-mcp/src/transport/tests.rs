mod scanner;
#[cfg(feature = "http")]
mod sse;
mod stream;
