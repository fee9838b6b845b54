//! The keyed hash, and what it promises.

use std::collections::HashSet;

use super::super::nonce::{EnvelopeKey, Slot};
use crate::mac::MacKey;

/// Vectors of RFC 4231 whose keys have at most 32 bytes. HMAC pads a key with zeros, so that a padded key is the same.
#[track_caller]
fn check(secret: [u8; 32], data: &[u8], expected: &str) {
    let mut message = MacKey::new(secret).start();
    message.add_bytes(data);
    let hex: String = message.finish().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, expected);
}

fn padded(key: &[u8]) -> [u8; 32] {
    let mut secret = [0; 32];
    secret[..key.len()].copy_from_slice(key);
    secret
}

#[test]
fn the_hash_is_hmac_sha_256() {
    check(
        padded(&[0x0b; 20]),
        b"Hi There",
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
    );
    check(
        padded(b"Jefe"),
        b"what do ya want for nothing?",
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
    );
    check(
        padded(&[0xaa; 20]),
        &[0xdd; 50],
        "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
    );
    check(
        padded(&(1..=25).collect::<Vec<u8>>()),
        &[0xcd; 50],
        "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
    );
}

const SLOT: Slot<'_> = Slot { family: "memory", scope: "memory", record: "1", part: 0 };

#[test]
fn every_slot_has_its_nonce() {
    let key = EnvelopeKey::from_bytes([1; 32]);
    let slots = [
        SLOT,
        Slot { part: 1, ..SLOT },
        Slot { record: "2", ..SLOT },
        Slot { record: "11", ..SLOT },
        Slot { family: "message", ..SLOT },
        Slot { scope: "call", ..SLOT },
        // The same letters, cut elsewhere.
        Slot { family: "memor", scope: "ymemory", ..SLOT },
        Slot { scope: "memory1", record: "", ..SLOT },
    ];
    let nonces: HashSet<String> = slots.iter().map(|slot| key.nonce(slot, &[])).collect();
    assert_eq!(nonces.len(), slots.len());
    assert!(nonces.iter().all(|it| it.len() == 12 && it.bytes().all(|it| it.is_ascii_digit())));
    let other = EnvelopeKey::from_bytes([2; 32]);
    assert_ne!(key.nonce(&SLOT, &[]), other.nonce(&SLOT, &[]));
    assert_eq!(key.nonce(&SLOT, &[]), EnvelopeKey::from_bytes([1; 32]).nonce(&SLOT, &["body"]));
}

#[test]
fn a_nonce_that_the_content_knows_is_not_used() {
    let key = EnvelopeKey::from_bytes([1; 32]);
    let first = key.nonce(&SLOT, &[]);
    let second = key.nonce(&SLOT, &["", &first]);
    let third = key.nonce(&SLOT, &[second.as_str(), &format!("a{first}b")]);
    assert_eq!(HashSet::from([&first, &second, &third]).len(), 3);
    assert_eq!(key.nonce(&SLOT, &[second.as_str()]), first);
}

#[test]
fn the_key_is_not_printed() {
    let key = EnvelopeKey::from_bytes(*b"0123456789abcdef0123456789abcdef");
    assert_eq!(format!("{key:?} {key:#?}"), "EnvelopeKey(…) EnvelopeKey(…)");
}
