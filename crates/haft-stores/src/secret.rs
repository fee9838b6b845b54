//! Secrets of one's own.

use sha2::{Digest as _, Sha256};
use uuid::Uuid;

/// 32 random bytes: ids of 122 random bits each, mixed by a hash.
pub(crate) fn random_secret() -> [u8; 32] {
    let ids = [Uuid::new_v4(), Uuid::new_v4(), Uuid::new_v4()];
    let mixed = ids.iter().fold(Sha256::new(), |hash, id| hash.chain_update(id.as_bytes()));
    mixed.finalize().into()
}
