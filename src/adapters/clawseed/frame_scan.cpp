#include "adapters/clawseed/frame_scan.hpp"

#include <utility>

namespace crab::clawseed {

void FrameScan::feed(std::string_view piece) {
    for (std::size_t i = 0; i < piece.size(); ++i) {
        const char c = piece[i];
        if (in_string_) {
            if (escaped_) {
                escaped_ = false;
            } else if (c == '\\') {
                escaped_ = true;
                kept_ = false;
            } else if (c == '"') {
                end_string();
            } else if (kept_) {
                text_ += c;
                kept_ = text_.size() <= kMostKept;
            }
            continue;
        }
        switch (c) {
            case '"':
                in_string_ = true;
                kept_ = depth_ == 1;
                text_.clear();
                break;
            case '{':
            case '[':
                if (depth_++ == 0 && c == '[') array_ = true;
                break;
            case '}':
            case ']':
                if (depth_ > 0) --depth_;
                break;
            case ':':
                if (depth_ == 1) is_value_ = true;
                break;
            case ',':
                if (depth_ == 1) is_value_ = false;
                break;
            default: break;
        }
    }
}

void FrameScan::end_string() {
    in_string_ = false;
    if (depth_ != 1) return;
    if (!kept_) text_.clear();
    if (!is_value_) {
        key_ = text_;
    } else if (key_ == "type") {
        decide(type_, text_);
    } else if (key_ == "id") {
        decide(id_, text_);
    }
}

void FrameScan::decide(Member& member, std::string_view text) {
    if (!std::exchange(member.decided, true)) member.text = text;
}

}  // namespace crab::clawseed
