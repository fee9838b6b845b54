//! Random secrets.

/// Reads 32 random bytes from the operating system.
pub(crate) fn random_secret() -> Result<[u8; 32], getrandom::Error> {
    let mut secret = [0; 32];
    getrandom::fill(&mut secret)?;
    Ok(secret)
}
