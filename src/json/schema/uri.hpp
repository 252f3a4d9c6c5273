#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace crab::json {

/// The five parts of a URI reference (RFC 3986, appendix B); absent and empty are different things.
struct UriParts {
    std::optional<std::string_view> scheme, authority;
    std::string_view path;
    std::optional<std::string_view> query, fragment;
};

UriParts split_uri(std::string_view uri);
/// `reference` seen from `base` (RFC 3986, section 5.2). An empty base leaves the reference as it
/// is.
std::string resolve_uri(std::string_view base, std::string_view reference);
/// Everything before the `#`.
std::string_view without_fragment(std::string_view uri);
/// Everything behind the `#`; empty when there is none.
std::string_view fragment_of(std::string_view uri);

}  // namespace crab::json
