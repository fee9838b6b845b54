//! Connections of slow clients.

use std::io::ErrorKind;
use std::time::Duration;

use tokio::time::Instant;

use super::RequestTime;

#[test]
fn a_client_that_sends_a_byte_now_and_then_is_left() {
    let start = Instant::now();
    let after = |seconds: u64| start + Duration::from_secs(seconds);
    let mut slow = RequestTime::default();
    for seconds in [0, 50, 100, 120] {
        slow.note_read(after(seconds)).unwrap();
    }
    // Each byte came in time for a connection that is idle, and together they took too long.
    assert_eq!(slow.note_read(after(121)).unwrap_err().kind(), ErrorKind::TimedOut);

    // A client that gets responses can go on for as long as it likes.
    let mut busy = RequestTime::default();
    for seconds in (0..1000).step_by(100) {
        busy.note_read(after(seconds)).unwrap();
        busy.note_written();
    }
}
