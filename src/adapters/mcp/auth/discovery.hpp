#pragma once

#include "adapters/mcp/auth/fetcher.hpp"
#include "adapters/mcp/auth/server_metadata.hpp"

#include <string>
#include <string_view>

namespace crab::mcp {

/// How far URLs reach that the server at `url` names: loopback servers name loopback ones.
FetchReach reach_of(std::string_view url);

/// The metadata of the MCP server at `url`: from `named` (the challenge's `resource_metadata`)
/// alone if that is not empty, else from its well-known places in order. Errors: kNotFound when
/// there is none; those of the fetch and of read_resource_metadata().
Task<Result<ResourceMetadata>> find_resource(Fetcher& fetcher, std::string url, std::string named);
/// The metadata of `issuer`. Errors: kNotFound when it has none; those of the fetch and of
/// read_server_metadata(), which end the search: a wrong document is not made good by another.
Task<Result<ServerMetadata>> find_server(Fetcher& fetcher, std::string issuer, FetchReach reach);
/// The key set of an issuer that the operator configured, as text; `jwks` empty: where its metadata
/// says.
Task<Result<std::string>> fetch_keys(Fetcher& fetcher, std::string issuer, std::string jwks);

}  // namespace crab::mcp
