#include "adapters/sw4rm/call_summary.hpp"

#include "json/writer.hpp"

namespace crab::sw4rm {
namespace {

void append_policy(json::Writer& writer, const core::EffectivePolicy& policy, const std::vector<std::string>& unenforced) {
    writer.key("policy").begin_object().key("timeout_ms").integer(policy.timeout.count()).key("max_retries").unsigned_integer(policy.max_retries);
    writer.key("backoff").string(name_of(policy.backoff)).key("worktree_required").boolean(policy.worktree_required);
    writer.key("network_policy").string(name_of(policy.network)).key("privilege_level").string(name_of(policy.privilege));
    writer.key("budget_cpu_ms").integer(policy.budget_cpu.count()).key("budget_wall_ms").integer(policy.budget_wall.count());
    writer.key("clamped").begin_array();
    for (const std::string_view field : policy.clamped) writer.string(field);
    writer.end_array().key("unenforced").begin_array();
    for (const std::string& label : unenforced) writer.string(label);
    writer.end_array().end_object();
}

}  // namespace

std::string call_summary(const SummaryFacts& facts) {
    std::string text;
    json::Writer writer(text);
    writer.begin_object().key("status").string(facts.status).key("frames").unsigned_integer(facts.frames);
    writer.key("bytes").unsigned_integer(facts.bytes);
    writer.key("duration_ms").integer(std::chrono::duration_cast<Milliseconds>(facts.end.duration).count());
    if (facts.end.attempts > 0) writer.key("attempts").unsigned_integer(facts.end.attempts);
    if (facts.end.outcome && *facts.end.outcome) {
        const core::Usage& usage = (*facts.end.outcome)->usage;
        if (usage.cpu.count() > 0) writer.key("cpu_ms").integer(usage.cpu.count());
        if (usage.exit_status) writer.key("exit_status").integer(*usage.exit_status);
    }
    if (facts.end.replayed) writer.key("replayed").boolean(true);
    if (facts.partial_result) writer.key("partial_result").boolean(true);
    const bool has_result = facts.end.outcome && *facts.end.outcome;
    if (facts.end.policy) append_policy(writer, *facts.end.policy, has_result ? (*facts.end.outcome)->unenforced : std::vector<std::string>{});
    writer.end_object();
    return text;
}

}  // namespace crab::sw4rm
