#include "gateway/rules/hitl_service.hpp"

#include "gateway/context/service_options.hpp"

#include <fmt/format.h>

namespace crab::gateway {

std::span<const ConfigKey> HitlService::keys() const {
    static constexpr ConfigKey kKeys[] = {
        restart_key("hitl", [](auto& c) -> auto& { return c.hitl; })};
    return kKeys;
}

Result<void> HitlService::start() {
    if (!context_.config.hitl) return {};
    auto service = service_options(*context_.config.hitl, workers_.names());
    if (!service)
        return fail(service.error().code, fmt::format("hitl: {}", service.error().message));
    client_ =
        std::make_unique<HitlClient>(approvals_.approvals(), loops_.first(), std::move(*service));
    approvals_.also_ask(*client_);
    return {};
}

void HitlService::stop(Deadline) {
    if (!client_) return;
    loops_.run();
    client_->stop();
}

}  // namespace crab::gateway
