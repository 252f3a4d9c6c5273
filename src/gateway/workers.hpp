#pragma once

#include "base/task/blocking_pool.hpp"
#include "gateway/component.hpp"
#include "gateway/gateway_context.hpp"
#include "net/http/name_lookups.hpp"

#include <memory>

namespace crab::gateway {

/// Worker threads that many components use: for what blocks, and for names of servers, whose
/// lookups may hang.
class Workers final : public Component {
public:
    explicit Workers(const GatewayContext& context) : context_(context) {}

    std::string_view name() const override { return "workers"; }
    Result<void> start() override;
    /// Waits for all that was given to them.
    void stop(Deadline deadline) override;

    BlockingPool& pool() { return *pool_; }
    net::NameLookups& names() { return *names_; }

private:
    const GatewayContext& context_;
    std::unique_ptr<BlockingPool> pool_;
    std::unique_ptr<net::NameLookups> names_;
};

}  // namespace crab::gateway
