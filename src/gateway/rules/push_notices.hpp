#pragma once

#include "admin/push_api.hpp"
#include "core/approvals/approvals.hpp"
#include "gateway/context/gateway_context.hpp"
#include "gateway/rules/call_approvals.hpp"
#include "gateway/rules/current_rules.hpp"
#include "gateway/stored/credentials.hpp"
#include "net/loop/periodic.hpp"
#include "push/sending/push_sender.hpp"
#include "runtime/event_loops.hpp"
#include "runtime/workers.hpp"

#include <memory>
#include <mutex>
#include <optional>

namespace crab::gateway {

/// Tells subscribed browsers of operators which calls wait for a person (Web Push), while their
/// credential is good. As long as there is one, somebody can be asked. Also wakes the pages of
/// devices that a call waits for.
class PushNotices final : public Component {
public:
    struct Uses {
        const GatewayContext& context;
        Workers& workers;
        EventLoops& loops;
        Credentials& credentials;
        CallApprovals& approvals;
        CurrentRules& rules;
    };
    explicit PushNotices(const Uses& uses) : uses_(uses) {}

    std::string_view name() const override { return "push"; }
    std::span<const ConfigKey> keys() const override;
    /// Errors: those of the store and of the folder with the key.
    Result<void> start() override;
    Result<Change> prepare(const config::GatewayConfig& next) override;
    void add_metrics(core::MetricsPage& page) override;
    void add_routes(const ListenerRoutes& table) override;
    void stop(Deadline deadline) override;

private:
    Result<void> open_subscriptions();
    Result<void> open_sender();
    void on_question(const core::ApprovalQuestion& question);
    void wake(const core::Tool& tool);
    /// On the first loop.
    void count_as_watching();

    const Uses uses_;
    mutable std::mutex services_mutex_;
    push::PushServices services_;
    std::unique_ptr<push::Subscriptions> subscriptions_;
    std::optional<push::Vapid> vapid_;
    std::unique_ptr<push::PushSender> sender_;
    std::unique_ptr<admin::PushApi> api_;
    std::unique_ptr<net::Periodic> sweep_;  ///< on the first loop
    std::unique_ptr<core::Approvals::Watch> watch_;  ///< while somebody is subscribed
};

}  // namespace crab::gateway
