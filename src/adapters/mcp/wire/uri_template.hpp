#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace crab::mcp {

/// Whether `uri` may have been made from this template (RFC 6570): how many of its characters the
/// template says itself, so that the closest of several can be found. `{x}` stands for at least one
/// character other than `/`, an expression with an operator (`{+x}`, `{?x}`, `{/x}`, …) for
/// anything. Nothing when it does not match, and for a template that is broken.
std::optional<std::size_t> match_template(std::string_view uri_template, std::string_view uri);

}  // namespace crab::mcp
