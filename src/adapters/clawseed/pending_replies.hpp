#pragma once

#include "base/clock.hpp"
#include "base/id.hpp"
#include "base/task/waiter.hpp"
#include "core/call/admitted_call.hpp"
#include "core/call/artifact.hpp"
#include "core/call/frame_sink.hpp"
#include "core/call/tool_result.hpp"
#include "net/loop/event_loop.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::clawseed {

class DeviceHost;

/// How a connection ended, for its unanswered calls.
enum class LinkEnd : std::uint8_t { kBroken, kGoodbye };

/// A call that waits for a device's reply; lives in the waiting coroutine's frame, on its loop.
/// Members that replies write are guarded by the table's mutex.
struct PendingReply {
    PendingReply(net::EventLoop& loop, core::FrameSink& frames)
        : home(loop), waiter(loop.timers()), sink(frames) {}
    net::EventLoop& home;
    Waiter waiter;
    core::FrameSink& sink;
    std::uint64_t tag = 0;  ///< set by PendingReplies::add()
    UuidText id;  ///< of the request; set by PendingReplies::add()
    /// Its id was given: the device keeps its answer until that is recorded
    bool is_named = false;
    std::function<void()> acknowledge;  ///< of a named one, what tells the device so
    const core::AdmittedCall* call = nullptr;  ///< null in tests that need none
    std::vector<core::Artifact> artifacts;  ///< uploaded for it so far
    /// Of the device process that received it, if the request can be sent again; else empty
    std::string instance;
    /// Of the connection on which it was sent again; null: the original one
    std::shared_ptr<DeviceHost> carrier;
    /// Written to an earlier connection, so it may have been seen even if a later write fails
    bool maybe_seen = false;
    ConnectionId sent_on{};
    std::uint64_t starts_at = 0;  ///< position of the request in its connection's outgoing bytes
    std::optional<core::Outcome> answer;
    /// When its connection broke; a reply may still come on another
    std::optional<SteadyTime> broken_at;
    /// A link at another node of the fleet has the request
    bool held_elsewhere = false;
    bool link_ended = false;  ///< meanwhile
    bool accepted = false;
    SteadyTime last_progress{};
};

/// The calls in flight to one chat session of one principal. A reply may come on any of its
/// connections, on any event loop; unexpected replies are ignored. Thread-safe; `discard` gets the
/// ids of artifacts that no result referenced, on any thread. Source: docs/protocols/clawseed.md,
/// section 4.
class PendingReplies : public std::enable_shared_from_this<PendingReplies> {
public:
    using Discard = std::function<void(std::vector<std::string> artifact_ids)>;
    explicit PendingReplies(Discard discard = {}) : discard_(std::move(discard)) {}

    /// Adds a waiting call and returns its tag, which goes into the request's id
    /// (IdSource::uuid_v7) and never repeats.
    std::uint64_t add(PendingReply& reply);
    /// The same under this id, by which it is found. False: a call of that id waits already.
    bool add(PendingReply& reply, const UuidText& id);
    /// The tag of the call that waits for this reply; nothing: none does, as far as is known.
    std::optional<std::uint64_t> tag_of(std::string_view request_id) const;
    /// Whether a call of this given id waits: what answers it is acknowledged by `acknowledge` of
    /// acknowledge_later(), on any thread, when that is recorded.
    bool is_named(std::string_view request_id) const;
    void acknowledge_later(std::string_view request_id, std::function<void()> acknowledge);
    /// Removes a call; called on its home loop whenever its wait ends.
    void remove(std::uint64_t tag);

    /// Delivers a reply. False when no call waits for it.
    bool resolve(std::uint64_t tag, core::Outcome outcome);
    void accept(std::uint64_t tag);
    void progress(std::uint64_t tag, core::Progress progress, SteadyTime now);
    /// The request was written at this position of that connection, to a device of this instance.
    void sent(std::uint64_t tag, ConnectionId connection, std::uint64_t starts_at,
              std::string_view instance = {});
    /// The device process `instance` has reconnected on `connection`: moves its unanswered calls
    /// there and returns them, to be sent again under the same ids. `carrier` sends their cancels
    /// from now on. One whose right to be sent has lapsed stays with its broken connection.
    struct UnansweredCall {
        std::uint64_t tag = 0;
        UuidText id;
        std::string tool, args, principal, agent, traceparent;
        Deadline deadline = kNoDeadline;
        core::RightToSend right;
    };
    std::vector<UnansweredCall> resume(std::string_view instance, ConnectionId connection,
                                       const std::shared_ptr<DeviceHost>& carrier);
    /// What `instance` has not answered, to be sent again by another node of the fleet, at which
    /// the device is linked now. From now on it may have been seen.
    std::vector<UnansweredCall> unanswered(std::string_view instance);
    /// While a link at another node has the request, the end of its own is no end.
    void set_held_elsewhere(std::string_view request_id, bool held, SteadyTime now);
    bool waits_for(std::string_view request_id) const;
    /// Delivers a reply that came at another node. False when no call waits for it.
    bool resolve(std::string_view request_id, core::Outcome outcome);
    /// `connection` is closed after `written` bytes were handed to the kernel. Requests beyond that
    /// were never delivered.
    void connection_ended(ConnectionId connection, std::uint64_t written, LinkEnd end,
                          SteadyTime now);

    /// What an upload needs to know about the call behind a request id; nothing when no such call
    /// waits.
    struct WaitingCall {
        std::string tenant, caller, call_id, tool;
        std::size_t artifacts = 0;
    };
    std::optional<WaitingCall> find_call(std::string_view request_id) const;
    /// Attaches a completed upload. False when the call no longer waits.
    bool attach(std::string_view request_id, core::Artifact artifact);
    /// The outcome of a call that is answered with one of its uploads; kInternal when it has no
    /// such artifact.
    core::Outcome claim_artifact(std::uint64_t tag, std::string_view artifact_id);

    /// What has arrived for `reply`; its owner checks whenever it wakes. With an answer it is
    /// removed, and `reply.answer` is its owner's.
    struct Update {
        bool answered = false;
        std::optional<SteadyTime> broken_at;
        bool accepted = false;
        std::shared_ptr<DeviceHost> carrier;
    };
    Update take_update(PendingReply& reply);

    std::size_t size() const;

private:
    struct Slot {
        PendingReply* reply = nullptr;
        std::uint32_t generation = 0;
    };
    PendingReply* find(std::uint64_t tag) const;  // with mutex_ held
    PendingReply* find(std::string_view request_id) const;  // with mutex_ held
    /// Whether it may be sent again to `instance`; with mutex_ held.
    static bool is_unanswered(const PendingReply* reply, std::string_view instance);
    static UnansweredCall to_send_again(const PendingReply& reply);
    void wake(std::uint64_t tag, net::EventLoop& home);
    /// Removes a call, with mutex_ held, and returns the artifacts that no result referenced.
    std::vector<std::string> release(std::uint64_t tag);

    const Discard discard_;
    mutable std::mutex mutex_;
    std::vector<Slot> slots_;
    std::vector<std::uint32_t> free_;
    std::size_t used_ = 0;
    std::map<std::string, std::uint64_t, std::less<>> named_;  ///< tags of given ids
    std::atomic<std::size_t> named_count_{0};  ///< so that without any nothing is locked
};

}  // namespace crab::clawseed
