#include "hosts/command/init/landlock.hpp"

#include <cerrno>
#include <cstdint>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace crab::sandbox {
namespace {

// Spelled out here: the headers of Debian 12 end with ABI 2
// (Documentation/userspace-api/landlock.rst of Linux).
constexpr std::uint64_t kExecute = 1U << 0, kWriteFile = 1U << 1, kReadFile = 1U << 2,
                        kReadDir = 1U << 3, kMakeCharDevice = 1U << 6, kMakeBlockDevice = 1U << 11;
constexpr std::uint64_t kAllOfAbi1 = (1U << 13) - 1, kRefer = 1U << 13, kTruncate = 1U << 14,
                        kIoctlDevice = 1U << 15;
constexpr std::uint64_t kOfFiles = kExecute | kWriteFile | kReadFile | kTruncate;
constexpr std::uint64_t kBindTcp = 1U << 0, kConnectTcp = 1U << 1;
constexpr std::uint64_t kAbstractSocket = 1U << 0, kSignal = 1U << 1;
constexpr int kRulePathBeneath = 1, kRuleNetPort = 2;
constexpr unsigned kAskVersion = 1U << 0;

struct RulesetAttr {
    std::uint64_t fs = 0, net = 0, scoped = 0;
};
struct [[gnu::packed]] PathBeneath {
    std::uint64_t allowed = 0;
    std::int32_t parent = -1;
};

struct NetPort {
    std::uint64_t allowed = 0, port = 0;
};

bool allow(int ruleset, const char* path, std::uint64_t access) {
    const int parent = ::open(path, O_PATH | O_CLOEXEC);
    if (parent < 0) return errno == ENOENT;
    struct stat about{};
    if (::fstat(parent, &about) == 0 && !S_ISDIR(about.st_mode)) access &= kOfFiles;
    const PathBeneath rule{access, parent};
    const bool added = ::syscall(SYS_landlock_add_rule, ruleset, kRulePathBeneath, &rule, 0) == 0;
    ::close(parent);
    return added;
}

}  // namespace

bool restrict_by_landlock(const LandlockRules& orders) {
    const long abi = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, kAskVersion);
    if (abi < 1) return false;
    RulesetAttr rules;
    rules.fs = kAllOfAbi1 | (abi >= 2 ? kRefer : 0) | (abi >= 3 ? kTruncate : 0);
    if (orders.no_network && abi >= 4) rules.net = kBindTcp | kConnectTcp;
    if (abi >= 6) rules.scoped = kAbstractSocket | kSignal;
    const std::size_t size = abi >= 6   ? sizeof(RulesetAttr)
                             : abi >= 4 ? 2 * sizeof(std::uint64_t)
                                        : sizeof(std::uint64_t);
    const long ruleset = ::syscall(SYS_landlock_create_ruleset, &rules, size, 0);
    if (ruleset < 0) return false;
    // ABI 5 could also refuse ioctl() of devices, of which the sandbox has harmless ones only
    static_assert(kIoctlDevice > kTruncate);
    bool good = true;
    for (const char* path : orders.readable)
        good = good && allow(static_cast<int>(ruleset), path, kExecute | kReadFile | kReadDir);
    for (const char* path : orders.writable)
        good = good && allow(static_cast<int>(ruleset), path,
                             rules.fs & ~(kMakeCharDevice | kMakeBlockDevice));
    if (rules.net != 0 && orders.proxy_port != 0) {
        const NetPort rule{kConnectTcp, orders.proxy_port};
        good = good && ::syscall(SYS_landlock_add_rule, ruleset, kRuleNetPort, &rule, 0) == 0;
    }
    good = good && ::syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
    ::close(static_cast<int>(ruleset));
    return good;
}

}  // namespace crab::sandbox
