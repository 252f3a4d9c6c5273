#pragma once

#include "base/result.hpp"

#include "crab/tool_answer.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace crab::sdk {

/// The bytes of an answer, wherever they are, piece by piece.
class AnswerBytes {
public:
    virtual ~AnswerBytes() = default;
    virtual std::uint64_t size() const = 0;
    virtual void rewind() = 0;
    /// The next piece, valid until the next call; empty at the end, and when a file cannot be read.
    virtual std::string_view next() = 0;
};

/// Text, JSON and bytes in memory, or a file. Null when the file cannot be opened. `answer`
/// outlives it.
std::unique_ptr<AnswerBytes> bytes_of_answer(const ToolAnswer& answer);
/// Whether it is uploaded where that is possible: bytes always, text and JSON beyond
/// `inline_bytes`.
bool is_large(const ToolAnswer& answer, std::size_t inline_bytes);
/// `{"content_type":"…","base64":"…"}`: an answer of kBytes where nothing can be uploaded.
std::string inline_bytes(const ToolAnswer& answer);

}  // namespace crab::sdk
