//! Dates of HTTP, in the three forms that a recipient must read (RFC 9110, 5.6.7).

use haft_core::clock::Timestamp;

/// The moment that a date means. `now` decides the century of the form that has two digits for the year.
///
/// The name of the day says nothing new and is not checked.
pub(super) fn parse(text: &str, now: Timestamp) -> Option<Timestamp> {
    let text = text.trim();
    let (_, rest) = text.split_once(' ')?;
    let words: Vec<&str> = rest.split_ascii_whitespace().collect();
    match words.as_slice() {
        // Sun, 06 Nov 1994 08:49:37 GMT
        [day, month, year, time, "GMT"] => moment(number(year, 4)?, month, number(day, 2)?, time),
        // Sunday, 06-Nov-94 08:49:37 GMT
        [date, time, "GMT"] => {
            let (day, rest) = date.split_once('-')?;
            let (month, year) = rest.split_once('-')?;
            let year = full_year(number(year, 2)?, now)?;
            moment(year, month, number(day, 2)?, time)
        }
        // Sun Nov  6 08:49:37 1994
        [month, day, time, year] => {
            moment(number(year, 4)?, month, number(day, day.len().clamp(1, 2))?, time)
        }
        _ => None,
    }
}

/// The year with these last digits that is at most 50 years in the future, as the standard says.
fn full_year(digits: u32, now: Timestamp) -> Option<u32> {
    let now: u32 = now.to_string().get(..4)?.parse().ok()?;
    let year = now / 100 * 100 + digits;
    Some(if year > now + 50 { year - 100 } else { year })
}

fn moment(year: u32, month: &str, day: u32, time: &str) -> Option<Timestamp> {
    let month = MONTHS.iter().position(|it| *it == month)? + 1;
    let (hour, rest) = time.split_once(':')?;
    let (minute, second) = rest.split_once(':')?;
    let [hour, minute, second] = [number(hour, 2)?, number(minute, 2)?, number(second, 2)?];
    // A leap second is told as the one before: our time has none.
    let second = if second == 60 { 59 } else { second };
    let text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.000000Z");
    text.parse().ok()
}

/// A number of exactly so many digits.
fn number(text: &str, digits: usize) -> Option<u32> {
    let plain = text.len() == digits && text.bytes().all(|it| it.is_ascii_digit());
    text.parse().ok().filter(|_| plain)
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
