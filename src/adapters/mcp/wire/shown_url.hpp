#pragma once

#include <string_view>

namespace crab::mcp {

/// Whether a URL that an upstream wants a person to open may be shown: `https`, or `http` on
/// loopback, with a host, at most 4 KiB, no blanks or control characters. It is never fetched here.
/// Source: docs/protocols/mcp.md, section 4.8.
bool is_shown_url(std::string_view url);

}  // namespace crab::mcp
