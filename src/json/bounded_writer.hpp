#pragma once

#include "base/unfilled.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace crab::json {

/// Writes a JSON text of bounded length into a buffer that is reserved once. For hot paths that
/// write the same few members; everything else uses Writer. The destructor trims the buffer.
class BoundedWriter {
public:
    /// Upper bound for a quoted text of `size` bytes.
    static constexpr std::size_t room_for(std::size_t size) { return 6 * size + 2; }

    BoundedWriter(std::string& out, std::size_t room) : out_(out) {
        const std::size_t begin = out_.size();
        resize_unfilled(out_, begin + room + kBeyond);
        at_ = out_.data() + begin;
    }
    BoundedWriter(const BoundedWriter&) = delete;
    BoundedWriter& operator=(const BoundedWriter&) = delete;
    ~BoundedWriter() { out_.resize(static_cast<std::size_t>(at_ - out_.data())); }

    /// Text that is JSON already, such as `,"status":"`.
    template <std::size_t N>
    BoundedWriter& literal(const char (&text)[N]) {
        std::memcpy(at_, text, N - 1);
        at_ += N - 1;
        return *this;
    }
    /// The same for text that is not known at compile time and needs no escapes.
    BoundedWriter& raw(std::string_view text) {
        // an empty view may point nowhere
        if (!text.empty()) std::memcpy(at_, text.data(), text.size());
        at_ += text.size();
        return *this;
    }
    /// A JSON string with its quotes; `text` is valid UTF-8.
    BoundedWriter& quoted(std::string_view text);
    BoundedWriter& integer(std::int64_t value) {
        at_ = std::to_chars(at_, at_ + 20, value).ptr;
        return *this;
    }

private:
    static constexpr std::size_t kBeyond = 16;  // behind the room: a block that is looked at

    std::string& out_;
    char* at_;
};

}  // namespace crab::json
