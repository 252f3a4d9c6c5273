#include "core/approvals/approvals.hpp"

#include "base/task/waiter.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace crab::core {
namespace {

constexpr std::size_t kMostOver = 256;           // questions that are over and still known
constexpr std::size_t kMostRemembered = 10'000;

bool same_call(const ApprovalQuestion& left, const ApprovalQuestion& right) {
    return left.call_id == right.call_id && left.subject.covers(right.subject);
}

}  // namespace

/// One call that waits. Whoever ends the question says so under the mutex; the call learns of it on
/// its own thread.
struct Approvals::Parked : RemoteWaiter {
    using RemoteWaiter::RemoteWaiter;
    std::optional<ApprovalEnd> end;  ///< under the mutex
    bool caller_asked = false;  ///< somebody at the caller's end was asked too
};

Result<std::unique_ptr<Approvals>> Approvals::load(ApprovalStore& store, const Clock& clock,
                                                   Options options, Observer* observer) {
    auto kept = store.load();
    if (!kept) return fail(std::move(kept.error()));
    return std::unique_ptr<Approvals>(
        new Approvals(store, clock, options, observer, std::move(*kept)));
}

Approvals::Approvals(ApprovalStore& store, const Clock& clock, Options options, Observer* observer,
                     std::vector<RememberedApproval> kept)
    : store_(store),
      clock_(clock),
      observer_(observer),
      options_(options),
      remembered_(std::move(kept)) {}

Approvals::~Approvals() = default;

void Approvals::set_options(Options options) {
    const std::scoped_lock lock(mutex_);
    options_ = options;
}

void Approvals::watch(int change) {
    const std::scoped_lock lock(mutex_);
    watchers_ += change;
}

Task<ApprovalEnd> Approvals::ask(ApprovalQuestion asked, Deadline deadline, TimerWheel& timers,
                                 Approver* caller) {
    Approver* const person = caller != nullptr && caller->can_be_asked() ? caller : nullptr;
    const auto parked = std::make_shared<Parked>((co_await this_chain()).executor(), timers);
    std::shared_ptr<const ApprovalQuestion> question;
    {
        const std::scoped_lock lock(mutex_);
        sweep();
        if (auto end = answer_at_once(asked)) {
            ++ended_[static_cast<std::size_t>(end->state)];
            co_return std::move(*end);
        }
        const SteadyTime now = clock_.steady_now();
        deadline = std::min(deadline, now + options_.wait);
        asked.asked_at = clock_.system_now();
        asked.until =
            asked.asked_at + std::chrono::duration_cast<SystemTime::duration>(deadline - now);
        question = std::make_shared<const ApprovalQuestion>(std::move(asked));
        Entry& entry = entries_.emplace_back(Entry{.request = {.question = question, .end = {}},
                                                   .asked = now,
                                                   .ended = {},
                                                   .parked = nullptr});
        entry.request.end.id = question->id;
        if (const auto refused = refusal(*question, person != nullptr)) {
            entry.request.end.state = *refused;
            entry.ended = now;
            ++ended_[static_cast<std::size_t>(*refused)];
            co_return entry.request.end;
        }
        parked->caller_asked = person != nullptr;
        entry.parked = parked;
        ++pending_;
        if (observer_ != nullptr) observer_->on_question(*question);
    }
    if (caller != nullptr) caller->on_wait(*question);
    if (person != nullptr) person->on_question(*question);
    const WaitEnd how = co_await parked->wait(deadline);
    ApprovalEnd end;
    {
        const std::scoped_lock lock(mutex_);
        if (!parked->end)
            settle(*find_entry(question->id),
                   how == WaitEnd::kCancelled ? ApprovalState::kCancelled : ApprovalState::kExpired,
                   {});
        end = *parked->end;
    }
    if (person != nullptr) person->on_end(*question, end);
    co_return end;
}

std::optional<ApprovalEnd> Approvals::answer_at_once(const ApprovalQuestion& question) {
    if (stopped_)
        return ApprovalEnd{.id = {},
                           .state = ApprovalState::kStopped,
                           .scope = {},
                           .by = {},
                           .remembered = false,
                           .waited = {}};
    const auto answer = [](const RememberedApproval& decision) {
        return ApprovalEnd{
            .id = decision.id,
            .state = decision.allow ? ApprovalState::kAllowed : ApprovalState::kDenied,
            .scope = decision.scope,
            .by = decision.by,
            .remembered = true,
            .waited = {}};
    };
    const auto find = [&](bool allow, bool once) {
        return std::ranges::find_if(remembered_, [&](const RememberedApproval& each) {
            return each.allow == allow && (each.scope == ApprovalScope::kOnce) == once &&
                   each.covers(question.subject);
        });
    };
    if (const auto denied = find(false, false); denied != remembered_.end()) return answer(*denied);
    // A denied call stays denied under its id: a repeat that waited for it does not ask again.
    for (const Entry& entry : entries_) {
        if (entry.request.end.state == ApprovalState::kDenied &&
            same_call(*entry.request.question, question))
            return entry.request.end;
    }
    if (const auto allowed = find(true, false); allowed != remembered_.end())
        return answer(*allowed);
    if (const auto once = find(true, true); once != remembered_.end()) {
        auto end = answer(*once);
        remembered_.erase(once);
        return end;
    }
    return std::nullopt;
}

std::optional<ApprovalState> Approvals::refusal(const ApprovalQuestion& question,
                                                bool caller_can_be_asked) const {
    if (watchers_ == 0 && !caller_can_be_asked && options_.unattended == Unattended::kRefuse)
        return ApprovalState::kUnattended;
    const auto of_principal = std::ranges::count_if(entries_, [&](const Entry& entry) {
        return entry.parked &&
               entry.request.question->subject.principal == question.subject.principal;
    });
    const bool crowded =
        pending_ >= options_.max_parked ||
        static_cast<std::size_t>(of_principal) >= options_.max_parked_per_principal;
    return crowded ? std::optional(ApprovalState::kTooMany) : std::nullopt;
}

Approvals::Entry* Approvals::find_entry(std::string_view id) {
    const auto found = std::ranges::find(entries_, id, [](const Entry& entry) -> std::string_view {
        return entry.request.question->id;
    });
    return found == entries_.end() ? nullptr : &*found;
}

/// Ends a question, or changes the end of one that is over.
void Approvals::settle(Entry& entry, ApprovalState state, const ApprovalDecision& decision) {
    const SteadyTime now = clock_.steady_now();
    ApprovalEnd& end = entry.request.end;
    end.state = state;
    end.scope = decision.scope;
    end.by = decision.by;
    ++ended_[static_cast<std::size_t>(state)];
    if (const auto parked = std::exchange(entry.parked, nullptr)) {
        end.waited = now - entry.asked;
        entry.ended = now;
        --pending_;
        parked->end = end;
        parked->wake();
    }
    if (observer_ != nullptr) observer_->on_end(*entry.request.question, end);
}

void Approvals::settle_all(ApprovalState state, const ApprovalDecision& decision,
                           const std::function<bool(const ApprovalQuestion&)>& which) {
    for (Entry& entry : entries_) {
        if (entry.parked && which(*entry.request.question)) settle(entry, state, decision);
    }
}

void Approvals::sweep() {
    const SteadyTime now = clock_.steady_now();
    std::size_t over = entries_.size() - pending_;
    std::erase_if(entries_, [&](const Entry& entry) {
        if (entry.parked || (over <= kMostOver && now < entry.ended + options_.reprieve))
            return false;
        --over;
        return true;
    });
    const SystemTime wall = clock_.system_now();
    std::erase_if(remembered_, [&](const RememberedApproval& each) {
        return each.until && wall >= *each.until;
    });
}

std::vector<std::string> Approvals::replaced_by(const RememberedApproval& decision) const {
    std::vector<std::string> ids;
    for (const RememberedApproval& each : remembered_) {
        const bool same =
            each.scope == decision.scope && each.subject.same_matter(decision.subject) &&
            each.subject.permits(decision.subject) && decision.subject.permits(each.subject);
        const bool fits = decision.scope == ApprovalScope::kAlways ||
                          each.subject.session == decision.subject.session;
        const bool exact = decision.scope != ApprovalScope::kOnce ||
                           each.subject.content == decision.subject.content;
        if (same && fits && exact) ids.push_back(each.id);
    }
    return ids;
}

void Approvals::remember(const RememberedApproval& decision) {
    const auto instead = replaced_by(decision);
    std::erase_if(remembered_, [&](const RememberedApproval& each) {
        return std::ranges::find(instead, each.id) != instead.end();
    });
    remembered_.push_back(decision);
}

Result<Approvals::Request> Approvals::decide(std::string_view id, ApprovalDecision decision) {
    const std::scoped_lock writing(writing_);
    const bool lasting = decision.scope != ApprovalScope::kOnce;
    // let go of for the store alone, so that nobody else answers in between
    std::unique_lock lock(mutex_);
    RememberedApproval kept{.id = {},
                            .allow = decision.allow,
                            .scope = decision.scope,
                            .subject = {},
                            .by = decision.by,
                            .at = clock_.system_now(),
                            .until = {}};
    sweep();
    Entry* entry = find_entry(id);
    if (entry == nullptr)
        return fail(ErrorCode::kNotFound,
                    "no such question, or it is over for too long; crab approvals list shows what "
                    "there is");
    const ApprovalEnd& end = entry->request.end;
    if (end.allowed())
        return fail(ErrorCode::kConflict, fmt::format("it was allowed already, by {}", end.by));
    if (!entry->parked && !decision.allow && !lasting)
        return fail(ErrorCode::kConflict,
                    fmt::format("it is over already ({}), and nothing runs", name_of(end.state)));
    kept.id = entry->request.question->id;
    kept.subject = entry->request.question->subject;
    if (decision.scope == ApprovalScope::kSession && kept.subject.session.empty())
        return fail(ErrorCode::kInvalidArgs,
                    "this call belongs to no session; decide once or always");
    if (remembered_.size() >= kMostRemembered)
        return fail(ErrorCode::kRateLimited,
                    "too many decisions are remembered; withdraw some with crab approvals forget");
    if (decision.scope == ApprovalScope::kAlways) {
        const std::vector<std::string> instead = replaced_by(kept);
        lock.unlock();
        if (auto stored = store_.keep(kept, instead); !stored)
            return fail(std::move(stored.error()));
        lock.lock();
        entry = find_entry(id);
    }
    const ApprovalState state = decision.allow ? ApprovalState::kAllowed : ApprovalState::kDenied;
    const bool open = entry != nullptr && entry->parked;
    if (!lasting && !open)
        kept.until = kept.at + std::chrono::duration_cast<SystemTime::duration>(options_.reprieve);
    if (lasting || !open) remember(kept);
    Request request{.question = nullptr, .end = {}};
    if (entry != nullptr) {
        // Somebody may have allowed this one call meanwhile; it runs once, and the decision is for
        // those to come.
        if (!entry->request.end.allowed()) settle(*entry, state, decision);
        request = entry->request;
    }
    if (lasting)
        settle_all(state, decision,
                   [&](const ApprovalQuestion& question) { return kept.covers(question.subject); });
    if (request.question == nullptr)
        return fail(ErrorCode::kNotFound,
                    "the question is not known any more, but its answer is remembered");
    return request;
}

bool Approvals::answer(std::string_view id, bool allow, std::string_view by) {
    const std::scoped_lock lock(mutex_);
    Entry* const entry = find_entry(id);
    if (entry == nullptr || !entry->parked) return false;
    settle(*entry, allow ? ApprovalState::kAllowed : ApprovalState::kDenied,
           {.allow = allow, .scope = ApprovalScope::kOnce, .by = std::string(by)});
    return true;
}

void Approvals::pass(std::string_view id) {
    const std::scoped_lock lock(mutex_);
    Entry* const entry = find_entry(id);
    const bool others = watchers_ > 1 || options_.unattended == Unattended::kWait;
    if (entry == nullptr || !entry->parked || entry->parked->caller_asked || others) return;
    settle(*entry, ApprovalState::kUnattended, {});
}

std::vector<Approvals::Request> Approvals::list() const {
    const std::scoped_lock lock(mutex_);
    std::vector<Request> all;
    for (const Entry& entry : entries_) all.push_back(entry.request);
    return all;
}

std::optional<Approvals::Request> Approvals::find(std::string_view id) const {
    const std::scoped_lock lock(mutex_);
    const auto found = std::ranges::find(entries_, id, [](const Entry& entry) -> std::string_view {
        return entry.request.question->id;
    });
    return found == entries_.end() ? std::nullopt : std::optional(found->request);
}

Approvals::Attendance Approvals::attendance() const {
    const std::scoped_lock lock(mutex_);
    return {.watching = static_cast<std::size_t>(std::max(watchers_, 0)),
            .waits = options_.unattended == Unattended::kWait};
}

std::size_t Approvals::pending() const {
    const std::scoped_lock lock(mutex_);
    return pending_;
}

std::vector<RememberedApproval> Approvals::remembered() const {
    const std::scoped_lock lock(mutex_);
    std::vector<RememberedApproval> live = remembered_;
    std::erase_if(live, [now = clock_.system_now()](const RememberedApproval& each) {
        return each.until && now >= *each.until;
    });
    return live;
}

Result<RememberedApproval> Approvals::forget(std::string_view id) {
    const std::scoped_lock writing(writing_);
    std::optional<RememberedApproval> found;
    {
        const std::scoped_lock lock(mutex_);
        const auto entry = std::ranges::find(remembered_, id, &RememberedApproval::id);
        if (entry != remembered_.end()) found = *entry;
    }
    if (!found)
        return fail(ErrorCode::kNotFound,
                    "no such decision is remembered; crab approvals remembered lists them");
    if (found->scope == ApprovalScope::kAlways) {
        if (auto stored = store_.forget(id); !stored) return fail(std::move(stored.error()));
    }
    const std::scoped_lock lock(mutex_);
    std::erase_if(remembered_, [&](const RememberedApproval& each) { return each.id == id; });
    return std::move(*found);
}

Result<void> Approvals::refresh() {
    const std::scoped_lock writing(writing_);
    auto kept = store_.load();
    if (!kept) return fail(std::move(kept.error()));
    const std::scoped_lock lock(mutex_);
    std::erase_if(remembered_, [](const RememberedApproval& each) {
        return each.scope == ApprovalScope::kAlways;
    });
    remembered_.insert(remembered_.end(), kept->begin(), kept->end());
    std::ranges::sort(remembered_, {}, &RememberedApproval::at);
    // as a call that asks now would be answered: who denies first
    for (const bool allow : {false, true}) {
        for (const RememberedApproval& each : *kept) {
            if (each.allow != allow) continue;
            settle_all(
                allow ? ApprovalState::kAllowed : ApprovalState::kDenied,
                {.allow = allow, .scope = ApprovalScope::kAlways, .by = each.by},
                [&](const ApprovalQuestion& question) { return each.covers(question.subject); });
        }
    }
    return {};
}

void Approvals::end_session(std::string_view principal, std::string_view session) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(remembered_, [&](const RememberedApproval& each) {
        return each.scope == ApprovalScope::kSession && each.subject.principal == principal &&
               each.subject.session == session;
    });
}

void Approvals::withdraw(std::string_view credential) {
    const std::scoped_lock lock(mutex_);
    settle_all(ApprovalState::kWithdrawn, {},
               [&](const ApprovalQuestion& question) { return question.credential == credential; });
}

void Approvals::stop() {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
    settle_all(ApprovalState::kStopped, {}, [](const ApprovalQuestion&) { return true; });
}

std::uint64_t Approvals::ended(ApprovalState state) const {
    const std::scoped_lock lock(mutex_);
    return ended_[static_cast<std::size_t>(state)];
}

}  // namespace crab::core
