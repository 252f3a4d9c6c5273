#pragma once

#include "core/call/frame_sink.hpp"
#include "core/pipeline/pipeline.hpp"
#include "net/grpc/grpc_call.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace crab::sw4rm {

/// Writes the frames of one call, numbered 1, 2, 3, …, none with more than 256 KiB of data, the
/// final one last; as a FrameSink it streams while the tool runs, and applies back-pressure while
/// more than 1 MiB is queued for the caller (docs/protocols/sw4rm.md, section 3).
class FrameWriter final : public core::FrameSink {
public:
    static constexpr std::size_t kMostDataBytes = 256 * 1024;
    static constexpr std::size_t kMostQueuedBytes = 1024 * 1024;
    static constexpr Milliseconds kSlowReader{60'000};

    /// `call_id` must outlive it.
    FrameWriter(net::GrpcCall& call, const std::string_view& call_id)
        : call_(call), call_id_(call_id) {}

    void on_frame(const core::ToolFrame& frame) override;
    /// Cancels the waiting call when its reader takes nothing for a minute.
    Task<void> drained() override;

    std::optional<Sent> sent(const core::Outcome& outcome) const override;

    /// One frame with everything: what Call answers.
    void write_only(std::string_view data, std::string_view content_type, std::string_view summary);
    /// The rest of an output, in frames of maximum size. False when the reader was too slow or has
    /// disconnected.
    Task<bool> write_rest(std::string_view data, std::string_view content_type);
    void write_final(std::string_view content_type, std::string_view summary);

    std::uint64_t frames() const { return frames_; }
    std::uint64_t bytes() const { return bytes_; }
    bool reader_was_slow() const { return slow_; }

private:
    void write(std::string_view data, std::string_view content_type, std::string_view summary,
               bool final);

    net::GrpcCall& call_;
    const std::string_view& call_id_;
    std::string content_type_;  // of all frames, set by the first
    std::uint64_t frames_ = 0;
    std::uint64_t bytes_ = 0;
    bool slow_ = false;
};

}  // namespace crab::sw4rm
