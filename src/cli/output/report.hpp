#pragma once

#include "base/error.hpp"

#include <string>
#include <string_view>

namespace crab::cli {

/// Advice for an error whose code, or the error itself, implies it for every cause; else empty.
std::string hint_of(const Error& error);
/// Prints on standard error what failed and what to do next; returns the exit code.
int report(const Error& error);

/// Asks on a terminal before what cannot be undone: `question` with [y/N]. True at once with `yes`,
/// and where nobody could answer: a script has decided.
bool may_go_on(bool yes, std::string_view question);

}  // namespace crab::cli
