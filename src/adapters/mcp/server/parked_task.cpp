#include "adapters/mcp/server/client_questions.hpp"
#include "adapters/mcp/server/parked_call.hpp"
#include "adapters/mcp/server/parked_open.hpp"
#include "base/cut_text.hpp"
#include "json/raw_parts.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

/// What ParkedCall does as a task (docs/protocols/mcp.md, section 4.7).
namespace crab::mcp {
namespace {

constexpr std::size_t kLongestMessage = 1024;

/// An end that says nothing of the call but that its gateway stopped, or that nobody knows.
bool may_be_of_stop(ErrorCode code) {
    return code == ErrorCode::kCancelled || code == ErrorCode::kUnavailable ||
           code == ErrorCode::kTimeout || code == ErrorCode::kOutcomeUnknown;
}

}  // namespace

void ParkedCall::on_deferred(std::string_view resume) {
    const std::scoped_lock lock(mutex_);
    takes_long_ = true;
    resume_ = resume;
    if (task_ && !resume.empty()) facts_.tasks->set_resume(task_->id, resume);
    wake_readers();
}

void ParkedCall::say(std::string_view message) {
    {
        const std::scoped_lock lock(mutex_);
        if (message == message_) return;
        message_ = cut_text(message, kLongestMessage);
        changed_at_ = home_.clock().system_now();
    }
    publish_state();
}

void ParkedCall::on_asked(std::string_view approval_id) {
    {
        const std::scoped_lock lock(mutex_);
        approval_ = approval_id;
        changed_at_ = home_.clock().system_now();
        wake_readers();
    }
    publish_state();
}

bool ParkedCall::claim_task() {
    const std::scoped_lock lock(mutex_);
    return !std::exchange(claimed_, true);
}

void ParkedCall::unclaim_task() {
    const std::scoped_lock lock(mutex_);
    claimed_ = false;
    wake_readers();
}

bool ParkedCall::become_task(const core::CallTask& row) {
    const std::scoped_lock lock(mutex_);
    if (ended_) return false;
    claimed_ = true;
    task_ = row;
    task_->request.clear();
    // what the host has promised while the row was written
    if (!resume_.empty() && resume_ != row.resume) facts_.tasks->set_resume(row.id, resume_);
    if (resume_.empty()) resume_ = row.resume;
    changed_at_ = std::max(changed_at_, row.updated);
    in_round_ = false;
    show_all();
    for (const auto& open : open_) keys_.insert(open->key);
    wake_readers();
    return true;
}

bool ParkedCall::is_task() const {
    const std::scoped_lock lock(mutex_);
    return task_.has_value();
}

std::string ParkedCall::resume() const {
    const std::scoped_lock lock(mutex_);
    return resume_;
}

bool ParkedCall::ends_with_gateway() const {
    const std::scoped_lock lock(mutex_);
    return facts_.tasks->stopping() && !cancel_asked_ && why_ && may_be_of_stop(*why_);
}

void ParkedCall::suspend() {
    {
        const std::scoped_lock lock(mutex_);
        if (!task_ || ended_ || resume_.empty() || cancel_asked_) return;
    }
    suspended_ = true;
    signal.emit();
}

TaskState ParkedCall::task_state() const {
    const std::scoped_lock lock(mutex_);
    return state_now();
}

/// With the lock, of a task.
TaskState ParkedCall::state_now() const {
    TaskState state{.id = task_->id,
                    .status = TaskStatus::kWorking,
                    .message = {},
                    .created = task_->created,
                    .updated = std::max(changed_at_, task_->created),
                    .input_requests = {},
                    .outcome = {}};
    if (ended_) {
        const bool cancelled = cancel_asked_ && why_ == ErrorCode::kCancelled;
        state.status = cancelled       ? TaskStatus::kCancelled
                       : ended_->error ? TaskStatus::kFailed
                                       : TaskStatus::kCompleted;
        if (!cancelled)
            state.outcome = ended_->error ? error_object(*ended_->error) : ended_->result;
        return state;
    }
    const bool asks = std::ranges::any_of(
        open_, [](const auto& open) { return open->presented && !open->answer; });
    if (asks) {
        state.status = TaskStatus::kInputRequired;
        state.input_requests = open_questions();
    }
    state.message =
        approval_.empty() ? message_ : fmt::format("waits for the approval {}", approval_);
    return state;
}

void ParkedCall::answer_task(std::string_view responses) {
    {
        const std::scoped_lock lock(mutex_);
        if (!task_) return;
        for (const auto& open : open_) {
            const auto response = json::find_raw(responses, open->key);
            if (!open->presented || open->answer || !response || !response->starts_with('{'))
                continue;
            if (!open->check.fits(*response)) continue;
            open->settle(std::string(*response));
            changed_at_ = home_.clock().system_now();
        }
    }
    publish_state();
}

void ParkedCall::cancel_task() {
    {
        const std::scoped_lock lock(mutex_);
        if (ended_) return;
        cancel_asked_ = true;
    }
    cancel();
}

/// Its end is told by who stores it.
void ParkedCall::publish_state() {
    std::optional<TaskState> state;
    {
        const std::scoped_lock lock(mutex_);
        if (task_ && !ended_) state = state_now();
    }
    if (state) facts_.tasks->tell(*state);
}

}  // namespace crab::mcp
