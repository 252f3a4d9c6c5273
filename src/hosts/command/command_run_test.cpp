#include "hosts/command/command_run.hpp"

#include "base/test_loop.hpp"
#include "hosts/command/process_tree.hpp"
#include "hosts/command/seccomp_filter.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

namespace crab::command {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// Commands that really run in the sandbox of this machine.
class CommandRunTest : public testing::Test {
protected:
    void SetUp() override {
        if (!abilities().namespaces) GTEST_SKIP() << abilities().missing(core::Network::kDenyAll).value_or("no sandbox here");
        filter = make_seccomp_filter(core::Privilege::kDefault).value();
        order.request.memory_bytes = std::uint64_t{256} << 20;
        order.request.processes = 64;
        order.request.environment = {{"PATH", std::string(kSandboxPath)}};
        order.request.landlock = abilities().landlock_abi > 0;
        order.max_output_bytes = 1 << 20;
        order.deadline = std::chrono::steady_clock::now() + 20s;
        order.filter = filter.get();
    }
    static const SandboxAbilities& abilities() {
        static const SandboxAbilities found = [] {
            SandboxAbilities made = SandboxAbilities::detect();
            made.cgroups = CgroupPlaces::find();
            return made;
        }();
        return found;
    }
    /// Runs sh to its end and keeps what it wrote.
    CommandEnd run(std::string script) {
        order.request.argv = {"sh", "-c", std::move(script)};
        auto talk = std::make_shared<CommandTalk>(loop.executor(), loop.timers);
        std::jthread taking([&, talk](const std::stop_token& stop) {
            while (!stop.stop_requested()) {
                take(*talk);
                std::this_thread::yield();
            }
        });
        CommandEnd end = run_command(with, order, *talk);
        taking.request_stop();
        taking.join();
        take(*talk);
        return end;
    }
    void take(CommandTalk& talk) { output += talk.take().output; }

    TestLoop loop;
    Descriptor filter;
    CommandOrder order;
    std::string output;
    SandboxAbilities with = abilities();
};

/// The same as if user namespaces were missing.
class BareCommandTest : public CommandRunTest {
protected:
    void SetUp() override {
        CommandRunTest::SetUp();
        if (IsSkipped()) return;
        with.namespaces = false;
        if (with.confinement() != Confinement::kLandlock) GTEST_SKIP() << "no Landlock here";
        filter = make_seccomp_filter(core::Privilege::kDefault, with.landlock_abi >= 6 ? SignalScope::kLandlock : SignalScope::kNobody).value();
        order.filter = filter.get();
        order.request.environment = {{"PATH", std::string(kSandboxPath)}, {"HOME", "/tmp"}};
    }
};

TEST_F(CommandRunTest, ACommandEndsWithItsStatusAndAllItsOutput) {
    const CommandEnd end = run("echo out; echo error >&2; exit 7");
    EXPECT_EQ(end.reason, EndReason::kExited) << end.failure;
    EXPECT_EQ(end.status, 7);
    EXPECT_EQ(output, "out\n");
    EXPECT_EQ(end.error_tail, "error\n");
    EXPECT_EQ(end.output_bytes, 4u);
}

TEST_F(CommandRunTest, AProgramThatIsNotThereDoesNotStart) {
    order.request.argv = {"/usr/bin/no-such-program"};
    CommandTalk talk(loop.executor(), loop.timers);
    const CommandEnd end = run_command(abilities(), order, talk);
    EXPECT_EQ(end.reason, EndReason::kNotStarted);
    EXPECT_THAT(end.failure, HasSubstr("could not be started"));
}

TEST_F(CommandRunTest, EachClockNamesItselfAndTheDeadlineComesFirstAtATie) {
    order.deadline = std::chrono::steady_clock::now() + 300ms;
    EXPECT_EQ(run("sleep 60").reason, EndReason::kDeadline);
    order.deadline = order.wall_deadline = std::chrono::steady_clock::now() + 300ms;
    EXPECT_EQ(run("sleep 60").reason, EndReason::kDeadline);
    order.deadline = std::chrono::steady_clock::now() + 30s;
    order.wall_deadline = std::chrono::steady_clock::now() + 300ms;
    EXPECT_EQ(run("sleep 60").reason, EndReason::kWallBudget);
    order.wall_deadline = kNoDeadline;
    order.request.budget_cpu = 300ms;
    EXPECT_EQ(run("while :; do :; done").reason, EndReason::kCpuBudget);
}

TEST_F(CommandRunTest, ChildrenThatHaveEndedCountForTheCpuBudget) {
    order.request.budget_cpu = 400ms;
    EXPECT_EQ(run("while :; do sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'; done").reason, EndReason::kCpuBudget);
}

TEST_F(CommandRunTest, ABudgetIsOverdrawnByATenthAtMostWhateverIgnoresTheSignal) {
    constexpr std::string_view stubborn = "trap '' TERM; (trap '' TERM; while :; do :; done) & while :; do :; done";
    order.request.budget_cpu = 1s;
    const CommandEnd cpu = run(std::string(stubborn));
    EXPECT_EQ(cpu.reason, EndReason::kCpuBudget);
    EXPECT_LE(cpu.cpu, 1100ms);
    order.request.budget_cpu = 0ms;
    order.wall_deadline = std::chrono::steady_clock::now() + 1s;
    const CommandEnd wall = run(std::string(stubborn));
    EXPECT_EQ(wall.reason, EndReason::kWallBudget);
    EXPECT_LT(wall.wall, 1900ms) << "no 2 s on top of a budget of 1 s";
}

TEST_F(CommandRunTest, StandardInputArrivesWhole) {
    order.input = std::string(300'000, 'x');
    EXPECT_EQ(run("wc -c").status, 0);
    EXPECT_EQ(output, "300000\n");
}

TEST_F(CommandRunTest, ACommandThatClosesItsOutputAndItsInputRunsOn) {
    order.input = std::string(300'000, 'x');
    const CommandEnd end = run("exec 0<&- 1>&-; sleep 0.3; exit 5");
    EXPECT_EQ(end.reason, EndReason::kExited);
    EXPECT_EQ(end.status, 5);
}

TEST_F(CommandRunTest, OutputThatNobodyTakesHoldsTheCommandBack) {
    order.request.argv = {"sh", "-c", "head -c 50000000 /dev/zero"};
    order.max_output_bytes = 100'000'000;
    order.deadline = std::chrono::steady_clock::now() + 1s;
    CommandTalk talk(loop.executor(), loop.timers);
    const CommandEnd end = run_command(abilities(), order, talk);
    EXPECT_EQ(end.reason, EndReason::kDeadline) << "the clocks run while it waits";
    EXPECT_LE(end.output_bytes, CommandTalk::kMostWaiting);
}

TEST_F(CommandRunTest, AStopBeforeTheStartRunsNothing) {
    CommandTalk talk(loop.executor(), loop.timers);
    EXPECT_TRUE(talk.stop());
    EXPECT_FALSE(talk.begin());
}

TEST_F(CommandRunTest, MoreProcessesThanAllowedAreNotToBeHad) {
    order.request.processes = 12;
    const CommandEnd end = run("for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 5 & done; wait");
    EXPECT_TRUE(end.reason == EndReason::kProcesses || end.status != 0) << end.status;
}

TEST_F(CommandRunTest, UsageIsTold) {
    const CommandEnd end = run("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done");
    EXPECT_GT(end.cpu.count(), 0);
    EXPECT_GE(end.wall, end.cpu / 2);
    EXPECT_GT(end.peak_memory_bytes, 100'000u);
}

TEST_F(CommandRunTest, ANetworkOfItsOwnHasAResolverAndIsGoneAfterwards) {
    if (with.slirp.empty()) GTEST_SKIP() << "slirp4netns is not usable here";
    order.request.way_out = WayOut::kOutbound;
    EXPECT_EQ(run("cat /etc/resolv.conf; ls /sys/class/net 2>/dev/null; grep -c tap0 /proc/net/dev").reason, EndReason::kExited);
    EXPECT_EQ(output, "nameserver 10.0.2.3\n1\n");
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "no child is left";
}

TEST_F(CommandRunTest, ANetworkThatCannotBeMadeStartsNothing) {
    with.slirp = "/bin/false";
    order.request.way_out = WayOut::kOutbound;
    const CommandEnd end = run("echo ran");
    EXPECT_EQ(end.reason, EndReason::kNotStarted);
    EXPECT_THAT(end.failure, HasSubstr("network"));
    EXPECT_EQ(output, "");
}

TEST_F(BareCommandTest, ItEndsWithItsStatusAndItsFolderIsGone) {
    EXPECT_EQ(run("echo kept > $HOME/x && cat $HOME/x && echo $HOME; pwd; exit 7").status, 7);
    const std::string home = output.substr(5, output.find('\n', 5) - 5);
    EXPECT_EQ(output, "kept\n" + home + "\n" + home + "\n");
    EXPECT_THAT(home, HasSubstr("crab-command-"));
    EXPECT_FALSE(std::filesystem::exists(home));
}

TEST_F(BareCommandTest, NothingOutsideIsReadWrittenOrSignalled) {
    const std::string self = std::to_string(::getpid());
    EXPECT_EQ(run("for f in /etc/shadow /etc/passwd /proc/" + self + "/environ /proc/" + self + "/cmdline; do cat $f && echo READ; done;"
                  "for f in /tmp/crab-x /usr/crab-x /dev/shm/crab-x; do echo x > $f && echo WROTE; done;"
                  "kill -0 " + self + " && echo SIGNALLED; kill -0 $PPID && echo SIGNALLED; chmod 777 / && echo CHANGED; true").status, 0);
    EXPECT_EQ(output, "");
}

TEST_F(BareCommandTest, ItsClocksEndAllOfIt) {
    order.deadline = std::chrono::steady_clock::now() + 700ms;
    const CommandEnd end = run("trap '' TERM; (setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done' &) ; while :; do sleep 1; done");
    EXPECT_EQ(end.reason, EndReason::kDeadline);
    EXPECT_EQ(look_at_tree(::getpid()).processes, 1u) << "whoever was started has ended";
}

TEST_F(BareCommandTest, ADaemonEndsWithItsCommand) {
    EXPECT_EQ(run("(setsid sleep 100 >/dev/null 2>&1 &) ; echo done").reason, EndReason::kExited);
    EXPECT_EQ(output, "done\n");
    EXPECT_EQ(look_at_tree(::getpid()).processes, 1u);
}

TEST_F(BareCommandTest, MinimalStartsNoProcess) {
    filter = make_seccomp_filter(core::Privilege::kMinimal, SignalScope::kNobody).value();
    order.filter = filter.get();
    EXPECT_NE(run("ls /usr | wc -l; echo never").status, 0);
    EXPECT_EQ(output, "");
}

TEST(SandboxTest, OptionsHideTheHostAndNeverStandOnACommandLine) {
    SandboxRequest request{.argv = {"true"}, .environment = {{"TOKEN", "abc"}}, .worktree = "/srv/tree", .worktree_writable = false};
    const auto options = bubblewrap_options({.init = "/opt/init"}, request, {});
    for (const char* option : {"--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--die-with-parent", "--disable-userns", "--clearenv"}) {
        EXPECT_THAT(options, Contains(option));
    }
    const auto at = std::ranges::find(options, "/srv/tree");
    ASSERT_NE(at, options.end());
    EXPECT_EQ(*(at - 1), "--ro-bind");
    EXPECT_EQ(*(at + 1), "/wt");
    EXPECT_THAT(sandbox_command({}, request, {}), Not(Contains("abc")));
}

TEST(SandboxTest, WhatAHostLacksIsToldWithAHint) {
    using core::Network, core::Privilege;
    SandboxAbilities good{.bubblewrap = "/usr/bin/bwrap", .init = "/x", .slirp = "/usr/bin/slirp4netns", .namespaces = true, .landlock_abi = 7, .seccomp = true};
    EXPECT_EQ(good.confinement(), Confinement::kNamespaces);
    for (const auto network : {Network::kDenyAll, Network::kEgressRestricted, Network::kEgressUnrestricted, Network::kFullAccess}) EXPECT_EQ(good.missing(network), std::nullopt);
    good.slirp.clear();
    EXPECT_THAT(good.missing(Network::kEgressUnrestricted).value(), HasSubstr("slirp4netns"));
    good.seccomp = false;
    EXPECT_THAT(good.missing(Privilege::kMinimal).value(), HasSubstr("seccomp"));
    EXPECT_EQ(SandboxAbilities{}.confinement(), Confinement::kNone);
    EXPECT_NE(SandboxAbilities{}.missing(Network::kDenyAll), std::nullopt);
}

TEST(SandboxTest, LandlockAloneKeepsThreeLabels) {
    using core::Network, core::Privilege;
    SandboxAbilities bare{.init = "/x", .slirp = "/usr/bin/slirp4netns", .landlock_abi = 3, .seccomp = true};
    EXPECT_EQ(bare.confinement(), Confinement::kLandlock);
    EXPECT_EQ(bare.missing(Network::kDenyAll), std::nullopt);
    EXPECT_EQ(bare.missing(Privilege::kMinimal), std::nullopt);
    EXPECT_EQ(bare.missing(Privilege::kDefault), std::nullopt);
    for (const auto network : {Network::kEgressRestricted, Network::kEgressUnrestricted, Network::kFullAccess}) EXPECT_THAT(bare.missing(network).value(), HasSubstr("bubblewrap"));
    for (const auto privilege : {Privilege::kElevated, Privilege::kPrivileged}) EXPECT_NE(bare.missing(privilege), std::nullopt);
    bare.landlock_abi = 2;
    EXPECT_EQ(bare.confinement(), Confinement::kNone);
    EXPECT_NE(bare.missing(Privilege::kMinimal), std::nullopt);
}

TEST(SandboxTest, TheHostsNetworkAndFilesAreThereForThoseLabelsOnlyAndWithoutCrabsOwn) {
    SandboxRequest request{.argv = {"true"}, .environment = {}, .worktree = {}, .worktree_writable = false};
    EXPECT_THAT(bubblewrap_options({}, request, {}), Contains("--unshare-net"));
    request.way_out = WayOut::kHost;
    EXPECT_THAT(bubblewrap_options({}, request, {}), Not(Contains("--unshare-net")));
    request.whole_host = true;
    request.hidden = {"/var"};
    const auto options = bubblewrap_options({}, request, {});
    const auto hidden = std::ranges::find(options, "/var");
    ASSERT_NE(hidden, options.end());
    EXPECT_EQ(*(hidden - 1), "--tmpfs");
    request.whole_host = false;
    EXPECT_THAT(bubblewrap_options({}, request, {}), Not(Contains("/var"))) << "what is out of sight needs no hiding";
    request.writable = {"/var"};
    EXPECT_THAT(bubblewrap_options({}, request, {}), Contains("--tmpfs"));
}

TEST(SandboxTest, ProgramsAreLookedForWhereTheSandboxHasThem) {
    EXPECT_TRUE(has_program("sh"));
    EXPECT_TRUE(has_program("/usr/bin/env"));
    EXPECT_FALSE(has_program("no-such-program"));
    EXPECT_FALSE(has_program("/tmp/anything"));
}

TEST(ProcessTreeTest, ThisProcessUsesMemoryAndIsOne) {
    const TreeUsage usage = look_at_tree(::getpid());
    EXPECT_GE(usage.processes, 1u);
    EXPECT_GT(usage.memory_bytes, 100'000u);
    EXPECT_EQ(look_at_tree(0x7fff'fff0).processes, 0u);
}

}  // namespace
}  // namespace crab::command
