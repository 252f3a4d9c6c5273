#pragma once

#include "base/clock.hpp"
#include "base/id.hpp"
#include "base/task/waiter.hpp"
#include "core/call/admitted_call.hpp"
#include "core/call/artifact.hpp"
#include "core/call/frame_sink.hpp"
#include "core/call/tool_result.hpp"
#include "net/loop/event_loop.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::clawseed {

class DeviceHost;

/// How a connection ended, as far as its unanswered calls care.
enum class LinkEnd : std::uint8_t { kBroken, kGoodbye };

/// A call that waits for a device's reply; it lives in the coroutine that waits, on that
/// coroutine's loop. What the reply's side writes is guarded by the table's mutex.
struct PendingReply {
    PendingReply(net::EventLoop& loop, core::FrameSink& frames)
        : home(loop), waiter(loop.timers()), sink(frames) {}
    net::EventLoop& home;
    Waiter waiter;
    core::FrameSink& sink;
    UuidText id;  ///< of the request; set by PendingReplies::add()
    const core::AdmittedCall* call = nullptr;  ///< null in tests that need none
    std::vector<core::Artifact> artifacts;  ///< uploaded for it so far
    /// Of the device that has got it, if that can be asked again; else empty
    std::string instance;
    /// Of the connection on which it was asked again; null: where it began
    std::shared_ptr<DeviceHost> carrier;
    /// It was handed to an earlier connection, so no later one proves that it was not
    bool maybe_seen = false;
    ConnectionId sent_on{};
    std::uint64_t starts_at = 0;  ///< position of the request in its connection's outgoing bytes
    std::optional<core::Outcome> answer;
    std::optional<SteadyTime> broken_at;  ///< its link broke; a reply may still come on another
    bool accepted = false;
    SteadyTime last_progress{};
};

/// The calls out to one chat session of one principal. Any of its connections may bring a reply, on
/// any event loop; a reply that nobody waits for does no harm. Thread-safe; `discard` gets the ids
/// of artifacts that no result named, on any thread. Source: docs/protocols/clawseed.md, section 4.
class PendingReplies : public std::enable_shared_from_this<PendingReplies> {
public:
    using Discard = std::function<void(std::vector<std::string> artifact_ids)>;
    explicit PendingReplies(Discard discard = {}) : discard_(std::move(discard)) {}

    /// Adds a waiting call and returns its tag, which goes into the request's id
    /// (IdSource::uuid_v7) and never repeats.
    std::uint64_t add(PendingReply& reply);
    /// The call waits no more; called on its home loop, on every way out.
    void remove(std::uint64_t tag);

    /// A reply has come. False when nobody waits for it.
    bool resolve(std::uint64_t tag, core::Outcome outcome);
    void accept(std::uint64_t tag);
    void progress(std::uint64_t tag, core::Progress progress, SteadyTime now);
    /// The request was written at this position of that connection, to a device of this instance.
    void sent(std::uint64_t tag, ConnectionId connection, std::uint64_t starts_at,
              std::string_view instance = {});
    /// A device of this instance is back on `connection`: its unanswered calls of other connections
    /// belong to this one now, and are to be asked again with the same ids. `carrier` sends their
    /// cancels from here on.
    struct Unanswered {
        std::uint64_t tag = 0;
        UuidText id;
        std::string tool, args, principal, agent;
        Deadline deadline = kNoDeadline;
    };
    std::vector<Unanswered> resume(std::string_view instance, ConnectionId connection,
                                   const std::shared_ptr<DeviceHost>& carrier);
    /// `connection` is gone; it had handed `written` bytes to the kernel. Requests behind that were
    /// never delivered.
    void connection_ended(ConnectionId connection, std::uint64_t written, LinkEnd end,
                          SteadyTime now);

    /// The call behind a request's id, as far as an upload for it has to know it; nothing when
    /// nobody waits for it.
    struct WaitingCall {
        std::string tenant, call_id, tool;
        std::size_t artifacts = 0;
    };
    std::optional<WaitingCall> find_call(std::string_view request_id) const;
    /// An upload for it is complete. False when nobody waits any more.
    bool attach(std::string_view request_id, core::Artifact artifact);
    /// The call is answered with an artifact of its own; kInternal when it has none of that id.
    core::Outcome claim_artifact(std::uint64_t tag, std::string_view artifact_id);

    /// What has come for `reply` so far; its owner asks whenever it wakes.
    struct News {
        std::optional<core::Outcome> answer;
        std::optional<SteadyTime> broken_at;
        bool accepted = false;
        std::shared_ptr<DeviceHost> carrier;
    };
    News take_news(PendingReply& reply);

    std::size_t size() const;

private:
    struct Slot {
        PendingReply* reply = nullptr;
        std::uint32_t generation = 0;
    };
    PendingReply* find(std::uint64_t tag) const;  // with mutex_ held
    PendingReply* find(std::string_view request_id) const;  // with mutex_ held
    void wake(std::uint64_t tag, net::EventLoop& home);

    const Discard discard_;
    mutable std::mutex mutex_;
    std::vector<Slot> slots_;
    std::vector<std::uint32_t> free_;
    std::size_t used_ = 0;
};

}  // namespace crab::clawseed
