#pragma once

#include "cli/commands.hpp"
#include "json/value.hpp"

#include <string>
#include <string_view>

namespace crab::cli {

/// Whether `url` names a gRPC listener (`grpc://host:port`, `grpcs://…`, `grpc+unix:/path`).
bool is_grpc_url(std::string_view url);

/// `crab call --url grpc://…`: calls sw4rm's ToolService through crab::ToolClient. Ctrl-C cancels
/// the call by its id. Returns the exit code. Source: docs/protocols/sw4rm.md, section 13.
int call_over_grpc(const CallTool& options, const json::Value& args, const std::string& call_id);

/// A summary (the JSON of a final frame) in one line; may be empty.
std::string summary_in_words(const json::Value& summary);

}  // namespace crab::cli
