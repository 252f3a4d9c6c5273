#include "admin/live/live_wire.hpp"

#include "admin/running_wire.hpp"

#include <utility>

namespace crab::admin {

void append_calls(json::Writer& writer, const CallsEvent& event) {
    const core::CallSampler::Taken& taken = event.taken;
    writer.begin_object().key("interval_ms").integer(event.interval.count());
    writer.key("total").unsigned_integer(taken.total);
    writer.key("unrecorded").unsigned_integer(event.unrecorded);
    writer.key("by_status").begin_object();
    for (std::size_t i = 0; i < taken.by_status.size(); ++i) {
        if (taken.by_status[i] == 0) continue;
        writer.key(core::name_of(static_cast<core::Status>(i)))
            .unsigned_integer(taken.by_status[i]);
    }
    writer.end_object().key("p50_us").integer(taken.p50_us).key("p99_us").integer(taken.p99_us);
    writer.key("rows").begin_array();
    for (const std::string& row : taken.rows) writer.raw(row);
    writer.end_array().key("left_out").unsigned_integer(taken.left_out).end_object();
}

void append_summary(json::Writer& writer, const RunningSummary& running) {
    writer.begin_object().key("count").unsigned_integer(running.count).key("oldest").begin_array();
    for (const auto& call : running.oldest) append_running(writer, call);
    writer.end_array().end_object();
}

DeviceRows device_rows(std::span<const Presence> connected) {
    struct Merged {
        const Presence* last = nullptr;
        std::size_t connections = 0, tools = 0;
    };
    std::map<std::string_view, Merged> merged;
    for (const Presence& live : connected) {
        Merged& row = merged[live.principal];
        row.last = &live;
        ++row.connections;
        row.tools += live.tools;
    }
    DeviceRows rows;
    for (const auto& [principal, row] : merged) {
        const Presence& live = *row.last;
        json::Writer writer(rows[std::string(principal)]);
        writer.begin_object().key("principal").string_lossy(principal);
        writer.key("device").string_lossy(live.device).key("name").string_lossy(live.name);
        writer.key("connected").boolean(true);
        writer.key("connections").unsigned_integer(row.connections);
        writer.key("tools").unsigned_integer(row.tools);
        writer.key("refused_tools").unsigned_integer(live.refused.size());
        if (live.battery) writer.key("battery").number(*live.battery);
        if (live.charging) writer.key("charging").boolean(*live.charging);
        if (live.metered) writer.key("metered").boolean(*live.metered);
        if (live.foreground) writer.key("foreground").boolean(*live.foreground);
        writer.end_object();
    }
    return rows;
}

std::string gone_device(std::string_view principal) {
    std::string out;
    json::Writer writer(out);
    writer.begin_object().key("principal").string_lossy(principal);
    writer.key("connected").boolean(false).end_object();
    return out;
}

void append_stats_row(json::Writer& writer, const core::CallStats::Row& row) {
    const core::CallStats::Totals& totals = row.totals;
    writer.begin_object().key("key").string_lossy(row.key);
    writer.key("calls").unsigned_integer(totals.calls);
    writer.key("errors").unsigned_integer(totals.errors);
    writer.key("p50_us").integer(totals.latency.percentile(0.5));
    writer.key("p95_us").integer(totals.latency.percentile(0.95));
    writer.key("p99_us").integer(totals.latency.percentile(0.99));
    writer.key("stage_us").begin_object();
    for (std::size_t i = 1; i < core::kStages; ++i) {
        if (!totals.passed.test(i)) continue;
        writer.key(core::name_of(static_cast<core::Stage>(i)))
            .integer(
                static_cast<std::int64_t>(totals.stage_us[i] / static_cast<double>(totals.calls)));
    }
    writer.end_object().key("slowest").string_lossy(totals.slowest);
    writer.key("slowest_us").integer(totals.slowest_us).end_object();
}

}  // namespace crab::admin
