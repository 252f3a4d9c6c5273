#pragma once

#include <string>
#include <string_view>

/// The body of an HTTP error that has no better form of its own.
namespace crab::net {

/// Appends `{"error":message,"code":code}`; both are escaped.
void append_error_body(std::string& out, std::string_view code, std::string_view message);
/// The code (spec/errors.json) that goes with an HTTP status of 400 or more.
std::string_view code_for_status(int status);

}  // namespace crab::net
