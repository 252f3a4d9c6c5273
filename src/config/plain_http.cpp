#include "config/plain_http.hpp"

#include "config/gateway_config.hpp"
#include "net/codec/http_url.hpp"

namespace crab::config {

bool is_plain_elsewhere(std::string_view url) {
    const auto parsed = net::HttpUrl::parse(url.substr(0, url.find('#')));
    return parsed && !parsed->tls && !HostPort{.host = parsed->host}.is_loopback();
}

}  // namespace crab::config
