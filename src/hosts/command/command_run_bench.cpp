// What the sandbox costs at the start: a program that does nothing, by posix_spawn, by others'
// sandboxes, and as a command.
#include "base/process/subprocess.hpp"
#include "hosts/command/command_run.hpp"
#include "hosts/command/seccomp_filter.hpp"

#include <boost/asio/io_context.hpp>

#include <benchmark/benchmark.h>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace crab::command {
namespace {

int spawn_and_wait(const std::vector<std::string>& words) {
    pid_t pid = 0;
    int status = 0;
    std::vector<char*> argv;
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    char* no_environment[] = {nullptr};
    if (::posix_spawn(&pid, argv.front(), nullptr, nullptr, argv.data(), no_environment) != 0)
        return -1;
    ::waitpid(pid, &status, 0);
    return status;
}

void measure(benchmark::State& state, const std::vector<std::string>& words) {
    if (::access(words.front().c_str(), X_OK) != 0) return state.SkipWithError("not installed");
    for (auto _ : state) {
        if (spawn_and_wait(words) != 0) return state.SkipWithError("it does not work here");
    }
}

void BM_PosixSpawn(benchmark::State& state) { measure(state, {"/bin/true"}); }
BENCHMARK(BM_PosixSpawn)->UseRealTime()->Unit(benchmark::kMillisecond);

void BM_Bubblewrap(benchmark::State& state) {
    measure(state, {"/usr/bin/bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc",
                    "--dev", "/dev", "/bin/true"});
}
BENCHMARK(BM_Bubblewrap)->UseRealTime()->Unit(benchmark::kMillisecond);

SandboxRequest request_of(const SandboxAbilities& abilities) {
    SandboxRequest request{.argv = {"/bin/true"},
                           .environment = {{"PATH", std::string(kSandboxPath)}},
                           .worktree = {},
                           .memory_bytes = std::uint64_t{512} << 20,
                           .processes = 256};
    request.landlock = abilities.landlock_abi > 0;
    return request;
}

/// bubblewrap with the options of a command, and nothing inside but the program.
void BM_BubblewrapWithOurView(benchmark::State& state) {
    const SandboxAbilities abilities = SandboxAbilities::detect();
    std::vector<std::string> words = bubblewrap_options(abilities, request_of(abilities), {});
    words.insert(words.begin(), "/usr/bin/bwrap");
    words.insert(words.end(), {"--", "/bin/true"});
    measure(state, words);
}
BENCHMARK(BM_BubblewrapWithOurView)->UseRealTime()->Unit(benchmark::kMillisecond);

void BM_SystemdRun(benchmark::State& state) {
    measure(state,
            {"/usr/bin/systemd-run", "--quiet", "--wait", "--collect", "-p", "PrivateNetwork=yes",
             "-p", "ProtectSystem=strict", "-p", "NoNewPrivileges=yes", "/bin/true"});
}
BENCHMARK(BM_SystemdRun)->UseRealTime()->Unit(benchmark::kMillisecond);

void run_commands(benchmark::State& state, const SandboxAbilities& abilities, SignalScope signals) {
    const auto filter = make_seccomp_filter({.signals = signals});
    if (abilities.confinement() == Confinement::kNone || !filter)
        return state.SkipWithError("no sandbox here");
    asio::io_context io;
    const RealClock clock;
    TimerWheel timers(clock);
    CommandRequest order;
    order.request = request_of(abilities);
    order.max_output_bytes = 1 << 20;
    order.filter = filter->get();
    for (auto _ : state) {
        CommandChannel talk(io.get_executor(), timers);
        const CommandEnd end = run_command(abilities, order, talk);
        if (end.status != 0 || end.reason != EndReason::kExited)
            state.SkipWithError(end.failure.c_str());
    }
}

void BM_Command(benchmark::State& state) {
    SandboxAbilities abilities = SandboxAbilities::detect();
    if (state.range(0) != 0) abilities.cgroups = CgroupPaths::find();
    run_commands(state, abilities, SignalScope::kNamespace);
}
BENCHMARK(BM_Command)
    ->ArgName("cgroups")
    ->Arg(0)
    ->Arg(1)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

/// The same where user namespaces are missing.
void BM_BareCommand(benchmark::State& state) {
    SandboxAbilities abilities = SandboxAbilities::detect();
    abilities.namespaces = false;
    run_commands(state, abilities, SignalScope::kLandlock);
}
BENCHMARK(BM_BareCommand)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace crab::command
