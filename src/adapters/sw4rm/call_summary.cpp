#include "adapters/sw4rm/call_summary.hpp"

#include "json/writer.hpp"

namespace crab::sw4rm {

std::string call_summary(const SummaryFacts& facts) {
    std::string text;
    json::Writer writer(text);
    writer.begin_object().key("status").string(facts.status).key("frames").unsigned_integer(facts.frames);
    writer.key("bytes").unsigned_integer(facts.bytes);
    writer.key("duration_ms").integer(std::chrono::duration_cast<Milliseconds>(facts.end.duration).count());
    if (facts.end.outcome && *facts.end.outcome) {
        const core::Usage& usage = (*facts.end.outcome)->usage;
        if (usage.cpu.count() > 0) writer.key("cpu_ms").integer(usage.cpu.count());
    }
    if (facts.end.replayed) writer.key("replayed").boolean(true);
    if (facts.partial_result) writer.key("partial_result").boolean(true);
    writer.end_object();
    return text;
}

}  // namespace crab::sw4rm
