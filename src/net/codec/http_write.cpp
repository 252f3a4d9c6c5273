#include "net/codec/http_write.hpp"

#include "net/codec/http_text.hpp"

#include <array>
#include <charconv>

namespace crab::net {
namespace {

struct Status {
    int code;
    std::string_view line;
};

// IANA's registry, as whole status lines: one append each.
constexpr Status kStatuses[] = {
    {100, "HTTP/1.1 100 Continue\r\n"},
    {101, "HTTP/1.1 101 Switching Protocols\r\n"},
    {200, "HTTP/1.1 200 OK\r\n"},
    {201, "HTTP/1.1 201 Created\r\n"},
    {202, "HTTP/1.1 202 Accepted\r\n"},
    {204, "HTTP/1.1 204 No Content\r\n"},
    {206, "HTTP/1.1 206 Partial Content\r\n"},
    {301, "HTTP/1.1 301 Moved Permanently\r\n"},
    {302, "HTTP/1.1 302 Found\r\n"},
    {303, "HTTP/1.1 303 See Other\r\n"},
    {304, "HTTP/1.1 304 Not Modified\r\n"},
    {307, "HTTP/1.1 307 Temporary Redirect\r\n"},
    {308, "HTTP/1.1 308 Permanent Redirect\r\n"},
    {400, "HTTP/1.1 400 Bad Request\r\n"},
    {401, "HTTP/1.1 401 Unauthorized\r\n"},
    {403, "HTTP/1.1 403 Forbidden\r\n"},
    {404, "HTTP/1.1 404 Not Found\r\n"},
    {405, "HTTP/1.1 405 Method Not Allowed\r\n"},
    {406, "HTTP/1.1 406 Not Acceptable\r\n"},
    {408, "HTTP/1.1 408 Request Timeout\r\n"},
    {409, "HTTP/1.1 409 Conflict\r\n"},
    {410, "HTTP/1.1 410 Gone\r\n"},
    {411, "HTTP/1.1 411 Length Required\r\n"},
    {412, "HTTP/1.1 412 Precondition Failed\r\n"},
    {413, "HTTP/1.1 413 Content Too Large\r\n"},
    {414, "HTTP/1.1 414 URI Too Long\r\n"},
    {415, "HTTP/1.1 415 Unsupported Media Type\r\n"},
    {416, "HTTP/1.1 416 Range Not Satisfiable\r\n"},
    {417, "HTTP/1.1 417 Expectation Failed\r\n"},
    {421, "HTTP/1.1 421 Misdirected Request\r\n"},
    {422, "HTTP/1.1 422 Unprocessable Content\r\n"},
    {425, "HTTP/1.1 425 Too Early\r\n"},
    {426, "HTTP/1.1 426 Upgrade Required\r\n"},
    {428, "HTTP/1.1 428 Precondition Required\r\n"},
    {429, "HTTP/1.1 429 Too Many Requests\r\n"},
    {431, "HTTP/1.1 431 Request Header Fields Too Large\r\n"},
    {500, "HTTP/1.1 500 Internal Server Error\r\n"},
    {501, "HTTP/1.1 501 Not Implemented\r\n"},
    {502, "HTTP/1.1 502 Bad Gateway\r\n"},
    {503, "HTTP/1.1 503 Service Unavailable\r\n"},
    {504, "HTTP/1.1 504 Gateway Timeout\r\n"},
    {505, "HTTP/1.1 505 HTTP Version Not Supported\r\n"},
    {507, "HTTP/1.1 507 Insufficient Storage\r\n"},
};

constexpr std::size_t kBeforePhrase = std::string_view("HTTP/1.1 200 ").size();

// Where each status stands in kStatuses, plus one; 0 for none.
constexpr auto kPlaces = [] {
    std::array<std::uint8_t, 600> places{};
    std::uint8_t place = 0;
    for (const Status& status : kStatuses) places[static_cast<std::size_t>(status.code)] = ++place;
    return places;
}();

std::string_view status_line(int status) {
    const std::uint8_t place =
        status >= 0 && status < 600 ? kPlaces[static_cast<std::size_t>(status)] : 0;
    return place == 0 ? std::string_view{} : kStatuses[place - 1].line;
}

void append_number(std::string& out, std::uint64_t number, int base = 10) {
    char digits[20];
    const auto end = std::to_chars(digits, digits + sizeof digits, number, base).ptr;
    out.append(digits, end);
}

bool is_value(std::string_view value) {
    return find_non_value(value.data(), value.data() + value.size()) == value.data() + value.size();
}

// Appends all of them or takes `out` back to where it was.
bool append_headers(std::string& out, std::size_t start, std::span<const HttpHeader> headers) {
    for (const HttpHeader& header : headers) {
        if (!append_header(out, header.name, header.value)) {
            out.resize(start);
            return false;
        }
    }
    return true;
}

}  // namespace

std::string_view reason_phrase(int status) {
    std::string_view line = status_line(status);
    if (line.empty()) return {};
    line.remove_suffix(2);
    return line.substr(kBeforePhrase);
}

void append_status_line(std::string& out, int status) {
    if (const std::string_view line = status_line(status); !line.empty()) {
        out += line;
        return;
    }
    out += "HTTP/1.1 ";
    append_number(out, static_cast<std::uint64_t>(status));
    out += " \r\n";
}

bool append_request_line(std::string& out, std::string_view method, std::string_view target,
                         std::string_view host) {
    if (method.empty() || target.empty()) return false;
    if (!all_of_class(method, kTokenChar) || !all_of_class(target, kTargetChar) ||
        !all_of_class(host, kHostChar))
        return false;
    out.append(method)
        .append(" ")
        .append(target)
        .append(" HTTP/1.1\r\nHost: ")
        .append(host)
        .append("\r\n");
    return true;
}

bool append_header(std::string& out, std::string_view name, std::string_view value) {
    if (name.empty() || !all_of_class(name, kTokenChar) || !is_value(value)) return false;
    out.append(name).append(": ").append(value).append("\r\n");
    return true;
}

void append_content_length(std::string& out, std::uint64_t length) {
    out += "Content-Length: ";
    append_number(out, length);
    out += "\r\n";
}

bool append_response(std::string& out, int status, std::string_view content_type,
                     std::string_view body, KeepAlive keep_alive,
                     std::span<const HttpHeader> more) {
    const std::size_t start = out.size();
    append_status_line(out, status);
    const bool with_body = has_body(status);
    if (with_body && !content_type.empty()) {
        const HttpHeader type{"Content-Type", content_type};
        if (!append_headers(out, start, {&type, 1})) return false;
    }
    if (with_body) append_content_length(out, body.size());
    if (keep_alive == KeepAlive::kNo) append_connection_close(out);
    if (!append_headers(out, start, more)) return false;
    append_head_end(out);
    if (with_body) out += body;
    return true;
}

// parameters: all that a request is made of, as in append_response()
bool append_request(std::string& out, std::string_view method, std::string_view target,
                    std::string_view host, std::string_view content_type, std::string_view body,
                    std::span<const HttpHeader> more) {
    const std::size_t start = out.size();
    if (!append_request_line(out, method, target, host)) return false;
    if (!content_type.empty()) {
        const HttpHeader type{"Content-Type", content_type};
        if (!append_headers(out, start, {&type, 1})) return false;
    }
    const bool usually_bodiless = method == "GET" || method == "HEAD" || method == "DELETE";
    if (!body.empty() || !usually_bodiless) append_content_length(out, body.size());
    if (!append_headers(out, start, more)) return false;
    append_head_end(out);
    out += body;
    return true;
}

void append_chunk(std::string& out, std::string_view data) {
    if (data.empty()) return;
    append_number(out, data.size(), 16);
    out.append("\r\n").append(data).append("\r\n");
}

}  // namespace crab::net
