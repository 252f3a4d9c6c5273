#include "core/ledger/ledger_journal.hpp"

#include "base/log.hpp"

#include <utility>

namespace crab::core {
namespace {

using Queue = BatchQueue<LedgerChange, LedgerEntry>;

constexpr std::size_t kMostInACommit = 4'096;

/// An admission that nobody waits for any more is not an admission: its call is not made.
std::optional<LedgerChange> undo(const Result<LedgerEntry>& written) {
    if (!written || written->status != LedgerStatus::kAdmitted) return std::nullopt;
    if (!written->adopted) return LedgerRelease{written->ref};
    return LedgerEnd{.ref = written->ref,
                     .outcome = std::make_shared<const Outcome>(
                         fail(ErrorCode::kOutcomeUnknown,
                              "nobody waited any more for this call, which another gateway had "
                              "begun; it may or may not have run"))};
}

}  // namespace

LedgerJournal::LedgerJournal(LedgerStore& store, BlockingPool& pool, const Clock& clock,
                             Options options)
    : store_(store),
      clock_(clock),
      options_(options),
      queue_(
          {.name = "calls", .max_batch_weight = kMostInACommit, .undo = undo},
          [this](std::vector<LedgerChange>& changes) { return write(changes); }, pool, clock) {}

Task<Result<LedgerEntry>> LedgerJournal::admit(const LedgerKey& key, Admission admission,
                                               Deadline deadline, TimerWheel* timers) {
    const SystemTime now = clock_.system_now();
    const std::size_t bytes = key.key.size() + admission.record.size() + admission.event.size();
    LedgerAdmission change{.tenant = std::string(key.tenant),
                           .principal = std::string(key.principal),
                           .key = std::string(key.key),
                           .content = admission.content,
                           .at = now,
                           .forgotten_before = now - options_.keep,
                           .may_run_again = admission.may_run_again,
                           .process = admission.process,
                           .tool = std::string(admission.tool),
                           .source = std::string(admission.source),
                           .side_effects = admission.side_effects,
                           .record = std::move(admission.record),
                           .event = std::move(admission.event),
                           .addressee = std::move(admission.addressee)};
    return queue_.ask(std::move(change), {.bytes = bytes, .deadline = deadline, .timers = timers});
}

Task<Result<LedgerEntry>> LedgerJournal::find(const LedgerKey& key, Deadline deadline,
                                              TimerWheel* timers) {
    LedgerQuestion question{.tenant = std::string(key.tenant),
                            .principal = std::string(key.principal),
                            .key = std::string(key.key),
                            .forgotten_before = clock_.system_now() - options_.keep};
    return queue_.ask(std::move(question),
                      {.bytes = key.key.size(), .deadline = deadline, .timers = timers});
}

Task<Result<LedgerEntry>> LedgerJournal::end(LedgerRef ref, std::shared_ptr<const Outcome> outcome,
                                             std::chrono::nanoseconds duration, Deadline deadline,
                                             TimerWheel* timers) {
    LedgerEnd change{.ref = ref, .outcome = std::move(outcome), .duration = duration};
    // As many as were admitted, so nothing else has to bound them.
    return queue_.ask(std::move(change), {.deadline = deadline,
                                          .timers = timers,
                                          .entry = Queue::Entry::kCertain,
                                          .late = Queue::Late::kWritten});
}

void LedgerJournal::release(LedgerRef ref) { queue_.post(LedgerRelease{ref}); }

std::vector<Result<LedgerEntry>> LedgerJournal::write(std::vector<LedgerChange>& changes) {
    auto answers = store_.write(changes);
    const bool failed = !answers.empty() && !answers.front();
    if (failed) {
        refused_ += changes.size();
        if (!failing_.exchange(true)) {
            log::error(
                "the ledger cannot be written; calls with side effects or a key are refused, "
                "others go on",
                {{"reason", answers.front().error().message}});
        }
    } else {
        ++commits_;
        changes_ += changes.size();
        if (failing_.exchange(false)) log::info("the ledger can be written again");
    }
    return answers;
}

}  // namespace crab::core
