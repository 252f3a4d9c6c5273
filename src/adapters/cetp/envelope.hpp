#pragma once

#include "base/clock.hpp"
#include "base/error.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace crab::cetp {

constexpr std::size_t kMaxData = std::size_t{1} << 20;      ///< of `data` in an envelope, bytes
constexpr std::size_t kMaxDataFd = std::size_t{4} << 20;    ///< of `data_fd` on D-Bus, bytes
constexpr std::size_t kMaxText = 4096;  ///< of a code, message or hint, bytes

/// The codes of rule 25. Others are passed on as they are.
namespace code {
inline constexpr std::string_view kAuthRequired = "AUTH_REQUIRED";
inline constexpr std::string_view kPermissionDenied = "PERMISSION_DENIED";
inline constexpr std::string_view kToolNotFound = "TOOL_NOT_FOUND";
inline constexpr std::string_view kInvalidArgs = "INVALID_ARGS";
inline constexpr std::string_view kRateLimited = "RATE_LIMITED";
inline constexpr std::string_view kInternalError = "INTERNAL_ERROR";
}  // namespace code

/// The answer to a call: data, or an error with a code. Source: docs/protocols/cetp.md, rules 20 to
/// 30.
struct Envelope {
    bool success = false;
    std::string data{};  ///< of a success: free text, usually JSON
    std::string code{};  ///< of an error, as are the members below
    std::string message{};
    std::string hint{};  ///< what the person can do; may be empty
    std::string intent{};  ///< an action of the provider's own app; may be empty
    std::optional<Milliseconds> retry_after{};
    /// Set by the transport: the other end does not speak the protocol
    bool not_spoken = false;

    static Envelope ok(std::string data) { return {.success = true, .data = std::move(data)}; }
    static Envelope error(std::string_view code, std::string message) {
        return {.code = std::string(code), .message = std::move(message)};
    }
    /// With the codes of section 1.
    static Envelope error(const Error& error);
    /// For a deadline that passed after `waited`.
    static Envelope no_answer_within(std::chrono::nanoseconds waited);
    /// Rule 24.
    static Envelope too_large(std::size_t bytes, std::size_t limit);

    bool needs_person() const { return !success && code == code::kAuthRequired; }
    /// What the agent reads of an error: `[CODE] message`, or `[CODE] message — hint` (rule 26).
    std::string agent_text() const;
    friend bool operator==(const Envelope&, const Envelope&) = default;
};

/// The flat map on the wire, unparsed. D-Bus has its own encoding, the other transports use JSON.
using Fields = std::map<std::string, std::variant<std::string, std::uint32_t>, std::less<>>;

/// Converts a map to an envelope, whatever it holds (rules 20 to 23). Texts are cleaned and cut.
Envelope read_envelope(const Fields& fields);
/// An envelope in JSON: one object whose `data` may be any value, kept as compact text. Nothing
/// when it is not a JSON object.
std::optional<Envelope> parse_envelope(std::string_view text);
/// The JSON form, without a line end.
std::string to_wire(const Envelope& envelope);

/// Control characters become spaces; more than kMaxText bytes are cut at a character. `text` is
/// UTF-8.
std::string clean_text(std::string_view text);

}  // namespace crab::cetp
