#include "hosts/command/init_supervisor.hpp"

#include "base/process/test_folder.hpp"
#include "hosts/command/sandbox.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <thread>

#include <poll.h>
#include <unistd.h>

#include <fmt/format.h>

namespace crab::command {
namespace {

/// Programs that really run under crab-sandbox-init.
class InitSupervisorTest : public testing::Test {
protected:
    static std::filesystem::path init() {
        std::error_code error;
        return find_init_from(std::filesystem::read_symlink("/proc/self/exe", error).parent_path());
    }
    /// Starts a script of a shell; `supervisor` and `child` are those of it.
    void start(const std::string& script) {
        ASSERT_TRUE(output.open());
        auto made = supervise(init(), {.words = {"sh", "-c", script},
                                       .environment = {"PATH=/usr/bin:/bin", "WORD=given"},
                                       .standard = {-1, output.write_end.get(), -1},
                                       .folder = folder.path().string()});
        ASSERT_TRUE(made) << made.error().message;
        supervisor = std::move(made->supervisor);
        ASSERT_EQ(child.start(std::move(made->program)), 0);
        supervisor->started();
        output.write_end.close();
    }
    std::string line() {
        std::string text;
        for (char c = 0; ::read(output.read_end.get(), &c, 1) == 1 && c != '\n';) text += c;
        return text;
    }
    /// Of the process that the line names.
    Descriptor named() { return open_pidfd(static_cast<pid_t>(std::stol(line()))); }
    static bool ends(int fd) {
        pollfd watched{fd, POLLIN, 0};
        return ::poll(&watched, 1, 20'000) == 1;
    }

    TestFolder folder;
    Pipe output;
    std::shared_ptr<ChildSupervisor> supervisor;
    Child child;
};

/// Left its parent, its group and its session, and takes no notice of signals.
constexpr const char* kDaemon =
    "setsid sh -c 'trap \"\" TERM HUP INT; (sleep 600; :) & echo $! && exec sleep 600' & ";

TEST_F(InitSupervisorTest, TheProgramIsAsItWouldBeWithout) {
    start("umask; ulimit -n; echo $WORD; pwd -P; exit 7");
    EXPECT_EQ(line().size(), 4u);
    EXPECT_EQ(line(), std::to_string(::sysconf(_SC_OPEN_MAX)));
    EXPECT_EQ(line(), "given");
    EXPECT_EQ(line(), std::filesystem::canonical(folder.path()).string());
    ASSERT_TRUE(ends(child.ended()));
    EXPECT_EQ(child.reap().exit_status, 7);
    EXPECT_EQ(supervisor->not_started(), 0);
}

TEST_F(InitSupervisorTest, WhatAProgramLeavesBehindEndsWithIt) {
    start(std::string(kDaemon) + "sleep 0.2");
    const Descriptor left = named();
    ASSERT_TRUE(left.is_open());
    EXPECT_TRUE(ends(left.get()));
    EXPECT_TRUE(ends(child.ended()));
}

TEST_F(InitSupervisorTest, AllOfItEndsAtAnOrderAndWithItsStarter) {
    for (const bool ordered : {true, false}) {
        start(std::string(kDaemon) + "trap '' TERM; while :; do sleep 600; done");
        const Descriptor left = named();
        ASSERT_TRUE(left.is_open());
        if (ordered)
            supervisor->kill();
        else
            supervisor.reset();  // as when this process is killed: its descriptors close
        EXPECT_TRUE(ends(left.get()));
        EXPECT_TRUE(ends(child.ended()));
        child.reap();
        output = {};
    }
}

TEST_F(InitSupervisorTest, ASupervisorOutlivesTheThreadThatStartedIt) {
    Descriptor left;
    std::thread([&] {
        start(std::string(kDaemon) + "while :; do sleep 600; done");
        left = named();
    }).join();
    ASSERT_TRUE(left.is_open());
    pollfd watched{child.ended(), POLLIN, 0};
    EXPECT_EQ(::poll(&watched, 1, 200), 0) << "else nobody ends what it supervises";
    child.kill(SIGTERM);  // as to all of a service
    EXPECT_EQ(::poll(&watched, 1, 200), 0);
    supervisor->kill();
    EXPECT_TRUE(ends(left.get()));
}

TEST_F(InitSupervisorTest, ASignalIsForTheGroupOfTheProgram) {
    start("trap 'echo told; exit 3' TERM; echo ready; while :; do sleep 0.05; done");
    EXPECT_EQ(line(), "ready");
    supervisor->terminate();
    EXPECT_EQ(line(), "told");
    ASSERT_TRUE(ends(child.ended()));
    EXPECT_EQ(child.reap().exit_status, 3);
}

TEST_F(InitSupervisorTest, WhatIsNoProgramIsTold) {
    EXPECT_EQ(supervise(init(), {.words = {"no-such-program"}}).error().code, ErrorCode::kNotFound);
    const std::filesystem::path file = folder.path() / "file";
    std::ofstream(file) << "text that no kernel runs\n";
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    auto made = supervise(init(), {.words = {file.string()}});
    ASSERT_TRUE(made);
    ASSERT_EQ(child.start(std::move(made->program)), 0);
    made->supervisor->started();
    ASSERT_TRUE(ends(child.ended()));
    EXPECT_EQ(made->supervisor->not_started(), ENOEXEC) << "no shell reads it";
}

}  // namespace
}  // namespace crab::command
