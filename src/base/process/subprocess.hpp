#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace crab {

struct SubprocessOptions {
    std::vector<std::string> argv;  ///< program (looked up in PATH) and arguments; no shell
    std::string input;  ///< for its standard input
    /// In addition to the inherited one
    std::vector<std::pair<std::string, std::string>> environment;
    Deadline deadline = kNoDeadline;
    /// Of standard output; beyond it the program is killed
    std::size_t max_output_bytes = std::size_t{1} << 20;
    std::function<bool()> cancelled;  ///< asked every 50 ms; may be empty
};

struct SubprocessEnd {
    int exit_status = 0;  ///< of exit(), or 128 plus the signal
    std::string output;  ///< standard output
    std::string error_tail;  ///< the last 4 KiB of standard error
};

/// Runs a program to its end in a process group of its own, which is killed when the deadline
/// passes, it is cancelled, or it writes too much. Blocks: call it on BlockingPool. Errors:
/// kUnavailable (could not be started), kTimeout, kCancelled, kOversize.
Result<SubprocessEnd> run_subprocess(const SubprocessOptions& options);

}  // namespace crab
