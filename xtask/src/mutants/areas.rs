//! The code that is changed, and the tests that must notice it.

/// What a sample is drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// What promises are made of.
    Core,
    /// What users and other programs meet.
    Edge,
}

/// Sources of one package.
pub(super) struct Area {
    pub(super) package: &'static str,
    pub(super) sources: &'static [&'static str],
    /// One after the other: what the first let pass is tried with the next.
    pub(super) tests: &'static [Tests],
    /// Whether the tests use what `cargo xtask setup` installs below `target`.
    pub(super) needs_packages: bool,
}

/// Tests of packages, as cargo and nextest select them.
pub(super) struct Tests {
    pub(super) packages: &'static [&'static str],
    pub(super) target: &'static [&'static str],
    pub(super) filter: &'static str,
}

pub(super) const fn of(part: Part) -> &'static [Area] {
    match part {
        Part::Core => &CORE,
        Part::Edge => &EDGE,
    }
}

const CORE: [Area; 2] = [
    Area {
        package: "haft-core",
        sources: &[
            "crates/haft-core/src/tool/**",
            "crates/haft-core/src/tool.rs",
            "crates/haft-core/src/call/**",
            "crates/haft-core/src/call.rs",
            "crates/haft-core/src/gate/**",
            "crates/haft-core/src/gate.rs",
            "crates/haft-core/src/trust/**",
            "crates/haft-core/src/trust.rs",
            "crates/haft-core/src/schema/**",
            "crates/haft-core/src/schema.rs",
        ],
        // The tests of the crate build fast and catch most; the others are tried with what they missed.
        tests: &[
            Tests {
                packages: &["haft-core"],
                target: &["--lib"],
                // Modules that do not use those that are changed, with the slowest tests of the crate.
                filter: "not test(/^(json|stash|id|media|tokens|clock|cancel|spool|stream)::/)",
            },
            Tests {
                packages: &["haft", "haft-conformance"],
                target: &["--test", "it"],
                filter: "test(/turn::|tool|artifacts|agreement|generated|derive|providers::hostile/)",
            },
        ],
        needs_packages: false,
    },
    Area {
        package: "haft",
        sources: &[
            "crates/haft/src/turn/driver/**",
            "crates/haft/src/turn/limits.rs",
            "crates/haft/src/turn/log/**",
            "crates/haft/src/turn/log.rs",
        ],
        // The unit tests of turns are small, the integration tests are not.
        tests: &[
            Tests { packages: &["haft"], target: &["--lib"], filter: "test(/turn/)" },
            Tests { packages: &["haft"], target: &["--test", "it"], filter: "test(/turn/)" },
        ],
        needs_packages: false,
    },
];

/// The program and those that drive it from outside, in one build: the tests of its crate are named so that it is built.
const OUTSIDE: &[&str] = &["haft-cli", "haft-acceptance"];
const OUTSIDE_PROGRAMS: &[&str] = &["--test", "it", "--test", "scenarios"];

const EDGE: [Area; 6] = [
    Area {
        package: "haft-mcp",
        sources: &["crates/haft-mcp/src/server/**", "crates/haft-mcp/src/server.rs"],
        tests: &[
            Tests {
                packages: &["haft-mcp"],
                target: &["--lib", "--test", "serving"],
                filter: "all()",
            },
            Tests {
                packages: OUTSIDE,
                target: OUTSIDE_PROGRAMS,
                filter: "test(/^mcp_serving::/) | (binary(scenarios) & test(/mcp/))",
            },
        ],
        needs_packages: true,
    },
    Area {
        package: "haft-server",
        sources: &[
            "crates/haft-server/src/error.rs",
            "crates/haft-server/src/routes.rs",
            "crates/haft-server/src/routes/**",
            "crates/haft-server/src/prices.rs",
        ],
        tests: &[
            Tests {
                packages: &["haft-server"],
                target: &["--lib", "--test", "it"],
                filter: "all()",
            },
            Tests {
                packages: OUTSIDE,
                target: OUTSIDE_PROGRAMS,
                filter: "test(/^(serve|web|costs)::/) | (binary(scenarios) & test(/page|web|serve/))",
            },
        ],
        needs_packages: true,
    },
    Area {
        package: "haft-cli",
        sources: &[
            "crates/haft-cli/src/commands.rs",
            "crates/haft-cli/src/commands/**",
            "crates/haft-cli/src/config.rs",
            "crates/haft-cli/src/user_error.rs",
            "crates/haft-cli/src/*prices*",
            "crates/haft-cli/src/*prices*/**",
        ],
        tests: &[
            Tests { packages: &["haft-cli"], target: &["--bin", "haft"], filter: "all()" },
            Tests {
                packages: OUTSIDE,
                target: OUTSIDE_PROGRAMS,
                // What takes long, and what kills and fills disks, has its net in the rest.
                filter: "not test(/^(worker_faults|sweeps)::/)",
            },
        ],
        needs_packages: true,
    },
    Area {
        package: "haft-providers",
        sources: &[
            "crates/haft-providers/src/dialects.rs",
            "crates/haft-providers/src/dialects/**",
        ],
        tests: &[
            Tests { packages: &["haft-providers"], target: &["--lib"], filter: "all()" },
            Tests {
                packages: &["haft"],
                target: &["--test", "it"],
                filter: "test(/^(providers|media)::/) & not test(a_real_model_speaks)",
            },
            Tests {
                packages: OUTSIDE,
                target: OUTSIDE_PROGRAMS,
                filter: "test(/^(requests|models|outages)::/) | binary(scenarios)",
            },
        ],
        needs_packages: true,
    },
    Area {
        package: "haft-core",
        sources: &["crates/haft-core/src/trust/control_tokens.rs"],
        tests: &[Tests {
            packages: &["haft-core"],
            target: &["--lib"],
            filter: "test(/^trust::/)",
        }],
        needs_packages: false,
    },
    Area {
        package: "haft",
        sources: &["crates/haft/src/turn/lease.rs", "crates/haft/src/turn/*price*.rs"],
        tests: &[
            Tests { packages: &["haft"], target: &["--lib"], filter: "test(/turn/)" },
            Tests {
                packages: &["haft"],
                target: &["--test", "it"],
                filter: "test(/^(turn|store|usage)/)",
            },
            Tests { packages: &["haft-races"], target: &["--lib"], filter: "test(/^leases::/)" },
        ],
        needs_packages: false,
    },
];
