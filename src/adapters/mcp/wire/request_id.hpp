#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace crab::mcp {

inline constexpr std::size_t kMaxIdBytes = 256;
/// Integers that every JSON reader keeps exactly: ±(2^53 - 1).
inline constexpr std::int64_t kMaxSafeInteger = (std::int64_t{1} << 53) - 1;

/// The id of a JSON-RPC request: a string or an integer, which are never equal to each other. It
/// keeps the bytes that came, so that an answer repeats the id exactly. Progress tokens and
/// subscription ids have the same form. Source: docs/protocols/mcp.md, section 2.1.
class RequestId {
public:
    explicit RequestId(std::int64_t number);
    explicit RequestId(std::string text);

    /// From the bytes of a JSON value that a parser has accepted. Nothing for null, a fraction, an
    /// integer beyond ±(2^53 - 1), texts above 256 and digits above 64 bytes, all else.
    static std::optional<RequestId> read(std::string_view raw);

    /// As JSON, in the bytes that came.
    const std::string& json() const { return json_; }
    const std::int64_t* number() const { return std::get_if<std::int64_t>(&value_); }
    const std::string* text() const { return std::get_if<std::string>(&value_); }

    /// By type and value: `1` and `1.0` are equal, `1` and `"1"` are not.
    friend bool operator==(const RequestId& left, const RequestId& right) {
        return left.value_ == right.value_;
    }

private:
    RequestId(std::int64_t number, std::string_view raw) : value_(number), json_(raw) {}

    std::variant<std::int64_t, std::string> value_;
    std::string json_;
};

/// For unordered containers of requests that are under way.
struct RequestIdHash {
    std::size_t operator()(const RequestId& id) const;
};

}  // namespace crab::mcp
