#pragma once

#include <atomic>
#include <string>
#include <string_view>

namespace crab::core {

struct Call;

/// Whether a trace is in the share of all traces that is exported; the same for all its spans, so
/// that it is exported whole or not at all.
bool is_in_share(std::string_view trace_id, double share);

/// That share, as it is now that are exported. Thread-safe.
class TraceShare {
public:
    void set(double share) { share_.store(share, std::memory_order_relaxed); }
    bool has(std::string_view trace_id) const {
        return is_in_share(trace_id, share_.load(std::memory_order_relaxed));
    }

private:
    std::atomic<double> share_{0};
};

/// What a call is known by, from which its span follows: in its audit record and while it runs.
struct CallNames {
    std::string_view call_id;
    std::string_view time;  ///< of its arrival, RFC 3339; ids alone come again
    std::string_view trace_id;  ///< of its context; may be of any form, or empty
    std::string_view traceparent;  ///< its caller's; malformed: as if there were none
};

/// Where the span of a call stands. Views into its names.
struct CallSpan {
    std::string trace_id, span_id;
    std::string_view parent;  ///< empty: it is the root
    std::string_view flags;  ///< the caller's, two hexadecimal digits; empty: it has none
    std::string_view foreign;  ///< the caller's trace id, which cannot be one here
};

CallSpan span_of(const CallNames& call);
/// Its trace id alone.
std::string trace_id_of(const CallNames& call);
/// 16 hexadecimal digits that follow from `text`.
std::string span_id_of(std::string_view text);
/// The trace of calls whose caller names theirs as `text`.
std::string trace_id_of(std::string_view text);
/// What is handed on so that a span becomes the parent of what follows.
std::string make_traceparent(std::string_view trace_id, std::string_view span_id,
                             std::string_view flags);
/// The `traceparent` of the running call's own span.
std::string own_traceparent(const Call& call, const TraceShare& share);

}  // namespace crab::core
