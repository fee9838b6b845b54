//! The filter of system calls: what neither namespaces nor Landlock hold.

use std::io;

use libc::c_long;
use seccompiler::sock_filter;

/// Loads the filter into this process. Its children inherit it, and nothing removes it.
pub(super) fn install() -> io::Result<()> {
    seccompiler::apply_filter(&program()).map_err(io::Error::other)
}

/// The instructions. Each part handles one system call and returns a decision, or is jumped over.
fn program() -> Vec<sock_filter> {
    let mut program = vec![
        load(ARCHITECTURE_OFFSET),
        jump(EQUAL, ARCHITECTURE, 1, 0),
        decide(KILL_PROCESS),
        load(NUMBER_OFFSET),
    ];
    if cfg!(target_arch = "x86_64") {
        // The numbers of x32, which are another way to the same calls.
        program.extend([jump(AT_LEAST, X32, 0, 1), decide(errno(libc::ENOSYS))]);
    }
    for number in REFUSED.into_iter().chain(REFUSED_HERE) {
        program.extend(part(number, [decide(errno(libc::EPERM))]));
    }
    // Their arguments are in memory, which a filter does not see. Programs know kernels without them.
    for number in [libc::SYS_clone3, libc::SYS_openat2] {
        program.extend(part(number, [decide(errno(libc::ENOSYS))]));
    }
    program.extend(part(libc::SYS_clone, refuse_bits(0, NEW_NAMESPACES)));
    program.extend(part(libc::SYS_socket, socket_rules()));
    program.extend(part(libc::SYS_socketpair, socketpair_rules()));
    program.extend(part(libc::SYS_ioctl, ioctl_rules()));
    for (number, mode) in SETS_MODE {
        program.extend(part(number, refuse_bits(mode, SETUID_OR_SETGID)));
    }
    for (number, flags) in OPENS {
        program.extend(part(number, open_rules(flags)));
    }
    program.push(decide(ALLOW));
    program
}

/// A part for one system call. The number is loaded when it begins.
fn part(number: c_long, body: impl IntoIterator<Item = sock_filter>) -> Vec<sock_filter> {
    let body: Vec<sock_filter> = body.into_iter().collect();
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    let skipped = u8::try_from(body.len()).unwrap_or(u8::MAX);
    let mut part = vec![jump(EQUAL, number, 0, skipped)];
    part.extend(body);
    part
}

/// Refuses a call if an argument has one of these bits.
fn refuse_bits(argument: u32, bits: u32) -> [sock_filter; 4] {
    [load_argument(argument), jump(ANY_BIT, bits, 0, 1), decide(errno(libc::EPERM)), decide(ALLOW)]
}

/// Sockets of IPv4 and IPv6, and those that ask the kernel about the network. The network has only a loopback device. A
/// socket with a path could reach any program of the user.
fn socket_rules() -> [sock_filter; 8] {
    [
        load_argument(0),
        jump(EQUAL, as_bits(libc::AF_INET), 5, 0),
        jump(EQUAL, as_bits(libc::AF_INET6), 4, 0),
        jump(EQUAL, as_bits(libc::AF_NETLINK), 0, 2),
        load_argument(2),
        jump(EQUAL, as_bits(libc::NETLINK_ROUTE), 1, 0),
        decide(errno(libc::EAFNOSUPPORT)),
        decide(ALLOW),
    ]
}

/// Connected pairs. One of datagrams could send to any path.
fn socketpair_rules() -> [sock_filter; 8] {
    [
        load_argument(0),
        jump(EQUAL, as_bits(libc::AF_UNIX), 0, 4),
        load_argument(1),
        sock_filter { code: AND, jt: 0, jf: 0, k: SOCKET_TYPES },
        jump(EQUAL, as_bits(libc::SOCK_STREAM), 2, 0),
        jump(EQUAL, as_bits(libc::SOCK_SEQPACKET), 1, 0),
        decide(errno(libc::EAFNOSUPPORT)),
        decide(ALLOW),
    ]
}

/// Requests that put input into a terminal or change how it works. The kernel looks at the low 32 bits only.
fn ioctl_rules() -> Vec<sock_filter> {
    let requests = [libc::TIOCSTI, libc::TIOCLINUX, libc::TIOCSETD];
    let mut rules = vec![load_argument(1)];
    for request in requests {
        rules.push(jump(EQUAL, u32::try_from(request).unwrap_or(u32::MAX), 0, 1));
        rules.push(decide(errno(libc::EPERM)));
    }
    rules.push(decide(ALLOW));
    rules
}

/// Refuses to create a setuid file. The mode has no meaning for a file that exists.
fn open_rules(flags: u32) -> [sock_filter; 6] {
    let creates = as_bits(libc::O_CREAT | libc::O_TMPFILE & !libc::O_DIRECTORY);
    [
        load_argument(flags),
        jump(ANY_BIT, creates, 0, 3),
        load_argument(flags + 1),
        jump(ANY_BIT, SETUID_OR_SETGID, 0, 1),
        decide(errno(libc::EPERM)),
        decide(ALLOW),
    ]
}

const fn load(offset: u32) -> sock_filter {
    sock_filter { code: LOAD, jt: 0, jf: 0, k: offset }
}

/// The low 32 bits of an argument.
const fn load_argument(index: u32) -> sock_filter {
    load(ARGUMENTS_OFFSET + 8 * index)
}

const fn jump(code: u16, value: u32, if_true: u8, if_false: u8) -> sock_filter {
    sock_filter { code, jt: if_true, jf: if_false, k: value }
}

const fn decide(decision: u32) -> sock_filter {
    sock_filter { code: RETURN, jt: 0, jf: 0, k: decision }
}

const fn errno(number: i32) -> u32 {
    ERRNO | as_bits(number)
}

/// A constant of C as the bits that the kernel compares.
const fn as_bits(value: i32) -> u32 {
    value.cast_unsigned()
}

// Instructions, and the layout of what they look at: `linux/filter.h` and `linux/seccomp.h`.
const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const EQUAL: u16 = 0x15;
const AT_LEAST: u16 = 0x35;
const ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;
const NUMBER_OFFSET: u32 = 0;
const ARCHITECTURE_OFFSET: u32 = 4;
const ARGUMENTS_OFFSET: u32 = 16;
const ALLOW: u32 = 0x7fff_0000;
const ERRNO: u32 = 0x0005_0000;
const KILL_PROCESS: u32 = 0x8000_0000;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

const X32: u32 = 0x4000_0000;
const SOCKET_TYPES: u32 = 0xf;
const SETUID_OR_SETGID: u32 = 0o6000;
const NEW_NAMESPACES: u32 = as_bits(
    libc::CLONE_NEWUSER
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNET
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWCGROUP,
);

/// System calls that set the mode of a file, and the argument with it.
#[cfg(target_arch = "x86_64")]
const SETS_MODE: [(c_long, u32); 7] = [
    (libc::SYS_chmod, 1),
    (libc::SYS_creat, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (libc::SYS_fchmodat2, 2),
    (libc::SYS_mknod, 1),
    (libc::SYS_mknodat, 2),
];
#[cfg(target_arch = "aarch64")]
const SETS_MODE: [(c_long, u32); 4] = [
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (libc::SYS_fchmodat2, 2),
    (libc::SYS_mknodat, 2),
];

/// System calls that create files, and the argument with the flags, which the mode follows.
#[cfg(target_arch = "x86_64")]
const OPENS: [(c_long, u32); 2] = [(libc::SYS_open, 1), (libc::SYS_openat, 2)];
#[cfg(target_arch = "aarch64")]
const OPENS: [(c_long, u32); 1] = [(libc::SYS_openat, 2)];

/// Calls that no ordinary program makes, and that reach other processes, the kernel or other file systems.
const REFUSED: [c_long; 51] = [
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_adjtimex,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kcmp,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_process_madvise,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
    OPEN_TREE_ATTR,
];

/// A newer way to make mounts.
const OPEN_TREE_ATTR: c_long = 467;

/// Calls of one architecture that are refused in the same way.
#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: [c_long; 4] =
    [libc::SYS_ioperm, libc::SYS_iopl, libc::SYS_modify_ldt, libc::SYS_uselib];
#[cfg(target_arch = "aarch64")]
const REFUSED_HERE: [c_long; 0] = [];
