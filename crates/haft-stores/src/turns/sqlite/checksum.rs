//! Checksums of rows, so that a damaged row is an error and not other content.
//!
//! They are no protection against a program that writes to the database, which can compute them too.

use super::error::{SqliteError, damaged_error};

/// The checksum of the columns of a row: FNV-1a over the length and the bytes of each. Every change of a single byte
/// changes it.
pub(super) fn row_checksum(columns: &[&str]) -> i64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    for column in columns {
        (column.len() as u64).to_le_bytes().into_iter().for_each(&mut add);
        column.bytes().for_each(&mut add);
    }
    hash.cast_signed()
}

/// The checksum of a gate. An open gate and one with an empty settlement differ.
pub(super) fn gate_checksum(id: &str, json: &str, settlement: Option<&str>) -> i64 {
    match settlement {
        Some(settlement) => row_checksum(&[id, json, settlement]),
        None => row_checksum(&[id, json]),
    }
}

/// Fails if a row does not have the checksum that was stored with it.
pub(super) fn check_row(
    stored: i64,
    computed: impl FnOnce() -> i64,
    what: impl FnOnce() -> String,
) -> Result<(), SqliteError> {
    if stored != computed() {
        return Err(damaged_error(what(), "it does not match its checksum").into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{gate_checksum, row_checksum};

    #[test]
    fn every_flipped_bit_changes_the_checksum() {
        let text = "{\"state\":\"succeeded\"}";
        let expected = row_checksum(&["a", text]);
        for at in 0..text.len() {
            for bit in 0..7 {
                let mut bytes = text.as_bytes().to_vec();
                bytes[at] ^= 1 << bit;
                let flipped = String::from_utf8(bytes).unwrap();
                assert_ne!(row_checksum(&["a", &flipped]), expected, "{flipped}");
            }
        }
    }

    #[test]
    fn the_borders_of_columns_count() {
        assert_ne!(row_checksum(&["ab", "c"]), row_checksum(&["a", "bc"]));
        assert_ne!(row_checksum(&["a"]), row_checksum(&["a", ""]));
        assert_ne!(gate_checksum("g", "{}", None), gate_checksum("g", "{}", Some("")));
    }
}
