#include "agent/turn_trace.hpp"

#include "core/call/call_span.hpp"
#include "core/call/traceparent.hpp"

#include <utility>

#include <fmt/format.h>

namespace crab::agent {

TurnTrace::TurnTrace(TurnTracer& tracer, const Clock& clock, const core::TurnRequest& turn,
                     std::string_view agent)
    : tracer_(&tracer), clock_(&clock), began_(clock.steady_now()) {
    const auto parent = core::parse_traceparent(turn.traceparent);
    turn_.trace_id = parent ? std::string(parent->trace_id) : core::trace_id_of(turn.turn_id);
    turn_.span_id = core::span_id_of(fmt::format("turn {}", turn.turn_id));
    turn_.turn_id = turn.turn_id;
    turn_.session_id = turn.session_id;
    turn_.agent = agent;
    turn_.principal = turn.principal->id;
    turn_.front = turn.front;
    turn_.started = clock.system_now();
    if (parent) {
        turn_.parent_id = parent->span_id;
        flags_ = turn.traceparent.substr(53);
    } else {
        flags_ = tracer.has(turn_.trace_id) ? "01" : "00";
    }
    traceparent_ = core::make_traceparent(turn_.trace_id, turn_.span_id, flags_);
}

std::string TurnTrace::begin_request(const ModelClient& first) {
    TracedTurn::Request& made = turn_.requests.emplace_back();
    made.span_id = core::span_id_of(fmt::format("{} {}", turn_.span_id, turn_.requests.size()));
    made.provider = first.provider();
    made.model = first.model();
    made.from = now();
    return core::make_traceparent(turn_.trace_id, made.span_id, flags_);
}

void TurnTrace::end_request(const Result<ModelAnswer>& answer) {
    TracedTurn::Request& made = turn_.requests.back();
    made.to = now();
    if (!answer) {
        made.error = token_of(answer.error().code);
        return;
    }
    made.answered_by = answer->reasoning.model;
    made.input_tokens = answer->usage.input;
    made.output_tokens = answer->usage.output;
}

void TurnTrace::end(std::string_view error) {
    turn_.took = now();
    turn_.error = error;
    tracer_->on_turn(turn_);
}

}  // namespace crab::agent
