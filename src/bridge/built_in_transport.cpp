#include "bridge/built_in_transport.hpp"

#include "bridge/built_in/adapter_list.hpp"

#include <algorithm>

namespace crab::bridge {

BuiltInTransport::BuiltInTransport(net::EventLoop& loop, BusTransport& bus,
                                   const BridgePaths& paths)
    : sources_{.loop = loop,
               .blocking = blocking_,
               .bus = [&bus](BusKind kind) -> BusLink& {
                   return bus.link_for(kind == BusKind::kSystem ? cetp::Bus::kSystem
                                                                : cetp::Bus::kSession);
               },
               .data_dirs = paths.data_dirs,
               .locale = paths.locale} {}

Task<Delivery> BuiltInTransport::send(const cetp::ProviderRecord& provider,
                                      const cetp::MethodCall& call, Deadline deadline) {
    auto found = providers_.find(provider.id);
    if (found == providers_.end()) {
        const auto info = std::ranges::find(all_adapters(), provider.id, built_in_id);
        if (info == all_adapters().end())
            co_return cetp::Envelope::error(cetp::code::kInternalError,
                                            "there is no such provider");
        found = providers_.try_emplace(provider.id, *info, sources_).first;
    }
    co_return co_await found->second.answer(call, deadline);
}

Task<void> BuiltInTransport::start_silently(const cetp::ProviderRecord&, Deadline) { co_return; }

}  // namespace crab::bridge
