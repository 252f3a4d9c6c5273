#pragma once

#include "adapters/sw4rm/provider_directory.hpp"
#include "gateway/context/gateway_context.hpp"
#include "gateway/context/session_workers.hpp"
#include "runtime/event_loops.hpp"
#include "runtime/workers.hpp"

#include <memory>

namespace crab::gateway {

/// The configured providers of kind grpc, whose keys are those of CommandProviders.
class GrpcProviders final : public Component {
public:
    GrpcProviders(const GatewayContext& context, EventLoops& loops, Workers& workers,
                  SessionWorkers& session_workers)
        : context_(context), loops_(loops), workers_(workers), session_workers_(session_workers) {}

    std::string_view name() const override { return "gRPC providers"; }
    /// Errors: kInvalidArgs naming the provider and the invalid part.
    Result<void> start() override;
    void begin() override { directory_->start(); }
    void add_metrics(core::MetricsPage& page) override;
    void stop(Deadline deadline) override;

    sw4rm::ProviderDirectory& directory() { return *directory_; }

private:
    const GatewayContext& context_;
    EventLoops& loops_;
    Workers& workers_;
    SessionWorkers& session_workers_;
    std::unique_ptr<sw4rm::ProviderDirectory> directory_;
};

}  // namespace crab::gateway
