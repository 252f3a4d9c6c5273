#pragma once

#include "base/result.hpp"
#include "json/value.hpp"

#include <span>
#include <string>
#include <string_view>

namespace crab::cli {

/// The arguments object of a call: `text` (a JSON object, `@file`, `-` for standard input, or
/// empty), then each `k=v` or `k:=json` of `pairs` on top. A value of `k=v` is JSON if it parses as
/// a number, boolean, null, object or array, else a string. Errors: kInvalidArgs, kNotFound for the
/// file.
Result<json::Value> read_call_arguments(std::string_view text, std::span<const std::string> pairs);

}  // namespace crab::cli
