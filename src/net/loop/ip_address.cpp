#include "net/loop/ip_address.hpp"

#include "base/ascii.hpp"

#include <algorithm>
#include <bit>
#include <span>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace crab::net {
namespace {

constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

struct Range {
    std::uint32_t first;
    int bits;
};
constexpr std::uint32_t v4(unsigned a, unsigned b, unsigned c, unsigned d) {
    return a << 24 | b << 16 | c << 8 | d;
}
/// What is not an address of the open Internet. The ranges for documentation are left in: nobody is
/// there.
constexpr std::array<Range, 11> kNotPublic{{{v4(0, 0, 0, 0), 8},
                                            {v4(10, 0, 0, 0), 8},
                                            {v4(100, 64, 0, 0), 10},
                                            {v4(127, 0, 0, 0), 8},
                                            {v4(169, 254, 0, 0), 16},
                                            {v4(172, 16, 0, 0), 12},
                                            {v4(192, 0, 0, 0), 24},
                                            {v4(192, 168, 0, 0), 16},
                                            {v4(198, 18, 0, 0), 15},
                                            {v4(224, 0, 0, 0), 4},
                                            {v4(240, 0, 0, 0), 4}}};

bool is_public_v4(std::span<const std::uint8_t> bytes) {
    const std::uint32_t address = v4(bytes[0], bytes[1], bytes[2], bytes[3]);
    return std::ranges::none_of(kNotPublic, [&](const Range& range) {
        return (address ^ range.first) >> (32 - range.bits) == 0;
    });
}

IpAddress mapped(const in_addr& v4_address) {
    IpAddress address;
    std::ranges::copy(kMapped, address.begin());
    std::ranges::copy(std::bit_cast<std::array<std::uint8_t, 4>>(v4_address),
                      address.begin() + kMapped.size());
    return address;
}

}  // namespace

std::optional<IpAddress> parse_ip_address(std::string_view text) {
    if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
    const std::string spelled(text);
    in_addr v4_address{};
    if (::inet_pton(AF_INET, spelled.c_str(), &v4_address) == 1) return mapped(v4_address);
    in6_addr v6_address{};
    if (::inet_pton(AF_INET6, spelled.c_str(), &v6_address) == 1)
        return std::bit_cast<IpAddress>(v6_address);
    return std::nullopt;
}

IpAddress ip_address_of(const SocketAddress& address) {
    if (address.family() == AF_INET)
        return mapped(reinterpret_cast<const sockaddr_in&>(address.storage).sin_addr);
    return std::bit_cast<IpAddress>(
        reinterpret_cast<const sockaddr_in6&>(address.storage).sin6_addr);
}

bool is_public(const IpAddress& address) {
    const std::span bytes(address);
    const auto begins = [&](std::initializer_list<std::uint8_t> start) {
        return std::ranges::equal(bytes.first(start.size()), start);
    };
    if (std::ranges::equal(bytes.first(kMapped.size()), kMapped))
        return is_public_v4(bytes.last(4));
    // NAT64
    if (begins({0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0})) return is_public_v4(bytes.last(4));
    if (begins({0x20, 0x02})) return is_public_v4(bytes.subspan(2, 4));  // 6to4
    return (bytes[0] & 0xe0) == 0x20;  // 2000::/3 is all that is given out
}

bool is_loopback(const IpAddress& address) {
    const std::span bytes(address);
    if (std::ranges::equal(bytes.first(kMapped.size()), kMapped)) return bytes[12] == 127;
    constexpr IpAddress kLoopback{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    return address == kLoopback;
}

bool names_loopback(std::string_view host) {
    if (equals_lower(host, "localhost")) return true;
    const auto address = parse_ip_address(host);
    return address && is_loopback(*address);
}

}  // namespace crab::net
