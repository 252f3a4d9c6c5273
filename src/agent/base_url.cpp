#include "agent/base_url.hpp"

#include <fmt/format.h>

namespace crab::agent {

Result<net::HttpUrl> parse_base_url(std::string_view text) {
    auto url = net::HttpUrl::parse(text);
    if (!url || text.contains('?'))
        return fail(
            ErrorCode::kInvalidArgs,
            fmt::format("{} is not an address of a model; it has the form https://host:port/path",
                        text));
    while (url->path.ends_with('/')) url->path.pop_back();
    return std::move(*url);
}

}  // namespace crab::agent
