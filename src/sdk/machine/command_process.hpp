#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crab::sdk {

struct CommandRun {
    std::vector<std::string> words;  ///< program, looked up in PATH, and its arguments
    std::string input;               ///< for its standard input
    /// Beside our own, without CRAB_TOKEN
    std::vector<std::pair<std::string, std::string>> environment;
    Deadline deadline = kNoDeadline;
    /// Registers what to call when the run is cancelled; may call it at once. Empty: it cannot be.
    std::function<void(std::function<void()>)> on_cancel;
    /// Told each line of standard output as it comes, without its end. Empty: nobody listens.
    /// Called by run_command()'s thread.
    std::function<void(std::string_view line)> on_line{};
    std::size_t max_output_bytes = 1024 * 1024;
};

struct CommandEnd {
    int exit_status = 0;  ///< -1 when a signal ended it
    int signal = 0;
    std::string output;
    std::string last_errors;  ///< the end of standard error, at most 2 KiB
};

/// Runs a command in a process group of its own and waits for it; the group is killed on cancel,
/// deadline or too much output, first with SIGTERM and 500 ms later with SIGKILL, and what is left
/// of it when the command ends. Errors: kNotFound (no such program), kUnavailable (cannot be
/// started), kTimeout, kCancelled, kOversize.
Result<CommandEnd> run_command(const CommandRun& run);

}  // namespace crab::sdk
