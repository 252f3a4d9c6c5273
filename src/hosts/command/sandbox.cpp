#include "hosts/command/sandbox.hpp"

#include "base/process/subprocess.hpp"
#include "hosts/command/egress.hpp"
#include "hosts/command/process_tree.hpp"
#include "hosts/command/seccomp_filter.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>

namespace crab::command {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kScratchBytes = std::uint64_t{256} << 20;

/// What of the host is in sight, read-only. Of /etc only what programs need to run at all.
constexpr std::array kSystem{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};
constexpr std::array kSystemFiles{"/etc/alternatives",    "/etc/ld.so.cache", "/etc/ld.so.conf",
                                  "/etc/ld.so.conf.d",    "/etc/localtime",   "/etc/ssl/certs",
                                  "/etc/ca-certificates", "/etc/mime.types",  "/etc/magic",
                                  "/etc/terminfo"};

/// With the host's network, its way of finding names.
constexpr std::array kResolverFiles{"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf",
                                    "/etc/gai.conf"};
/// All that a sandbox has of /dev: nothing that keeps what is written to it, and no terminal.
constexpr std::array kHarmlessDevices{"/dev/null", "/dev/zero", "/dev/full", "/dev/random",
                                      "/dev/urandom"};
constexpr std::uint64_t kDeviceFolderBytes = std::uint64_t{64} << 10;
/// Without truncation (ABI 2) files that are only readable could be emptied
constexpr int kLeastLandlock = 3;

/// Programs differ in which they read, and in which case.
constexpr std::array kProxyVariables{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY",
                                     "http_proxy", "https_proxy", "all_proxy"};

bool is_runnable(const fs::path& path) { return ::access(path.c_str(), X_OK) == 0; }

fs::path find_in(std::string_view name, std::string_view path) {
    for (std::size_t at = 0; at <= path.size();) {
        const std::size_t end = std::min(path.find(':', at), path.size());
        const fs::path candidate = fs::path(path.substr(at, end - at)) / name;
        if (is_runnable(candidate)) return candidate;
        at = end + 1;
    }
    return {};
}

/// Whether nobody but root and this user may have put it there.
bool is_ours(const fs::path& path) {
    struct stat found{};
    return ::stat(path.c_str(), &found) == 0 &&
           (found.st_uid == 0 || found.st_uid == ::geteuid()) && (found.st_mode & S_IWOTH) == 0;
}

}  // namespace

fs::path find_init_from(const fs::path& beside) {
    constexpr std::string_view kName = "crab-sandbox-init";
    // Tests and benchmarks lie deeper in the build directory than the program. A folder like /tmp
    // ends the search: what lies there may be anybody's.
    for (fs::path folder = beside; folder != folder.root_path() && is_ours(folder);
         folder = folder.parent_path()) {
        const fs::path init = folder / kName;
        if (is_runnable(init) && is_ours(init)) return init;
    }
    const fs::path installed = fs::path("/usr/libexec/crab") / kName;
    return is_runnable(installed) ? installed : fs::path();
}

namespace {

bool can_make_namespaces(const SandboxAbilities& abilities) {
    const SandboxRequest request{
        .argv = {}, .environment = {}, .worktree = {}, .worktree_writable = false};
    SubprocessOptions trial;
    trial.argv = bubblewrap_options(abilities, request, {});
    trial.argv.insert(trial.argv.begin(), abilities.bubblewrap.string());
    trial.argv.insert(trial.argv.end(), {"--", "/bin/true"});
    trial.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    const auto end = run_subprocess(trial);
    return end && end->exit_status == 0;
}

}  // namespace

SandboxAbilities SandboxAbilities::detect() {
    SandboxAbilities abilities;
    abilities.bubblewrap = find_in("bwrap", kSandboxPath);
    std::error_code error;
    abilities.init = find_init_from(fs::read_symlink("/proc/self/exe", error).parent_path());
    if (::access("/dev/net/tun", R_OK | W_OK) == 0)
        abilities.slirp = find_in("slirp4netns", kSandboxPath);
    const long abi = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, 1U);
    abilities.landlock_abi = abi > 0 ? static_cast<int>(abi) : 0;
    abilities.seccomp = make_seccomp_filter({}).has_value();
    struct statfs scratch{};
    abilities.scratch_is_memory = ::statfs("/tmp", &scratch) != 0 || scratch.f_type == TMPFS_MAGIC;
    abilities.namespaces =
        !abilities.bubblewrap.empty() && !abilities.init.empty() && can_make_namespaces(abilities);
    return abilities;
}

Confinement SandboxAbilities::confinement() const {
    if (init.empty() || !seccomp) return Confinement::kNone;
    if (namespaces) return Confinement::kNamespaces;
    const bool scratch_is_limited = !scratch_is_memory || cgroups.count_memory();
    return landlock_abi >= kLeastLandlock && scratch_is_limited ? Confinement::kLandlock
                                                                : Confinement::kNone;
}

std::string SandboxAbilities::why_not() const {
    if (init.empty()) return "crab-sandbox-init was not found next to crab";
    if (!seccomp) return "this kernel or libseccomp makes no seccomp filters";
    if (!namespaces && landlock_abi >= kLeastLandlock && confinement() == Confinement::kNone) {
        return fmt::format(
            "/tmp is made of memory that no control group limits; install bubblewrap and allow "
            "user namespaces, or {}",
            kHowToDelegate);
    }
    if (bubblewrap.empty()) return "install bubblewrap";
    return "bubblewrap cannot make user namespaces here; allow them (sysctl "
           "user.max_user_namespaces, AppArmor)";
}

/// Memory that is in no process (buffers of sockets, files in any tmpfs of the host) is counted by
/// the kernel or by nobody; that of many processes grows faster than it can be looked at.
std::optional<std::string> SandboxAbilities::why_unlimited() const {
    if (cgroups.count_memory()) return std::nullopt;
    return fmt::format("no control group limits memory here; {}", kHowToDelegate);
}

std::optional<std::string> SandboxAbilities::missing(core::Network network) const {
    const Confinement kept_by = confinement();
    if (kept_by == Confinement::kNone) return why_not();
    switch (network) {
        case core::Network::kDenyAll: return std::nullopt;
        case core::Network::kEgressRestricted:
        case core::Network::kFullAccess: break;
        case core::Network::kEgressUnrestricted:
            if (kept_by == Confinement::kNamespaces && slirp.empty())
                return "install slirp4netns (it needs /dev/net/tun)";
            break;
    }
    return kept_by == Confinement::kLandlock ? why_not() : why_unlimited();
}

std::optional<std::string> SandboxAbilities::missing(core::Privilege privilege) const {
    const Confinement kept_by = confinement();
    if (kept_by == Confinement::kNone) return why_not();
    switch (privilege) {
        // one process, which RLIMIT_AS bounds; all others may be many, which only a group bounds
        case core::Privilege::kMinimal: return std::nullopt;
        case core::Privilege::kDefault: return why_unlimited();
        case core::Privilege::kElevated:
        case core::Privilege::kPrivileged: break;
    }
    return kept_by == Confinement::kLandlock ? why_not() : why_unlimited();
}

/// A folder of harmless devices, the names by which programs find their own descriptors, and POSIX
/// shared memory, which is part of /tmp and of its limit.
void add_devices(std::vector<std::string>& options) {
    const auto add = [&](std::initializer_list<std::string_view> words) {
        options.insert(options.end(), words.begin(), words.end());
    };
    add({"--size", std::to_string(kDeviceFolderBytes), "--tmpfs", "/dev"});
    for (const char* device : kHarmlessDevices) add({"--dev-bind", device, device});
    add({"--symlink", "/proc/self/fd", "/dev/fd", "--symlink", "/proc/self/fd/0", "/dev/stdin",
         "--symlink", "/proc/self/fd/1", "/dev/stdout"});
    add({"--symlink", "/proc/self/fd/2", "/dev/stderr", "--symlink", "/tmp", "/dev/shm"});
}

/// Whether what lies there is in sight where everything is but /dev and /proc.
bool is_of_the_host(const fs::path& path) {
    std::error_code error;
    return !path.native().starts_with("/dev/") && !path.native().starts_with("/proc/") &&
           fs::exists(path, error);
}

/// Puts nothing in place of what is crab's own. A mount point cannot be renamed by whoever sees the
/// mount, so all folders above become some: otherwise a command could move one, and find at the new
/// place what the next sandbox looks for at the old one.
void add_hidden(std::vector<std::string>& options, const std::vector<fs::path>& hidden) {
    const auto add = [&](std::initializer_list<std::string_view> words) {
        options.insert(options.end(), words.begin(), words.end());
    };
    std::set<fs::path> above;  // a folder sorts before what is in it
    for (const fs::path& path : hidden) {
        if (!is_of_the_host(path)) continue;
        for (fs::path at = path.parent_path(); at != at.parent_path(); at = at.parent_path())
            above.insert(at);
    }
    for (const fs::path& folder : above) add({"--bind", folder.string(), folder.string()});
    add_devices(options);
    add({"--proc", "/proc"});
    for (const fs::path& path : hidden) {
        std::error_code error;
        const bool hidden_already = std::ranges::any_of(hidden, [&](const fs::path& other) {
            return other != path && std::ranges::mismatch(other, path).in1 == other.end();
        });
        // where a link leads is in the list as well
        if (hidden_already || !is_of_the_host(path) || fs::is_symlink(path, error)) continue;
        if (fs::is_directory(path, error))
            add({"--tmpfs", path.string(), "--remount-ro", path.string()});
        else
            add({"--ro-bind", "/dev/null", path.string()});
    }
}

/// Scratch is memory, too.
std::uint64_t scratch_bytes(const SandboxRequest& request) {
    return request.memory_bytes > 0 ? std::min(kScratchBytes, request.memory_bytes) : kScratchBytes;
}

/// Where the worktree is inside.
std::string worktree_inside(const SandboxRequest& request) {
    return !request.worktree    ? "/tmp"
           : request.whole_host ? request.worktree->place().string()
                                : "/wt";
}

/// The system read-only, what programs need of /etc, and places for what does not last.
void add_view(std::vector<std::string>& options, const SandboxRequest& request,
              const SandboxDescriptors& descriptors) {
    const auto add = [&](std::initializer_list<std::string_view> words) {
        options.insert(options.end(), words.begin(), words.end());
    };
    add({"--ro-bind", "/usr", "/usr"});
    for (const char* folder : kSystem) {
        std::error_code error;
        if (fs::is_symlink(folder, error))
            add({"--symlink", fs::read_symlink(folder, error).string(), folder});
        else
            add({"--ro-bind-try", folder, folder});
    }
    for (const char* file : kSystemFiles) add({"--ro-bind-try", file, file});
    if (request.network == NetworkAccess::kHost) {
        for (const char* file : kResolverFiles) add({"--ro-bind-try", file, file});
    }
    if (descriptors.resolver >= 0)
        add({"--ro-bind-data", std::to_string(descriptors.resolver), "/etc/resolv.conf"});
    add_devices(options);
    add({"--proc", "/proc", "--size", std::to_string(scratch_bytes(request)), "--tmpfs", "/tmp"});
}

/// A folder before what is in it, which has a rule of its own.
void add_binds(std::vector<std::string>& options, const SandboxRequest& request) {
    std::vector<std::pair<const Bind*, const char*>> all;
    for (const Bind& bind : request.readable) all.emplace_back(&bind, "--ro-bind");
    for (const Bind& bind : request.writable) all.emplace_back(&bind, "--bind");
    std::ranges::stable_sort(all, {}, [](const auto& each) { return each.first->at; });
    for (const auto& [bind, option] : all)
        options.insert(options.end(), {option, bind->file.link(), bind->at.string()});
}

std::vector<std::string> bubblewrap_options(const SandboxAbilities& abilities,
                                            const SandboxRequest& request,
                                            const SandboxDescriptors& descriptors) {
    std::vector<std::string> options{"--unshare-user",
                                     "--unshare-pid",
                                     "--unshare-ipc",
                                     "--unshare-uts",
                                     "--unshare-cgroup-try",
                                     "--disable-userns",
                                     "--cap-drop",
                                     "ALL",
                                     "--die-with-parent",
                                     "--as-pid-1",
                                     "--hostname",
                                     "sandbox",
                                     "--uid",
                                     "1000",
                                     "--gid",
                                     "1000",
                                     "--clearenv"};
    const auto add = [&](std::initializer_list<std::string_view> words) {
        options.insert(options.end(), words.begin(), words.end());
    };
    if (request.network != NetworkAccess::kHost) add({"--unshare-net"});
    if (request.whole_host) {
        // its own control group is there, and its user's
        add({"--bind", "/", "/", "--ro-bind-try", "/sys", "/sys"});
        add_hidden(options, request.hidden);
    } else {
        add_view(options, request, descriptors);
    }
    const std::string worktree = worktree_inside(request);
    if (!abilities.init.empty() && !request.whole_host)
        add({"--ro-bind", abilities.init.string(), kInitInside});
    if (request.worktree && (!request.whole_host || !request.worktree_writable))
        add({request.worktree_writable ? "--bind" : "--ro-bind", request.worktree->link(),
             worktree});
    add_binds(options, request);
    // A gateway of root owns /proc/sys in every user namespace, so all of /proc is read-only.
    add({"--remount-ro", "/proc", "--remount-ro", "/dev"});
    if (!request.whole_host) add({"--remount-ro", "/"});
    add({"--chdir", request.folder.empty() ? worktree : request.folder.string()});
    for (const auto& [name, value] : request.environment) add({"--setenv", name, value});
    if (request.network == NetworkAccess::kProxy) {
        const std::string proxy = fmt::format("http://127.0.0.1:{}", kProxyPort);
        for (const std::string_view name : kProxyVariables) add({"--setenv", name, proxy});
    }
    if (descriptors.info >= 0) add({"--info-fd", std::to_string(descriptors.info)});
    if (descriptors.block >= 0) add({"--block-fd", std::to_string(descriptors.block)});
    return options;
}

/// What crab-sandbox-init is told whether there are namespaces or not.
std::vector<std::string> common_orders(const SandboxRequest& request,
                                       const SandboxDescriptors& descriptors) {
    std::vector<std::string> words{"--status",    std::to_string(descriptors.status),
                                   "--control",   std::to_string(descriptors.control),
                                   "--filter",    std::to_string(descriptors.filter),
                                   "--memory",    std::to_string(request.memory_bytes),
                                   "--processes", std::to_string(request.processes)};
    if (request.budget_cpu.count() > 0) {
        // the meter comes first, with its own error
        const auto seconds =
            std::chrono::ceil<std::chrono::seconds>(request.budget_cpu).count() + 1;
        words.insert(words.end(), {"--cpu", std::to_string(seconds)});
    }
    return words;
}

std::vector<std::string> sandbox_command(const SandboxAbilities& abilities,
                                         const SandboxRequest& request,
                                         const SandboxDescriptors& descriptors) {
    std::vector<std::string> words = common_orders(request, descriptors);
    words.insert(words.begin(),
                 request.whole_host ? abilities.init.string() : std::string(kInitInside));
    const auto add = [&](std::initializer_list<std::string_view> more) {
        words.insert(words.end(), more.begin(), more.end());
    };
    const auto expect = [&](const FileHandle& file, std::string_view at) {
        add({"--expect", std::to_string(file.identity().device),
             std::to_string(file.identity().number), at});
    };
    if (request.worktree) expect(*request.worktree, ".");
    for (const Bind& bind : request.readable) expect(bind.file, bind.at.native());
    for (const Bind& bind : request.writable) expect(bind.file, bind.at.native());
    if (request.network == NetworkAccess::kProxy)
        add({"--proxy", std::to_string(descriptors.proxy), "--proxy-port",
             std::to_string(kProxyPort)});
    if (request.network == NetworkAccess::kOutbound) add({"--wait"});
    if (request.landlock && !request.whole_host) {
        add({"--landlock", "--read", "/", "--write", "/tmp", "--write", "/dev"});
        if (request.network == NetworkAccess::kNone || request.network == NetworkAccess::kProxy)
            add({"--no-network"});
        if (request.worktree && request.worktree_writable) add({"--write", "/wt"});
        for (const Bind& bind : request.writable) add({"--write", bind.at.string()});
    }
    add({"--"});
    words.insert(words.end(), request.argv.begin(), request.argv.end());
    return words;
}

std::vector<std::string> bare_command(const SandboxAbilities& abilities,
                                      const SandboxRequest& request,
                                      const SandboxDescriptors& descriptors) {
    std::vector<std::string> words = common_orders(request, descriptors);
    words.insert(words.begin(), abilities.init.string());
    const auto add = [&](std::initializer_list<std::string_view> more) {
        words.insert(words.end(), more.begin(), more.end());
    };
    const std::string scratch = request.scratch.string(),
                      place = request.worktree ? request.worktree->link() : scratch;
    add({"--bare", "--block", std::to_string(descriptors.block), "--file-size",
         std::to_string(kScratchBytes), "--chdir", place, "--landlock", "--no-network"});
    for (const char* folder : kSystem) add({"--read", folder});
    for (const char* file : kSystemFiles) add({"--read", file});
    add({"--read", "/usr", "--write", scratch, request.worktree_writable ? "--write" : "--read",
         place});
    for (const char* device : kHarmlessDevices) add({"--write", device});
    add({"--"});
    words.insert(words.end(), request.argv.begin(), request.argv.end());
    return words;
}

bool is_of_the_system(const fs::path& path) {
    const auto holds = [&](const fs::path& folder) {
        return std::ranges::mismatch(folder, path).in1 == folder.end();
    };
    return holds("/usr") || std::ranges::any_of(kSystem, holds);
}

bool has_program(std::string_view program) {
    if (program.find('/') == program.npos) return !find_in(program, kSandboxPath).empty();
    const bool shown = program.starts_with("/usr/") || program.starts_with("/bin/") ||
                       program.starts_with("/sbin/");
    return shown && is_runnable(fs::path(program));
}

}  // namespace crab::command
