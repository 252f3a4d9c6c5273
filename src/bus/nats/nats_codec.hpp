#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace crab::bus::nats {

// The text protocol between a NATS client and its server
// (docs.nats.io/reference/reference-protocols/nats-protocol), the part that crab speaks. Subjects
// are ASCII without blanks.

/// Of one line, without the payload of a message.
inline constexpr std::size_t kMostLine = std::size_t{64} << 10;

/// What a server says. Views are of the text that was read.
struct FromServer {
    enum class Kind : std::uint8_t { kInfo, kMessage, kPing, kPong, kOk, kError };
    Kind kind = Kind::kOk;
    std::string_view text;  ///< of kInfo, a JSON object; of kError, what it says
    // of kMessage
    std::string_view subject, reply;  ///< reply: empty when none was given
    std::uint64_t subscription = 0;
    std::string_view payload;
    /// The status of its header: 503 when a request has reached nobody; 0: none
    int status = 0;
};

struct Read {
    std::size_t consumed = 0;  ///< bytes of the input; 0: there is no whole item yet
    FromServer item;  ///< if there is
};
/// Reads the next item. Errors: kInvalidArgs for what no server says, kOversize for a line or a
/// payload above its limit; the connection is of no use then.
Result<Read> read_from_server(std::string_view input, std::size_t most_payload);

/// Whether a server's INFO, a JSON object, says that it takes nothing but TLS.
bool requires_tls(std::string_view info);

/// `CONNECT`: without acknowledgements, with headers and with news of requests that reach nobody.
/// `user` and `password` may be empty.
std::string connect_line(std::string_view name, std::string_view user, std::string_view password);
std::string subscribe_line(std::string_view subject, std::uint64_t subscription);
/// `PUB`; `reply` may be empty.
void append_publish(std::string& out, std::string_view subject, std::string_view reply,
                    std::string_view payload);
inline constexpr std::string_view kPing = "PING\r\n", kPong = "PONG\r\n";

}  // namespace crab::bus::nats
