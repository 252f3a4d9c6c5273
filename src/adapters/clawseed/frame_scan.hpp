#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace crab::clawseed {

/// Finds `type` and `id` among the top-level members of a frame that is not valid JSON or too large
/// to buffer, byte by byte. Does not validate JSON. Empty and long values and those with escapes
/// are not found; of two members with one name the first counts.
class FrameScan {
public:
    void feed(std::string_view piece);
    /// Empty until they have come.
    const std::string& type() const { return type_.text; }
    const std::string& id() const { return id_.text; }
    /// Whether an object or array has begun and not ended.
    bool in_object() const { return depth_ > 0; }
    /// Whether all that has begun has ended, and none of it was an array.
    bool is_complete() const { return depth_ == 0 && !in_string_ && !array_; }

private:
    struct Member {
        std::string text;
        bool decided = false;  // it was there, found or not
    };

    void end_string();
    static void decide(Member& member, std::string_view text);

    static constexpr std::size_t kMostKept = 128;
    std::string text_, key_;
    Member type_, id_;
    std::size_t depth_ = 0;
    bool in_string_ = false;
    bool escaped_ = false;
    bool kept_ = false;  // the string that is being read is of interest, and short enough so far
    bool is_value_ = false;  // behind a colon
    bool array_ = false;  // there was one at the top
};

}  // namespace crab::clawseed
