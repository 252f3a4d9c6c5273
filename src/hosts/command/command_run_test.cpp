#include "hosts/command/command_run.hpp"

#include "base/process/child.hpp"
#include "base/process/pipe.hpp"
#include "base/process/test_folder.hpp"
#include "base/scope_exit.hpp"
#include "base/task/test_loop.hpp"
#include "hosts/command/process_tree.hpp"
#include "hosts/command/seccomp_filter.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

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
        if (!abilities().namespaces)
            GTEST_SKIP()
                << abilities().missing(core::Network::kDenyAll).value_or("no sandbox here");
        filter = make_seccomp_filter({.level = core::Privilege::kDefault,
                                      .memory_is_counted = abilities().cgroups.count_memory()})
                     .value();
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
            made.cgroups = CgroupPaths::find();
            return made;
        }();
        return found;
    }
    /// Runs sh to its end and keeps what it wrote.
    CommandEnd run(std::string script) {
        order.request.argv = {"sh", "-c", std::move(script)};
        auto talk = std::make_shared<CommandChannel>(loop.executor(), loop.timers);
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
    void take(CommandChannel& talk) { output += talk.take().output; }

    TestLoop loop;
    Descriptor filter;
    CommandRequest order;
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
        filter = make_seccomp_filter({.level = core::Privilege::kDefault,
                                      .signals = with.landlock_abi >= 6 ? SignalScope::kLandlock
                                                                        : SignalScope::kNobody})
                     .value();
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
    CommandChannel talk(loop.executor(), loop.timers);
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
    EXPECT_EQ(
        run("while :; do sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'; done").reason,
        EndReason::kCpuBudget);
}

TEST_F(CommandRunTest, ABudgetIsOverdrawnByATenthAtMostWhateverIgnoresTheSignal) {
    constexpr std::string_view stubborn =
        "trap '' TERM; (trap '' TERM; while :; do :; done) & while :; do :; done";
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

TEST_F(CommandRunTest, AWorktreeThatIsFullEndsWhoWritesAndLetsNobodyWriteAfterwards) {
    const TestFolder tree;
    order.request.worktree = FileHandle::open_folder(tree.path()).value();
    order.request.worktree_writable = true;
    order.quota = std::make_shared<DiskQuota>(order.request.worktree->fd(), std::uint64_t{8} << 20);
    EXPECT_EQ(run("echo fits > small").reason, EndReason::kExited);
    EXPECT_EQ(run("head -c 30000000 /dev/zero > big; sync big; sleep 30").reason, EndReason::kDisk);
    EXPECT_EQ(run("touch more").reason, EndReason::kDisk);
    std::filesystem::remove(tree / "big");
    EXPECT_EQ(run("touch more").reason, EndReason::kExited);
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
    CommandChannel talk(loop.executor(), loop.timers);
    const CommandEnd end = run_command(abilities(), order, talk);
    EXPECT_EQ(end.reason, EndReason::kDeadline) << "the clocks run while it waits";
    EXPECT_LE(end.output_bytes, CommandChannel::kMostWaiting);
}

TEST_F(CommandRunTest, AStopBeforeTheStartRunsNothing) {
    CommandChannel talk(loop.executor(), loop.timers);
    EXPECT_TRUE(talk.stop());
    EXPECT_FALSE(talk.begin());
}

TEST_F(CommandRunTest, MoreProcessesThanAllowedAreNotToBeHad) {
    order.request.processes = 12;
    const CommandEnd end =
        run("for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 5 & done; wait");
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
    order.request.network = NetworkAccess::kOutbound;
    EXPECT_EQ(run("cat /etc/resolv.conf; ls /sys/class/net 2>/dev/null; grep -c tap0 /proc/net/dev")
                  .reason,
              EndReason::kExited);
    EXPECT_EQ(output, "nameserver 10.0.2.3\n1\n");
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "no child is left";
}

TEST_F(CommandRunTest, ANetworkThatCannotBeMadeStartsNothing) {
    with.slirp = "/bin/false";
    order.request.network = NetworkAccess::kOutbound;
    const CommandEnd end = run("echo ran");
    EXPECT_EQ(end.reason, EndReason::kNotStarted);
    EXPECT_THAT(end.failure, HasSubstr("network"));
    EXPECT_EQ(output, "");
}

TEST_F(CommandRunTest, WhatWaitsForAKilledBubblewrapIsEndedAtTheNextStart) {
    Pipe info, block;
    ASSERT_TRUE(info.open() && block.open());
    const std::vector<std::string> words{"bwrap",
                                         "--unshare-user",
                                         "--unshare-pid",
                                         "--ro-bind",
                                         "/",
                                         "/",
                                         "--info-fd",
                                         std::to_string(info.write_end.get()),
                                         "--block-fd",
                                         std::to_string(block.read_end.get()),
                                         "--",
                                         "/run/crab/sandbox-init"};
    const std::array kept{info.write_end.get(), block.read_end.get()};
    Child outer;
    ASSERT_EQ(outer.start({.words = words, .file = abilities().bubblewrap, .kept = kept}), 0);
    std::array<char, 256> text{};
    ASSERT_GT(::read(info.read_end.get(), text.data(), text.size() - 1), 0);
    const int first =
        std::atoi(std::string(text.data()).substr(std::string(text.data()).find(':') + 1).c_str());
    const Descriptor process = open_pidfd(first);
    ASSERT_TRUE(process.is_open());
    EXPECT_EQ(end_orphaned_sandboxes(), 0u) << "its bubblewrap lives";
    outer.kill(SIGKILL);
    pollfd gone{outer.ended(), POLLIN, 0};
    ASSERT_EQ(::poll(&gone, 1, 10'000), 1);
    ASSERT_TRUE(outer.try_reap());
    pollfd ended{process.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&ended, 1, 100), 0) << "it waits for ever";
    EXPECT_GE(end_orphaned_sandboxes(), 1u);
    EXPECT_EQ(::poll(&ended, 1, 10'000), 1);
}

/// Folders of a test, for worktrees and what lies beside them.
class Folders {
public:
    Folders() {
        for (const char* folder : {"tree", "secret"})
            std::filesystem::create_directory(root / folder);
        std::ofstream(root / "tree/said") << "inside\n";
        std::ofstream(root / "secret/said") << "SECRET\n";
    }
    FileHandle hold(const char* name) const { return FileHandle::open_folder(root / name).value(); }

private:
    const TestFolder made_;

public:
    const std::filesystem::path root = made_.path();
};

/// Turns `root/tree` into a link to `root/secret` and back, as a process of the host could, until
/// it is destroyed.
class Turning {
public:
    explicit Turning(std::filesystem::path root)
        : thread_([root = std::move(root)](const std::stop_token& stop) {
              while (!stop.stop_requested()) {
                  std::filesystem::rename(root / "tree", root / "away");
                  std::filesystem::create_directory_symlink("secret", root / "tree");
                  std::this_thread::yield();
                  std::filesystem::remove(root / "tree");
                  std::filesystem::rename(root / "away", root / "tree");
                  std::this_thread::yield();
              }
          }) {}

private:
    std::jthread thread_;
};

TEST_F(CommandRunTest, AWorktreeWhoseNameTurnsWhileItIsBoundNeverShowsAnother) {
    const Folders folders;
    order.request.worktree = folders.hold("tree");
    const Turning turning(folders.root);
    int ran = 0;
    for (int i = 0; i < 60; ++i) {
        order.deadline = std::chrono::steady_clock::now() + 20s;
        const CommandEnd end =
            run("cat said; cat ../secret/said /wt/../secret/said 2>/dev/null; exit 0");
        ran += end.reason == EndReason::kExited ? 1 : 0;
        EXPECT_TRUE(end.reason == EndReason::kExited || end.reason == EndReason::kNotStarted);
    }
    EXPECT_THAT(output, Not(HasSubstr("SECRET")));
    EXPECT_EQ(output.size(), static_cast<std::size_t>(ran) * std::string_view("inside\n").size());
}

TEST_F(BareCommandTest, AWorktreeWhoseNameTurnsWhileItIsEnteredNeverShowsAnother) {
    const Folders folders;
    order.request.worktree = folders.hold("tree");
    const Turning turning(folders.root);
    for (int i = 0; i < 30; ++i) (void)run("cat said; cat ../secret/said 2>/dev/null; exit 0");
    EXPECT_THAT(output, Not(HasSubstr("SECRET")));
    EXPECT_THAT(output, HasSubstr("inside"));
}

TEST_F(CommandRunTest, AnotherFileThanTheExpectedOneStartsNothing) {
    const Folders folders;
    order.request.writable.push_back({.file = folders.hold("tree"), .at = "/srv/one"});
    // the first is no longer to be seen
    order.request.writable.push_back({.file = folders.hold("secret"), .at = "/srv/one"});
    const CommandEnd end = run("echo ran");
    EXPECT_EQ(end.reason, EndReason::kNotStarted);
    EXPECT_EQ(output, "");
}

TEST_F(CommandRunTest, AWorktreeThatIsGoneOrHoldsCrabsOwnStartsNothing) {
    const Folders folders;
    std::filesystem::create_directory(folders.root / "state");
    order.own = std::make_shared<const ProtectedFiles>(
        std::vector<std::filesystem::path>{folders.root / "state"});
    order.request.worktree = folders.hold("tree");
    EXPECT_EQ(run("cat said").status, 0);
    std::filesystem::rename(folders.root / "state", folders.root / "tree/state");
    EXPECT_THAT(run("ls").failure, HasSubstr("files of crab itself"));
    std::filesystem::remove_all(folders.root / "tree");
    EXPECT_THAT(run("ls").failure, HasSubstr("removed or replaced"));
    EXPECT_EQ(output, "inside\n");
}

TEST_F(CommandRunTest, TheWholeHostIsSeenWithoutCrabsOwnWhichNobodyMoves) {
    const Folders folders;
    std::filesystem::create_directories(folders.root / "parent/state");
    std::ofstream(folders.root / "parent/state/said") << "SECRET\n";
    std::ofstream(folders.root / "parent/key") << "SECRET\n";
    order.own = std::make_shared<const ProtectedFiles>(std::vector<std::filesystem::path>{
        folders.root / "parent/state", folders.root / "parent/key"});
    order.request.whole_host = true;
    const std::string at = folders.root.string();
    const std::string look =
        "cd " + at +
        "; cat tree/said; cat parent/key parent/state/said other/key other/state/said 2>/dev/null;";
    EXPECT_EQ(run(look +
                  "mv parent other 2>/dev/null && echo MOVED; mv parent/key parent/lock "
                  "2>/dev/null && echo MOVED;" +
                  look + "exit 0")
                  .reason,
              EndReason::kExited);
    EXPECT_EQ(output, "inside\ninside\n");
    std::filesystem::rename(folders.root / "parent", folders.root / "other");   // a person may
    EXPECT_EQ(run(look + "exit 0").reason, EndReason::kExited);
    EXPECT_EQ(output, "inside\ninside\ninside\n");
}

/// What is refused without a control group that counts: as if there were none.
class UncountedTest : public CommandRunTest {
protected:
    void SetUp() override {
        CommandRunTest::SetUp();
        if (IsSkipped()) return;
        with.cgroups = {};
        filter =
            make_seccomp_filter({.level = core::Privilege::kDefault, .memory_is_counted = false})
                .value();
        order.filter = filter.get();
        order.request.memory_bytes = std::uint64_t{64} << 20;
    }
};

TEST_F(UncountedTest, MemoryThatBelongsToNoProcessIsNotToBeHad) {
    run("perl -e 'for ([319, \"x\", 0], [29, 0, 4096, 01600], [41, 1, 1, 0], [41, 2, 1, 0], [53, "
        "1, 1, 0, \"12345678\"], [9, 0, 4096, 3, 0x21, -1, 0], [68, 0, 01600], [206, 1, "
        "\"12345678\"]) {"
        "my @w = @$_; print syscall($w[0], @w[1 .. $#w]) == -1 ? \"no\\n\" : \"YES $w[0]\\n\" }'");
    EXPECT_THAT(output, Not(HasSubstr("YES")));
    EXPECT_THAT(output, HasSubstr("no\nno\n"));
}

TEST_F(UncountedTest, PipesCountWithAllThatTheyCanHold) {
    // Each of the children has 500 pipes; what is written into them is in no process.
    const std::string fill =
        "use Fcntl; for (1 .. 3) { next if fork; for (1 .. 500) { pipe(my $r, my $w) or die; "
        "fcntl($w, F_SETFL, O_NONBLOCK); syswrite($w, 'x' x 65536); push @k, $r, $w } sleep 20; "
        "exit } sleep 20";
    EXPECT_EQ(run("perl -e '" + fill + "'").reason, EndReason::kMemory);
    EXPECT_EQ(run("perl -e 'for (1 .. 200) { pipe(my $r, my $w) or die; push @k, $r, $w } sleep 1'")
                  .reason,
              EndReason::kExited)
        << "12.5 MiB";
    run("perl -e 'pipe(my $r, my $w); print fcntl($w, 1031, 1 << 20) ? \"YES\" : \"no\", "
        "syscall(157, 4, 0) == -1 ? \"no\" : \"YES\"'");
    EXPECT_EQ(output, "nono") << "neither made larger nor hidden";
}

TEST_F(UncountedTest, FilesInMemoryCountAndTheirFolderEnds) {
    EXPECT_NE(run("head -c 80000000 /dev/zero > /tmp/fill 2>/dev/null").status, 0)
        << "the folder is no larger than the limit";
    for (const char* place : {"/dev/fill", "/dev/shm/../fill", "/run/fill"})
        EXPECT_NE(run(fmt::format("head -c 100000 /dev/zero > {}", place)).status, 0) << place;
    EXPECT_EQ(run("head -c 40000000 /dev/zero > /dev/shm/fill; perl -e '$x = \"x\" x (15 << 20); "
                  "sleep 8'")
                  .reason,
              EndReason::kMemory);
}

TEST_F(CommandRunTest, AControlGroupCountsAllMemory) {
    if (!with.cgroups.count_memory()) GTEST_SKIP() << "no memory controller here";
    order.request.memory_bytes = std::uint64_t{64} << 20;
    const std::string shared =
        "perl -e 'my $n = \"x\"; my $f = syscall(319, $n, 0); open(F, \">&=\", $f); my $b = \"x\" "
        "x (1 << 20); for (1 .. 200) { syswrite(F, $b) } print \"HAD\"'";
    EXPECT_NE(run(shared).status, 0);
    EXPECT_NE(run("perl -e 'my $b = \"x\" x (1 << 20); for (1 .. 20) { my $i = shmget(0, 10 << 20, "
                  "01600) // die; for (0 .. 9) { shmwrite($i, $b, $_ << 20, 1 << 20) or die } } "
                  "print \"HAD\"'")
                  .status,
              0);
    EXPECT_THAT(output, Not(HasSubstr("HAD")));
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
    EXPECT_EQ(
        run("for f in /etc/shadow /etc/passwd /proc/" + self + "/environ /proc/" + self +
            "/cmdline; do cat $f && echo READ; done;"
            "for f in /tmp/crab-x /usr/crab-x /dev/shm/crab-x; do echo x > $f && echo WROTE; done;"
            "kill -0 " +
            self +
            " && echo SIGNALLED; kill -0 $PPID && echo SIGNALLED; chmod 777 / && echo CHANGED; "
            "true")
            .status,
        0);
    EXPECT_EQ(output, "");
}

TEST_F(BareCommandTest, ItsClocksEndAllOfIt) {
    order.deadline = std::chrono::steady_clock::now() + 700ms;
    const CommandEnd end =
        run("trap '' TERM; (setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done' &) ; while :; "
            "do sleep 1; done");
    EXPECT_EQ(end.reason, EndReason::kDeadline);
    EXPECT_EQ(look_at_tree(::getpid()).processes, 1u) << "whoever was started has ended";
}

TEST_F(BareCommandTest, ADaemonEndsWithItsCommand) {
    EXPECT_EQ(run("(setsid sleep 100 >/dev/null 2>&1 &) ; echo done").reason, EndReason::kExited);
    EXPECT_EQ(output, "done\n");
    EXPECT_EQ(look_at_tree(::getpid()).processes, 1u);
}

TEST_F(BareCommandTest, MinimalStartsNoProcess) {
    filter = make_seccomp_filter({.signals = SignalScope::kNobody}).value();
    order.filter = filter.get();
    EXPECT_NE(run("ls /usr | wc -l; echo never").status, 0);
    EXPECT_EQ(output, "");
}

TEST(SandboxTest, OptionsHideTheHostAndNeverStandOnACommandLine) {
    const FileHandle folder = FileHandle::open_folder("/var").value();
    SandboxRequest request{.argv = {"true"},
                           .environment = {{"TOKEN", "abc"}},
                           .worktree = folder,
                           .worktree_writable = false};
    const auto options = bubblewrap_options({.init = "/opt/init"}, request, {});
    for (const char* option : {"--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc",
                               "--die-with-parent", "--disable-userns", "--clearenv"}) {
        EXPECT_THAT(options, Contains(option));
    }
    const auto at = std::ranges::find(options, folder.link());
    ASSERT_NE(at, options.end());
    EXPECT_EQ(*(at - 1), "--ro-bind");
    EXPECT_EQ(*(at + 1), "/wt");
    EXPECT_THAT(options, Not(Contains("--dev"))) << "it would bring a terminal";
    EXPECT_THAT(sandbox_command({}, request, {}),
                testing::AllOf(Not(Contains("abc")), Contains("--expect"),
                               Contains(std::to_string(folder.identity().number))));
}

TEST(SandboxTest, WhatAHostLacksIsToldWithAHint) {
    using core::Network, core::Privilege;
    SandboxAbilities good{.bubblewrap = "/usr/bin/bwrap",
                          .init = "/x",
                          .slirp = "/usr/bin/slirp4netns",
                          .namespaces = true,
                          .landlock_abi = 7,
                          .seccomp = true,
                          .cgroups = {.unified = "/sys/fs/cgroup/x"}};
    EXPECT_EQ(good.confinement(), Confinement::kNamespaces);
    for (const auto network : {Network::kDenyAll, Network::kEgressRestricted,
                               Network::kEgressUnrestricted, Network::kFullAccess})
        EXPECT_EQ(good.missing(network), std::nullopt);
    good.cgroups = {};
    for (const auto network :
         {Network::kEgressRestricted, Network::kEgressUnrestricted, Network::kFullAccess})
        EXPECT_THAT(good.missing(network).value(), HasSubstr("Delegate=yes"));
    for (const auto privilege : {Privilege::kDefault, Privilege::kElevated, Privilege::kPrivileged})
        EXPECT_THAT(good.missing(privilege).value(), HasSubstr("Delegate=yes"));
    EXPECT_EQ(good.missing(Privilege::kMinimal), std::nullopt);
    EXPECT_EQ(good.missing(Network::kDenyAll), std::nullopt);
    good.cgroups.memory = "/sys/fs/cgroup/memory/x";
    EXPECT_EQ(good.missing(Network::kFullAccess), std::nullopt);
    good.slirp.clear();
    EXPECT_THAT(good.missing(Network::kEgressUnrestricted).value(), HasSubstr("slirp4netns"));
    good.seccomp = false;
    EXPECT_THAT(good.missing(Privilege::kMinimal).value(), HasSubstr("seccomp"));
    EXPECT_EQ(SandboxAbilities{}.confinement(), Confinement::kNone);
    EXPECT_NE(SandboxAbilities{}.missing(Network::kDenyAll), std::nullopt);
}

TEST(SandboxTest, LandlockAloneKeepsThreeLabels) {
    using core::Network, core::Privilege;
    SandboxAbilities bare{.init = "/x",
                          .slirp = "/usr/bin/slirp4netns",
                          .landlock_abi = 3,
                          .seccomp = true,
                          .cgroups = {.memory = "/sys/fs/cgroup/memory/x"}};
    EXPECT_EQ(bare.confinement(), Confinement::kLandlock);
    EXPECT_EQ(bare.missing(Network::kDenyAll), std::nullopt);
    EXPECT_EQ(bare.missing(Privilege::kMinimal), std::nullopt);
    EXPECT_EQ(bare.missing(Privilege::kDefault), std::nullopt);
    for (const auto network :
         {Network::kEgressRestricted, Network::kEgressUnrestricted, Network::kFullAccess})
        EXPECT_THAT(bare.missing(network).value(), HasSubstr("bubblewrap"));
    for (const auto privilege : {Privilege::kElevated, Privilege::kPrivileged})
        EXPECT_NE(bare.missing(privilege), std::nullopt);
    bare.cgroups = {};
    EXPECT_THAT(bare.missing(Privilege::kDefault).value(), HasSubstr("Delegate=yes"));
    bare.scratch_is_memory = true;
    EXPECT_EQ(bare.confinement(), Confinement::kNone)
        << "what it writes to /tmp would be memory that nobody counts";
    bare.cgroups.memory = "/sys/fs/cgroup/memory/x";
    EXPECT_EQ(bare.confinement(), Confinement::kLandlock);
    bare.landlock_abi = 2;
    EXPECT_EQ(bare.confinement(), Confinement::kNone);
    EXPECT_NE(bare.missing(Privilege::kMinimal), std::nullopt);
}

TEST(SandboxTest, TheHostsNetworkAndFilesAreThereForThoseLabelsOnlyAndWithoutCrabsOwn) {
    SandboxRequest request{
        .argv = {"true"}, .environment = {}, .worktree = {}, .worktree_writable = false};
    EXPECT_THAT(bubblewrap_options({}, request, {}), Contains("--unshare-net"));
    request.network = NetworkAccess::kHost;
    EXPECT_THAT(bubblewrap_options({}, request, {}), Not(Contains("--unshare-net")));
    request.hidden = {"/var/tmp"};
    EXPECT_THAT(bubblewrap_options({}, request, {}), Not(Contains("/var/tmp")))
        << "what is out of sight needs no hiding";
    request.whole_host = true;
    const auto options = bubblewrap_options({}, request, {});
    const auto hidden = std::ranges::find(options, "/var/tmp");
    ASSERT_NE(hidden, options.end());
    EXPECT_EQ(*(hidden - 1), "--tmpfs");
    const auto above = std::ranges::find(options, "/var");
    ASSERT_NE(above, options.end()) << "a folder above that is a mount point cannot be renamed";
    EXPECT_LT(above, hidden);
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
