#include "hosts/command/egress/egress_list.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace crab::command {
namespace {

/// A name as it is compared: lower case, without the dot that may end it.
std::string plain_name(std::string_view text) {
    if (text.ends_with('.')) text.remove_suffix(1);
    std::string name(text);
    std::ranges::transform(name, name.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return name;
}

bool is_name(std::string_view name) {
    return !name.empty() && name.size() <= 253 && name.front() != '.' &&
           std::ranges::all_of(name, [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
                      c == '.';
           });
}

}  // namespace

Result<EgressList> EgressList::parse(const std::vector<std::string>& items) {
    EgressList list;
    for (const std::string& text : items) {
        const auto wrong = [&] {
            return fail(ErrorCode::kInvalidArgs,
                        fmt::format("egress: {}: write host:port, *.host:port, or an address with "
                                    "a port ([v6]:port)",
                                    text));
        };
        const std::size_t colon = text.rfind(':');
        if (colon == text.npos) return wrong();
        Item item;
        const auto [end, error] =
            std::from_chars(text.data() + colon + 1, text.data() + text.size(), item.port);
        if (error != std::errc() || end != text.data() + text.size() || item.port == 0)
            return wrong();
        std::string_view host = std::string_view(text).substr(0, colon);
        item.address = net::parse_ip_address(host);
        // where would the port begin?
        if (item.address && host.contains(':') && !host.starts_with('[')) return wrong();
        if (!item.address) {
            item.below = host.starts_with("*.");
            if (item.below) host.remove_prefix(2);
            item.name = plain_name(host);
            if (!is_name(item.name)) return wrong();
        }
        list.items_.push_back(std::move(item));
    }
    return list;
}

bool EgressList::allows(std::string_view host, std::uint16_t port) const {
    const auto address = net::parse_ip_address(host);
    const std::string name = address ? std::string() : plain_name(host);
    return std::ranges::any_of(items_, [&](const Item& item) {
        if (item.port != port) return false;
        if (address || item.address) return item.address == address;
        if (!item.below) return item.name == name;
        return name.size() > item.name.size() + 1 && name.ends_with(item.name) &&
               name[name.size() - item.name.size() - 1] == '.';
    });
}

bool EgressList::allows_address(const net::IpAddress& address, std::uint16_t port) const {
    return net::is_public(address) || std::ranges::any_of(items_, [&](const Item& item) {
               return item.port == port && item.address == address;
           });
}

}  // namespace crab::command
