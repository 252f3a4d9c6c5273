#pragma once

#include "base/task/blocking_pool.hpp"
#include "gateway/component.hpp"
#include "gateway/gateway_context.hpp"
#include "net/http/name_lookups.hpp"

#include <memory>

namespace crab::gateway {

/// Shared worker threads: for blocking work, and for name lookups, which may hang.
class Workers final : public Component {
public:
    explicit Workers(const GatewayContext& context) : context_(context) {}

    std::string_view name() const override { return "workers"; }
    Result<void> start() override;
    /// Waits for all posted work.
    void stop(Deadline deadline) override;

    BlockingPool& pool() { return *pool_; }
    net::NameLookups& names() { return *names_; }

private:
    const GatewayContext& context_;
    std::unique_ptr<BlockingPool> pool_;
    std::unique_ptr<net::NameLookups> names_;
};

}  // namespace crab::gateway
