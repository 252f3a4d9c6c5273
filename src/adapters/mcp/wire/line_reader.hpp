#pragma once

#include "adapters/mcp/wire/message_reader.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace crab::mcp {

/// One line of stdio, without its line end.
struct StdioLine {
    enum class Kind : std::uint8_t {
        kNeedMore,
        kLine,
        kOversize,  ///< longer than the limit: the child that wrote it is ended
    };

    Kind kind = Kind::kNeedMore;
    std::string_view text{};  ///< until the following next(); not empty
};

/// Cuts a child's output into lines, in pieces of any size: LF or CRLF ends one, empty ones are
/// skipped, and what stands behind the last line end at the end of input is none. Memory: one line
/// of at most `max_line` bytes. Source: docs/protocols/mcp.md, section 2.6, "Wire".
class LineReader {
public:
    explicit LineReader(std::size_t max_line = kMaxReply) : max_line_(max_line) {}

    /// Consumes from the front of `in` up to the end of the next line.
    StdioLine next(std::string_view& in);

private:
    std::size_t max_line_;
    std::string begun_;  // of a line whose end has not come
    bool delivered_ = false;
    bool oversize_ = false;
};

}  // namespace crab::mcp
