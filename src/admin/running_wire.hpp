#pragma once

#include "core/call/running_calls.hpp"
#include "json/writer.hpp"

namespace crab::admin {

/// A running call as `{"call_id":…,"tool":…,"principal":…,"front":…,"stage":…,"started_at":…,
/// "elapsed_ms":…,"running":true}`.
void append_running(json::Writer& writer, const core::RunningCallInfo& call);

}  // namespace crab::admin
