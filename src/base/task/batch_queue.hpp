#pragma once

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "base/scope_exit.hpp"
#include "base/task/run_within.hpp"
#include "base/task/task.hpp"
#include "base/task/waiter.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace crab {

/// Group commit: one durable commit for all requests that arrived while the previous one was
/// written. At most one batch is written at a time, on one thread of the pool. Thread-safe. The
/// destructor flushes the queue.
template <class Request, class Value>
class BatchQueue {
public:
    using Answer = Result<Value>;
    /// Writes a batch on a pool thread and returns one answer for each request, in their order. An
    /// exception, or too few answers, fail the whole batch with kInternal.
    using Write = std::function<std::vector<Answer>(std::vector<Request>& batch)>;

    struct Options {
        std::string name;  ///< what is written, in the plural, for messages and logs
        std::size_t max_waiting = 16'384;  ///< requests; more are refused
        std::size_t max_waiting_bytes = std::size_t{64} << 20;  ///< as the requests state them
        std::size_t max_batch_weight = 2'000;  ///< of one batch, about
        /// Makes a request that reverts one that was written after its caller had stopped waiting,
        /// if that is needed; written before the queue. May be empty.
        std::function<std::optional<Request>(const Answer& written)> undo{};
    };
    enum class Entry : std::uint8_t {
        kRefusable,  ///< refused when the queue is full
        kCertain,  ///< always accepted: bounded elsewhere
    };
    /// What becomes of a request whose deadline passes while it waits.
    enum class Late : std::uint8_t {
        kWithdrawn,  ///< it is not written any more
        kWritten,  ///< only its caller stops waiting
    };
    struct Terms {
        std::size_t weight = 1, bytes = 0;
        Deadline deadline = kNoDeadline;
        /// Timers of the caller, whose wait then ends at `deadline` or by cancellation; null: it
        /// waits to the end
        TimerWheel* timers = nullptr;
        Entry entry = Entry::kRefusable;
        Late late = Late::kWithdrawn;
    };

    BatchQueue(Options options, Write write, BlockingPool& pool, const Clock& clock)
        : options_(std::move(options)), write_(std::move(write)), pool_(pool), clock_(clock) {}
    ~BatchQueue() {
        std::unique_lock lock(mutex_);
        idle_.wait(lock, [&] { return !draining_; });
    }

    /// Returns when the batch with this request is written, on the caller's executor. Errors: those
    /// of the writer; kRateLimited when the queue is full; kTimeout when the deadline passed first,
    /// kCancelled (with `timers` only): then nothing was written, or Options::undo reverts it, or
    /// the error says that it may still be written.
    Task<Answer> ask(Request request, Terms terms) {
        auto waiting = std::make_shared<Waiting>(std::move(request), terms);
        if (terms.timers != nullptr) {
            const TaskChain& chain = co_await this_chain();
            co_return co_await ask_for_a_while(waiting, chain.executor());
        }
        auto begin = [&](std::coroutine_handle<> asking, TaskChain& chain) {
            waiting->asking = asking;
            waiting->home = chain.executor();
            const auto asked = waiting;  // the task may run on before this returns
            if (!take_in(asked)) refuse(asked);
        };
        co_await suspend(begin);
        co_return std::move(*waiting->answer);
    }
    /// Enqueues a request without waiting for it; never refused.
    void post(Request request) {
        take_in(std::make_shared<Waiting>(std::move(request), Terms{.entry = Entry::kCertain}));
    }

private:
    struct Waiting {
        Waiting(Request asked, Terms on) : request(std::move(asked)), terms(on) {}
        Request request;
        Terms terms;
        std::optional<Executor> home;  ///< nothing: nobody waits
        std::coroutine_handle<> asking;
        std::optional<Waiter> patience;  ///< in place of `asking`, for one that may stop waiting
        std::optional<Answer> answer;
        bool written = false, left = false;  ///< under the mutex

        void resume() {
            if (patience)
                patience->wake();
            else if (asking)
                asking.resume();
        }
    };
    using Batch = std::vector<std::shared_ptr<Waiting>>;

    Task<Answer> ask_for_a_while(std::shared_ptr<Waiting> waiting, Executor home) {
        waiting->patience.emplace(*waiting->terms.timers);
        // it refers to this task, which may be dropped with its loop
        const ScopeExit forget([&] { waiting->patience.reset(); });
        waiting->home = home;
        if (!take_in(waiting)) co_return refusal();
        const WaitEnd end = co_await waiting->patience->wait(waiting->terms.deadline);
        const Left left = end == WaitEnd::kWoken ? Left::kAnswered : leave(waiting);
        if (left == Left::kAnswered) co_return std::move(*waiting->answer);
        const bool under_way = left == Left::kUnderWay && !options_.undo;
        co_return fail(left_before_end(end, under_way));
    }

    enum class Left : std::uint8_t { kAnswered, kWithdrawn, kUnderWay };
    /// The caller stops waiting.
    Left leave(const std::shared_ptr<Waiting>& waiting) {
        const std::scoped_lock lock(mutex_);
        if (waiting->written) return Left::kAnswered;
        waiting->left = true;
        if (waiting->terms.late == Late::kWritten || std::erase(waiting_, waiting) == 0)
            return Left::kUnderWay;
        waiting_bytes_ -= waiting->terms.bytes;
        return Left::kWithdrawn;
    }

    bool take_in(std::shared_ptr<Waiting> waiting) {
        const std::scoped_lock lock(mutex_);
        const bool full = waiting_.size() >= options_.max_waiting ||
                          waiting_bytes_ + waiting->terms.bytes > options_.max_waiting_bytes;
        if (full && waiting->terms.entry == Entry::kRefusable) return false;
        waiting_bytes_ += waiting->terms.bytes;
        waiting_.push_back(std::move(waiting));
        if (!std::exchange(draining_, true))
            pool_.post([this] { drain(); });
        else if (waiting_.size() == wanted_)
            enough_.notify_one();
        return true;
    }

    Answer refusal() const {
        return fail(Error{
            .code = ErrorCode::kRateLimited,
            .message = "too many " + options_.name + " wait to be written; repeat in a moment",
            .details = {},
            .retryable = true,
            .retry_after = Milliseconds(200)});
    }
    void refuse(const std::shared_ptr<Waiting>& waiting) {
        waiting->answer.emplace(refusal());
        asio::post(*waiting->home, [waiting] { waiting->asking.resume(); });
    }

    void drain() {
        std::chrono::nanoseconds patience{0};
        std::size_t wanted = 0;
        while (true) {
            Batch batch = take_batch(wanted, patience);
            if (batch.empty()) return;
            const auto begin = std::chrono::steady_clock::now();
            write_batch(batch);
            mark_written(batch);
            patience = std::min<std::chrono::nanoseconds>(
                (std::chrono::steady_clock::now() - begin) / 4, kMostPatience);
            wanted = batch.size() / 2;
            resume(std::move(batch));
        }
    }

    /// Takes the next batch; empty when nothing waits, after which the pool task no longer uses
    /// this object.
    Batch take_batch(std::size_t wanted, std::chrono::nanoseconds patience) {
        std::unique_lock lock(mutex_);
        wanted_ = wanted;
        // Those that were just answered are about to ask again: a commit for the first of them
        // alone would make the others wait.
        if (waiting_.size() < wanted)
            enough_.wait_for(lock, patience, [&] { return waiting_.size() >= wanted; });
        Batch batch;
        std::size_t weight = 0;
        while (!waiting_.empty() && (batch.empty() || weight + waiting_.front()->terms.weight <=
                                                          options_.max_batch_weight)) {
            weight += waiting_.front()->terms.weight;
            waiting_bytes_ -= waiting_.front()->terms.bytes;
            batch.push_back(std::move(waiting_.front()));
            waiting_.pop_front();
        }
        if (batch.empty()) {
            draining_ = false;
            idle_.notify_all();
        }
        return batch;
    }

    void write_batch(Batch& batch) {
        const SteadyTime now = clock_.steady_now();
        std::vector<Request> requests;
        std::vector<Waiting*> asked;
        for (const auto& waiting : batch) {
            if (waiting->terms.deadline <= now && waiting->terms.late == Late::kWithdrawn) {
                waiting->answer.emplace(fail(left_before_end(WaitEnd::kExpired, false)));
                continue;
            }
            requests.push_back(std::move(waiting->request));
            asked.push_back(waiting.get());
        }
        if (asked.empty()) return;
        std::vector<Answer> answers;
        try {
            answers = write_(requests);
        } catch (const std::exception& failure) {
            log::error("writing a batch failed",
                       {{"of", options_.name}, {"error", failure.what()}});
        }
        if (answers.size() != asked.size())
            answers.assign(asked.size(),
                           fail(ErrorCode::kInternal, "the store of " + options_.name +
                                                          " broke off; nothing has changed"));
        for (std::size_t i = 0; i < asked.size(); ++i)
            asked[i]->answer.emplace(std::move(answers[i]));
    }

    /// Requests written for callers that have left are reverted before anything else is written.
    void mark_written(const Batch& batch) {
        const std::scoped_lock lock(mutex_);
        for (const auto& waiting : batch) {
            waiting->written = true;
            if (!waiting->left || !options_.undo) continue;
            if (auto undo = options_.undo(*waiting->answer))
                waiting_.push_front(
                    std::make_shared<Waiting>(std::move(*undo), Terms{.entry = Entry::kCertain}));
        }
    }

    /// Wakes each loop once for all of its coroutines.
    static void resume(Batch batch) {
        std::erase_if(batch, [](const auto& waiting) { return !waiting->home; });
        while (!batch.empty()) {
            const Executor home = *batch.front()->home;
            Batch here, elsewhere;
            for (auto& waiting : batch)
                (*waiting->home == home ? here : elsewhere).push_back(std::move(waiting));
            asio::post(home, [here = std::move(here)] {
                for (const auto& waiting : here) waiting->resume();
            });
            batch = std::move(elsewhere);
        }
    }

    static constexpr std::chrono::nanoseconds kMostPatience{500'000};
    const Options options_;
    const Write write_;
    BlockingPool& pool_;
    const Clock& clock_;
    std::mutex mutex_;
    std::condition_variable idle_, enough_;
    std::deque<std::shared_ptr<Waiting>> waiting_;
    std::size_t waiting_bytes_ = 0;
    std::size_t wanted_ = 0;  ///< queue length at which the next batch is committed without delay
    bool draining_ = false;  ///< a task on the pool refers to this object
};

}  // namespace crab
