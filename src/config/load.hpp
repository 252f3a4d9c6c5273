#pragma once

#include "base/result.hpp"
#include "config/gateway_config.hpp"
#include "config/paths.hpp"

#include <filesystem>
#include <string_view>

namespace crab::config {

/// Reads one file. Unset keys have the defaults of the structs. Errors: kNotFound when there is no
/// such file; kInvalidArgs with all problems of the file: `message` has one line `file:line: key:
/// what, and what to do` per problem, `details` is {"errors":[{"line","key","message"}]}.
Result<GatewayConfig> load_file(const std::filesystem::path& path,
                                const Environment& environment = process_environment());

/// The same for text; `name` is the file name in messages, and `${file:…}` with a relative path
/// starts at its folder.
Result<GatewayConfig> load_text(std::string_view text, const std::filesystem::path& name,
                                const Environment& environment = process_environment());

/// load_file() of `given`, or of the first of Paths::config_candidates() that exists, or the
/// defaults when none does.
Result<GatewayConfig> load_first(const std::filesystem::path& given, const Paths& paths,
                                 const Environment& environment = process_environment());

/// spec/config.schema.json, as published.
std::string_view schema_text();

}  // namespace crab::config
