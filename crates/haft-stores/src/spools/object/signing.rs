//! The hashes with which requests to S3 are signed. They need no TLS library.

use hmac::{Hmac, KeyInit as _, Mac as _};
use object_store::client::{
    CryptoProvider, DigestAlgorithm, DigestContext, HmacContext, Signer, SigningAlgorithm,
};
use object_store::{Error, Result};
use sha2::{Digest as _, Sha256};

/// SHA-256 and HMAC. It cannot sign with RSA keys, which S3 does not ask for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sha256Hashes;

impl CryptoProvider for Sha256Hashes {
    fn digest(&self, algorithm: DigestAlgorithm) -> Result<Box<dyn DigestContext>> {
        match algorithm {
            DigestAlgorithm::Sha256 => Ok(Box::new(Running::new(Sha256::new()))),
            _ => Err(unsupported()),
        }
    }

    fn hmac(&self, algorithm: DigestAlgorithm, secret: &[u8]) -> Result<Box<dyn HmacContext>> {
        let hmac = Hmac::<Sha256>::new_from_slice(secret).map_err(|_| unsupported())?;
        match algorithm {
            DigestAlgorithm::Sha256 => Ok(Box::new(Running::new(hmac))),
            _ => Err(unsupported()),
        }
    }

    fn sign(&self, _: SigningAlgorithm, _: &[u8]) -> Result<Box<dyn Signer>> {
        Err(unsupported())
    }
}

/// A hash that is being computed, and its value once it was asked for.
struct Running<H> {
    hash: H,
    value: [u8; 32],
}

impl<H> Running<H> {
    const fn new(hash: H) -> Self {
        Self { hash, value: [0; 32] }
    }
}

impl DigestContext for Running<Sha256> {
    fn update(&mut self, data: &[u8]) {
        sha2::Digest::update(&mut self.hash, data);
    }

    fn finish(&mut self) -> Result<&[u8]> {
        self.value = self.hash.finalize_reset().into();
        Ok(&self.value)
    }
}

impl HmacContext for Running<Hmac<Sha256>> {
    fn update(&mut self, data: &[u8]) {
        hmac::Mac::update(&mut self.hash, data);
    }

    fn finish(&mut self) -> Result<&[u8]> {
        self.value = self.hash.clone().finalize().into_bytes().into();
        Ok(&self.value)
    }
}

fn unsupported() -> Error {
    Error::NotSupported { source: "only HMAC-SHA-256 signs requests".into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of FIPS 180-2 and RFC 4231, in two pieces.
    #[test]
    fn hashes_are_those_of_the_standards() {
        let mut digest = Sha256Hashes.digest(DigestAlgorithm::Sha256).unwrap();
        digest.update(b"a");
        digest.update(b"bc");
        assert_eq!(
            hex::encode(digest.finish().unwrap()),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        let mut hmac = Sha256Hashes.hmac(DigestAlgorithm::Sha256, b"Jefe").unwrap();
        hmac.update(b"what do ya want ");
        hmac.update(b"for nothing?");
        assert_eq!(
            hex::encode(hmac.finish().unwrap()),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        assert!(Sha256Hashes.sign(SigningAlgorithm::RS256, b"").is_err());
    }
}
