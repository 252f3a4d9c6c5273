#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Server-sent events (WHATWG HTML, section 9.2), both directions. Content type:
/// `text/event-stream`.
namespace crab::net {

/// Appends one event; `type` and `id` are left out when empty, `data` may have lines, which all
/// line ends separate. False, and nothing written, when `type` or `id` holds a line end or a NUL.
[[nodiscard]] bool append_sse_event(std::string& out, std::string_view type, std::string_view id,
                                    std::string_view data);
/// An empty comment, which keeps idle connections and the proxies between them awake.
inline void append_sse_ping(std::string& out) { out += ":\n\n"; }

struct SseEvent {
    enum class Kind : std::uint8_t { kNeedMore, kEvent, kRefused };

    Kind kind = Kind::kNeedMore;
    std::string_view type{};  ///< `message` when the sender named none
    std::string_view data{};  ///< its lines joined with LF
    std::string_view id{};    ///< the last id seen on this stream, not only this event's
};

/// Reads a stream of events. The views of an event are valid until the following next(). One that
/// is larger than the limit is refused, and so is all that follows: the connection is of no more
/// use.
class SseParser {
public:
    explicit SseParser(std::size_t max_event_bytes = 1024 * 1024)
        : max_event_bytes_(max_event_bytes) {}

    /// Consumes from the front of `in` up to the end of the next event. An event that the stream's
    /// end cuts off is none.
    SseEvent next(std::string_view& in);
    /// The delay before reconnecting that the sender asked for, if it did.
    std::optional<std::chrono::milliseconds> retry() const { return retry_; }
    /// For `Last-Event-ID` when reconnecting: of the last event that ended, with data or without.
    /// An event that was cut off does not count, for it has to come again.
    const std::string& last_id() const { return last_id_; }

private:
    bool end_line(std::string_view line);
    void field(std::string_view name, std::string_view value);

    std::size_t max_event_bytes_;
    std::string line_;  // so far, of a line that is not complete
    std::string type_;
    std::string data_;  // each line with its LF
    std::string id_;  // what an `id` line set, for the event that it is in and later ones
    std::string last_id_;  // the same when an event last ended
    std::optional<std::chrono::milliseconds> retry_;
    bool first_line_ = true;
    bool after_cr_ = false;
    bool delivered_ = false;
    bool refused_ = false;
};

}  // namespace crab::net
