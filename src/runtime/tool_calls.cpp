#include "runtime/tool_calls.hpp"

namespace crab::runtime {
namespace {

/// As audit records name the listener that a call came in by; empty: it takes none.
std::string_view front_of(ListenerKind kind) {
    switch (kind) {
        case ListenerKind::kPublic: return "http";
        case ListenerKind::kAdmin: return "admin";
        case ListenerKind::kPeers: return {};
        case ListenerKind::kHost: return "host";
    }
    return {};
}

}  // namespace

Result<void> ToolCalls::start() {
    const auto cancel = [this](const core::Principal& asker, std::string_view tenant,
                               std::string_view id) {
        return calls_.cancel_or_remember(asker, tenant, id);
    };
    for (const auto& part : calls_.parts())
        apis_.push_back(std::make_unique<rtp::ToolsApi>(part->pipeline, part->calls, service_,
                                                        cancel, calls_.away()));
    return {};
}

void ToolCalls::add_routes(const ListenerRoutes& table) {
    const std::string_view front = front_of(table.kind);
    if (!front.empty()) apis_[table.loop]->add_routes(table.routes, front);
}

}  // namespace crab::runtime
