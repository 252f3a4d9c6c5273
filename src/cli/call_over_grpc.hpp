#pragma once

#include "cli/commands.hpp"
#include "json/value.hpp"

#include <string>
#include <string_view>

namespace crab::cli {

/// Whether `url` names a gRPC listener (`grpc://host:port`, `grpcs://…`, `grpc+unix:/path`).
bool is_grpc_url(std::string_view url);

/// `crab call --url grpc://…`: the call as any client of sw4rm's ToolService makes it, through
/// crab::ToolClient. Ctrl-C cancels it by its id. Returns the exit code. Source:
/// docs/protocols/sw4rm.md, section 13.
int call_over_grpc(const CallTool& options, const json::Value& args, const std::string& call_id);

/// What a summary (the JSON of a final frame) says of the run, in one line; empty for one that says
/// nothing.
std::string summary_in_words(const json::Value& summary);

}  // namespace crab::cli
