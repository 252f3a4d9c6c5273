#include "net/codec/sse.hpp"

#include "net/codec/http_text.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace crab::net {
namespace {

// a longer id is ignored, as one with a NUL is: it would come back in a header field
constexpr std::size_t kMostIdBytes = 1024;

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::string_view kLineEnds = "\r\n";

bool fits_one_line(std::string_view text) {
    return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
}

}  // namespace

bool append_sse_event(std::string& out, std::string_view type, std::string_view id,
                      std::string_view data) {
    if (!fits_one_line(type) || !fits_one_line(id)) return false;
    if (!type.empty()) out.append("event: ").append(type).append("\n");
    if (!id.empty()) out.append("id: ").append(id).append("\n");
    while (true) {
        const std::size_t end = data.find_first_of(kLineEnds);
        out.append("data: ").append(data.substr(0, end)).append("\n");
        if (end == std::string_view::npos) break;
        data.remove_prefix(end + (data.substr(end).starts_with("\r\n") ? 2 : 1));
    }
    out += '\n';
    return true;
}

SseEvent SseParser::next(std::string_view& in) {
    if (delivered_) {
        type_.clear();
        data_.clear();
        delivered_ = false;
    }
    while (!refused_ && !in.empty()) {
        if (after_cr_) {
            after_cr_ = false;
            if (in.front() == '\n') {
                in.remove_prefix(1);
                continue;
            }
        }
        const std::size_t end = in.find_first_of(kLineEnds);
        const std::string_view part = in.substr(0, end);
        if (line_.size() + data_.size() + type_.size() + part.size() > max_event_bytes_) {
            refused_ = true;
            break;
        }
        if (end == std::string_view::npos) {
            line_ += part;
            in = {};
            return {};
        }
        after_cr_ = in[end] == '\r';
        in.remove_prefix(end + 1);
        bool complete = false;
        if (line_.empty()) {
            complete = end_line(part);
        } else {
            line_ += part;
            complete = end_line(line_);
            line_.clear();
        }
        if (complete) {
            delivered_ = true;
            return {.kind = SseEvent::Kind::kEvent,
                    .type = type_.empty() ? "message" : std::string_view(type_),
                    .data = data_,
                    .id = last_id_};
        }
    }
    if (!refused_) return {};
    in = {};
    return {.kind = SseEvent::Kind::kRefused};
}

// True when the line is the empty one that ends an event.
bool SseParser::end_line(std::string_view line) {
    if (std::exchange(first_line_, false) && line.starts_with(kByteOrderMark))
        line.remove_prefix(kByteOrderMark.size());
    if (line.empty()) {
        last_id_ = id_;
        if (data_.empty()) {
            type_.clear();
            return false;
        }
        data_.pop_back();
        return true;
    }
    const std::size_t colon = line.find(':');
    if (colon == 0) return false;  // a comment
    std::string_view value =
        colon == std::string_view::npos ? std::string_view{} : line.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    field(line.substr(0, colon), value);
    return false;
}

void SseParser::field(std::string_view name, std::string_view value) {
    if (name == "data") {
        data_.append(value).append("\n");
    } else if (name == "event") {
        type_ = value;
    } else if (name == "id") {
        if (value.size() <= kMostIdBytes && value.find('\0') == std::string_view::npos) id_ = value;
    } else if (name == "retry" && !value.empty() && std::ranges::all_of(value, is_digit)) {
        std::int64_t delay = 0;
        if (std::from_chars(value.data(), value.data() + value.size(), delay).ec == std::errc{})
            retry_ = std::chrono::milliseconds(delay);
    }
}

}  // namespace crab::net
