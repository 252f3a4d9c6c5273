#include "cli/output/exit_codes.hpp"

#include "base/error_kind.hpp"

#include <array>

namespace crab::cli {
namespace {

constexpr std::array kTexts{
    ExitCodeText{kExitOk, "it worked"},
    ExitCodeText{kExitFailed, "the tool or the check failed"},
    ExitCodeText{kExitUsage, "the command line, the arguments or the configuration are wrong"},
    ExitCodeText{kExitUnreachable,
                 "the gateway, or the device that runs the tool, cannot be reached"},
    ExitCodeText{kExitRefused,
                 "refused: not authenticated, forbidden, not paired, or approval is missing"},
    ExitCodeText{kExitNotFound, "no such tool, call or device"},
    ExitCodeText{kExitTimeout, "no answer in time"},
    ExitCodeText{kExitUnknown, "the outcome is unknown: the tool may or may not have run"},
    ExitCodeText{kExitInterrupted, "interrupted by Ctrl-C; a running call was cancelled"},
};

}  // namespace

std::span<const ExitCodeText> exit_code_texts() { return kTexts; }

ExitCode exit_code_of(ErrorCode code) {
    switch (kind_of(code)) {
        case ErrorKind::kInvalid: return kExitUsage;
        case ErrorKind::kNotFound: return kExitNotFound;
        case ErrorKind::kUnauthenticated:
        case ErrorKind::kRefused: return kExitRefused;
        case ErrorKind::kUnavailable: return kExitUnreachable;
        case ErrorKind::kTimeout: return kExitTimeout;
        case ErrorKind::kOutcomeUnknown: return kExitUnknown;
        case ErrorKind::kConflict:
        case ErrorKind::kRateLimited:
        case ErrorKind::kFailed: return kExitFailed;
    }
    return kExitFailed;
}

ExitCode exit_code_of(std::string_view token) {
    if (token == "UNAUTHORIZED") return kExitRefused;
    if (token == "DEPENDENCY_UNAVAILABLE") return kExitUnreachable;
    const std::optional<ErrorCode> code = find_error_code(token);
    return code ? exit_code_of(*code) : kExitFailed;
}

}  // namespace crab::cli
