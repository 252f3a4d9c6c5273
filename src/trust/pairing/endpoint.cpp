#include "trust/pairing/endpoint.hpp"

#include "base/ascii.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include <arpa/inet.h>
#include <fmt/format.h>

namespace crab::trust {
namespace {

std::unexpected<PairingError> invalid(std::string_view what) {
    return refuse(PairingCode::kInvalidArgs, fmt::format("endpoint: {}", what));
}

/// An address in its shortest text form; nothing for other texts.
std::optional<std::string> address_text(int family, const std::string& text) {
    std::array<std::uint8_t, 16> bytes{};
    std::array<char, INET6_ADDRSTRLEN> out{};
    if (inet_pton(family, text.c_str(), bytes.data()) != 1) return std::nullopt;
    if (inet_ntop(family, bytes.data(), out.data(), out.size()) == nullptr) return std::nullopt;
    return out.data();
}

bool is_dns_name(std::string_view text) {
    if (text.empty() || text.size() > 253) return false;
    std::size_t label = 0;
    for (const char c : text) {
        const bool part = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-' || c == '_';
        if (c == '.' ? label == 0 : !part || ++label > 63) return false;
        if (c == '.') label = 0;
    }
    return label > 0;  // no dot at the end: it would be another text for the same host
}

bool read_host(std::string_view text, PairingEndpoint& out) {
    const bool bracketed = text.size() > 2 && text.front() == '[' && text.back() == ']';
    const std::string plain = lower_case(bracketed ? text.substr(1, text.size() - 2) : text);
    const auto address = address_text(bracketed ? AF_INET6 : AF_INET, plain);
    out.host = address.value_or(plain);
    out.is_address = address.has_value();
    out.loopback = out.host == "localhost" ||
                   (address && (bracketed ? out.host == "::1" : out.host.starts_with("127.")));
    return address || (!bracketed && is_dns_name(plain));
}

bool read_port(std::string_view text, std::uint16_t& port) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    return error == std::errc() && end == text.data() + text.size() && port != 0;
}

}  // namespace

PairingResult<PairingEndpoint> PairingEndpoint::parse(std::string_view text) {
    constexpr std::string_view kSeparator = "://";
    const std::size_t scheme_end = text.find(kSeparator);
    const std::string scheme = lower_case(text.substr(0, std::min(scheme_end, text.size())));
    if (scheme_end == std::string_view::npos || (scheme != "ws" && scheme != "wss"))
        return invalid("it begins with ws:// or wss://");
    if (text.size() > 2048) return invalid("it has at most 2048 characters");
    if (!std::ranges::all_of(text, [](char c) {
            return c > ' ' && c < 0x7f && c != '"' && c != '<' && c != '>' && c != '\\';
        })) {
        return invalid("it holds characters that belong percent-encoded");
    }
    if (text.find('#') != std::string_view::npos) return invalid("it has no fragment");
    PairingEndpoint endpoint;
    endpoint.tls = scheme == "wss";
    std::string_view rest = text.substr(scheme_end + kSeparator.size());
    const std::size_t authority_end = std::min(rest.find_first_of("/?"), rest.size());
    const std::string_view authority = rest.substr(0, authority_end);
    rest.remove_prefix(authority_end);
    if (authority.find('@') != std::string_view::npos) return invalid("it has no user info");
    const std::size_t colon = authority.rfind(':');
    const bool has_port =
        colon != std::string_view::npos && authority.find(']', colon) == std::string_view::npos;
    if (!read_host(authority.substr(0, has_port ? colon : authority.size()), endpoint))
        return invalid("its host is not a DNS name or IP address");
    endpoint.port = endpoint.tls ? 443 : 80;
    if (has_port && !read_port(authority.substr(colon + 1), endpoint.port))
        return invalid("its port is a number from 1 to 65535");
    const std::size_t query = std::min(rest.find('?'), rest.size());
    endpoint.path = rest.substr(0, query);
    endpoint.query = rest.substr(query);
    return endpoint;
}

std::string PairingEndpoint::text() const {
    return fmt::format("{}://{}{}{}", tls ? "wss" : "ws", authority(), path, query);
}

std::string PairingEndpoint::authority() const {
    const bool brackets = is_address && host.find(':') != std::string::npos;
    return brackets ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

std::string PairingEndpoint::target() const { return (path.empty() ? "/v1/pair" : path) + query; }

crypto::AltNames PairingEndpoint::names() const {
    crypto::AltNames names;
    (is_address ? names.ip_addresses : names.dns_names).push_back(host);
    return names;
}

PairingResult<void> check_transport(const PairingEndpoint& endpoint, bool allow_insecure_loopback) {
    if (endpoint.tls || (endpoint.loopback && allow_insecure_loopback)) return {};
    return refuse(PairingCode::kMtlsRequired,
                  endpoint.loopback ? "plain ws:// to loopback is switched off; use wss://"
                                    : "plain ws:// goes to this machine only; use wss://");
}

}  // namespace crab::trust
