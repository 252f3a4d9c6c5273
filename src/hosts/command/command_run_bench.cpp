// What the sandbox costs at the start: a program that does nothing, by posix_spawn, by bubblewrap alone, and as a command.
#include "base/subprocess.hpp"
#include "hosts/command/command_run.hpp"
#include "hosts/command/seccomp_filter.hpp"

#include <boost/asio/io_context.hpp>

#include <benchmark/benchmark.h>

#include <spawn.h>
#include <sys/wait.h>

namespace crab::command {
namespace {

int spawn_and_wait(const char* const* words) {
    pid_t pid = 0;
    int status = 0;
    char* no_environment[] = {nullptr};
    if (::posix_spawn(&pid, words[0], nullptr, nullptr, const_cast<char**>(words), no_environment) != 0) return -1;
    ::waitpid(pid, &status, 0);
    return status;
}

void BM_PosixSpawn(benchmark::State& state) {
    const char* const words[] = {"/bin/true", nullptr};
    for (auto _ : state) benchmark::DoNotOptimize(spawn_and_wait(words));
}
BENCHMARK(BM_PosixSpawn)->UseRealTime()->Unit(benchmark::kMillisecond);

void BM_Bubblewrap(benchmark::State& state) {
    const char* const words[] = {"/usr/bin/bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "/bin/true", nullptr};
    for (auto _ : state) benchmark::DoNotOptimize(spawn_and_wait(words));
}
BENCHMARK(BM_Bubblewrap)->UseRealTime()->Unit(benchmark::kMillisecond);

void BM_Command(benchmark::State& state) {
    SandboxAbilities abilities = SandboxAbilities::detect();
    if (!abilities.namespaces) return state.SkipWithError("no sandbox here");
    if (state.range(0) != 0) abilities.cgroups = CgroupPlaces::find();
    const auto filter = make_seccomp_filter(core::Privilege::kMinimal);
    asio::io_context io;
    const RealClock clock;
    TimerWheel timers(clock);
    CommandOrder order;
    order.request = {.argv = {"/bin/true"}, .environment = {{"PATH", std::string(kSandboxPath)}}, .memory_bytes = std::uint64_t{512} << 20, .processes = 256};
    order.request.landlock = abilities.landlock_abi > 0;
    order.max_output_bytes = 1 << 20;
    order.filter = filter->get();
    for (auto _ : state) {
        CommandTalk talk(io.get_executor(), timers);
        const CommandEnd end = run_command(abilities, order, talk);
        if (end.status != 0 || end.reason != EndReason::kExited) state.SkipWithError(end.failure.c_str());
    }
}
BENCHMARK(BM_Command)->ArgName("cgroups")->Arg(0)->Arg(1)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace crab::command
