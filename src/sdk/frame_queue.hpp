#pragma once

#include "base/task/waiter.hpp"
#include "core/call/frame_sink.hpp"
#include "net/loop/event_loop.hpp"

#include "crab/tool_client.hpp"

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace crab::sdk {

/// Frames of one streamed call on their way from the client's loop to the thread that waits for
/// them. At most 1 MiB and one frame wait; then the stream is held back.
class FrameQueue final : public core::FrameSink {
public:
    explicit FrameQueue(net::EventLoop& loop)
        : room_(std::make_shared<RemoteWaiter>(loop.executor(), loop.timers())) {}

    // On the loop.
    void on_frame(const core::ToolFrame& frame) override {
        const std::scoped_lock lock(mutex_);
        if (closed_) return;
        bytes_ += frame.data.size();
        frames_.push_back({.number = frame.number,
                           .final = frame.final,
                           .content_type = std::string(frame.content_type),
                           .data = std::string(frame.data),
                           .summary = std::string(frame.summary)});
        changed_.notify_one();
    }
    Task<void> drained() override {
        while (is_full() && !(co_await this_chain()).cancelled())
            static_cast<void>(co_await room_->wait(kNoDeadline));
    }
    /// The call has ended: no frame follows.
    void end() {
        const std::scoped_lock lock(mutex_);
        ended_ = true;
        changed_.notify_one();
    }

    // On the thread that waits.
    /// The next frame; nothing when the call has ended.
    std::optional<ToolFrame> pop() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return ended_ || !frames_.empty(); });
        if (frames_.empty()) return std::nullopt;
        ToolFrame frame = std::move(frames_.front());
        frames_.pop_front();
        bytes_ -= frame.data.size();
        room_->wake();
        return frame;
    }
    /// Takes no more frames.
    void close() {
        const std::scoped_lock lock(mutex_);
        closed_ = true;
        frames_.clear();
        bytes_ = 0;
        room_->wake();
    }

private:
    static constexpr std::size_t kMostBytes = 1024 * 1024;
    bool is_full() {
        const std::scoped_lock lock(mutex_);
        return bytes_ >= kMostBytes;
    }

    std::shared_ptr<RemoteWaiter> room_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<ToolFrame> frames_;
    std::size_t bytes_ = 0;
    bool ended_ = false, closed_ = false;
};

}  // namespace crab::sdk
