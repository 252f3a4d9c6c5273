#include "trust/pairing/peer_name.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace crab::trust {
namespace {

constexpr std::array kTypes{ComponentType::kToolHost, ComponentType::kListener,
                            ComponentType::kSubscriber, ComponentType::kOperator};
constexpr std::string_view kPeerUri = "crab://peer/";

bool is_alphanumeric(char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

bool is_id(std::string_view text, std::size_t most) {
    const auto is_part = [](char c) {
        return is_alphanumeric(c) || c == '.' || c == '_' || c == '-';
    };
    return !text.empty() && text.size() <= most && is_alphanumeric(text.front()) &&
           std::ranges::all_of(text, is_part);
}

}  // namespace

std::string_view to_text(ComponentType type) {
    switch (type) {
        case ComponentType::kToolHost: return "tool_host";
        case ComponentType::kListener: return "listener";
        case ComponentType::kSubscriber: return "subscriber";
        case ComponentType::kOperator: return "operator";
    }
    return {};
}

std::optional<ComponentType> find_component_type(std::string_view text) {
    const auto found =
        std::ranges::find(kTypes, text, [](ComponentType type) { return to_text(type); });
    return found == kTypes.end() ? std::nullopt : std::optional(*found);
}

std::optional<ComponentType> parse_component_type(std::string_view text) {
    constexpr std::string_view kSpace = " \t\r\n";
    const std::size_t first = std::min(text.find_first_not_of(kSpace), text.size());
    std::string word(text.substr(first, text.find_last_not_of(kSpace) + 1 - first));
    for (char& c : word) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    if (word == "tool" || word == "tool-host") return ComponentType::kToolHost;
    if (word == "cli") return ComponentType::kOperator;
    return find_component_type(word);
}

bool is_component_id(std::string_view text) { return is_id(text, 64); }
bool is_gateway_id(std::string_view text) { return is_id(text, 48); }

std::string gateway_uri(std::string_view gateway_id) {
    return fmt::format("crab://gateway/{}", gateway_id);
}

std::string PeerName::text() const { return fmt::format("{}/{}", to_text(type), id); }
std::string PeerName::uri() const { return fmt::format("{}{}/{}", kPeerUri, to_text(type), id); }

std::optional<PeerName> PeerName::from_uri(std::string_view uri) {
    if (!uri.starts_with(kPeerUri)) return std::nullopt;
    uri.remove_prefix(kPeerUri.size());
    const std::size_t slash = uri.find('/');
    if (slash == std::string_view::npos) return std::nullopt;
    const auto type = find_component_type(uri.substr(0, slash));
    const std::string_view id = uri.substr(slash + 1);
    if (!type || !is_component_id(id)) return std::nullopt;
    return PeerName{*type, std::string(id)};
}

}  // namespace crab::trust
