#pragma once

#include "base/byte_budget.hpp"
#include "base/task/waiter.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace crab::mcp {

/// `<stream>-<n>`, unique in its session.
struct EventId {
    std::uint64_t stream = 0;
    std::uint64_t number = 0;
    static std::optional<EventId> parse(std::string_view text);
    std::string text() const;
};

/// The events of one stream of a legacy session, of a POST's answer or of GET, kept for a while for
/// who resumes after a broken connection. One reader at a time takes them; the newest one counts.
/// What the budget has no room for is there until the reader has taken it, and not kept. The stream
/// of HTTP+SSE is not resumed: its events have no ids and are kept until they are taken, and one
/// that the budget has no room for is the end of the stream. Any number of threads. Source:
/// docs/protocols/mcp.md, sections 2.4, "Resuming", and 2.7.
class SessionStream {
public:
    static constexpr std::size_t kMostEvents = 256;
    static constexpr std::size_t kMostBytes = std::size_t{1} << 20;
    using ReaderId = std::uint64_t;

    static constexpr std::size_t kPerEvent = 64;  ///< bytes that one takes beside its text

    enum class Keeps : std::uint8_t { kForResuming, kUntilTaken };
    static constexpr std::size_t kTakenAtOnce = std::size_t{64} << 10;  ///< of kUntilTaken

    explicit SessionStream(std::uint64_t number, std::shared_ptr<ByteBudget> budget = nullptr,
                           Keeps keeps = Keeps::kForResuming)
        : number_(number), keeps_(keeps), kept_(std::move(budget)) {}
    std::uint64_t number() const { return number_; }

    /// A new reader, in the place of the one before, which is woken. `waiter` is woken when there
    /// is something to take; null: the reader looks by itself.
    ReaderId attach(std::shared_ptr<RemoteWaiter> waiter);
    /// The reader has gone; nothing when it was replaced already.
    void detach(ReaderId reader);
    /// Number of the newest event; 0: there was none.
    std::uint64_t last() const;

    /// Adds a message as an event.
    void add(std::string_view message);
    /// The same if somebody reads; false, and nothing kept, else.
    bool add_if_read(std::string_view message);
    /// Adds an event with an id and no data.
    void add_priming();
    /// Nothing more comes.
    void close(SteadyTime now);
    /// When it was closed.
    std::optional<SteadyTime> closed_at() const;

    struct Taken {
        std::string bytes;  ///< server-sent events
        std::uint64_t last = 0;  ///< number of the last event taken
        bool replaced = false;  ///< another reader has come: the asking one ends
        bool ended = false;  ///< closed, and all is taken
        bool more = false;  ///< there is more than is taken at once
    };
    /// What `reader` has not taken yet: the events after number `after`. Those up to it are on
    /// their way, which counts for kUntilTaken.
    Taken take(ReaderId reader, std::uint64_t after);
    /// It was closed, or an event was lost.
    bool is_over() const;
    /// Whether one who has seen event `number` can be given all that followed.
    bool can_resume(std::uint64_t number) const;

private:
    struct Event {
        std::uint64_t number;
        std::string bytes;
    };
    void keep(std::string bytes);
    void keep_for_resuming();
    void drop_oldest();
    bool fits();
    void add_message(std::string_view message);
    std::string next_id() const { return EventId{number_, last_ + 1}.text(); }

    const std::uint64_t number_;
    const Keeps keeps_;
    mutable std::mutex mutex_;
    std::deque<Event> events_;
    std::size_t bytes_ = 0;
    HeldBytes kept_;
    bool passing_ = false;  // what there is goes with who takes it
    bool lost_ = false;  // an event, of kUntilTaken
    std::uint64_t last_ = 0;
    ReaderId reader_ = 0;  // 0: nobody
    ReaderId readers_ = 0;
    std::shared_ptr<RemoteWaiter> waiter_;
    std::atomic<SteadyTime> closed_at_ = SteadyTime::max();  // max: it is open
};

}  // namespace crab::mcp
