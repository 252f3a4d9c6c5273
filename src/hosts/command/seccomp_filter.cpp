#include "hosts/command/seccomp_filter.hpp"

#include "base/scope_exit.hpp"

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

namespace crab::command {
namespace {

// Spelled out: this folder opens no socket.
constexpr std::uint64_t kUnix = 1, kIpv4 = 2, kIpv6 = 10, kNetlink = 16;
constexpr std::uint64_t kStream = 1, kSequencedPackets = 5, kTypeOfSocket = 0xf;
constexpr std::uint64_t kMostFamilies = 64;
constexpr std::uint64_t kNewNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
                                         CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

constexpr const char* kRefused[] = {
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "process_madvise",
    "kcmp",
    "pidfd_getfd",
    "bpf",
    "perf_event_open",
    "userfaultfd",
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    "add_key",
    "request_key",
    "keyctl",
    "mount",
    "umount2",
    "pivot_root",
    "chroot",
    "move_mount",
    "open_tree",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "mount_setattr",
    "open_tree_attr",
    "unshare",
    "setns",
    "open_by_handle_at",
    "name_to_handle_at",
    "init_module",
    "finit_module",
    "delete_module",
    "kexec_load",
    "kexec_file_load",
    "reboot",
    "swapon",
    "swapoff",
    "acct",
    "quotactl",
    "iopl",
    "ioperm",
    "modify_ldt",
    "syslog",
    "settimeofday",
    "clock_settime",
    "clock_adjtime",
    "adjtimex",
    "vhangup",
    "nfsservctl",
    "lookup_dcookie",
    "personality",
};

/// Calls that libseccomp 2.5 has no name for; beyond 424 all architectures number alike.
struct NewCall {
    std::string_view name;
    int number;
};
constexpr NewCall kNewCalls[] = {{"fchmodat2", 452},
                                 {"setxattrat", 463},
                                 {"removexattrat", 466},
                                 {"open_tree_attr", 467},
                                 {"file_setattr", 469}};

/// __NR_SCMP_ERROR for a call that this architecture does not have.
int number_of(std::string_view name) {
    const int number = seccomp_syscall_resolve_name(std::string(name).c_str());
    if (number != __NR_SCMP_ERROR) return number;
    for (const NewCall& call : kNewCalls) {
        if (call.name == name) return call.number;
    }
    return __NR_SCMP_ERROR;
}

/// libseccomp's macros for this are C.
constexpr scmp_arg_cmp argument(unsigned index, scmp_compare comparison, std::uint64_t first,
                                std::uint64_t second = 0) {
    return {index, comparison, first, second};
}

/// Adds rules; the first refusal of libseccomp is remembered.
class Rules {
public:
    explicit Rules(scmp_filter_ctx context) : context_(context) {}

    void refuse(const char* name, int error = EPERM) {
        const int number = number_of(name);
        if (number != __NR_SCMP_ERROR)
            keep(seccomp_rule_add(context_, SCMP_ACT_ERRNO(static_cast<std::uint32_t>(error)),
                                  number, 0));
    }
    void refuse_if(const char* name, std::initializer_list<scmp_arg_cmp> conditions) {
        const int number = number_of(name);
        if (number != __NR_SCMP_ERROR) refuse_if(number, EPERM, conditions);
    }
    void refuse_if(int number, int error, std::initializer_list<scmp_arg_cmp> conditions) {
        keep(seccomp_rule_add_array(context_, SCMP_ACT_ERRNO(static_cast<std::uint32_t>(error)),
                                    number, static_cast<unsigned>(conditions.size()),
                                    conditions.begin()));
    }
    int error() const { return error_; }

private:
    void keep(int result) {
        // -EEXIST: it is refused already
        if (result < 0 && result != -EEXIST && error_ == 0) error_ = -result;
    }
    scmp_filter_ctx context_;
    int error_ = 0;
};

/// What reaches others of the same user, or files outside by their names, where no namespace hides
/// them. Landlock keeps reads and writes, not these.
constexpr const char* kRefusedBare[] = {
    "chmod",
    "fchmodat",
    "fchmodat2",
    "chown",
    "lchown",
    "fchownat",
    "utime",
    "utimes",
    "futimesat",
    "removexattr",
    "lremovexattr",
    "removexattrat",
    "inotify_add_watch",
    "fanotify_init",
    "fanotify_mark",
    "shmget",
    "shmat",
    "shmctl",
    "semget",
    "semop",
    "semtimedop",
    "semctl",
    "msgget",
    "msgsnd",
    "msgrcv",
    "msgctl",
    "mq_open",
    "mq_unlink",
    "mq_timedsend",
    "mq_timedreceive",
    "mq_notify",
};
/// The same for files that are open, which Landlock has let through for reading.
constexpr const char* kRefusedOnOpenFiles[] = {"fchmod", "fchown", "fremovexattr"};
/// Their first argument is a process; 0 is the one that asks.
constexpr const char* kForOneself[] = {"prlimit64",      "sched_setaffinity",  "sched_setattr",
                                       "sched_setparam", "sched_setscheduler", "migrate_pages",
                                       "move_pages"};
/// Their second argument is one, or a group or a user.
constexpr const char* kForOneselfSecond[] = {"setpriority", "ioprio_set"};

void add_bare_rules(Rules& rules, core::Privilege level, SignalScope signals) {
    for (const char* name : kRefusedBare) rules.refuse(name);
    // root owns what it can only read, too
    const bool read_only = level == core::Privilege::kMinimal || ::geteuid() == 0;
    for (const char* name : kRefusedOnOpenFiles) {
        if (read_only) rules.refuse(name);
    }
    if (read_only)
        rules.refuse("utimensat");
    else
        rules.refuse_if(SCMP_SYS(utimensat), EPERM, {argument(1, SCMP_CMP_NE, 0)});   // by name
    for (const char* name : kForOneself) rules.refuse_if(name, {argument(0, SCMP_CMP_NE, 0)});
    for (const char* name : kForOneselfSecond) rules.refuse_if(name, {argument(1, SCMP_CMP_NE, 0)});
    // F_SETOWN, F_SETSIG, F_SETOWN_EX
    for (const std::uint64_t command : {8U, 10U, 15U})
        rules.refuse_if("fcntl", {argument(1, SCMP_CMP_MASKED_EQ, 0xffffffffU, command)});
    // FIOSETOWN, SIOCSPGRP
    for (const std::uint64_t request : {0x8901U, 0x8902U})
        rules.refuse_if("ioctl", {argument(1, SCMP_CMP_MASKED_EQ, 0xffffffffU, request)});
    rules.refuse("socket", EAFNOSUPPORT);
    if (signals == SignalScope::kLandlock) return;
    rules.refuse_if("kill", {argument(0, SCMP_CMP_NE, 0)});   // its own group is left
    for (const char* name :
         {"tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal"})
        rules.refuse(name);
}

void add_rules(Rules& rules) {
    for (const char* name : kRefused) rules.refuse(name);
    rules.refuse("clone3", ENOSYS);
    for (std::uint64_t flag = 1; flag != 0 && flag <= kNewNamespaces; flag <<= 1) {
        if ((kNewNamespaces & flag) != 0)
            rules.refuse_if(SCMP_SYS(clone), EPERM, {argument(0, SCMP_CMP_MASKED_EQ, flag, flag)});
    }
    for (const unsigned long request :
         {static_cast<unsigned long>(TIOCSTI), static_cast<unsigned long>(TIOCLINUX)}) {
        rules.refuse_if(SCMP_SYS(ioctl), EPERM,
                        {argument(1, SCMP_CMP_MASKED_EQ, 0xffffffffU, request)});
    }
}

/// The mode of a new or changed file is argument `mode`: it may not make a program that runs as its
/// owner or group for whoever starts it.
void refuse_set_id(Rules& rules, const char* name, unsigned mode) {
    for (const std::uint64_t bit : {S_ISUID, S_ISGID})
        rules.refuse_if(name, {argument(mode, SCMP_CMP_MASKED_EQ, bit, bit)});
}

/// Files of a worktree are used outside as well, where whoever runs the gateway is not 1000:1000.
void refuse_set_id_files(Rules& rules) {
    for (const char* name : {"chmod", "fchmod", "creat", "mknod", "mkdir"})
        refuse_set_id(rules, name, 1);
    for (const char* name : {"fchmodat", "fchmodat2", "mknodat", "mkdirat"})
        refuse_set_id(rules, name, 2);
    for (const std::uint64_t bit : {S_ISUID, S_ISGID}) {
        // only then is there a mode
        for (const std::uint64_t making :
             {std::uint64_t{O_CREAT}, std::uint64_t{O_TMPFILE & ~O_DIRECTORY}}) {
            rules.refuse_if("open", {argument(1, SCMP_CMP_MASKED_EQ, making, making),
                                     argument(2, SCMP_CMP_MASKED_EQ, bit, bit)});
            rules.refuse_if("openat", {argument(2, SCMP_CMP_MASKED_EQ, making, making),
                                       argument(3, SCMP_CMP_MASKED_EQ, bit, bit)});
        }
    }
    rules.refuse("openat2", ENOSYS);  // flags and mode are in memory; who uses it can do without
    for (const char* name : {"setxattr", "lsetxattr", "fsetxattr", "setxattrat", "file_setattr"})
        rules.refuse(name, EOPNOTSUPP);
}

/// What takes memory that no process can be seen to have.
void refuse_uncounted_memory(Rules& rules) {
    for (const char* name : {"memfd_create", "memfd_secret", "shmget", "shmat", "msgget", "semget",
                             "mq_open", "io_setup", "vmsplice", "tee", "remap_file_pages"})
        rules.refuse(name);
    // MAP_SHARED_VALIDATE has the bit as well
    rules.refuse_if("mmap", {argument(3, SCMP_CMP_MASKED_EQ, MAP_SHARED, MAP_SHARED)});
    rules.refuse_if("fcntl", {argument(1, SCMP_CMP_MASKED_EQ, 0xffffffffU, F_SETPIPE_SZ)});
    // its pipes are counted by its descriptors
    rules.refuse_if("prctl", {argument(0, SCMP_CMP_MASKED_EQ, 0xffffffffU, PR_SET_DUMPABLE)});
    rules.refuse("socket", EAFNOSUPPORT);
    rules.refuse("socketpair", EAFNOSUPPORT);
}

/// Pairs are connected to each other for good, but for datagram sockets, which can send to any
/// address.
void refuse_pairs(Rules& rules) {
    rules.refuse_if(SCMP_SYS(socketpair), EAFNOSUPPORT, {argument(0, SCMP_CMP_NE, kUnix)});
    for (std::uint64_t type = 0; type <= kTypeOfSocket; ++type) {
        if (type == kStream || type == kSequencedPackets) continue;
        rules.refuse_if(SCMP_SYS(socketpair), EAFNOSUPPORT,
                        {argument(1, SCMP_CMP_MASKED_EQ, kTypeOfSocket, type)});
    }
}

/// IPv4, IPv6, route netlink and, where they may lead out, Unix are left.
void refuse_families(Rules& rules, bool unix_sockets) {
    for (std::uint64_t family = 0; family < kMostFamilies; ++family) {
        if ((family == kUnix && unix_sockets) || family == kIpv4 || family == kIpv6) continue;
        if (family == kNetlink)
            rules.refuse_if(SCMP_SYS(socket), EAFNOSUPPORT,
                            {argument(0, SCMP_CMP_MASKED_EQ, 0xffffffffU, family),
                             argument(2, SCMP_CMP_NE, 0)});
        else
            rules.refuse_if(SCMP_SYS(socket), EAFNOSUPPORT,
                            {argument(0, SCMP_CMP_MASKED_EQ, 0xffffffffU, family)});
    }
    rules.refuse_if(SCMP_SYS(socket), EAFNOSUPPORT, {argument(0, SCMP_CMP_GE, kMostFamilies)});
}

void refuse_processes(Rules& rules) {
    rules.refuse("fork");
    rules.refuse("vfork");
    rules.refuse_if(SCMP_SYS(clone), EPERM, {argument(0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0)});
}

}  // namespace

Result<Descriptor> make_seccomp_filter(const SeccompOptions& orders) {
    const scmp_filter_ctx context = seccomp_init(SCMP_ACT_ALLOW);
    if (context == nullptr)
        return fail(ErrorCode::kUnavailable, "no seccomp filter can be made here");
    const ScopeExit release([&] { seccomp_release(context); });
    Rules rules(context);
    add_rules(rules);
    refuse_set_id_files(rules);
    if (orders.signals == SignalScope::kNamespace)
        refuse_families(rules, orders.unix_sockets);
    else
        add_bare_rules(rules, orders.level, orders.signals);
    if (!orders.unix_sockets) refuse_pairs(rules);
    if (!orders.memory_is_counted) refuse_uncounted_memory(rules);
    if (orders.level == core::Privilege::kMinimal) refuse_processes(rules);
    if (rules.error() != 0)
        return fail(ErrorCode::kUnavailable, fmt::format("no seccomp filter can be made here: {}",
                                                         std::strerror(rules.error())));
    Descriptor file(::memfd_create("crab-seccomp", MFD_CLOEXEC));
    if (!file.is_open())
        return fail(ErrorCode::kUnavailable,
                    fmt::format("no memory file: {}", std::strerror(errno)));
    if (const int written = seccomp_export_bpf(context, file.get()); written < 0) {
        return fail(ErrorCode::kUnavailable,
                    fmt::format("no seccomp filter can be written: {}", std::strerror(-written)));
    }
    return file;
}

}  // namespace crab::command
