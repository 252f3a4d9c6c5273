#pragma once

#include "base/clock.hpp"
#include "base/process/stop_event.hpp"
#include "base/result.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crab {

struct SubprocessOptions {
    std::vector<std::string> argv;  ///< program (looked up in PATH) and arguments; no shell
    std::string input{};  ///< for its standard input
    /// In addition to the inherited one without `hidden`
    std::vector<std::pair<std::string, std::string>> environment{};
    std::vector<std::string> hidden{};  ///< names of variables that are not inherited
    Deadline deadline = kNoDeadline;
    /// Of standard output; beyond it the program is ended
    std::size_t max_output_bytes = std::size_t{1} << 20;
    std::size_t error_tail_bytes = 4096;  ///< kept of standard error
    /// Between SIGTERM and SIGKILL for a program that is ended early; 0: SIGKILL at once
    Milliseconds grace{0};
    std::shared_ptr<const StopEvent> stop{};  ///< ends it early; null: nobody does
    /// Told each line of standard output that is not empty, without its end, as it comes, on the
    /// calling thread. Empty: nobody listens.
    std::function<void(std::string_view line)> on_line{};
};

struct SubprocessEnd {
    int exit_status = 0;  ///< of exit(), or 128 plus the signal
    int signal = 0;  ///< that ended it; 0: none
    std::string output;  ///< standard output
    std::string error_tail;  ///< the last of standard error
};

/// Runs a program to its end in a process group of its own, which is killed when the deadline
/// passes, it is stopped, or it writes too much; what is left of the group ends with the program.
/// Blocks: call it on BlockingPool. Errors: kNotFound (no such program), kUnavailable (could not be
/// started), kTimeout, kCancelled, kOversize, kInvalidArgs (no program named).
Result<SubprocessEnd> run_subprocess(const SubprocessOptions& options);

}  // namespace crab
