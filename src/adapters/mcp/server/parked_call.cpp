#include "adapters/mcp/server/parked_call.hpp"

#include "adapters/mcp/server/client_questions.hpp"
#include "adapters/mcp/server/parked_open.hpp"
#include "adapters/mcp/wire/error_form.hpp"
#include "base/scope_exit.hpp"
#include "core/pipeline/pipeline.hpp"
#include "json/raw_parts.hpp"
#include "json/writer.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace crab::mcp {

namespace {

/// Within this, questions of one call are one round: who answers takes longer.
constexpr Milliseconds kTogether{20};

/// For who repeats the last round of a call whose outcome was too large to be kept.
CallAnswer outcome_not_kept() {
    return CallAnswer::of_error(
        with_token({.code = rpc_code::kInternalError,
                    .message = "the call has ended, and its outcome was too large to be kept",
                    .data = {}}));
}

}  // namespace

Task<Result<std::string>> ParkedCall::ask(core::Question question) {
    if (!can_answer(facts_.answers, question.kind))
        co_return fail(ErrorCode::kUnavailable, "this client cannot be asked for that");
    auto params = params_for(question, facts_.revision, facts_.answers.sampling_tools, {});
    if (!params) co_return std::unexpected(params.error());
    const auto open = std::make_shared<Open>(question.kind, std::move(*params));
    open->method = std::move(question.method);
    open->waiter = std::make_shared<RemoteWaiter>(home_.executor(), home_.timers());
    {
        const std::scoped_lock lock(mutex_);
        if (open_.size() >= kMostQuestions || asked_ >= kMostRounds * kMostQuestions)
            co_return fail(ErrorCode::kRateLimited, "too many questions are open in this call");
        const bool taken = (task_ && keys_.contains(question.key)) ||
                           std::ranges::any_of(open_, [&](const auto& other) {
                               return other->key == question.key;
                           });
        ++asked_;
        open->key = question.key.empty() || taken ? fmt::format("{}q{}", question.key, asked_)
                                                  : std::move(question.key);
        if (task_) keys_.insert(open->key);
        open_.push_back(open);
    }
    const ScopeExit over([&] {
        {
            const std::scoped_lock lock(mutex_);
            std::erase(open_, open);
        }
        publish_state();
    });
    // Those that are asked together go to the client together: they come one by one, over a
    // connection each when its bytes are there.
    WaitEnd end = co_await open->waiter->wait(home_.now() + kTogether);
    if (end == WaitEnd::kExpired) {
        present();
        end = co_await open->waiter->wait(home_.now() + facts_.patience);
    }
    const std::scoped_lock lock(mutex_);
    if (open->answer) co_return std::move(*open->answer);
    if (end == WaitEnd::kCancelled) co_return fail(ErrorCode::kCancelled, "the call was cancelled");
    co_return answer_of_silence(open->kind);
}

void ParkedCall::wake_readers() {
    for (const auto& reader : readers_) reader->wake();
}

void ParkedCall::present() {
    {
        const std::scoped_lock lock(mutex_);
        if (!task_) {
            if (!in_round_) present_left();  // else they come with the next one
            return;
        }
        show_all();
    }
    publish_state();
}

/// With the lock, of a task: all questions are part of it.
void ParkedCall::show_all() {
    const auto is_new = [](const auto& open) { return !open->presented; };
    if (std::ranges::any_of(open_, is_new)) ++rounds_shown_;
    for (const auto& open : open_) open->presented = true;
}

unsigned ParkedCall::rounds() const {
    const std::scoped_lock lock(mutex_);
    return rounds_shown_;
}

/// With the lock: a new round of all questions that have no answer; none when there are none.
void ParkedCall::present_left() {
    in_round_ = std::ranges::any_of(open_, [](const auto& open) { return !open->answer; });
    if (in_round_ && round_ >= kMostRounds) {
        in_round_ = false;
        for (const auto& open : open_)
            if (!open->answer)
                open->settle(fail(ErrorCode::kUnavailable, "too many rounds of questions"));
    }
    if (!in_round_) return wake_readers();
    ++round_;
    ++rounds_shown_;
    for (const auto& open : open_) open->presented = true;
    wake_readers();
}

void ParkedCall::attach(const std::shared_ptr<RemoteWaiter>& reader) {
    const std::scoped_lock lock(mutex_);
    readers_.push_back(reader);
}

void ParkedCall::detach(const std::shared_ptr<RemoteWaiter>& reader, bool left) {
    {
        const std::scoped_lock lock(mutex_);
        std::erase(readers_, reader);
        const bool comes_again = in_round_ && delivered_ == round_;
        if (!left || !readers_.empty() || comes_again || ended_) return;
    }
    cancel();
}

ParkedCall::News ParkedCall::take() {
    const std::scoped_lock lock(mutex_);
    News news{.notices = std::exchange(notices_, {}),
              .ended = ended_,
              .round = round_,
              .takes_long = takes_long_ || !approval_.empty()};
    // that of a task is its table's, once it is stored
    if (!task_ && std::exchange(passing_, false)) ended_ = outcome_not_kept();
    if (task_) news.task = state_now();
    const bool is_becoming_task = claimed_ && !task_;
    if (ended_ || !in_round_ || is_becoming_task) return news;
    delivered_ = round_;
    news.questions = open_questions();
    return news;
}

/// With the lock: `inputRequests`.
std::string ParkedCall::open_questions() const {
    std::string out;
    json::Writer writer(out);
    writer.begin_object();
    for (const auto& open : open_) {
        if (!open->presented || open->answer) continue;
        writer.key(open->key).begin_object().key("method").string(open->method);
        const std::string& params = open->check.params();
        writer.key("params").raw(params.empty() ? "{}" : params).end_object();
    }
    writer.end_object();
    return out;
}

void ParkedCall::answer(unsigned round, std::string_view responses) {
    const std::scoped_lock lock(mutex_);
    if (round != round_ || !in_round_) return;
    for (const auto& open : open_) {
        const auto response = json::find_raw(responses, open->key);
        if (!open->presented || open->answer || !response || !response->starts_with('{')) continue;
        if (open->check.fits(*response)) open->settle(std::string(*response));
    }
    present_left();
}

bool ParkedCall::notify(const std::string& message) {
    const std::scoped_lock lock(mutex_);
    if (readers_.empty()) return false;
    notices_.push_back(message);
    wake_readers();
    return true;
}

bool ParkedCall::fits() {
    std::size_t bytes = facts_.request_bytes;
    if (ended_) bytes += ended_->result.size();
    if (ended_ && ended_->error)
        bytes += ended_->error->message.size() + ended_->error->data.size();
    return kept_.grow_to(bytes);
}

bool ParkedCall::count_in(std::shared_ptr<ByteBudget> budget) {
    const std::scoped_lock lock(mutex_);
    kept_ = HeldBytes(std::move(budget));
    return fits();
}

void ParkedCall::finish(CallAnswer answer, SteadyTime now, std::optional<ErrorCode> why) {
    const std::scoped_lock lock(mutex_);
    ended_ = std::move(answer);  // its error may carry the data of an upstream
    passing_ = !fits();
    if (passing_ && readers_.empty() && !task_) ended_ = outcome_not_kept();
    ended_at_ = now;
    why_ = why;
    changed_at_ = home_.clock().system_now();
    in_round_ = false;
    wake_readers();
}

std::optional<SteadyTime> ParkedCall::ended_at() const {
    const std::scoped_lock lock(mutex_);
    return ended_ ? std::optional(ended_at_) : std::nullopt;
}

void ParkedCall::cancel() {
    home_.post([self = shared_from_this()] {
        if (self->ended_at()) return;
        if (self->call != nullptr && core::Pipeline::goes_on_for_others(*self->call)) return;
        self->signal.emit();
    });
}

void ParkedCall::give_up() {
    const std::scoped_lock lock(mutex_);
    if (task_) return;
    for (const auto& open : open_)
        if (!open->answer) open->settle(answer_of_silence(open->kind));
    in_round_ = false;
}

}  // namespace crab::mcp
