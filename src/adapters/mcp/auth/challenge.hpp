#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace crab::mcp {

/// What a server's `WWW-Authenticate: Bearer …` says; empty members are absent.
struct BearerChallenge {
    std::string resource_metadata, error, scope;

    bool needs_more_scopes() const { return error == "insufficient_scope"; }
};

/// Reads the `Bearer` challenge of a field that may have several (RFC 9110, section 11.6.1); all
/// members are empty if there is none. Of a parameter that comes twice the first counts.
BearerChallenge read_challenge(std::string_view field);

/// The words of a `scope`.
std::vector<std::string> scopes_of(std::string_view scope);
/// All of both, each once, those of `first` in front.
std::string union_of_scopes(std::string_view first, std::string_view second);

}  // namespace crab::mcp
