#pragma once

#include "net/codec/http_head.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

/// Writing HTTP/1.1 messages onto the end of an outgoing buffer. A field that would break the
/// message (a control character in a value, a name that is not a token) is not written at all, and
/// the function says so: no caller can be made to inject one.
namespace crab::net {

/// `OK`, `Not Found`, ...; empty for a status without a registered phrase.
std::string_view reason_phrase(int status);

/// Whether a response of this status may have a body (RFC 9110 section 6.4.1).
constexpr bool has_body(int status) { return status >= 200 && status != 204 && status != 304; }

/// `HTTP/1.1 200 OK\r\n`; status 100..599.
void append_status_line(std::string& out, int status);
/// `GET /path HTTP/1.1\r\nHost: host\r\n`. False, and nothing written, when a part holds a
/// character that may not stand there.
[[nodiscard]] bool append_request_line(std::string& out, std::string_view method,
                                       std::string_view target, std::string_view host);

/// `Name: value\r\n`. False, and nothing written, when name or value may not stand in a head.
[[nodiscard]] bool append_header(std::string& out, std::string_view name, std::string_view value);
void append_content_length(std::string& out, std::uint64_t length);
inline void append_chunked(std::string& out) { out += "Transfer-Encoding: chunked\r\n"; }
inline void append_connection_close(std::string& out) { out += "Connection: close\r\n"; }
inline void append_head_end(std::string& out) { out += "\r\n"; }

enum class KeepAlive : std::uint8_t { kNo, kYes };

/// A whole response. Statuses that have no body (1xx, 204, 304) get neither body nor
/// Content-Length. False, and nothing written, when a field of `more` is not fit for a head.
[[nodiscard]] bool append_response(std::string& out, int status, std::string_view content_type,
                                   std::string_view body, KeepAlive keep_alive = KeepAlive::kYes,
                                   std::span<const HttpHeader> more = {});
/// A whole request with Content-Length (left out for GET, HEAD and DELETE without body). Likewise.
[[nodiscard]] bool append_request(std::string& out, std::string_view method,
                                  std::string_view target, std::string_view host,
                                  std::string_view content_type, std::string_view body,
                                  std::span<const HttpHeader> more = {});

/// One chunk of a chunked body; empty data writes nothing, since an empty chunk would end the body.
void append_chunk(std::string& out, std::string_view data);
/// The end of a chunked body, without trailers.
inline void append_last_chunk(std::string& out) { out += "0\r\n\r\n"; }

}  // namespace crab::net
