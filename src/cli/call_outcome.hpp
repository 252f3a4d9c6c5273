#pragma once

#include "base/error_code.hpp"
#include "json/value.hpp"

#include <string_view>

namespace crab::cli {

/// Prints an RTP response object: the result on standard output (text as plain text, bytes raw,
/// JSON otherwise), logs and errors on standard error. Returns the exit code. A result is text when
/// it is {"text": "…"} or {"content": "…"} with an optional `content_type`, bytes when it has
/// `data_base64`.
int show_outcome(const json::Value& response);

/// The exit code that show_outcome() returns, without output.
int exit_code_of_outcome(const json::Value& response);

/// Advice after a failed call that its code and details imply for every cause; else empty.
std::string_view advice_of(ErrorCode code, const json::Value& details);

}  // namespace crab::cli
