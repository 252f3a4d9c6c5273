#include "hosts/memory/write_queue.hpp"

#include "base/log.hpp"

#include <functional>
#include <optional>

namespace crab::memory {
namespace {

std::size_t weight_of(const MemoryWrite& write) {
    if (const auto* append = std::get_if<MemoryAppend>(&write.change)) return append->entries.size();
    return 100;
}

std::size_t bytes_of(const MemoryWrite& write) {
    std::size_t bytes = 0;
    if (const auto* append = std::get_if<MemoryAppend>(&write.change)) {
        for (const NewMemory& entry : append->entries) bytes += entry.text.size() + entry.tags.size() + entry.metadata.size();
    }
    return bytes;
}

}  // namespace

struct WriteQueue::Waiting {
    MemoryWrite write;
    Deadline deadline;
    std::size_t weight, bytes;
    std::optional<Executor> home = {};
    std::coroutine_handle<> asking = {};
    std::optional<Result<MemoryWritten>> answer;

    static void end(std::shared_ptr<Waiting> waiting, Result<MemoryWritten> with) {
        waiting->answer.emplace(std::move(with));
        asio::post(*waiting->home, [waiting] { waiting->asking.resume(); });
    }
};

WriteQueue::WriteQueue(MemoryStore& store, BlockingPool& pool, const Clock& clock, Options options)
    : store_(store), pool_(pool), clock_(clock), options_(options) {}

WriteQueue::~WriteQueue() {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [&] { return !draining_; });
}

Task<Result<MemoryWritten>> WriteQueue::write(MemoryWrite change, Deadline deadline) {
    const std::size_t weight = weight_of(change), bytes = bytes_of(change);
    auto waiting = std::make_shared<Waiting>(Waiting{.write = std::move(change), .deadline = deadline, .weight = weight, .bytes = bytes, .answer = {}});
    auto begin = [&](std::coroutine_handle<> asking, TaskChain& chain) {
        waiting->asking = asking;
        waiting->home = chain.executor();
        const auto asked = waiting;  // the task may run on before this returns
        if (!admit(asked)) {
            Waiting::end(asked, fail(Error{.code = ErrorCode::kRateLimited, .message = "too many memories wait to be written; repeat in a moment",
                                           .details = {}, .retryable = true, .retry_after = Milliseconds(200)}));
        }
    };
    co_await suspend(begin);
    co_return std::move(*waiting->answer);
}

bool WriteQueue::admit(const std::shared_ptr<Waiting>& waiting) {
    const std::scoped_lock lock(mutex_);
    if (waiting_.size() >= options_.max_waiting || waiting_bytes_ + waiting->bytes > options_.max_waiting_bytes) return false;
    waiting_.push_back(waiting);
    waiting_bytes_ += waiting->bytes;
    if (!std::exchange(draining_, true)) pool_.post([this] { drain(); });
    return true;
}

void WriteQueue::drain() {
    while (true) {
        Batch batch = take_batch();
        if (batch.empty()) return;
        write_batch(batch);
    }
}

/// What is written next; empty when nothing waits, and then this object is not referred to any more.
WriteQueue::Batch WriteQueue::take_batch() {
    const std::scoped_lock lock(mutex_);
    Batch batch;
    std::size_t weight = 0;
    while (!waiting_.empty() && (batch.empty() || weight + waiting_.front()->weight <= options_.max_batch_weight)) {
        weight += waiting_.front()->weight;
        waiting_bytes_ -= waiting_.front()->bytes;
        batch.push_back(std::move(waiting_.front()));
        waiting_.pop_front();
    }
    if (batch.empty()) {
        draining_ = false;
        idle_.notify_all();
    }
    return batch;
}

void WriteQueue::write_batch(Batch& batch) {
    const SteadyTime now = clock_.steady_now();
    std::vector<MemoryWrite> writes;
    Batch asked;
    for (std::shared_ptr<Waiting>& waiting : batch) {
        if (waiting->deadline <= now) {
            Waiting::end(std::move(waiting), fail(ErrorCode::kTimeout, "the deadline passed before the change was written; nothing has changed"));
            continue;
        }
        writes.push_back(std::move(waiting->write));
        asked.push_back(std::move(waiting));
    }
    if (asked.empty()) return;
    std::vector<Result<MemoryWritten>> answers;
    try {
        answers = store_.write(writes);
    } catch (const std::exception& failure) {
        log::error("writing memories failed", {{"error", failure.what()}});
    }
    if (answers.size() != asked.size()) answers.assign(asked.size(), fail(ErrorCode::kInternal, "the memory store broke off; nothing has changed"));
    for (std::size_t i = 0; i < asked.size(); ++i) Waiting::end(std::move(asked[i]), std::move(answers[i]));
}

}  // namespace crab::memory
