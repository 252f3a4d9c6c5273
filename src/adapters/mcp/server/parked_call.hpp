#pragma once

#include "adapters/mcp/server/call_answer.hpp"
#include "base/byte_budget.hpp"
#include "base/task/waiter.hpp"
#include "core/call/inquirer.hpp"
#include "net/loop/event_loop.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::mcp {

/// A call of a modern client that may be asked for input. The call runs on its home loop whether a
/// request waits for it or not: one that asks is answered `input_required` and comes again, on any
/// loop, with the answers; then it waits on. Ask() is for the home loop, the rest for any thread.
/// Source: docs/protocols/mcp.md, sections 4.8 and 5, "M to L, parked".
class ParkedCall final : public core::Inquirer, public std::enable_shared_from_this<ParkedCall> {
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
    };
    ParkedCall(Facts facts, net::EventLoop& home) : facts_(std::move(facts)), home_(home) {}

    const Facts& facts() const { return facts_; }
    Answers answers() const override { return facts_.answers; }
    Task<Result<std::string>> ask(core::Question question) override;

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
    /// The call has ended.
    void finish(CallAnswer answer, SteadyTime now);
    std::optional<SteadyTime> ended_at() const;
    /// Cancels the call, unless others have joined it.
    void cancel();
    /// No more answers come: open questions get what stands for silence.
    void give_up();

    /// Of the home loop: the running call.
    CancelSignal signal;
    core::Call* call = nullptr;

private:
    struct Open;
    bool fits();
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
    bool in_round_ = false;  // some questions are with the client
};

}  // namespace crab::mcp
