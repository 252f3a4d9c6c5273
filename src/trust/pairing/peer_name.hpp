#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace crab::trust {

/// The type of a paired component, which determines its default role. Source:
/// docs/protocols/rtp.md, sections 5.3 and 8.
enum class ComponentType : std::uint8_t { kToolHost, kListener, kSubscriber, kOperator };

/// The type as wires say it, such as `tool_host`.
std::string_view to_text(ComponentType type);
/// Exact wire text only.
std::optional<ComponentType> find_component_type(std::string_view text);
/// User input: trimmed, any case, with the aliases `tool`, `tool-host` and `cli`.
std::optional<ComponentType> parse_component_type(std::string_view text);

/// 1-64 characters of `[A-Za-z0-9._-]`, the first a letter or digit.
bool is_component_id(std::string_view text);
/// The same with at most 48 characters.
bool is_gateway_id(std::string_view text);
/// The one SAN URI by which certificates name a gateway.
std::string gateway_uri(std::string_view gateway_id);

/// Who a peer is: `<component_type>/<component_id>`.
struct PeerName {
    ComponentType type = ComponentType::kToolHost;
    std::string id;

    std::string text() const;
    /// The one SAN URI by which certificates name this peer.
    std::string uri() const;
    /// The peer that such a URI names; nothing for any other text.
    static std::optional<PeerName> from_uri(std::string_view uri);

    friend auto operator<=>(const PeerName&, const PeerName&) = default;
};

}  // namespace crab::trust
