#pragma once

#include "adapters/rtp/events/events_api.hpp"
#include "gateway/context/gateway_context.hpp"
#include "gateway/rules/access_rights.hpp"
#include "gateway/stored/event_log.hpp"
#include "runtime/event_loops.hpp"

#include <memory>

namespace crab::gateway {

/// The routes by which events are published and followed, on the first event loop. After the
/// listeners in the list, so that streams end with a reason before their connections are closed.
class EventDelivery final : public Component {
public:
    EventDelivery(EventLoops& loops, EventLog& events, AccessRights& access)
        : loops_(loops), events_(events), access_(access) {}

    std::string_view name() const override { return "event delivery"; }
    Result<void> start() override {
        api_ = std::make_unique<rtp::EventsApi>(loops_.first(), events_.services(access_.access()));
        return {};
    }
    void add_routes(const ListenerRoutes& table) override {
        if (table.kind == ListenerKind::kAdmin || table.kind == ListenerKind::kPeers)
            api_->add_routes(table.routes);
    }
    void stop(Deadline deadline) override {
        loops_.finish(loops_.first(), deadline,
                      [this](std::function<void()> done) { api_->stop(std::move(done)); });
    }

private:
    EventLoops& loops_;
    EventLog& events_;
    AccessRights& access_;
    std::unique_ptr<rtp::EventsApi> api_;
};

}  // namespace crab::gateway
