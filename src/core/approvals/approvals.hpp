#pragma once

#include "base/clock.hpp"
#include "base/ordered_mutex.hpp"
#include "base/result.hpp"
#include "base/task/task.hpp"
#include "base/task/timer_wheel.hpp"
#include "core/approvals/approval.hpp"
#include "core/approvals/approval_store.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::core {

/// Calls that wait for approval, and stored decisions for future calls. A call waits only if
/// someone can be asked: a watching operator, or the caller's side (core::Approver). Thread-safe.
/// Source: docs/protocols/sw4rm.md, section 9.
class Approvals {
public:
    /// How to treat a call when nobody can be asked: refuse it, or keep it until someone watches.
    enum class Unattended : std::uint8_t { kRefuse, kWait };
    struct Options {
        Milliseconds wait{60'000};  ///< how long a request stays open at most
        /// How long an ended request can still be decided, for a repeat of its call
        Milliseconds reprieve = std::chrono::minutes(10);
        std::size_t max_parked = 256;
        std::size_t max_parked_per_principal = 16;
        Unattended unattended = Unattended::kRefuse;
    };
    /// The current state of a request.
    struct Request {
        std::shared_ptr<const ApprovalQuestion> question;  ///< never null
        ApprovalEnd end;
    };
    /// Notified of every open request and of its end, and of decisions on ended requests. Must be
    /// quick; called from any thread, in order; must not call this object.
    class Observer {
    public:
        virtual ~Observer() = default;
        virtual void on_question(const ApprovalQuestion& question) = 0;
        virtual void on_end(const ApprovalQuestion& question, const ApprovalEnd& end) = 0;
    };

    /// Loads stored decisions. `store` and `observer` must outlive it; `observer` may be null.
    /// Errors: those of the store.
    static Result<std::unique_ptr<Approvals>> load(ApprovalStore& store, const Clock& clock,
                                                   Options options, Observer* observer = nullptr);
    ~Approvals();
    /// Applies to future requests.
    void set_options(Options options);

    /// Asks, and waits for the decision until `deadline` at most. Never fails: the result says how
    /// it ended. `caller` may be null. Cancelling the coroutine withdraws the request. On the
    /// call's loop, to which `timers` belongs.
    Task<ApprovalEnd> ask(ApprovalQuestion question, Deadline deadline, TimerWheel& timers,
                          Approver* caller);

    /// Decides an open request, or an ended one for its repeat; may block. Returns the decided
    /// request. Errors: kNotFound; kConflict when there is nothing left to decide; kInvalidArgs for
    /// scope `session` without a session; kRateLimited when too many decisions are stored; those of
    /// the store, and then nothing is decided.
    Result<Request> decide(std::string_view id, ApprovalDecision decision);
    /// A decision by someone who was asked through on_question(). False when the request is no
    /// longer open.
    bool answer(std::string_view id, bool allow, std::string_view by);
    /// A watcher will not answer: a request that nobody else can decide is refused as unattended.
    void pass(std::string_view id);
    /// Open and recently ended requests, oldest first.
    std::vector<Request> list() const;
    std::optional<Request> find(std::string_view id) const;
    std::size_t pending() const;
    /// Whether somebody can be asked now.
    struct Attendance {
        std::size_t watching = 0;  ///< operators
        bool waits = false;  ///< a call waits also when nobody watches
    };
    Attendance attendance() const;

    /// The stored decisions, oldest first.
    std::vector<RememberedApproval> remembered() const;
    /// Withdraws one; may block. Errors: kNotFound, those of the store.
    Result<RememberedApproval> forget(std::string_view id);
    /// Takes from the store what other gateways have decided for always, or withdrawn, which
    /// decides what waits here too; blocks. Errors: those of the store.
    Result<void> refresh();
    /// Withdraws the decisions for a deleted session of this principal.
    void end_session(std::string_view principal, std::string_view session);
    /// Refuses all requests of a revoked credential.
    void withdraw(std::string_view credential);
    /// Refuses all open and future requests.
    void stop();

    /// During its lifetime an operator watches.
    class Watch {
    public:
        explicit Watch(Approvals& approvals) : approvals_(approvals) { approvals_.watch(1); }
        ~Watch() { approvals_.watch(-1); }
        Watch(const Watch&) = delete;
        Watch& operator=(const Watch&) = delete;

    private:
        Approvals& approvals_;
    };

    static constexpr std::size_t kStates = 9;
    /// The number of requests that ended in this state.
    std::uint64_t ended(ApprovalState state) const;

private:
    struct Parked;
    struct Entry {
        Request request;
        SteadyTime asked, ended;
        std::shared_ptr<Parked> parked;  ///< while it is pending
    };
    using Entries = std::list<Entry>;

    Approvals(ApprovalStore& store, const Clock& clock, Options options, Observer* observer,
              std::vector<RememberedApproval> kept);
    void watch(int change);
    // Callers hold mutex_.
    std::optional<ApprovalEnd> answer_at_once(const ApprovalQuestion& question);
    std::optional<ApprovalState> refusal(const ApprovalQuestion& question,
                                         bool caller_can_be_asked) const;
    Entry* find_entry(std::string_view id);
    void settle(Entry& entry, ApprovalState state, const ApprovalDecision& decision);
    void settle_all(ApprovalState state, const ApprovalDecision& decision,
                    const std::function<bool(const ApprovalQuestion&)>& which);
    void sweep();
    std::vector<std::string> replaced_by(const RememberedApproval& decision) const;
    void remember(const RememberedApproval& decision);

    ApprovalStore& store_;
    const Clock& clock_;
    Observer* const observer_;
    /// Taken before mutex_, held during store operations.
    OrderedMutex<LockRank::kApprovalsWriting> writing_;
    mutable OrderedMutex<LockRank::kApprovals> mutex_;  ///< never held during store operations
    Options options_;
    Entries entries_;  ///< oldest first
    std::vector<RememberedApproval> remembered_;
    std::array<std::uint64_t, kStates> ended_{};
    std::size_t pending_ = 0;
    int watchers_ = 0;
    bool stopped_ = false;
};

}  // namespace crab::core
