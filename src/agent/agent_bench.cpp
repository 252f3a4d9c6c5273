// What the turn loop adds to model and tools: turns of range(0) rounds with two calls each and
// range(1) tools on offer, a model and tools that cost nothing. Time per turn; divide by the
// rounds.

#include "agent/chat_completions.hpp"
#include "agent/test_agent_world.hpp"

#include <benchmark/benchmark.h>

#include <fmt/format.h>

namespace crab::agent {
namespace {

using namespace test;

constexpr std::string_view kSchema =
    R"({"type":"object","properties":{"path":{"type":"string","description":"Where to look"},)"
    R"("limit":{"type":"integer","minimum":1,"maximum":100}},"additionalProperties":false})";

void BM_Turn(benchmark::State& state) {
    const auto rounds = static_cast<std::size_t>(state.range(0));
    log::configure(log::Level::kOff, log::Format::kText);
    RealClock clock;
    World world(clock);
    world.options.max_rounds = rounds + 1;
    for (int i = 0; i < state.range(1); ++i) {
        world.add_tool(
            fmt::format("tool_{}", i),
            [](std::string_view, const core::Principal&) -> core::Outcome {
                return core::ToolResult{.kind = core::ContentKind::kText, .content = "done"};
            },
            std::string(kSchema));
    }
    const ChatCompletions api;
    std::size_t at = 0;
    world.say = [&](const ModelRequest& request, AnswerSink& sink,
                    Deadline) -> Task<Result<ModelAnswer>> {
        // A request is written as for a real model; only the wire and the waiting are missing.
        std::vector<std::string_view> offered;
        for (const OfferedToolRef& tool : request.tools) offered.emplace_back(tool->name);
        std::string body;
        api.write(body, request, ToolNames(offered), {.model = "m", .max_output_tokens = 0});
        benchmark::DoNotOptimize(body);
        if (at++ % (rounds + 1) == rounds) {
            sink.on_text("answer");
            co_return says("answer");
        }
        co_return calls(
            {{.id = fmt::format("a{}", at), .tool = "tool_0", .args = R"({"path":"/"})"},
             {.id = fmt::format("b{}", at), .tool = "tool_1", .args = R"({"limit":3})"}});
    };
    for (auto _ : state) {
        const auto running = world.start("go");
        while (!running->answer) world.loop.run_some(1s);
        if (!*running->answer) state.SkipWithError("the turn failed");
        state.PauseTiming();
        (void)world.chats.remove(ChatSessionId("s1"));
        state.ResumeTiming();
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(rounds + 1));
}
BENCHMARK(BM_Turn)
    ->ArgNames({"rounds", "tools"})
    ->Args({1, 2})
    ->Args({10, 2})
    ->Args({10, 30})
    ->Args({10, 120})
    ->UseRealTime();

}  // namespace
}  // namespace crab::agent
