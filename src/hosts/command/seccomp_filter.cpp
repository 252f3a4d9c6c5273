#include "hosts/command/seccomp_filter.hpp"

#include "base/scope_exit.hpp"

#include <cerrno>
#include <cstring>

#include <linux/sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <fmt/format.h>

namespace crab::command {
namespace {

// Spelled out: this folder opens no socket.
constexpr std::uint64_t kUnix = 1, kIpv4 = 2, kIpv6 = 10, kNetlink = 16;
constexpr std::uint64_t kMostFamilies = 64;
constexpr std::uint64_t kNewNamespaces =
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

constexpr const char* kRefused[] = {
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd",
    "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register",
    "add_key", "request_key", "keyctl",
    "mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr",
    "unshare", "setns", "open_by_handle_at", "name_to_handle_at",
    "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot", "swapon", "swapoff", "acct", "quotactl",
    "iopl", "ioperm", "modify_ldt", "syslog", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "vhangup", "nfsservctl", "lookup_dcookie",
    "personality",
};

/// libseccomp's macros for this are C.
constexpr scmp_arg_cmp argument(unsigned index, scmp_compare comparison, std::uint64_t first, std::uint64_t second = 0) {
    return {index, comparison, first, second};
}

/// Adds rules; the first refusal of libseccomp is remembered.
class Rules {
public:
    explicit Rules(scmp_filter_ctx context) : context_(context) {}

    void refuse(const char* name, int error = EPERM) {
        const int number = seccomp_syscall_resolve_name(name);
        if (number != __NR_SCMP_ERROR) keep(seccomp_rule_add(context_, SCMP_ACT_ERRNO(static_cast<std::uint32_t>(error)), number, 0));
    }
    void refuse_if(int number, int error, std::initializer_list<scmp_arg_cmp> conditions) {
        keep(seccomp_rule_add_array(context_, SCMP_ACT_ERRNO(static_cast<std::uint32_t>(error)), number, static_cast<unsigned>(conditions.size()), conditions.begin()));
    }
    int error() const { return error_; }

private:
    void keep(int result) {
        if (result < 0 && error_ == 0) error_ = -result;
    }
    scmp_filter_ctx context_;
    int error_ = 0;
};

void add_rules(Rules& rules, core::Privilege level) {
    for (const char* name : kRefused) rules.refuse(name);
    rules.refuse("clone3", ENOSYS);
    for (std::uint64_t flag = 1; flag != 0 && flag <= kNewNamespaces; flag <<= 1) {
        if ((kNewNamespaces & flag) != 0) rules.refuse_if(SCMP_SYS(clone), EPERM, {argument(0, SCMP_CMP_MASKED_EQ, flag, flag)});
    }
    for (const unsigned long request : {static_cast<unsigned long>(TIOCSTI), static_cast<unsigned long>(TIOCLINUX)}) {
        rules.refuse_if(SCMP_SYS(ioctl), EPERM, {argument(1, SCMP_CMP_MASKED_EQ, 0xffffffffU, request)});
    }
    for (std::uint64_t family = 0; family < kMostFamilies; ++family) {
        if (family == kUnix || family == kIpv4 || family == kIpv6) continue;
        if (family == kNetlink) rules.refuse_if(SCMP_SYS(socket), EAFNOSUPPORT, {argument(0, SCMP_CMP_MASKED_EQ, 0xffffffffU, family), argument(2, SCMP_CMP_NE, 0)});
        else rules.refuse_if(SCMP_SYS(socket), EAFNOSUPPORT, {argument(0, SCMP_CMP_MASKED_EQ, 0xffffffffU, family)});
    }
    rules.refuse_if(SCMP_SYS(socket), EAFNOSUPPORT, {argument(0, SCMP_CMP_GE, kMostFamilies)});
    if (level != core::Privilege::kMinimal) return;
    rules.refuse("fork");
    rules.refuse("vfork");
    rules.refuse_if(SCMP_SYS(clone), EPERM, {argument(0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0)});
}

}  // namespace

Result<Descriptor> make_seccomp_filter(core::Privilege level) {
    const scmp_filter_ctx context = seccomp_init(SCMP_ACT_ALLOW);
    if (context == nullptr) return fail(ErrorCode::kUnavailable, "no seccomp filter can be made here");
    const ScopeExit release([&] { seccomp_release(context); });
    Rules rules(context);
    add_rules(rules, level);
    if (rules.error() != 0) return fail(ErrorCode::kUnavailable, fmt::format("no seccomp filter can be made here: {}", std::strerror(rules.error())));
    Descriptor file(::memfd_create("crab-seccomp", MFD_CLOEXEC));
    if (!file.is_open()) return fail(ErrorCode::kUnavailable, fmt::format("no memory file: {}", std::strerror(errno)));
    if (const int written = seccomp_export_bpf(context, file.get()); written < 0) {
        return fail(ErrorCode::kUnavailable, fmt::format("no seccomp filter can be written: {}", std::strerror(-written)));
    }
    return file;
}

}  // namespace crab::command
