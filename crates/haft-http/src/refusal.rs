//! Why a URL may not be fetched.

use std::fmt;
use std::net::IpAddr;

/// The reason why a policy does not allow a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UrlRefusal {
    /// The scheme is neither http nor https.
    Scheme,
    /// The scheme is http.
    PlainHttp,
    /// A redirect leads from https to http.
    Downgrade,
    /// A redirect leads to another origin, and the policy allows addresses that are not public.
    OtherOrigin,
    /// The URL contains a user name or a password.
    UserInfo,
    /// The URL has no host, or one that is not allowed.
    Host,
    /// The host is, or resolves to, an address that is not on the public Internet. The message does not contain the
    /// address, which is meant for the operator.
    Address {
        /// The kind of the address.
        sort: &'static str,
        /// The address.
        address: IpAddr,
    },
}

impl fmt::Display for UrlRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scheme => "only http and https can be read",
            Self::PlainHttp => "only https is allowed",
            Self::Downgrade => "a redirect leads from https to http",
            Self::OtherOrigin => {
                "a redirect leads to another scheme, host or port, and addresses that are not public are allowed"
            }
            Self::UserInfo => "it has a user name or a password; the application gives credentials",
            Self::Host => "its host is not among those that are allowed",
            Self::Address { sort, .. } => {
                return write!(f, "it leads to an address that is not public ({sort})");
            }
        })
    }
}

/// The error of a name without an allowed address.
#[derive(Clone, Debug)]
pub(crate) struct RefusedNameError(pub(crate) UrlRefusal);

impl std::error::Error for RefusedNameError {}

impl fmt::Display for RefusedNameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Searches the sources of an error for a refusal.
pub(crate) fn find_refusal(error: &(dyn std::error::Error + 'static)) -> Option<UrlRefusal> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(RefusedNameError(why)) = error.downcast_ref() {
            return Some(why.clone());
        }
        next = error.source();
    }
    None
}
