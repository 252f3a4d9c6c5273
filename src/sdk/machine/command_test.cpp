#include "sdk/machine/command_process.hpp"
#include "sdk/machine/split_command.hpp"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include <csignal>

namespace crab::sdk {
namespace {

using namespace std::chrono_literals;
using Words = std::vector<std::string>;

TEST(SplitCommand, QuotesAsAShellAndExpandsNothing) {
    EXPECT_EQ(split_command("uptime"), Words{"uptime"});
    EXPECT_EQ(*split_command("  df \t-h\n/ "), (Words{"df", "-h", "/"}));
    EXPECT_EQ(*split_command(R"(say 'a  b' "c d" e\ f '' "")"),
              (Words{"say", "a  b", "c d", "e f", "", ""}));
    EXPECT_EQ(*split_command(R"(x a'b'"c"d "\"\\\n" '\n')"),
              (Words{"x", "abcd", R"("\\n)", R"(\n)"}));
    EXPECT_EQ(*split_command("rm -rf $HOME/* ~ ; `id` | cat > x && y"),
              (Words{"rm", "-rf", "$HOME/*", "~", ";", "`id`", "|", "cat", ">", "x", "&&", "y"}));
    for (const char* broken : {"", "   ", "'open", "\"open", "end\\", "''"})
        EXPECT_FALSE(split_command(broken)) << broken;
}

CommandRun shell(std::string script) { return {.words = {"/bin/sh", "-c", std::move(script)}}; }

TEST(CommandProcess, GetsItsArgumentsOnStandardInputAndInTheEnvironment) {
    ::setenv("CRAB_TOKEN", "secret", 1);
    CommandRun run = shell(R"(cat; printf '|%s|%s' "$CRAB_ARGS" "$CRAB_TOKEN"; echo oops >&2)");
    run.input = R"({"a":1})";
    run.environment = {{"CRAB_ARGS", R"({"a":"; rm -rf /"})"}};
    const auto end = run_command(run);
    ASSERT_TRUE(end) << end.error().message;
    EXPECT_EQ(end->output, R"({"a":1}|{"a":"; rm -rf /"}|)");
    EXPECT_EQ(end->last_errors, "oops\n");
    EXPECT_EQ(end->exit_status, 0);
}

TEST(CommandProcess, TellsHowTheCommandEnded) {
    EXPECT_EQ(run_command(shell("exit 7"))->exit_status, 7);
    const auto killed = run_command(shell("kill -9 $$"));
    EXPECT_EQ(killed->exit_status, -1);
    EXPECT_EQ(killed->signal, SIGKILL);
    EXPECT_EQ(run_command({.words = {"no-such-program-here"}}).error().code, ErrorCode::kNotFound);
    const auto loud = run_command(shell("for i in $(seq 2000); do echo line-$i >&2; done"));
    EXPECT_LE(loud->last_errors.size(), 2048u);
    EXPECT_TRUE(loud->last_errors.ends_with("line-2000\n"));
}

TEST(CommandProcess, MayIgnoreMuchInput) {
    CommandRun run{.words = {"true"}, .input = std::string(1 << 20, 'x')};
    EXPECT_EQ(run_command(run)->exit_status, 0);
    CommandRun count{.words = {"wc", "-c"}, .input = std::string(1 << 20, 'x')};
    EXPECT_EQ(run_command(count)->output, "1048576\n");
}

TEST(CommandProcess, IsKilledWithItsWholeGroupAtTheDeadline) {
    CommandRun run = shell("sleep 100 & echo $!; sleep 100; wait");
    run.deadline = std::chrono::steady_clock::now() + 200ms;
    const auto began = std::chrono::steady_clock::now();
    EXPECT_EQ(run_command(run).error().code, ErrorCode::kTimeout);
    EXPECT_LT(std::chrono::steady_clock::now() - began, 10s);
}

TEST(CommandProcess, IsKilledEvenIfItIgnoresTheFirstSignal) {
    CommandRun run = shell("trap '' TERM; while :; do sleep 0.01; done");
    std::promise<std::function<void()>> registered;
    run.on_cancel = [&](std::function<void()> callback) {
        registered.set_value(std::move(callback));
    };
    auto end = std::async(std::launch::async, [&] { return run_command(run); });
    registered.get_future().get()();
    EXPECT_EQ(end.get().error().code, ErrorCode::kCancelled);
}

TEST(CommandProcess, TellsEachLineAsItIsPrinted) {
    std::vector<std::string> lines;
    CommandRun run{.words = {"/bin/sh", "-c", "echo one; printf 'tw'; printf 'o\\n\\nthree'"},
                   .input = {},
                   .environment = {},
                   .on_cancel = {}};
    run.on_line = [&](std::string_view line) { lines.emplace_back(line); };
    const auto end = run_command(run);
    ASSERT_TRUE(end) << end.error().message;
    EXPECT_EQ(lines, (std::vector<std::string>{"one", "two"}))
        << "what has no end is in the result alone";
    EXPECT_EQ(end->output, "one\ntwo\n\nthree");
}

TEST(CommandProcess, MayNotPrintWithoutEnd) {
    CommandRun run{.words = {"yes"}};
    EXPECT_EQ(run_command(run).error().code, ErrorCode::kOversize);
    CommandRun exact = shell("head -c 1048576 /dev/zero");
    EXPECT_EQ(run_command(exact)->output.size(), 1048576u);
}

TEST(CommandProcess, DoesNotWaitForWhatItLeavesBehind) {
    const auto began = std::chrono::steady_clock::now();
    EXPECT_EQ(run_command(shell("sleep 100 & echo started"))->output, "started\n");
    EXPECT_LT(std::chrono::steady_clock::now() - began, 10s);
}

}  // namespace
}  // namespace crab::sdk
