#include "config/gateway_config.hpp"

#include <boost/asio/ip/address.hpp>

#include <charconv>

#include <fmt/format.h>

namespace crab::config {

bool HostPort::is_loopback() const {
    if (host == "localhost") return true;
    boost::system::error_code error;
    const auto address = boost::asio::ip::make_address(host, error);
    return !error && address.is_loopback();
}

std::string HostPort::to_text() const {
    return host.find(':') == host.npos ? fmt::format("{}:{}", host, port)
                                       : fmt::format("[{}]:{}", host, port);
}

std::optional<HostPort> HostPort::parse(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    if (colon == text.npos || colon == 0) return std::nullopt;
    std::string_view host = text.substr(0, colon);
    const std::string_view digits = text.substr(colon + 1);
    if (host.starts_with('[') && host.ends_with(']')) {
        host = host.substr(1, host.size() - 2);
        boost::system::error_code error;
        boost::asio::ip::make_address_v6(host, error);
        if (error) return std::nullopt;
    } else if (host.find(':') != host.npos) {
        return std::nullopt;
    }
    HostPort parsed{std::string(host), 0};
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), parsed.port);
    if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
    return parsed;
}

}  // namespace crab::config
