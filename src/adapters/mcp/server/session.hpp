#pragma once

#include "adapters/mcp/server/client_identity.hpp"
#include "adapters/mcp/server/session_stream.hpp"
#include "adapters/mcp/wire/capabilities.hpp"
#include "adapters/mcp/wire/catalogs.hpp"
#include "adapters/mcp/wire/request_id.hpp"
#include "adapters/mcp/wire/revision.hpp"
#include "base/byte_budget.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "core/call/principal.hpp"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

namespace crab::mcp {

/// A request that runs: how to end it from another event loop. `signal` and `cancelled` belong to
/// the thread of `home`.
struct RunningRequest {
    explicit RunningRequest(const Executor& executor) : home(executor) {}
    const Executor home;
    CancelSignal* signal = nullptr;  ///< null: it does not run yet, or no longer
    bool cancelled = false;
};

/// A request to a client, as long as who asks waits. Any number of threads.
class AskedClient {
public:
    AskedClient(RequestId of, std::shared_ptr<RemoteWaiter> waiter)
        : id(std::move(of)), waiter_(std::move(waiter)) {}
    const RequestId id;

    /// The client's result or error; the first one counts.
    void answer(Result<std::string> answer);
    /// Nothing while there is none.
    std::optional<Result<std::string>> take();
    void wake() { waiter_->wake(); }

private:
    const std::shared_ptr<RemoteWaiter> waiter_;
    std::mutex mutex_;
    std::optional<Result<std::string>> answer_;
};

/// A session of a legacy client, from `initialize` to its end; its connections may be on several
/// event loops. Any number of threads. Source: docs/protocols/mcp.md, section 2.4.
class Session {
public:
    static constexpr std::size_t kMostRequests = 256;
    static constexpr std::size_t kMostStreams = 256;  ///< that are kept for resuming
    static constexpr std::size_t kMostWatches = 256;
    static constexpr Milliseconds kStreamsKept{5 * 60 * 1000};

    struct Facts {
        std::string id;  ///< a secret of its client: nobody else is told
        std::uint64_t number = 0;  ///< later ones have a higher one
        std::string label;  ///< names it in records and to tool hosts; says nothing of the id
        std::string principal, tenant;  ///< whose session it is
        std::string credential;  ///< with which it was opened; may be empty
        Revision revision = Revision::k2025_11_25;
        ClientCapabilities capabilities;
        ClientIdentity client;
        std::string scope;  ///< at whose endpoint it was opened
        bool sse = false;  ///< HTTP+SSE: opened by GET, on whose stream all its answers come
    };
    /// `replies`: what is kept for resuming, of this session and others; null: without limit.
    Session(Facts facts, const Clock& clock, std::shared_ptr<ByteBudget> replies = nullptr)
        : facts_(std::move(facts)),
          clock_(clock),
          replies_(std::move(replies)),
          complete_(!facts_.sse),
          used_at_(clock.steady_now()) {}

    const Facts& facts() const { return facts_; }
    /// HTTP+SSE: what `initialize` has said of its client, which is not in facts() before. False,
    /// and nothing done, when it was said before.
    bool complete(Revision revision, const ClientCapabilities& capabilities, ClientIdentity client);
    bool is_complete() const { return complete_; }
    bool is_of(const core::Principal& principal) const {
        return principal.id == facts_.principal && principal.tenant.text() == facts_.tenant;
    }

    /// Whether a request with this id runs.
    bool runs(const RequestId& id) const;
    void set_log_level(std::string level);
    std::string log_level() const;

    /// A request begins. Errors: kConflict when one of this id runs; kRateLimited when too many do;
    /// kCancelled once the session has ended.
    Result<std::shared_ptr<RunningRequest>> begin(const RequestId& id, const Executor& home);
    void finish(const RequestId& id);
    /// Cancels a request that runs; nothing when there is none.
    void cancel(const RequestId& id);

    /// A request to the client begins, under a new id; null once the session has ended. `waiter` is
    /// woken when it is answered or the session ends.
    std::shared_ptr<AskedClient> ask(std::shared_ptr<RemoteWaiter> waiter);
    void forget(const AskedClient& asked);
    /// A response of the client; one that nobody waits for is dropped.
    void take_response(const RequestId& id, Result<std::string> answer);

    /// A watched resource, and what it takes of the budget of who watches.
    struct Watched {
        HeldBytes bytes;
        ResourceWatches::Handle handle;
    };
    /// Keeps it, in the place of one of this URI; false when it has too many.
    bool watch(const std::string& uri, Watched watched);
    void unwatch(const std::string& uri);

    /// The stream of GET.
    SessionStream& events() { return *events_; }
    std::shared_ptr<SessionStream> shared_events() const { return events_; }
    /// A stream for the answer to a POST; null once the session has ended.
    std::shared_ptr<SessionStream> open_stream();
    /// Null when it is unknown or was dropped. 0 is that of GET, which is found by events().
    std::shared_ptr<SessionStream> find_stream(std::uint64_t number);
    /// Drops streams that are over, the oldest first, until an event of so many bytes can be kept.
    void make_room_for(std::size_t bytes);
    /// Drops the streams that were kept for long enough.
    void sweep();

    /// Ends it: cancels what runs, closes its streams.
    void end();
    bool ended() const;
    /// Nothing of it was used since then; nothing while a stream or request is under way.
    std::optional<SteadyTime> idle_since() const;

    /// Keeps the session from becoming idle.
    class Use {
    public:
        explicit Use(std::shared_ptr<Session> session);
        Use(const Use&) = delete;
        Use& operator=(const Use&) = delete;
        ~Use();

    private:
        std::shared_ptr<Session> session_;
    };

private:
    void forget_old_streams();

    Facts facts_;  ///< as they were at the start, but for what complete() sets
    const Clock& clock_;
    const std::shared_ptr<ByteBudget> replies_;
    const std::shared_ptr<SessionStream> events_ = std::make_shared<SessionStream>(
        0, replies_,
        facts_.sse ? SessionStream::Keeps::kUntilTaken : SessionStream::Keeps::kForResuming);
    std::atomic<bool> complete_;
    mutable std::mutex mutex_;
    bool ended_ = false;
    std::string log_level_ = "info";
    std::unordered_map<RequestId, std::shared_ptr<RunningRequest>, RequestIdHash> running_;
    std::map<std::uint64_t, std::shared_ptr<SessionStream>> streams_;
    std::uint64_t last_stream_ = 0, last_asked_ = 0;
    std::unordered_map<RequestId, std::shared_ptr<AskedClient>, RequestIdHash> asked_;
    std::map<std::string, Watched, std::less<>> watches_;  // by the client's URI
    std::atomic<std::size_t> uses_ = 0;
    std::atomic<SteadyTime> used_at_;
};

}  // namespace crab::mcp
