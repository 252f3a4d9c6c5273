#pragma once

#include "adapters/mcp/server/call_answer.hpp"
#include "adapters/mcp/tasks/task_table.hpp"
#include "base/byte_budget.hpp"
#include "base/task/waiter.hpp"
#include "core/call/inquirer.hpp"
#include "core/call/long_call.hpp"
#include "net/loop/event_loop.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace crab::mcp {

/// A call of a modern client that may be asked for input. The call runs on its home loop whether a
/// request waits for it or not: one that asks is answered `input_required` and comes again, on any
/// loop, with the answers; then it waits on. Once it is a task its client asks for that, and what
/// it is asked is part of the task. Ask() is for the home loop, the rest for any thread.
/// Source: docs/protocols/mcp.md, sections 4.7, 4.8 and 5, "M to L, parked".
class ParkedCall final : public core::Inquirer,
                         public core::LongCall,
                         public LiveTask,
                         public std::enable_shared_from_this<ParkedCall> {
public:
    static constexpr unsigned kMostRounds = 10;
    static constexpr std::size_t kMostQuestions = 32;  ///< of one round

    struct Facts {
        std::string key;  ///< random; what its client's state names it by
        std::string principal;
        std::string credential;
        Revision revision = Revision::k2026_07_28;
        Answers answers;
        Milliseconds patience;  ///< with one question
        std::size_t request_bytes = 0;  ///< of the request, which lives as long as the call
        TaskTable* tasks = nullptr;  ///< told of changes once it is a task
        bool takes_tasks = false;  ///< its client does
        core::CallTask draft{};  ///< of the task that it may become; its request is made then
        std::shared_ptr<const std::string> params{};  ///< of the first request
    };
    ParkedCall(Facts facts, net::EventLoop& home) : facts_(std::move(facts)), home_(home) {}

    const Facts& facts() const { return facts_; }
    Answers answers() const override { return facts_.answers; }
    Task<Result<std::string>> ask(core::Question question) override;
    unsigned rounds() const override;

    /// A request waits for news: `reader` is woken.
    void attach(const std::shared_ptr<RemoteWaiter>& reader);
    /// It waits no longer. The call is cancelled if its client has `left` and does not have to come
    /// again with answers.
    void detach(const std::shared_ptr<RemoteWaiter>& reader, bool left);
    struct News {
        std::vector<std::string> notices;  ///< to be sent first
        std::optional<CallAnswer> ended;
        std::string questions;  ///< `inputRequests`, an object; empty: there are none
        unsigned round = 0;
        bool takes_long = false;  ///< its tool says so, or it waits for an approval
        std::optional<TaskState> task;  ///< once it is one
    };
    News take();
    /// What the client answers to the questions of a round; nothing when that was answered already.
    /// Questions without a good answer are asked again.
    void answer(unsigned round, std::string_view responses);
    /// A notification for the client; false when no request waits.
    bool notify(const std::string& message);
    /// Counts what is kept of the call from now on, until it is gone: its request, and its outcome,
    /// which becomes an error if there is no room for it. False when there is none for the request.
    bool count_in(std::shared_ptr<ByteBudget> budget);
    /// The call has ended; `why`: the error that it ended with.
    void finish(CallAnswer answer, SteadyTime now, std::optional<ErrorCode> why = {});
    std::optional<SteadyTime> ended_at() const;
    /// Cancels the call, unless others have joined it.
    void cancel();
    /// No more answers come: open questions get what stands for silence. Not of tasks.
    void give_up();

    // --- as a task

    core::LongCall* long_call() override { return this; }
    bool outlives_gateway() const override { return facts_.takes_tasks; }
    std::string_view resumes() const override { return taken_up_; }
    bool stays_open() const override { return suspended_; }
    void on_asked(std::string_view approval_id) override;
    void on_deferred(std::string_view resume) override;
    bool refuses_deferred() const override { return !facts_.takes_tasks; }
    /// What it is doing, for its client; empty: nothing to be said.
    void say(std::string_view message);
    /// Whether the one who asks has to make it a task: nobody does yet. Until that has come to
    /// something no client is given its questions.
    bool claim_task();
    /// It was not made one; what runs is waited for.
    void unclaim_task();
    /// It is this task; false when it has ended before.
    bool become_task(const core::CallTask& row);
    bool is_task() const;
    std::string resume() const;
    /// Whether its end is not to be kept, for it came with the end of the gateway.
    bool ends_with_gateway() const;
    /// The gateway stops: a task that can be taken up again is cancelled for that. On the home
    /// loop.
    void suspend();
    /// Before it runs: what its host has promised in an earlier run.
    void take_up(std::string resume) { taken_up_ = std::move(resume); }

    TaskState task_state() const override;
    void answer_task(std::string_view responses) override;
    void cancel_task() override;
    const std::string& credential() const override { return facts_.credential; }

    /// Of the home loop: the running call.
    CancelSignal signal;
    core::Call* call = nullptr;

private:
    struct Open;
    bool fits();
    TaskState state_now() const;
    std::string open_questions() const;
    void publish_state();
    void show_all();
    void present();
    void present_left();
    void wake_readers();

    const Facts facts_;
    net::EventLoop& home_;
    mutable std::mutex mutex_;
    std::vector<std::shared_ptr<RemoteWaiter>> readers_;
    std::vector<std::shared_ptr<Open>> open_;
    std::vector<std::string> notices_;
    std::optional<CallAnswer> ended_;
    HeldBytes kept_;
    bool passing_ = false;  // the outcome goes with who takes it
    SteadyTime ended_at_{};
    unsigned round_ = 0, delivered_ = 0, asked_ = 0;
    unsigned rounds_shown_ = 0;  // beside round_, those of the task
    bool in_round_ = false;  // some questions are with the client
    std::optional<core::CallTask> task_;
    bool takes_long_ = false, claimed_ = false, cancel_asked_ = false;
    std::string resume_, taken_up_, message_, approval_;
    std::set<std::string> keys_;  // of all questions of the task: none is used twice
    SystemTime changed_at_{};
    std::optional<ErrorCode> why_;
    std::atomic<bool> suspended_ = false;
};

}  // namespace crab::mcp
