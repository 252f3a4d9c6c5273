#include "base/process/subprocess.hpp"

#include "base/process/file.hpp"
#include "base/process/test_folder.hpp"

#include <csignal>
#include <cstdlib>
#include <memory>
#include <thread>

#include <unistd.h>

#include <gtest/gtest.h>

namespace crab {
namespace {

using namespace std::chrono_literals;

Deadline in(std::chrono::nanoseconds span) { return std::chrono::steady_clock::now() + span; }
SubprocessOptions shell(std::string script) {
    SubprocessOptions options;
    options.argv = {"sh", "-c", std::move(script)};
    options.deadline = in(20s);
    return options;
}
/// Whether the process ends within a few seconds; kill(pid, 0) also finds zombies, whose parent is
/// long gone here.
bool has_ended(pid_t pid) {
    for (const auto until = in(5s); std::chrono::steady_clock::now() < until;) {
        if (::kill(pid, 0) != 0) return true;
        FILE* stat = std::fopen(("/proc/" + std::to_string(pid) + "/stat").c_str(), "r");
        if (stat == nullptr) return true;
        char state = 0;
        const int read = std::fscanf(stat, "%*d %*s %c", &state);
        std::fclose(stat);
        if (read == 1 && state == 'Z') return true;
        std::this_thread::yield();
    }
    return false;
}

TEST(Subprocess, GivesBackOutputErrorsAndExitStatus) {
    const auto end = run_subprocess(shell("echo out; echo err >&2; exit 3"));
    ASSERT_TRUE(end);
    EXPECT_EQ(end->output, "out\n");
    EXPECT_EQ(end->error_tail, "err\n");
    EXPECT_EQ(end->exit_status, 3);
}

TEST(Subprocess, ASignalCountsAs128AndItsNumber) {
    const auto end = run_subprocess(shell("kill -TERM $$"));
    ASSERT_TRUE(end);
    EXPECT_EQ(end->exit_status, 128 + SIGTERM);
}

TEST(Subprocess, AMissingProgramIsNotFound) {
    SubprocessOptions options;
    options.argv = {"no-such-program-anywhere"};
    const auto end = run_subprocess(options);
    ASSERT_FALSE(end);
    EXPECT_EQ(end.error().code, ErrorCode::kNotFound);
    options.argv = {"/dev/null"};
    EXPECT_EQ(run_subprocess(options).error().code, ErrorCode::kUnavailable);
    options.argv.clear();
    EXPECT_EQ(run_subprocess(options).error().code, ErrorCode::kInvalidArgs);
}

TEST(Subprocess, InputLargerThanThePipePassesThrough) {
    SubprocessOptions options;
    options.argv = {"cat"};
    options.deadline = in(20s);
    options.max_output_bytes = std::size_t{8} << 20;
    for (int i = 0; options.input.size() < (std::size_t{3} << 20); ++i)
        options.input += std::to_string(i);
    const auto end = run_subprocess(options);
    ASSERT_TRUE(end);
    EXPECT_EQ(end->output, options.input);
}

TEST(Subprocess, AProgramThatDoesNotReadItsInputDoesNoHarm) {
    SubprocessOptions options = shell("exec 0<&-; echo done");
    options.input.assign(std::size_t{1} << 20, 'x');
    const auto end = run_subprocess(options);
    ASSERT_TRUE(end);
    EXPECT_EQ(end->output, "done\n");
    EXPECT_EQ(end->exit_status, 0);
}

TEST(Subprocess, EnvironmentIsAddedAndReplaced) {
    ::setenv("CRAB_TEST_OLD", "old", 1);
    ::setenv("CRAB_TEST_KEPT", "kept", 1);
    SubprocessOptions options = shell("echo $CRAB_TEST_OLD $CRAB_TEST_KEPT $CRAB_TEST_NEW");
    options.environment = {{"CRAB_TEST_OLD", "replaced"}, {"CRAB_TEST_NEW", "new"}};
    const auto end = run_subprocess(options);
    ASSERT_TRUE(end);
    EXPECT_EQ(end->output, "replaced kept new\n");
}

TEST(Subprocess, TheDeadlineKillsTheWholeGroup) {
    // the child tells its pid here, for there is no output to read after a timeout
    const TestFolder folder;
    const std::string file = folder / "pid";
    SubprocessOptions options = shell("sh -c 'echo $$ >" + file + "; exec sleep 600' & wait");
    options.deadline = in(300ms);
    const auto begin = std::chrono::steady_clock::now();
    const auto end = run_subprocess(options);
    ASSERT_FALSE(end);
    EXPECT_EQ(end.error().code, ErrorCode::kTimeout);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
    const auto pid = read_file(file, 32);
    ASSERT_TRUE(pid);
    EXPECT_TRUE(has_ended(std::stoi(*pid)));
}

TEST(Subprocess, WhatAProgramLeavesBehindEndsWithIt) {
    const auto end = run_subprocess(shell("sleep 600 & echo $!"));
    ASSERT_TRUE(end);
    EXPECT_EQ(end->exit_status, 0);
    EXPECT_TRUE(has_ended(std::atoi(end->output.c_str())));
}

TEST(Subprocess, ADaemonThatKeepsThePipeOpenHoldsUpNobody) {
    const auto begin = std::chrono::steady_clock::now();
    const auto end = run_subprocess(shell("setsid sleep 30 & echo started"));
    ASSERT_TRUE(end) << end.error().message;
    EXPECT_EQ(end->output, "started\n");
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
}

TEST(Subprocess, MoreOutputThanAllowedIsOversize) {
    SubprocessOptions options = shell("exec yes");
    options.max_output_bytes = 100'000;
    const auto end = run_subprocess(options);
    ASSERT_FALSE(end);
    EXPECT_EQ(end.error().code, ErrorCode::kOversize);
}

TEST(Subprocess, OfManyErrorLinesTheLastAreKept) {
    const auto end = run_subprocess(shell("yes error | head -n 5000 >&2; echo last >&2"));
    ASSERT_TRUE(end);
    EXPECT_EQ(end->error_tail.size(), 4096u);
    EXPECT_TRUE(end->error_tail.ends_with("error\nlast\n"));
}

TEST(Subprocess, CancellationKillsIt) {
    SubprocessOptions options = shell("echo begun; exec sleep 600");
    const auto stop = std::make_shared<const StopEvent>();
    options.stop = stop;
    options.on_line = [&](std::string_view) { std::thread([stop] { stop->raise(); }).detach(); };
    const auto end = run_subprocess(options);
    ASSERT_FALSE(end);
    EXPECT_EQ(end.error().code, ErrorCode::kCancelled);
}

TEST(Subprocess, WhatIsStoppedBeforeItBeganEndsAtOnce) {
    SubprocessOptions options = shell("exec sleep 600");
    const auto stop = std::make_shared<const StopEvent>();
    stop->raise();
    options.stop = stop;
    EXPECT_EQ(run_subprocess(options).error().code, ErrorCode::kCancelled);
}

TEST(Subprocess, WithGraceItIsAskedFirst) {
    // what it says at its end is not given back after a timeout
    const TestFolder folder;
    const std::string file = folder / "said";
    SubprocessOptions options =
        shell("trap 'echo asked >" + file + "; exit 0' TERM; while :; do sleep 0.01; done");
    options.deadline = in(300ms);
    options.grace = 10s;
    EXPECT_EQ(run_subprocess(options).error().code, ErrorCode::kTimeout);
    const auto said = read_file(file, 32);
    ASSERT_TRUE(said);
    EXPECT_EQ(*said, "asked\n");
}

TEST(Subprocess, AVariableOfOursMayBeHidden) {
    ::setenv("CRAB_TEST_SECRET", "secret", 1);
    ::setenv("CRAB_TEST_SECRET_NOT", "seen", 1);
    SubprocessOptions options = shell("echo \"[$CRAB_TEST_SECRET]$CRAB_TEST_SECRET_NOT\"");
    options.hidden = {"CRAB_TEST_SECRET"};
    EXPECT_EQ(run_subprocess(options)->output, "[]seen\n");
}

TEST(Subprocess, OutputOfAPipeThatWasMadeLargerIsWhole) {
    SubprocessOptions options;
    options.argv = {"python3", "-c",
                    "import fcntl,os;fcntl.fcntl(1,1031,1<<20);os.write(1,b'x'*(1<<20))"};
    options.deadline = in(20s);
    options.max_output_bytes = std::size_t{2} << 20;
    const auto end = run_subprocess(options);
    ASSERT_TRUE(end) << end.error().message;
    if (end->exit_status != 0) GTEST_SKIP() << "no Python, or no larger pipes here";
    EXPECT_EQ(end->output.size(), std::size_t{1} << 20);
}

}  // namespace
}  // namespace crab
