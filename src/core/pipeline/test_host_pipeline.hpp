#pragma once

#include "base/task/test_loop.hpp"
#include "core/call/test_tools.hpp"
#include "core/pipeline/pipeline.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace crab::core {

/// For tests of tool hosts: one behind a pipeline, which checks schemas as it does for every front.
/// The pool of the host is not that of the audit log. What the host uses outlives it.
struct TestHostPipeline {
    TestLoop loop;
    BlockingPool pool{1}, host_pool{1};
    IdSource ids{loop.clock, 1}, host_ids{loop.clock, 2};
    Registry registry;
    Published<CallRules> rules{std::make_shared<const CallRules>()};
    Ledger ledger{loop.clock, {}};
    EarlyCancels early_cancels;
    std::shared_ptr<AuditStoreMemory> audit_store = std::make_shared<AuditStoreMemory>();
    AuditLog audit{audit_store, pool, loop.clock};
    std::optional<Pipeline> pipeline;

    void serve(std::vector<ToolSpec> specs, const std::shared_ptr<ToolHost>& host, CallRules set) {
        set.policy = policy_of();
        set.rates = std::make_shared<RateLimits>(std::vector<RateRule>{});
        rules.set(std::make_shared<const CallRules>(std::move(set)));
        std::vector<ToolRef> tools;
        for (ToolSpec& spec : specs) {
            auto tool = make_tool(std::move(spec)).value();
            tool->host = host;
            registry.reserve(tool->spec.name);
            tools.push_back(std::move(tool));
        }
        registry.change(ConnectionId{}, tools, {});
        pipeline.emplace(CallServices{.clock = loop.clock,
                                      .registry = registry,
                                      .rules = rules,
                                      .ledger = ledger,
                                      .early_cancels = early_cancels,
                                      .audit = audit},
                         loop.executor(), loop.timers, ids);
    }
    /// Makes a call of one second while the host's pool does nothing.
    void expect_timeout(Call&& made, const PrincipalRef& principal) {
        made.timeout = std::chrono::seconds(1);
        FrameSink sink;
        const auto started = loop.start(pipeline->run(AuthenticatedCall(made, principal), sink));
        ASSERT_TRUE(loop.run(pool.run([] { return Result<void>{}; }))) << "it is recorded";
        loop.settle();
        EXPECT_FALSE(started->ended());
        loop.advance(std::chrono::seconds(2));
        ASSERT_TRUE(started->ended()) << made.tool;
        EXPECT_EQ(started->get().outcome->error().code, ErrorCode::kTimeout) << made.tool;
    }
    ~TestHostPipeline() { audit.flush_and_wait(); }
};

}  // namespace crab::core
