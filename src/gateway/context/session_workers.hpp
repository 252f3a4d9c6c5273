#pragma once

#include "base/task/blocking_pool.hpp"
#include "base/task/fair_pool.hpp"
#include "gateway/context/gateway_context.hpp"

#include <memory>

namespace crab::gateway {

/// Worker threads for sessions: they store chat messages and compile tool schemas. Results are
/// delivered to event loops, so these threads stop first.
class SessionWorkers final : public Component {
public:
    std::string_view name() const override { return "session workers"; }
    Result<void> start() override {
        chats_ = std::make_unique<BlockingPool>(1);
        schemas_ = std::make_unique<FairPool>(kSchemaThreads);
        return {};
    }
    void stop(Deadline) override {
        schemas_->settle();
        chats_->settle();
    }

    BlockingPool& chats() { return *chats_; }
    FairPool& schemas() { return *schemas_; }

private:
    // for compiling the schemas of peers' tools
    static constexpr std::size_t kSchemaThreads = 2;

    std::unique_ptr<BlockingPool> chats_;
    std::unique_ptr<FairPool> schemas_;
};

}  // namespace crab::gateway
