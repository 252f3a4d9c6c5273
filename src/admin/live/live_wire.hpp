#pragma once

#include "admin/presence.hpp"
#include "core/call/running_calls.hpp"
#include "core/live/call_sampler.hpp"
#include "core/live/call_stats.hpp"
#include "json/writer.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace crab::admin {

/// Calls of the time since the event before.
struct CallsEvent {
    core::CallSampler::Taken taken;
    std::uint64_t unrecorded = 0;  ///< calls without a record, which no filter sees
    Milliseconds interval{0};
};
/// `{"interval_ms":…,"total":…,"unrecorded":…,"by_status":{…},"p50_us":…,"p99_us":…,"rows":[…],
/// "left_out":…}`.
void append_calls(json::Writer& writer, const CallsEvent& event);

/// Calls that run: how many, and those that have run for longest.
struct RunningSummary {
    std::size_t count = 0;
    std::vector<core::RunningCallInfo> oldest{};
};
/// `{"count":…,"oldest":[…]}`.
void append_summary(json::Writer& writer, const RunningSummary& running);

/// By principal: what a `device` event says, JSON.
using DeviceRows = std::map<std::string, std::string>;
/// Of devices and callers that are connected now; several connections of one are one row.
DeviceRows device_rows(std::span<const Presence> connected);
/// Of one that is gone.
std::string gone_device(std::string_view principal);

/// A row of `/v1/admin/stats`: sums, percentiles, and microseconds that a call spent in each stage
/// on the average.
void append_stats_row(json::Writer& writer, const core::CallStats::Row& row);

}  // namespace crab::admin
