#include "config/plain_http.hpp"

#include "config/gateway_config.hpp"

namespace crab::config {

bool is_plain_elsewhere(const net::HttpUrl& url) {
    return !url.tls && !HostPort{.host = url.host}.is_loopback();
}

bool is_plain_elsewhere(std::string_view url) {
    const auto parsed = net::HttpUrl::parse(url.substr(0, url.find('#')));
    return parsed && is_plain_elsewhere(*parsed);
}

}  // namespace crab::config
