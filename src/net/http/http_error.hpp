#pragma once

#include "base/error_code.hpp"

#include <string>
#include <string_view>

/// Errors over HTTP that have no better form of their own.
namespace crab::net {

/// Appends `{"error":message,"code":code}`; both are escaped.
void append_error_body(std::string& out, std::string_view code, std::string_view message);
/// The status of an error (spec/errors.json), for routes that have no form of their own.
int http_status(ErrorCode code);
/// The code (spec/errors.json) that goes with an HTTP status of 400 or more.
std::string_view code_for_status(int status);

}  // namespace crab::net
