#include "hosts/memory/memory_host.hpp"

#include "core/pipeline/test_host_pipeline.hpp"
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

struct MemoryStores {
    CountingStore store;
};

struct MemoryHostTest : MemoryStores, core::TestHostPipeline, testing::Test {
    core::PrincipalRef ann = core::principal_of("caller/ann");

    MemoryHostTest() {
        serve(memory_tools(),
              std::make_shared<MemoryHost>(store, host_pool, loop.clock, host_ids,
                                           [this]() -> TimerWheel& { return loop.timers; }),
              {});
    }
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
        expect_timeout(std::move(made), ann);
    }
    go_on.set_value();
    host_pool.settle();
    EXPECT_EQ(store.asked, 0u) << "nothing was done for those that had left";
}

}  // namespace
}  // namespace crab::memory
