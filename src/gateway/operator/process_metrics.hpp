#pragma once

#include "gateway/context/gateway_context.hpp"
#include "gateway/listeners/grpc_listener.hpp"
#include "gateway/listeners/public_listener.hpp"
#include "gateway/stored/peer_records.hpp"
#include "net/loop/periodic.hpp"
#include "runtime/event_loops.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace crab::gateway {

/// How the last reload went. Thread-safe.
struct ReloadOutcome {
    std::atomic<bool> successful{true};   ///< the start counts as one
    std::atomic<std::int64_t> at{0};      ///< of the last good one, seconds since 1970
};

/// Metrics of the process as a whole: version, resources, certificates, refused credentials, the
/// last reload, and how late its event loops are.
class ProcessMetrics final : public Component {
public:
    struct Uses {
        const GatewayContext& context;
        EventLoops& loops;
        const PeerRecords& peers;
        const PublicListener& public_listener;
        const GrpcListener& grpc;
        ReloadOutcome& reload;
    };
    explicit ProcessMetrics(const Uses& uses) : uses_(uses) {}

    std::string_view name() const override { return "process metrics"; }
    Result<void> start() override;
    void add_metrics(core::MetricsPage& page) override;
    void stop(Deadline deadline) override;

private:
    void probe_loops();
    void append_process(std::string& out) const;
    void append_certificates(std::string& out) const;
    void append_refusals(std::string& out) const;
    void append_loops(std::string& out) const;

    const Uses uses_;
    SystemTime started_{};
    std::vector<std::shared_ptr<std::atomic<std::int64_t>>> lags_;  ///< by loop, nanoseconds
    std::unique_ptr<net::Periodic> probe_;                          ///< on the first loop
};

}  // namespace crab::gateway
