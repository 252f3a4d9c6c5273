#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace crab {

/// What a tool's handler returns: text, one JSON value, bytes, or a failure.
class ToolAnswer {
public:
    enum class Kind : std::uint8_t { kText, kJson, kBytes, kError };

    ToolAnswer(std::string text) : ToolAnswer(Kind::kText, std::move(text)) {}
    ToolAnswer(const char* text) : ToolAnswer(std::string(text)) {}

    /// Text, kept byte for byte; what is not UTF-8 becomes U+FFFD.
    static ToolAnswer text(std::string text) { return {Kind::kText, std::move(text)}; }
    /// One JSON value, such as `{"celsius":21.5}`. Text that is not JSON reaches the caller as
    /// `INTERNAL`.
    static ToolAnswer json(std::string json) { return {Kind::kJson, std::move(json)}; }
    /// Bytes, such as a photo. A device uploads them if the gateway supports it, and callers get a
    /// reference to fetch them by; otherwise they are JSON,
    /// `{"content_type":"image/jpeg","base64":"..."}`.
    static ToolAnswer bytes(std::string bytes, std::string content_type) {
        ToolAnswer answer(Kind::kBytes, std::move(bytes));
        answer.content_type_ = std::move(content_type);
        return answer;
    }
    /// The same for the bytes of a file, which is read in pieces and must not change until it is
    /// sent.
    static ToolAnswer file(std::string path, std::string content_type) {
        ToolAnswer answer = bytes(std::move(path), std::move(content_type));
        answer.is_file_ = true;
        return answer;
    }
    /// A failure. A tool may claim `INVALID_ARGS`, `TOOL_NOT_FOUND`, `FORBIDDEN`, `AUTH_REQUIRED`,
    /// `RATE_LIMITED`, `UNAVAILABLE`, `TIMEOUT`, `CANCELLED` and `INTERNAL`; with any other code
    /// the caller sees `TOOL_FAILED`.
    static ToolAnswer error(std::string_view code, std::string_view message) {
        return {Kind::kError, std::string(code).append(": ").append(message)};
    }

    /// A failure with text from another protocol. The text is passed on unchanged; a code at its
    /// start, as `CODE: ` or `[CODE] `, counts as in error().
    static ToolAnswer failure(std::string text) { return {Kind::kError, std::move(text)}; }

    Kind kind() const { return kind_; }
    /// The text, the JSON, the bytes (or the path of the file that has them), or `CODE: message`.
    const std::string& content() const { return content_; }
    const std::string& content_type() const { return content_type_; }
    bool is_file() const { return is_file_; }

private:
    ToolAnswer(Kind kind, std::string content) : kind_(kind), content_(std::move(content)) {}

    Kind kind_;
    std::string content_;
    std::string content_type_;
    bool is_file_ = false;
};

}  // namespace crab
