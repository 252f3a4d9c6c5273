#include "hosts/command/sandbox.hpp"

#include "base/subprocess.hpp"
#include "hosts/command/seccomp_filter.hpp"

#include <algorithm>
#include <array>

#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>

namespace crab::command {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kInitInside = "/run/crab/sandbox-init";
constexpr std::uint64_t kScratchBytes = std::uint64_t{256} << 20;

/// What of the host is in sight, read-only. Of /etc only what programs need to run at all.
constexpr std::array kSystem{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};
constexpr std::array kSystemFiles{"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/ssl/certs",
                                  "/etc/ca-certificates", "/etc/mime.types", "/etc/magic", "/etc/terminfo"};

bool is_runnable(const fs::path& path) { return ::access(path.c_str(), X_OK) == 0; }

fs::path find_program(std::string_view name, std::string_view path) {
    for (std::size_t at = 0; at <= path.size();) {
        const std::size_t end = std::min(path.find(':', at), path.size());
        const fs::path candidate = fs::path(path.substr(at, end - at)) / name;
        if (is_runnable(candidate)) return candidate;
        at = end + 1;
    }
    return {};
}

fs::path find_init() {
    std::error_code error;
    const fs::path beside = fs::read_symlink("/proc/self/exe", error).parent_path();
    // Tests and benchmarks lie deeper in the build directory than the program.
    for (fs::path folder = beside; !folder.empty() && folder != folder.root_path(); folder = folder.parent_path()) {
        if (is_runnable(folder / "crab-sandbox-init")) return folder / "crab-sandbox-init";
    }
    const fs::path installed = "/usr/libexec/crab/crab-sandbox-init";
    return is_runnable(installed) ? installed : fs::path();
}

bool can_make_namespaces(const SandboxAbilities& abilities) {
    const SandboxRequest request{.argv = {}, .environment = {}, .worktree = {}, .worktree_writable = false};
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
    abilities.bubblewrap = find_program("bwrap", kSandboxPath);
    abilities.init = find_init();
    const long abi = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, 1U);
    abilities.landlock_abi = abi > 0 ? static_cast<int>(abi) : 0;
    abilities.seccomp = make_seccomp_filter(core::Privilege::kMinimal).has_value();
    abilities.namespaces = !abilities.bubblewrap.empty() && !abilities.init.empty() && can_make_namespaces(abilities);
    return abilities;
}

std::optional<std::string> SandboxAbilities::missing(core::Network network, bool egress) const {
    switch (network) {
        case core::Network::kDenyAll: break;
        case core::Network::kEgressRestricted:
            if (egress) return "the egress proxy is not part of this version; leave egress empty or use DENY_ALL";
            break;
        case core::Network::kEgressUnrestricted: return "EGRESS_UNRESTRICTED needs pasta or slirp4netns, which this version does not use yet";
        case core::Network::kFullAccess: break;
    }
    if (bubblewrap.empty()) return "install bubblewrap";
    if (init.empty()) return "crab-sandbox-init was not found beside crab";
    if (!namespaces) return "bubblewrap cannot make user namespaces here; allow them (sysctl user.max_user_namespaces, AppArmor)";
    return std::nullopt;
}

std::optional<std::string> SandboxAbilities::missing(core::Privilege privilege) const {
    switch (privilege) {
        case core::Privilege::kMinimal:
        case core::Privilege::kDefault:
        case core::Privilege::kElevated:
        case core::Privilege::kPrivileged: break;
    }
    if (!seccomp) return "this kernel or libseccomp makes no seccomp filters";
    return missing(core::Network::kDenyAll, false);
}

std::vector<std::string> bubblewrap_options(const SandboxAbilities& abilities, const SandboxRequest& request, const SandboxDescriptors& descriptors) {
    std::vector<std::string> options{"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--unshare-net",
                                     "--disable-userns", "--cap-drop", "ALL", "--die-with-parent", "--as-pid-1", "--hostname", "sandbox",
                                     "--uid", "1000", "--gid", "1000", "--clearenv"};
    const auto add = [&](std::initializer_list<std::string_view> words) { options.insert(options.end(), words.begin(), words.end()); };
    add({"--ro-bind", "/usr", "/usr"});
    for (const char* folder : kSystem) {
        std::error_code error;
        if (fs::is_symlink(folder, error)) add({"--symlink", fs::read_symlink(folder, error).string(), folder});
        else add({"--ro-bind-try", folder, folder});
    }
    for (const char* file : kSystemFiles) add({"--ro-bind-try", file, file});
    add({"--proc", "/proc", "--dev", "/dev", "--size", std::to_string(kScratchBytes), "--tmpfs", "/tmp"});
    if (!abilities.init.empty()) add({"--ro-bind", abilities.init.string(), kInitInside});
    if (request.worktree) add({request.worktree_writable ? "--bind" : "--ro-bind", request.worktree->string(), "/wt"});
    // A gateway of root owns /proc/sys in every user namespace, so all of /proc is read-only.
    add({"--remount-ro", "/proc", "--remount-ro", "/", "--chdir", request.worktree ? "/wt" : "/tmp"});
    for (const auto& [name, value] : request.environment) add({"--setenv", name, value});
    if (descriptors.info >= 0) add({"--info-fd", std::to_string(descriptors.info)});
    if (descriptors.block >= 0) add({"--block-fd", std::to_string(descriptors.block)});
    return options;
}

std::vector<std::string> sandbox_command(const SandboxRequest& request, const SandboxDescriptors& descriptors) {
    std::vector<std::string> words{std::string(kInitInside), "--status", std::to_string(descriptors.status), "--control", std::to_string(descriptors.control),
                                   "--filter", std::to_string(descriptors.filter), "--memory", std::to_string(request.memory_bytes),
                                   "--processes", std::to_string(request.processes)};
    const auto add = [&](std::initializer_list<std::string_view> more) { words.insert(words.end(), more.begin(), more.end()); };
    if (request.budget_cpu.count() > 0) {
        const auto seconds = std::chrono::ceil<std::chrono::seconds>(request.budget_cpu).count() + 1;  // the meter comes first, with its own word
        add({"--cpu", std::to_string(seconds)});
    }
    if (request.landlock) {
        add({"--landlock", "--no-network", "--write", "/tmp", "--write", "/dev"});
        if (request.worktree && request.worktree_writable) add({"--write", "/wt"});
    }
    add({"--"});
    words.insert(words.end(), request.argv.begin(), request.argv.end());
    return words;
}

bool has_program(std::string_view program) {
    if (program.find('/') == program.npos) return !find_program(program, kSandboxPath).empty();
    const bool shown = program.starts_with("/usr/") || program.starts_with("/bin/") || program.starts_with("/sbin/");
    return shown && is_runnable(fs::path(program));
}

}  // namespace crab::command
