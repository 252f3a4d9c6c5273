#include "agent/base_url.hpp"

namespace crab::agent {

Result<net::HttpUrl> parse_base_url(std::string_view text) {
    auto url = net::HttpUrl::parse(text);
    if (!url || text.contains('?'))
        return fail(ErrorCode::kInvalidArgs,  // not quoted: it may hold a password
                    "not an address of a model, which has the form https://host:port/path");
    while (url->path.ends_with('/')) url->path.pop_back();
    return std::move(*url);
}

}  // namespace crab::agent
