#pragma once

#include "agent/model_client.hpp"
#include "base/clock.hpp"
#include "core/chat/turn.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace crab::agent {

/// A turn that is over, as spans are made of it: one of the turn, under it one of each request to a
/// model. Has nothing that was said.
struct TracedTurn {
    struct Request {
        std::string span_id;
        std::string provider, model;  ///< the one that was asked first
        std::string answered_by;  ///< the model that answered; empty: none did
        std::chrono::nanoseconds from{0}, to{0};  ///< since the turn began
        std::int64_t input_tokens = 0, output_tokens = 0;
        std::string_view error;  ///< its code; empty: none
    };
    std::string trace_id, span_id;
    std::string parent_id{};  ///< the asker's span; empty: it named none
    std::string turn_id, session_id, agent, principal, front;
    SystemTime started{};
    std::chrono::nanoseconds took{0};
    std::string_view error;  ///< its code; empty: none
    std::vector<Request> requests{};
};

/// Takes the spans of turns. Thread-safe.
class TurnTracer {
public:
    virtual ~TurnTracer() = default;
    /// Whether spans of this trace are exported whatever becomes of them.
    virtual bool has(std::string_view trace_id) const = 0;
    virtual void on_turn(const TracedTurn& turn) = 0;
};

/// The spans of a running turn. Its trace is that of its calls: the asker's, else one that follows
/// from its id.
class TurnTrace {
public:
    TurnTrace(TurnTracer& tracer, const Clock& clock, const core::TurnRequest& turn,
              std::string_view agent);

    /// For the calls of the turn; holds while this object stands where it is.
    std::string_view traceparent() const { return traceparent_; }
    /// The `traceparent` for the server of the model; end_request() has to follow.
    std::string begin_request(const ModelClient& first);
    void end_request(const Result<ModelAnswer>& answer);
    /// Hands the spans over; `error` is static text.
    void end(std::string_view error);

private:
    std::chrono::nanoseconds now() const { return clock_->steady_now() - began_; }

    TurnTracer* tracer_;
    const Clock* clock_;
    SteadyTime began_;
    std::string flags_;
    TracedTurn turn_;
    std::string traceparent_;
};

}  // namespace crab::agent
