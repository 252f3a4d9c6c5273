#include "adapters/sw4rm/frame_writer.hpp"

#include "adapters/sw4rm/messages.hpp"

namespace crab::sw4rm {

void FrameWriter::write(std::string_view data, std::string_view content_type,
                        std::string_view summary, bool final) {
    ++frames_;
    bytes_ += data.size();
    if (content_type_.empty()) content_type_ = content_type;
    std::string& out = call_.begin_message();
    to_wire(out, ToolFrame{.call_id = call_id_,
                           .frame_no = frames_,
                           .final = final,
                           .content_type = content_type_,
                           .data = data,
                           .summary = summary});
    call_.end_message();
}

void FrameWriter::on_frame(const core::ToolFrame& frame) {
    std::string_view rest = frame.data;
    while (!rest.empty()) {
        const std::string_view part = rest.substr(0, kMostDataBytes);
        write(part, frame.content_type.empty() ? "application/octet-stream" : frame.content_type,
              {}, false);
        rest.remove_prefix(part.size());
    }
}

Task<void> FrameWriter::drained() {
    for (;;) {
        const std::size_t waiting = call_.queued_bytes();
        const Deadline patience = call_.loop().now() + kSlowReader;
        if (co_await call_.drained(kMostQueuedBytes, patience) != WaitEnd::kExpired) co_return;
        // it may read as slowly as it likes, if it reads
        if (call_.queued_bytes() == waiting) break;
    }
    slow_ = true;
    (co_await this_chain()).cancel();
}

std::optional<core::FrameSink::Sent> FrameWriter::sent(const core::Outcome& outcome) const {
    const std::string_view gave_up = slow_ ? "slow reader" : "";
    if (!outcome) return Sent{.frames = frames_, .bytes = bytes_, .gave_up = gave_up};
    const std::size_t rest =
        outcome->content.size() - std::min<std::size_t>(outcome->content.size(), bytes_);
    return Sent{.frames = frames_ + (rest + kMostDataBytes - 1) / kMostDataBytes + 1,
                .bytes = bytes_ + rest,
                .gave_up = gave_up};
}

void FrameWriter::write_only(std::string_view data, std::string_view content_type,
                             std::string_view summary) {
    write(data, content_type, summary, true);
}

Task<bool> FrameWriter::write_rest(std::string_view data, std::string_view content_type) {
    while (!data.empty()) {
        const std::string_view part = data.substr(0, kMostDataBytes);
        write(part, content_type, {}, false);
        data.remove_prefix(part.size());
        co_await drained();
        if (slow_ || call_.gone()) co_return false;
    }
    co_return true;
}

void FrameWriter::write_final(std::string_view content_type, std::string_view summary) {
    write({}, content_type, summary, true);
}

}  // namespace crab::sw4rm
