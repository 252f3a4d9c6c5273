#include "cli/output/report.hpp"

#include "base/coded_text.hpp"
#include "base/error_kind.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/terminal.hpp"

#include <cstdio>

#include <unistd.h>

#include <fmt/format.h>

namespace crab::cli {

std::string hint_of(const Error& error) {
    const auto details = json::Value::parse(error.details.empty() ? "{}" : error.details);
    if (details && !text_of(*details, "hint").empty()) return text_of(*details, "hint");
    switch (kind_of(error.code)) {
        // What to do next is the same whatever the cause.
        case ErrorKind::kUnauthenticated:
        case ErrorKind::kRateLimited:
        case ErrorKind::kOutcomeUnknown: return std::string(next_step(error.code));
        // Files, flags, rules and devices end with these as well: the message says what it was.
        case ErrorKind::kInvalid:
        case ErrorKind::kNotFound:
        case ErrorKind::kRefused:
        case ErrorKind::kConflict:
        case ErrorKind::kUnavailable:
        case ErrorKind::kTimeout:
        case ErrorKind::kFailed: break;
    }
    return {};
}

int report(const Error& error) {
    complain(coded_text(token_of(error.code), error.message));
    if (const std::string hint = hint_of(error); !hint.empty()) complain(hint);
    return exit_code_of(error.code);
}

bool may_go_on(bool yes, std::string_view question) {
    if (yes || ::isatty(STDIN_FILENO) == 0 || ::isatty(STDERR_FILENO) == 0) return true;
    fmt::print(stderr, "{} [y/N] ", printable(question));
    std::string answer;
    for (int c = std::getchar(); c != EOF && c != '\n'; c = std::getchar())
        if (answer.size() < 8 && c != ' ') answer += static_cast<char>(c | 0x20);
    if (answer == "y" || answer == "yes") return true;
    complain("nothing was changed");
    return false;
}

}  // namespace crab::cli
