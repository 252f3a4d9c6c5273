#include "core/call/action.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <vector>

#include <fmt/format.h>

namespace crab::core {
namespace {

constexpr std::array<std::string_view, 6> kFamilies{
    "events.publish:",   "events.subscribe:", "control.config:",
    "control.sessions:", "control.peers:",    "control.subscriptions:"};
constexpr std::size_t kLongest = 256;

bool is_name_or_pattern(std::string_view text) {
    const auto fits = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("._-*?").contains(c);
    };
    return !text.empty() && std::ranges::all_of(text, fits);
}

std::vector<DefaultAction> table(Role role, std::initializer_list<std::string_view> patterns) {
    std::vector<DefaultAction> made;
    for (const std::string_view pattern : patterns)
        made.push_back({Glob(std::string(pattern)),
                        fmt::format("role default: {} may {}", name_of(role), pattern)});
    return made;
}

std::vector<DefaultAction> everything(Role role) {
    return table(role, {"events.publish:*", "events.subscribe:*", "control.config:*",
                        "control.sessions:*", "control.peers:*", "control.subscriptions:*"});
}

}  // namespace

bool is_action(std::string_view text) {
    if (text.size() > kLongest || text.starts_with("control.peers:pair") ||
        text.starts_with("control.peers:renew"))
        return false;
    return std::ranges::any_of(kFamilies, [&](std::string_view family) {
        return text.starts_with(family) && is_name_or_pattern(text.substr(family.size()));
    });
}

bool names_actions(const Glob& glob) {
    return std::ranges::any_of(kFamilies,
                               [&](std::string_view family) {
                                   return glob.overlaps(Glob(std::string(family) + "?*"));
                               }) &&
           (!glob.is_literal() || is_action(glob.pattern()));
}

std::span<const DefaultAction> default_actions(Role role) {
    static const auto tool_host = table(
        Role::kToolHost, {"events.publish:tool.call.completed", "events.publish:tool.call.failed",
                          "events.subscribe:tool.call.requested"});
    static const auto subscriber =
        table(Role::kSubscriber, {"events.subscribe:channel.*", "events.subscribe:cron.*",
                                  "events.subscribe:heartbeat.tick", "events.subscribe:agent.*"});
    static const auto listener = table(Role::kListener, {"events.publish:channel.message.received",
                                                         "events.publish:channel.message.edited",
                                                         "events.publish:channel.message.deleted"});
    static const auto cli_admin = everything(Role::kCliAdmin);
    static const auto local_operator = everything(Role::kOperator);
    switch (role) {
        case Role::kToolHost: return tool_host;
        case Role::kSubscriber: return subscriber;
        case Role::kListener: return listener;
        case Role::kCliAdmin: return cli_admin;
        case Role::kOperator: return local_operator;
        case Role::kCaller:
        case Role::kDevice:
        case Role::kTrustedDevice:
        case Role::kMetrics: return {};
    }
    return {};
}

}  // namespace crab::core
