#pragma once

#include "runtime/audit_trail.hpp"
#include "runtime/event_loops.hpp"
#include "sdk/tool_host/host_engine.hpp"

#include <memory>

namespace crab::sdk {

/// The tools of a host: made, registered and run on the first event loop.
class OfferedTools final : public runtime::Component {
public:
    struct Uses {
        const HostEngine::Options& options;
        core::Registry& registry;
        runtime::EventLoops& loops;
        runtime::AuditTrail& audit;
    };
    explicit OfferedTools(const Uses& uses) : uses_(uses) {}

    std::string_view name() const override { return "offered tools"; }
    /// Errors: those of whoever makes the tools, and of their registration.
    Result<void> start() override {
        auto made = uses_.options.make_tools(uses_.loops.first(), uses_.audit.log());
        if (!made) return fail(std::move(made.error()));
        tools_ = std::move(*made);
        return tools_->register_in(uses_.registry);
    }
    void begin() override {
        uses_.loops.first().post([this] { tools_->start(); });
    }
    void stop(Deadline deadline) override {
        uses_.loops.finish(uses_.loops.first(), deadline,
                           [this](std::function<void()> done) { tools_->stop(std::move(done)); });
    }

private:
    const Uses uses_;
    std::unique_ptr<HostedTools> tools_;
};

}  // namespace crab::sdk
