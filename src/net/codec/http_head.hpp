#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

namespace crab::net {

/// Limits of a head. `max_headers` above HeaderList::kCapacity and heads above 65,535 bytes are cut
/// to those.
struct HttpLimits {
    /// Start line, fields and the empty line, with their line ends
    std::size_t max_head_bytes = 16 * 1024;
    std::size_t max_headers = 64;
    std::size_t max_target = 8 * 1024;
};

struct HttpHeader {
    std::string_view name;  ///< as received
    std::string_view value;  ///< without surrounding white space
};

/// The fields of one head, in order, as places in the buffer it was parsed from. Nothing is owned
/// or allocated.
class HeaderList {
public:
    static constexpr std::size_t kCapacity = 64;

    class Iterator {
    public:
        using value_type = HttpHeader;
        using difference_type = std::ptrdiff_t;
        Iterator() = default;
        Iterator(const HeaderList* list, std::size_t at) : list_(list), at_(at) {}
        HttpHeader operator*() const { return (*list_)[at_]; }
        Iterator& operator++() { return ++at_, *this; }
        Iterator operator++(int) { return Iterator(list_, at_++); }
        bool operator==(const Iterator&) const = default;

    private:
        const HeaderList* list_ = nullptr;
        std::size_t at_ = 0;
    };

    std::size_t size() const { return size_; }
    HttpHeader operator[](std::size_t i) const {
        const Place& place = places_[i];
        return {{base_ + place.name, place.name_size}, {base_ + place.value, place.value_size}};
    }
    Iterator begin() const { return {this, 0}; }
    Iterator end() const { return {this, size_}; }
    /// The first field of that name, which is given in lower case.
    std::optional<std::string_view> find(std::string_view lower_case_name) const;
    std::size_t count(std::string_view lower_case_name) const;

private:
    friend class HeadParser;
    friend struct RequestHead;
    struct Place {
        std::uint16_t name, name_size, value, value_size;
    };
    const char* base_ = nullptr;
    std::size_t size_ = 0;
    // the first size_ are set; the rest is never touched, which keeps a parse cheap
    Place places_[kCapacity];
};

enum class BodyFraming : std::uint8_t { kNone, kLength, kChunked, kUntilClose };

/// Common part of requests and responses. All views point into the parsed buffer.
struct MessageHead {
    int minor_version = 1;  ///< of HTTP/1.x; a minor version above 1 counts as 1
    bool chunked = false;
    /// By version and Connection; a body until close ends the connection all the same
    bool keep_alive = true;
    bool connection_upgrade = false;  ///< Connection names `upgrade`
    std::optional<std::uint64_t> content_length;
    HeaderList headers;

    std::optional<std::string_view> find(std::string_view lower_case_name) const {
        return headers.find(lower_case_name);
    }
};

struct RequestHead : MessageHead {
    std::string_view method;  ///< any token of at most 32 bytes; case matters
    /// As received: `/path?query`, `http://host/path?query`, or `*` with OPTIONS
    std::string_view target;
    std::string_view path;  ///< of the target, still percent-encoded, `/` at least
    std::string_view query;  ///< after the first `?`, still encoded; empty when there is none
    /// Value of Host, its characters checked; empty when an HTTP/1.0 request has none
    std::string_view host;
    bool expect_continue = false;

    BodyFraming framing() const;
    /// The `bytes` that were parsed have been copied to `copy`: lets the views point there.
    void move_to(const char* copy, std::size_t bytes);
};

struct ResponseHead : MessageHead {
    int status = 0;  ///< 100..599
    std::string_view reason;  ///< may be empty

    /// How long the body is, which depends on the method that was asked (RFC 9112 section 6.3). A
    /// 101 and a 2xx to CONNECT have no body; what follows them is no longer HTTP.
    BodyFraming framing(std::string_view request_method) const;
};

/// The result of parsing the bytes so far.
struct HeadOutcome {
    enum class Kind : std::uint8_t { kNeedMore, kComplete, kRefused };

    Kind kind = Kind::kNeedMore;
    int status = 0;  ///< refused: 400, 414, 417, 431, 501 or 505; for a response always 502
    std::size_t consumed = 0;  ///< complete: bytes of the head, the body starts there
    std::string_view reason{};  ///< refused: a sentence for logs and the error body, static text
};

/// Parses one request head from the start of `bytes` (RFC 9112, HTTP/1.0 and 1.1). `head` is
/// meaningful only when the outcome is complete. Strict: what two parsers could read in two ways is
/// refused, and the connection must then be closed. The answer for a prefix is `need more` or the
/// answer for the whole, so feeding byte by byte is safe.
HeadOutcome parse_request_head(std::string_view bytes, RequestHead& head,
                               const HttpLimits& limits = {});
/// The same for a response head; a 1xx response is a head of its own, followed by the final one.
HeadOutcome parse_response_head(std::string_view bytes, ResponseHead& head,
                                const HttpLimits& limits = {});

}  // namespace crab::net
