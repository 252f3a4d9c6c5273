#include "hosts/command/server_sandbox.hpp"

#include "hosts/command/init_supervisor.hpp"
#include "hosts/command/memory_file.hpp"
#include "hosts/command/seccomp_filter.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>

namespace crab::command {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kMostServerProcesses = 1024;
constexpr std::uint64_t kAnyMemory = std::uint64_t{1} << 46;
/// The sandbox has its own; those of the host show other processes and take devices over.
constexpr std::array kNeverShown{"/proc", "/dev", "/sys"};

bool is_within(const fs::path& folder, const fs::path& path) {
    return std::ranges::mismatch(folder, path).in1 == folder.end();
}

/// Why this machine cannot keep a program to these rules.
std::optional<std::string> missing(const SandboxAbilities& abilities,
                                   const ServerSandboxRules& rules) {
    if (abilities.confinement() != Confinement::kNamespaces)
        return abilities.missing(core::Network::kFullAccess)
            .value_or("install bubblewrap and allow user namespaces");
    const bool counted = abilities.cgroups.count_memory();
    if (rules.memory_bytes == 0 || counted || rules.level == core::Privilege::kMinimal)
        return std::nullopt;
    return fmt::format(
        "memory_bytes: no control group limits memory here; {}; or write privilege: minimal, "
        "which is one process",
        kHowToDelegate);
}

}  // namespace

Result<std::shared_ptr<const ServerSandbox>> ServerSandbox::make(
    SandboxAbilities abilities, ServerSandboxRules rules,
    std::shared_ptr<const GuardedFiles> guarded) {
    if (const auto why = missing(abilities, rules)) return fail(ErrorCode::kUnavailable, *why);
    auto filter = make_seccomp_filter(
        {.level = rules.level,
         .memory_is_counted = rules.memory_bytes == 0 || abilities.cgroups.count_memory()});
    if (!filter) return fail(std::move(filter.error()));
    const std::shared_ptr<ServerSandbox> made(new ServerSandbox);
    made->abilities_ = std::move(abilities);
    made->rules_ = std::move(rules);
    made->guarded_ = std::move(guarded);
    made->filter_ = std::move(*filter);
    if (auto held = made->hold_files(); !held) return fail(std::move(held.error()));
    return made;
}

Result<void> ServerSandbox::hold_files() {
    auto readable = hold(rules_.read, false);
    if (!readable) return fail(std::move(readable.error()));
    auto writable = hold(rules_.write, true);
    if (!writable) return fail(std::move(writable.error()));
    readable_ = std::move(*readable);
    writable_ = std::move(*writable);
    return {};
}

Result<std::vector<Bind>> ServerSandbox::hold(const std::vector<fs::path>& paths,
                                              bool changes) const {
    std::vector<Bind> binds;
    for (const fs::path& given : paths) {
        const auto refused = [&](std::string_view why) {
            return fail(ErrorCode::kInvalidArgs,
                        fmt::format("{}: {}: {}", changes ? "write" : "read", given.string(), why));
        };
        const fs::path path = given.lexically_normal();
        if (!path.is_absolute()) return refused("has to begin with /");
        if (std::ranges::any_of(kNeverShown, [&](const char* own) { return is_within(own, path); }))
            return refused("is shown to no sandbox");
        auto file = FileHandle::open(path);
        if (!file) return refused(file.error().message);
        binds.push_back({std::move(*file), path});
        if (auto good = check_guarded(binds.back(), changes); !good)
            return refused(good.error().message);
        if (const auto linked = guarded_->own.linked_in(binds.back().file))
            return refused(fmt::format("holds a hard link of {}, which is crab's own; remove it",
                                       linked->string()));
    }
    return binds;
}

Result<void> ServerSandbox::check_guarded(const Bind& bind, bool changes) const {
    if (const auto met = guarded_->own.met_by(bind.file))
        return fail(ErrorCode::kUnavailable,
                    fmt::format("{} is crab's own, and may not lie in what a program is shown",
                                met->string()));
    if (!changes) return {};
    if (const auto met = guarded_->relied_on.met_by(bind.file))
        return fail(ErrorCode::kUnavailable,
                    fmt::format("{} is run or trusted by crab, and may not lie in what a program "
                                "changes",
                                met->string()));
    return {};
}

bool ServerSandbox::shows(const fs::path& path) const {
    const auto holds = [&](const Bind& bind) { return is_within(bind.at, path); };
    return is_of_the_system(path) || std::ranges::any_of(readable_, holds) ||
           std::ranges::any_of(writable_, holds);
}

Result<void> ServerSandbox::check_program(const std::string& program) const {
    const fs::path file = find_program(program);
    const auto refused = [&](std::string_view why) {
        return fail(ErrorCode::kInvalidArgs, fmt::format("{}: {}", program, why));
    };
    if (file.empty() || ::access(file.c_str(), X_OK) != 0)
        return refused("is no program that can be run");
    std::error_code error;
    for (const fs::path& each : {fs::absolute(file).lexically_normal(), fs::canonical(file, error)})
        if (!each.empty() && !shows(each))
            return refused(fmt::format("{} is not shown to the sandbox; add its folder to read",
                                       each.string()));
    return {};
}

SandboxRequest ServerSandbox::request_for(ChildProgram& program) const {
    const bool counted = abilities_.cgroups.count_memory();
    const std::uint64_t memory = rules_.memory_bytes;
    SandboxRequest request;
    request.argv = std::move(program.words);
    // Address space is not memory: runtimes reserve much more than they use.
    request.memory_bytes = memory == 0 || counted ? kAnyMemory : memory;
    request.processes = kMostServerProcesses;
    request.landlock = abilities_.landlock_abi > 0;
    request.network = rules_.host_network ? NetworkAccess::kHost : NetworkAccess::kNone;
    request.readable = readable_;
    request.writable = writable_;
    const fs::path folder = fs::path(program.folder).lexically_normal();
    if (!folder.empty() && shows(folder)) request.folder = folder;
    for (const std::string& variable : program.environment) {
        const std::size_t equals = variable.find('=');
        request.environment.emplace_back(variable.substr(0, equals), variable.substr(equals + 1));
    }
    return request;
}

Result<SupervisedProgram> ServerSandbox::confine(ChildProgram program) const {
    for (const bool changes : {false, true}) {
        for (const Bind& bind : changes ? writable_ : readable_) {
            // a person may have moved things since it was made
            if (!check_guarded(bind, changes))
                return fail(ErrorCode::kUnavailable,
                            "files of crab itself lie in what its sandbox would show; an operator "
                            "has to move them (crab gateway check)");
        }
    }
    const auto supervisor = std::make_shared<InitSupervisor>();
    if (auto opened = supervisor->open(); !opened) return fail(std::move(opened.error()));
    if (!supervisor->put_into(abilities_.cgroups, {.memory_bytes = rules_.memory_bytes,
                                                   .processes = kMostServerProcesses + 2}))
        return fail(ErrorCode::kUnavailable, "its memory could not be limited");
    const SandboxRequest request = request_for(program);
    const SandboxDescriptors inside{
        .status = supervisor->status(), .control = supervisor->control(), .filter = filter_.get()};
    Descriptor options = memory_file(ended_by_nul(bubblewrap_options(abilities_, request, inside)));
    if (!options.is_open())
        return fail(ErrorCode::kUnavailable, "no file for the options of a sandbox");
    std::vector<int> inherited{options.get(), filter_.get()};
    for (const auto* binds : {&readable_, &writable_})
        for (const Bind& bind : *binds) inherited.push_back(bind.file.fd());
    program.words = {abilities_.bubblewrap.string(), "--args", std::to_string(options.get()), "--"};
    std::ranges::move(sandbox_command(abilities_, request, inside),
                      std::back_inserter(program.words));
    program.file = abilities_.bubblewrap;
    program.environment.clear();
    program.folder.clear();
    supervisor->keep(std::move(options));
    supervisor->pass_on(std::move(inherited));
    supervisor->equip(program);
    return SupervisedProgram{std::move(program), supervisor};
}

}  // namespace crab::command
