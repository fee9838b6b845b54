//! Classifies addresses that are not on the public Internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A block of addresses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Network {
    base: IpAddr,
    prefix: u8,
}

impl Network {
    pub(super) const fn new(base: IpAddr, prefix: u8) -> Self {
        Self { base, prefix }
    }

    /// Whether an address is in the block. A prefix that is longer than the address matches the base address only.
    pub(super) fn contains(self, address: IpAddr) -> bool {
        match (self.base, address) {
            (IpAddr::V4(base), IpAddr::V4(address)) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.prefix).min(32)).unwrap_or(0);
                base.to_bits() & mask == address.to_bits() & mask
            }
            (IpAddr::V6(base), IpAddr::V6(address)) => {
                let mask =
                    u128::MAX.checked_shl(128 - u32::from(self.prefix).min(128)).unwrap_or(0);
                base.to_bits() & mask == address.to_bits() & mask
            }
            _ => false,
        }
    }
}

impl std::fmt::Debug for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.base, self.prefix)
    }
}

/// The address that a connection uses: an IPv4 address inside an IPv6 address becomes IPv4.
pub(super) fn canonical_address(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    if let Some(v4) = v6.to_ipv4_mapped() {
        return v4.into();
    }
    // A NAT64 gateway translates these into IPv4 (RFC 6052).
    let [a, b, c, d, e, f, high, low] = v6.segments();
    if [a, b, c, d, e, f] == [0x64, 0xff9b, 0, 0, 0, 0] {
        let bits = u32::from(high) << 16 | u32::from(low);
        return Ipv4Addr::from_bits(bits).into();
    }
    address
}

/// The kind of an address that is not on the public Internet. Expects a [`canonical_address`].
pub(super) fn non_public_kind(address: IpAddr) -> Option<&'static str> {
    let find = |table: &[(Network, &'static str)]| {
        table.iter().find(|(network, _)| network.contains(address)).map(|(_, sort)| *sort)
    };
    match address {
        IpAddr::V4(_) => find(V4),
        // All public addresses are in one block.
        IpAddr::V6(_) => find(V6).or((!V6_PUBLIC.contains(address)).then_some("reserved")),
    }
}

const fn v4(a: u8, b: u8, c: u8, d: u8, prefix: u8) -> Network {
    Network::new(IpAddr::V4(Ipv4Addr::new(a, b, c, d)), prefix)
}

const fn v6(a: u16, b: u16, prefix: u8) -> Network {
    Network::new(IpAddr::V6(Ipv6Addr::new(a, b, 0, 0, 0, 0, 0, 0)), prefix)
}

const V4: &[(Network, &str)] = &[
    (v4(0, 0, 0, 0, 8), "unspecified"),
    (v4(10, 0, 0, 0, 8), "private"),
    (v4(100, 64, 0, 0, 10), "carrier-grade NAT"),
    (v4(127, 0, 0, 0, 8), "loopback"),
    // Includes the metadata services of most clouds.
    (v4(169, 254, 0, 0, 16), "link-local"),
    (v4(172, 16, 0, 0, 12), "private"),
    // A public address that one cloud uses for its metadata service.
    (v4(168, 63, 129, 16, 32), "metadata service"),
    (v4(192, 0, 0, 0, 24), "reserved"),
    (v4(192, 0, 2, 0, 24), "documentation"),
    (v4(192, 88, 99, 0, 24), "reserved"),
    (v4(192, 168, 0, 0, 16), "private"),
    (v4(198, 18, 0, 0, 15), "benchmarking"),
    (v4(198, 51, 100, 0, 24), "documentation"),
    (v4(203, 0, 113, 0, 24), "documentation"),
    (v4(224, 0, 0, 0, 4), "multicast"),
    (v4(240, 0, 0, 0, 4), "reserved"),
];

const V6_PUBLIC: Network = v6(0x2000, 0, 3);

const V6: &[(Network, &str)] = &[
    (Network::new(IpAddr::V6(Ipv6Addr::LOCALHOST), 128), "loopback"),
    (Network::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), 128), "unspecified"),
    (v6(0xfc00, 0, 7), "unique-local"),
    (v6(0xfe80, 0, 10), "link-local"),
    (v6(0xfec0, 0, 10), "site-local"),
    (v6(0xff00, 0, 8), "multicast"),
    // Protocol assignments; among them Teredo, which carries IPv4 addresses.
    (v6(0x2001, 0, 23), "reserved"),
    (v6(0x2001, 0xdb8, 32), "documentation"),
    // 6to4, which carries IPv4 addresses.
    (v6(0x2002, 0, 16), "6to4"),
    (v6(0x3fff, 0, 20), "documentation"),
];
