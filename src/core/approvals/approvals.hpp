#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/task/ordered_mutex.hpp"
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

/// The calls that wait until somebody allows them, and the decisions that hold for calls to come.
/// Nobody waits when there is nobody to ask: an operator who watches, or the caller's own end
/// (core::Approver). Thread-safe. Source: docs/protocols/sw4rm.md, section 9.
class Approvals {
public:
    /// What becomes of a call that nobody can be asked about: refused at once, or parked until
    /// somebody looks.
    enum class Unattended : std::uint8_t { kRefuse, kWait };
    struct Options {
        Milliseconds wait{60'000};              ///< a question is open for at most this long
        /// How long one that is over can still be decided for its repeat
        Milliseconds reprieve = std::chrono::minutes(10);
        std::size_t max_parked = 256;
        std::size_t max_parked_per_principal = 16;
        Unattended unattended = Unattended::kRefuse;
    };
    /// A question as it stands.
    struct Standing {
        std::shared_ptr<const ApprovalQuestion> question;   ///< never null
        ApprovalEnd end;
    };
    /// Is notified of every question that was put to somebody, and of its end; also of decisions
    /// about questions that were over. Quick; called from any thread, in the order of what happens,
    /// and asks nothing of this object.
    class Witness {
    public:
        virtual ~Witness() = default;
        virtual void on_question(const ApprovalQuestion& question) = 0;
        virtual void on_end(const ApprovalQuestion& question, const ApprovalEnd& end) = 0;
    };

    /// Reads what holds always. `store` and `witness` outlive it; `witness` may be null. Errors:
    /// those of the store.
    static Result<std::unique_ptr<Approvals>> load(ApprovalStore& store, const Clock& clock,
                                                   Options options, Witness* witness = nullptr);
    ~Approvals();
    /// For questions from now on.
    void set_options(Options options);

    /// Asks, and waits for the decision until `deadline` at most. Never fails: the end says what
    /// came of it. `caller` may be null. Cancelling the coroutine takes the question back. On the
    /// call's loop, whose `timers` these are.
    Task<ApprovalEnd> ask(ApprovalQuestion question, Deadline deadline, TimerWheel& timers,
                          Approver* caller);

    /// Decides an open question, or one that is over, for its repeat; may block. Answers what is
    /// decided now. Errors: kNotFound; kConflict when there is nothing left to decide; kInvalidArgs
    /// for `session` without one; kRateLimited when too many decisions are remembered; those of the
    /// store, and then nothing is decided.
    Result<Standing> decide(std::string_view id, ApprovalDecision decision);
    /// The word of somebody who was asked at on_question(); it counts while the question is open.
    /// False when it is not.
    bool answer(std::string_view id, bool allow, std::string_view by);
    /// One of those who watch will not answer: a question that nobody else was asked is refused, as
    /// one with nobody to ask.
    void pass(std::string_view id);
    /// Open questions and those that ended lately, oldest first.
    std::vector<Standing> list() const;
    std::optional<Standing> find(std::string_view id) const;
    std::size_t pending() const;

    /// The decisions that hold now, oldest first.
    std::vector<RememberedApproval> remembered() const;
    /// Withdraws one; may block. Errors: kNotFound, those of the store.
    Result<RememberedApproval> forget(std::string_view id);
    /// Withdraws what holds for a session of this principal that is over.
    void end_session(std::string_view principal, std::string_view session);
    /// The credential is gone: whatever it waits for is refused.
    void withdraw(std::string_view credential);
    /// Refuses what waits, and all that comes.
    void stop();

    /// For as long as it lives somebody watches who may decide.
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
    /// How many questions have ended so.
    std::uint64_t ended(ApprovalState state) const;

private:
    struct Parked;
    struct Entry {
        Standing standing;
        SteadyTime asked, ended;
        std::shared_ptr<Parked> parked;  ///< while it is pending
    };
    using Entries = std::list<Entry>;

    Approvals(ApprovalStore& store, const Clock& clock, Options options, Witness* witness,
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
    Witness* const witness_;
    /// Taken before mutex_, held across the store's work.
    OrderedMutex<LockRank::kApprovalsWriting> writing_;
    mutable OrderedMutex<LockRank::kApprovals> mutex_;  ///< never held across the store's work
    Options options_;
    Entries entries_;  ///< oldest first
    std::vector<RememberedApproval> remembered_;
    std::array<std::uint64_t, kStates> ended_{};
    std::size_t pending_ = 0;
    int watchers_ = 0;
    bool stopped_ = false;
};

}  // namespace crab::core
