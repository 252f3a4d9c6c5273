#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace crab::clawseed {

/// Finds `type` and `id` among the top-level members of a frame that is too large to be kept, byte by byte. It does not judge whether
/// the frame is JSON. Values with escapes and long ones are not found.
class FrameScan {
public:
    void feed(std::string_view piece);
    /// Empty until they have come.
    const std::string& type() const { return type_; }
    const std::string& id() const { return id_; }
    /// Whether an object or array has begun and not ended.
    bool in_object() const { return depth_ > 0; }

private:
    void end_string();

    static constexpr std::size_t kMostKept = 128;
    std::string text_, key_, type_, id_;
    std::size_t depth_ = 0;
    bool in_string_ = false;
    bool escaped_ = false;
    bool kept_ = false;      // the string that is being read is of interest, and short enough so far
    bool is_value_ = false;  // behind a colon
};

}  // namespace crab::clawseed
