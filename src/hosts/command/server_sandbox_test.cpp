#include "hosts/command/server_sandbox.hpp"

#include "base/process/file.hpp"
#include "base/process/pipe.hpp"
#include "base/process/test_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include <poll.h>
#include <unistd.h>

#include <fmt/format.h>

namespace crab::command {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Programs that really run in the sandbox of this machine.
class ServerSandboxTest : public testing::Test {
protected:
    void SetUp() override {
        if (!abilities().namespaces)
            GTEST_SKIP()
                << abilities().missing(core::Network::kDenyAll).value_or("no sandbox here");
        for (const char* name : {"shown", "mine", "hidden"}) {
            std::filesystem::create_directory(folder.path() / name);
            std::ofstream(folder.path() / name / "file") << name;
        }
    }
    static const SandboxAbilities& abilities() {
        static const SandboxAbilities found = [] {
            SandboxAbilities all = SandboxAbilities::detect();
            all.cgroups = CgroupPaths::find();
            return all;
        }();
        return found;
    }
    static Result<std::shared_ptr<const ServerSandbox>> make(ServerSandboxRules rules,
                                                             ProtectedFiles own = {},
                                                             ProtectedFiles relied_on = {}) {
        return ServerSandbox::make(abilities(), std::move(rules),
                                   std::make_shared<const GuardedFiles>(
                                       GuardedFiles{std::move(own), std::move(relied_on)}));
    }
    static std::string everything_from(int fd) {
        std::string text, piece(4096, '\0');
        for (ssize_t got = 0; (got = ::read(fd, piece.data(), piece.size())) > 0;)
            text.append(piece, 0, static_cast<std::size_t>(got));
        return text;
    }
    /// What these words write until they end, for a line of input.
    std::string run(ServerSandboxRules rules, std::vector<std::string> words,
                    std::string where = {}) {
        auto sandbox = make(std::move(rules));
        if (!sandbox) return sandbox.error().message;
        Pipe input, output;
        if (!input.open() || !output.open()) return "no pipe";
        auto confined = (*sandbox)->confine(
            {.words = std::move(words),
             .environment = {"PATH=/usr/bin:/bin", "WORD=from outside"},
             .standard = {input.read_end.get(), output.write_end.get(), output.write_end.get()},
             .folder = std::move(where)});
        if (!confined) return confined.error().message;
        Child child;
        if (child.start(std::move(confined->program)) != 0) return "not started";
        confined->supervisor->started();
        output.write_end.close();
        write_quietly(input.write_end.get(), "hello\n");
        input.write_end.close();
        std::string all = everything_from(output.read_end.get());
        pollfd ended{child.ended(), POLLIN, 0};
        EXPECT_EQ(::poll(&ended, 1, 20'000), 1);
        return all;
    }
    std::string shell(ServerSandboxRules rules, std::string script, std::string where = {}) {
        return run(std::move(rules), {"sh", "-c", std::move(script)}, std::move(where));
    }
    TestFolder folder;
};

TEST_F(ServerSandboxTest, TheProgramHasItsDescriptorsAndItsEnvironment) {
    EXPECT_EQ(shell({}, "read line; echo \"$line, $WORD, $(pwd), $(env | wc -l)\""),
              "hello, from outside, /tmp, 3\n");
}

TEST_F(ServerSandboxTest, OnlyWhatTheRulesNameIsInSight) {
    const auto shown = folder.path() / "shown", mine = folder.path() / "mine";
    const std::string said =
        shell({.read = {shown}, .write = {mine}},
              fmt::format("cat {0}/shown/file; cat {0}/hidden/file; pwd; echo x > {0}/shown/file "
                          "|| echo kept; echo new > {0}/mine/file; ls /root /home /etc/shadow",
                          folder.path().string()),
              mine.string());
    EXPECT_THAT(said, HasSubstr("shown"));
    EXPECT_THAT(said, HasSubstr("kept"));
    EXPECT_THAT(said, HasSubstr(mine.string() + "\n"));
    EXPECT_THAT(said, HasSubstr("hidden/file: No such file"));
    EXPECT_THAT(said, HasSubstr("/etc/shadow': No such file"));
    EXPECT_EQ(read_file(mine / "file"), "new\n");
    EXPECT_EQ(read_file(shown / "file"), "shown");
}

TEST_F(ServerSandboxTest, WhatIsToBeReadOnlyInAFolderThatIsNotStaysSo) {
    const auto inner = folder.path() / "mine" / "inner";
    std::filesystem::create_directory(inner);
    const std::string said =
        shell({.read = {inner}, .write = {folder.path() / "mine"}},
              fmt::format("cd {}; echo x > inner/new || echo kept; echo y > new; cat new",
                          (folder.path() / "mine").string()));
    EXPECT_THAT(said, HasSubstr("kept"));
    EXPECT_THAT(said, HasSubstr("y\n"));
}

TEST_F(ServerSandboxTest, ThereIsNoNetworkAndNoSocketOfTheHost) {
    EXPECT_EQ(shell({}, "tail -n +3 /proc/net/dev | grep -vc lo:"), "0\n");
    constexpr const char* kUnix =
        "perl -MSocket -e 'socket(my $s, PF_UNIX, SOCK_STREAM, 0) or "
        "print \"refused\"'";
    EXPECT_EQ(shell({}, kUnix), "refused");
    EXPECT_EQ(shell({.host_network = true}, kUnix), "refused");
}

TEST_F(ServerSandboxTest, OnlyItsOwnProcessesAreThere) {
    const std::string said =
        shell({}, fmt::format("kill -9 {0}; ls -d /proc/{0}; kill -9 -1; echo over", ::getpid()));
    EXPECT_THAT(said, Not(HasSubstr(fmt::format("\n/proc/{}", ::getpid()))));
}

TEST_F(ServerSandboxTest, TheMinimalLevelHasNoOtherProcesses) {
    EXPECT_THAT(shell({.level = core::Privilege::kMinimal}, "/bin/true & echo $?"),
                HasSubstr("fork"));
}

constexpr const char* kEater =
    "my @all; for (1 .. 64) { push @all, 'x' x (16 << 20) } print 'eaten'";

TEST_F(ServerSandboxTest, MemoryHasALimitOrTheRuleIsRefused) {
    EXPECT_EQ(run({}, {"perl", "-e", kEater}), "eaten");
    SandboxAbilities uncounted = abilities();
    uncounted.cgroups = {};
    const auto guarded = std::make_shared<const GuardedFiles>();
    constexpr std::uint64_t kLimit = std::uint64_t{256} << 20;
    const auto refused = ServerSandbox::make(uncounted, {.memory_bytes = kLimit}, guarded);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("memory_bytes"));
    EXPECT_TRUE(ServerSandbox::make(
        uncounted, {.level = core::Privilege::kMinimal, .memory_bytes = kLimit}, guarded));
    if (!abilities().cgroups.count_memory()) GTEST_SKIP() << "no memory controller";
    EXPECT_THAT(run({.memory_bytes = kLimit}, {"perl", "-e", kEater}), Not(HasSubstr("eaten")));
}

TEST_F(ServerSandboxTest, AllOfItEndsWithItsSupervisor) {
    auto sandbox = make({});
    ASSERT_TRUE(sandbox) << sandbox.error().message;
    Pipe output;
    ASSERT_TRUE(output.open());
    auto confined = (*sandbox)->confine(
        {.words = {"sh", "-c", "trap '' TERM HUP; setsid sleep 300 & echo here; wait"},
         .environment = {"PATH=/usr/bin:/bin"},
         .standard = {-1, output.write_end.get(), -1}});
    ASSERT_TRUE(confined);
    Child child;
    ASSERT_EQ(child.start(std::move(confined->program)), 0);
    confined->supervisor->started();
    output.write_end.close();
    std::string five(5, '\0');
    ASSERT_EQ(::read(output.read_end.get(), five.data(), 5), 5);
    confined->supervisor.reset();
    EXPECT_EQ(everything_from(output.read_end.get()), "");  // nobody holds the other end
}

TEST_F(ServerSandboxTest, WhatIsCrabsOwnOrMissingIsRefused) {
    const auto why = [](const auto& sandbox) {
        return sandbox ? std::string() : sandbox.error().message;
    };
    const ProtectedFiles own({folder.path() / "hidden"});
    EXPECT_THAT(why(make({.read = {folder.path()}}, own)), HasSubstr("crab's own"));
    EXPECT_THAT(why(make({.read = {folder.path() / "hidden" / "file"}}, own)),
                HasSubstr("crab's own"));
    EXPECT_EQ(why(make({.read = {folder.path() / "mine"}}, {}, own)), "");
    EXPECT_THAT(why(make({.write = {folder.path()}}, {}, own)), HasSubstr("trusted"));
    EXPECT_THAT(why(make({.write = {"/no/such/folder"}})), HasSubstr("/no/such/folder"));
    EXPECT_THAT(why(make({.read = {"usr"}})), HasSubstr("has to begin with /"));
    EXPECT_THAT(why(make({.read = {"/proc/1"}})), HasSubstr("no sandbox"));
    EXPECT_THAT(why(ServerSandbox::make({}, {}, std::make_shared<const GuardedFiles>())),
                HasSubstr("crab-sandbox-init"));
    std::filesystem::create_hard_link(folder.path() / "hidden" / "file",
                                      folder.path() / "shown" / "link");
    EXPECT_THAT(why(make({.read = {folder.path() / "shown"}},
                         ProtectedFiles({folder.path() / "hidden" / "file"}))),
                HasSubstr("hard link"));
}

TEST_F(ServerSandboxTest, AProgramThatItDoesNotShowIsRefused) {
    const auto program = folder.path() / "shown" / "program";
    std::ofstream(program) << "#!/bin/sh\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    const auto blind = make({}), sees = make({.read = {folder.path() / "shown"}});
    ASSERT_TRUE(blind && sees);
    EXPECT_TRUE((*blind)->check_program("sh"));
    EXPECT_THAT((*blind)->check_program(program).error().message, HasSubstr("add its folder"));
    EXPECT_TRUE((*sees)->check_program(program));
    EXPECT_FALSE((*blind)->check_program("no-such-program"));
}

}  // namespace
}  // namespace crab::command
