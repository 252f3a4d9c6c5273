#include "adapters/sw4rm/call_summary.hpp"

#include "json/writer.hpp"

namespace crab::sw4rm {
namespace {

/// `extras` null: there are none.
void append_policy(json::Writer& writer, const core::EffectivePolicy& policy,
                   const core::ResultExtras* extras) {
    writer.key("policy").begin_object();
    append_members(writer, policy);
    writer.key("unenforced").begin_array();
    if (extras != nullptr) {
        for (const std::string& label : extras->unenforced) writer.string(label);
    }
    writer.end_array();
    if (extras != nullptr && !extras->place.empty()) writer.key("worktree").string(extras->place);
    writer.end_object();
}

}  // namespace

std::string call_summary(const SummaryFacts& facts) {
    std::string text;
    json::Writer writer(text);
    writer.begin_object()
        .key("status")
        .string(facts.status)
        .key("frames")
        .unsigned_integer(facts.frames);
    writer.key("bytes").unsigned_integer(facts.bytes);
    writer.key("duration_ms")
        .integer(std::chrono::duration_cast<Milliseconds>(facts.end.duration).count());
    if (facts.end.attempts > 0) writer.key("attempts").unsigned_integer(facts.end.attempts);
    const core::ToolResult* const result =
        facts.end.outcome && *facts.end.outcome ? &**facts.end.outcome : nullptr;
    if (result != nullptr) {
        const core::Usage& usage = result->usage;
        if (usage.cpu.count() > 0) writer.key("cpu_ms").integer(usage.cpu.count());
        if (usage.wall.count() > 0) writer.key("wall_ms").integer(usage.wall.count());
        if (usage.peak_memory_bytes > 0)
            writer.key("peak_memory_bytes").unsigned_integer(usage.peak_memory_bytes);
        if (usage.exit_status) writer.key("exit_status").integer(*usage.exit_status);
    }
    if (facts.end.replayed) writer.key("replayed").boolean(true);
    if (facts.partial_result) writer.key("partial_result").boolean(true);
    if (facts.end.policy)
        append_policy(writer, *facts.end.policy, result ? result->extras.get() : nullptr);
    writer.end_object();
    return text;
}

}  // namespace crab::sw4rm
