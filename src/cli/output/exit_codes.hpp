#pragma once

#include "base/error_code.hpp"

#include <span>
#include <string_view>

namespace crab::cli {

/// Exit codes of `crab`. Documented by `crab help exit-codes` and docs/reference/cli.md.
enum ExitCode : int {
    kExitOk = 0,
    kExitFailed = 1,
    kExitUsage = 2,
    kExitUnreachable = 3,
    kExitRefused = 4,
    kExitNotFound = 5,
    kExitTimeout = 6,
    kExitUnknown = 7,
    kExitInterrupted = 130,
};

struct ExitCodeText {
    ExitCode code;
    std::string_view meaning;
};
/// Every code with its meaning, in order.
std::span<const ExitCodeText> exit_code_texts();

/// The exit code for an error.
ExitCode exit_code_of(ErrorCode code);
/// The same for a code in a reply; also knows RTP's codes; any other is kExitFailed.
ExitCode exit_code_of(std::string_view token);

}  // namespace crab::cli
