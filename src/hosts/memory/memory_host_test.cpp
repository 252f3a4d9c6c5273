#include "hosts/memory/memory_host.hpp"

#include "base/task/test_loop.hpp"
#include "core/call/test_tools.hpp"
#include "core/pipeline/pipeline.hpp"
#include "hosts/memory/memory_tools.hpp"

#include <array>
#include <future>

#include <gtest/gtest.h>

namespace crab::memory {
namespace {

using namespace std::chrono_literals;

/// Counts what it is asked.
class CountingStore final : public MemoryStore {
public:
    std::vector<Result<MemoryWritten>> write(std::span<const MemoryWrite> writes) override {
        asked += writes.size();
        return std::vector<Result<MemoryWritten>>(writes.size(), MemoryWritten{});
    }
    Result<MemoryPage> query(const MemoryScope&, const MemoryQuery&) override {
        ++asked;
        return MemoryPage{};
    }
    std::atomic<std::size_t> asked = 0;
};

/// The host behind a pipeline; its pool is not that of the audit log.
struct MemoryHostTest : testing::Test {
    TestLoop loop;
    BlockingPool pool{1};
    CountingStore store;
    BlockingPool host_pool{1};
    IdSource ids{loop.clock, 1}, host_ids{loop.clock, 2};
    core::Registry registry;
    Published<core::CallRules> rules{std::make_shared<const core::CallRules>()};
    core::Ledger ledger{loop.clock, {}};
    core::EarlyCancels early_cancels;
    core::AuditLog audit{std::make_shared<core::AuditStoreMemory>(), pool, loop.clock};
    std::shared_ptr<MemoryHost> host = std::make_shared<MemoryHost>(
        store, host_pool, loop.clock, host_ids, [this]() -> TimerWheel& { return loop.timers; });
    std::optional<core::Pipeline> pipeline;
    core::PrincipalRef ann = core::principal_of("caller/ann");

    MemoryHostTest() {
        core::CallRules set;
        set.policy = core::policy_of();
        set.rates = std::make_shared<core::RateLimits>(std::vector<core::RateRule>{});
        rules.set(std::make_shared<const core::CallRules>(std::move(set)));
        std::vector<core::ToolRef> tools;
        for (core::ToolSpec& spec : memory_tools()) {
            auto tool = core::make_tool(std::move(spec)).value();
            tool->host = host;
            registry.reserve(tool->spec.name);
            tools.push_back(std::move(tool));
        }
        registry.change(ConnectionId{}, tools, {});
        pipeline.emplace(core::CallServices{.clock = loop.clock,
                                            .registry = registry,
                                            .rules = rules,
                                            .ledger = ledger,
                                            .early_cancels = early_cancels,
                                            .audit = audit},
                         loop.executor(), loop.timers, ids);
    }
    ~MemoryHostTest() override { audit.flush_and_wait(); }
};

TEST_F(MemoryHostTest, AStoreThatHangsHoldsNoCallBeyondItsDeadline) {
    std::promise<void> go_on;
    host_pool.post([held = go_on.get_future().share()] { held.wait(); });
    for (const auto& [tool, args] : std::initializer_list<std::pair<std::string, std::string>>{
             {"memory.append", R"({"entries":[{"text":"a"}]})"},
             {"memory.query", "{}"},
             {"memory.delete", R"({"all":true})"}}) {
        core::Call made;
        made.id = tool;
        made.tool = tool;
        made.args = args;
        made.timeout = 1s;
        core::FrameSink sink;
        const auto started = loop.start(pipeline->run(core::AuthenticatedCall(made, ann), sink));
        ASSERT_TRUE(loop.run(pool.run([] { return Result<void>{}; }))) << "it is recorded";
        loop.settle();
        EXPECT_FALSE(started->ended());
        loop.advance(2s);
        ASSERT_TRUE(started->ended()) << tool;
        EXPECT_EQ(started->get().outcome->error().code, ErrorCode::kTimeout) << tool;
    }
    go_on.set_value();
    host_pool.settle();
    EXPECT_EQ(store.asked, 0u) << "nothing was done for those that had left";
}

}  // namespace
}  // namespace crab::memory
