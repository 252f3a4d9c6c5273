#include "admin/running_wire.hpp"

namespace crab::admin {

void append_running(json::Writer& writer, const core::RunningCallInfo& call) {
    writer.begin_object()
        .key("call_id")
        .string_lossy(call.call_id)
        .key("tool")
        .string_lossy(call.tool)
        .key("principal")
        .string(call.principal);
    writer.key("front")
        .string(call.front)
        .key("stage")
        .string(core::name_of(call.stage))
        .key("started_at")
        .string(to_rfc3339(call.started_at));
    writer.key("elapsed_ms")
        .integer(call.elapsed.count())
        .key("running")
        .boolean(true)
        .end_object();
}

}  // namespace crab::admin
