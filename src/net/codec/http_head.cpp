#include "net/codec/http_head.hpp"

#include "net/codec/field_name.hpp"
#include "net/codec/http_text.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace crab::net {

// One pass from left to right over one message's head; the first broken rule ends it. Every method
// returns whether to go on, and what was found out otherwise is in outcome_.
class HeadParser {
public:
    HeadParser(std::string_view bytes, MessageHead& head, const HttpLimits& limits)
        : begin_(bytes.data()),
          at_(bytes.data()),
          end_(bytes.data() + std::min(bytes.size(), head_limit(limits))),
          full_(bytes.size() >= head_limit(limits)),
          max_headers_(std::min(limits.max_headers, HeaderList::kCapacity)),
          max_target_(limits.max_target),
          head_(head) {
        head_.headers.base_ = begin_;
        head_.headers.size_ = 0;
        head_.chunked = head_.connection_upgrade = false;
        head_.content_length.reset();
    }

    HeadOutcome parse(RequestHead& request) {
        request.host = request.path = request.query = {};
        request.expect_continue = false;
        if (empty_lines() && request_line(request) && fields(&request) && request_rules())
            complete();
        return outcome_;
    }

    HeadOutcome parse(ResponseHead& response) {
        if (status_line(response) && fields(nullptr) && framing_rules()) complete();
        if (outcome_.kind == HeadOutcome::Kind::kRefused) outcome_.status = 502;
        return outcome_;
    }

private:
    static std::size_t head_limit(const HttpLimits& limits) {
        return std::min<std::size_t>(limits.max_head_bytes,
                                     std::numeric_limits<std::uint16_t>::max());
    }

    bool refuse(int status, std::string_view reason) {
        outcome_ = {
            .kind = HeadOutcome::Kind::kRefused, .status = status, .consumed = 0, .reason = reason};
        return false;
    }
    // The bytes end before the head does.
    bool starve() {
        return full_ ? refuse(431, "the request head is larger than the limit") : false;
    }
    void complete() {
        outcome_.kind = HeadOutcome::Kind::kComplete;
        outcome_.consumed = static_cast<std::size_t>(at_ - begin_);
        const bool persistent = head_.minor_version >= 1 || says_keep_alive_;
        head_.keep_alive = persistent && !says_close_;
    }
    std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }
    std::string_view since(const char* start) const {
        return {start, static_cast<std::size_t>(at_ - start)};
    }

    // RFC 9112 section 2.2: a server ignores an empty line that a client left behind the previous
    // body. Two, then no more.
    bool empty_lines() {
        for (int lines = 0; at_ != end_ && *at_ == '\r'; ++lines) {
            if (lines == 2) return refuse(400, "too many empty lines before the request line");
            if (!line_end()) return false;
        }
        return true;
    }

    bool line_end() {
        if (at_ == end_) return starve();
        if (*at_ == '\n') return refuse(400, "a line ends with a bare LF");
        if (*at_ != '\r') return refuse(400, "a control character in the head");
        if (left() < 2) return starve();
        if (at_[1] != '\n') return refuse(400, "a CR without LF");
        at_ += 2;
        return true;
    }

    bool request_line(RequestHead& request) {
        constexpr std::ptrdiff_t kMaxMethod = 32;
        const char* start = at_;
        while (at_ != end_ && has_class(*at_, kTokenChar)) ++at_;
        if (at_ - start > kMaxMethod) return refuse(501, "the method is not known");
        if (at_ == end_) return starve();
        if (*at_ != ' ' || at_ == start) return refuse(400, "the request line has no valid method");
        request.method = since(start);
        start = ++at_;
        while (at_ != end_ && has_class(*at_, kTargetChar)) ++at_;
        request.target = since(start);
        if (request.target.size() > max_target_) {
            // whoever refuses it may know the path, if that is whole
            if (request.target.find('?') != std::string_view::npos) split_target(request);
            return refuse(414, "the request target is longer than the limit");
        }
        if (at_ == end_) return starve();
        if (*at_ != ' ')
            return refuse(400,
                          "the request target holds a character that must be percent-encoded, or "
                          "no version follows");
        if (!split_target(request))
            return refuse(400, "the request target is neither a path nor an http URL");
        ++at_;
        if (!version()) return false;
        return line_end();
    }

    static bool split_target(RequestHead& request) {
        std::string_view rest = request.target;
        if (rest.empty()) return false;
        if (rest == "*") {
            request.path = rest;
            return request.method == "OPTIONS";
        }
        if (rest.front() != '/') {
            for (const std::string_view scheme : {"http://", "https://"}) {
                if (!equals_lower(rest.substr(0, scheme.size()), scheme)) continue;
                rest.remove_prefix(scheme.size());
                request.host = rest.substr(0, rest.find_first_of("/?"));
                rest.remove_prefix(request.host.size());
                break;
            }
            if (request.host.empty() || !all_of_class(request.host, kHostChar)) return false;
        }
        const std::size_t question = rest.find('?');
        request.path = rest.substr(0, question);
        if (request.path.empty()) request.path = "/";
        if (question != std::string_view::npos) request.query = rest.substr(question + 1);
        return true;
    }

    // Exactly `HTTP/` digit `.` digit.
    bool version() {
        constexpr std::size_t kSize = 8;
        if (left() < kSize) return starve();
        if (std::memcmp(at_, "HTTP/", 5) != 0 || !is_digit(at_[5]) || at_[6] != '.' ||
            !is_digit(at_[7])) {
            return refuse(400, "the start line has no valid HTTP version");
        }
        if (at_[5] != '1') return refuse(505, "only HTTP/1.0 and HTTP/1.1 are spoken here");
        head_.minor_version = at_[7] == '0' ? 0 : 1;
        at_ += kSize;
        return true;
    }

    bool status_line(ResponseHead& response) {
        if (!version()) return false;
        if (left() < 5) return starve();
        const bool digits =
            at_[0] == ' ' && at_[1] >= '1' && at_[1] <= '5' && is_digit(at_[2]) && is_digit(at_[3]);
        if (!digits || (at_[4] != ' ' && at_[4] != '\r'))
            return refuse(502, "the status line has no valid status");
        response.status = (at_[1] - '0') * 100 + (at_[2] - '0') * 10 + (at_[3] - '0');
        at_ += at_[4] == ' ' ? 5 : 4;
        const char* start = at_;
        at_ = find_non_value(at_, end_);
        response.reason = since(start);
        return line_end();
    }

    bool fields(RequestHead* request) {
        HeaderList& list = head_.headers;
        while (true) {
            if (at_ == end_) return starve();
            const char* start = at_;
            while (at_ != end_ && has_class(*at_, kTokenChar)) ++at_;
            const std::string_view name = since(start);
            if (at_ == end_) return starve();
            if (*at_ != ':' || name.empty()) return end_of_fields(name.empty());
            ++at_;
            while (at_ != end_ && (*at_ == ' ' || *at_ == '\t')) ++at_;
            start = at_;
            at_ = find_non_value(at_, end_);
            std::string_view value = since(start);
            while (!value.empty() && (value.back() == ' ' || value.back() == '\t'))
                value.remove_suffix(1);
            if (!line_end()) return false;
            if (list.size_ == max_headers_)
                return refuse(431, "the head has more fields than the limit");
            list.places_[list.size_++] = {place(name.data()), size(name), place(value.data()),
                                          size(value)};
            if (!understand(name, value, request)) return false;
        }
    }
    std::uint16_t place(const char* at) const { return static_cast<std::uint16_t>(at - begin_); }
    static std::uint16_t size(std::string_view text) {
        return static_cast<std::uint16_t>(text.size());
    }

    // A line that is not a field: the empty line, or one of the ways to get a line wrong.
    bool end_of_fields(bool nothing_before) {
        if (!nothing_before)
            return refuse(400, "a field name is followed by something other than a colon");
        if (*at_ == '\r' || *at_ == '\n') return line_end();
        if (*at_ == ' ' || *at_ == '\t') return refuse(400, "a field is folded over two lines");
        return refuse(400, "a field has no valid name");
    }

    // `lower` has letters and hyphens only, so setting one bit folds the case of a token without
    // mistaking another for it.
    template <std::size_t N>
    static bool is(std::string_view name, const char (&lower)[N]) {
        unsigned difference = 0;
        for (std::size_t i = 0; i < N - 1; ++i)
            difference |= static_cast<unsigned char>((name[i] | 0x20) ^ lower[i]);
        return difference == 0;
    }

    // The fields that decide where the message ends, what becomes of the connection and who asks;
    // most fields fall through at once.
    bool understand(std::string_view name, std::string_view value, RequestHead* request) {
        switch (name.size()) {
            case 4: return !request || !is(name, "host") || host(value, *request);
            case 6: return !request || !is(name, "expect") || expect(value, *request);
            case 10: return !is(name, "connection") || connection(value);
            case 13: return !request || !is(name, "authorization") || authorization();
            case 14: return !is(name, "content-length") || content_length(value);
            case 17: return !is(name, "transfer-encoding") || transfer_encoding(value);
            default: return true;
        }
    }

    bool host(std::string_view value, RequestHead& request) {
        if (has_host_) return refuse(400, "there is more than one Host");
        has_host_ = true;
        if (!all_of_class(value, kHostChar))
            return refuse(400, "Host holds a character that no host has");
        if (request.host.empty()) {
            request.host = value;
        } else if (!std::ranges::equal(request.host, value, {}, to_lower, to_lower)) {
            return refuse(400, "Host differs from the authority of the request target");
        }
        return true;
    }

    // Who stands before this could have checked the other one.
    bool authorization() {
        if (has_authorization_) return refuse(400, "there is more than one Authorization");
        return has_authorization_ = true;
    }

    bool expect(std::string_view value, RequestHead& request) {
        if (!equals_lower(value, "100-continue"))
            return refuse(417, "Expect asks for something other than 100-continue");
        request.expect_continue = head_.minor_version >= 1;
        return true;
    }

    bool connection(std::string_view value) {
        for_each_element(value, [&](std::string_view option) {
            says_close_ |= equals_lower(option, "close");
            says_keep_alive_ |= equals_lower(option, "keep-alive");
            head_.connection_upgrade |= equals_lower(option, "upgrade");
            return true;
        });
        return true;
    }

    bool content_length(std::string_view value) {
        if (head_.content_length) return refuse(400, "there is more than one Content-Length");
        constexpr std::size_t kMaxDigits = 19;  // the most that always fit 64 bits
        if (value.empty() || value.size() > kMaxDigits || !std::ranges::all_of(value, is_digit)) {
            return refuse(400, "Content-Length is not a plain number");
        }
        std::uint64_t length = 0;
        for (const char digit : value)
            length = length * 10 + static_cast<std::uint64_t>(digit - '0');
        head_.content_length = length;
        return true;
    }

    bool transfer_encoding(std::string_view value) {
        if (head_.minor_version == 0) return refuse(400, "HTTP/1.0 has no Transfer-Encoding");
        if (has_transfer_encoding_) return refuse(400, "there is more than one Transfer-Encoding");
        has_transfer_encoding_ = true;
        if (equals_lower(value, "chunked")) return head_.chunked = true;
        bool chunked_seen = value.empty();
        const bool chunked_only_last = for_each_element(value, [&](std::string_view coding) {
            if (chunked_seen) return false;
            chunked_seen = equals_lower(coding, "chunked");
            return true;
        });
        if (!chunked_only_last || value.empty())
            return refuse(400, "chunked is not the last transfer coding, once");
        return refuse(501, "the only transfer coding known here is chunked");
    }

    bool framing_rules() {
        if (head_.chunked && head_.content_length)
            return refuse(400, "both Content-Length and Transfer-Encoding");
        return true;
    }

    bool request_rules() {
        if (!has_host_ && head_.minor_version >= 1)
            return refuse(400, "an HTTP/1.1 request needs a Host");
        return framing_rules();
    }

    const char* begin_;
    const char* at_;
    const char* end_;
    bool full_;  // no more bytes would be looked at
    bool has_host_ = false;
    bool has_authorization_ = false;
    bool has_transfer_encoding_ = false;
    bool says_close_ = false;
    bool says_keep_alive_ = false;
    std::size_t max_headers_;
    std::size_t max_target_;
    MessageHead& head_;
    HeadOutcome outcome_;
};

std::optional<std::string_view> HeaderList::find(std::string_view lower_case_name) const {
    for (const HttpHeader header : *this) {
        if (is_field(header.name, lower_case_name)) return header.value;
    }
    return std::nullopt;
}

std::size_t HeaderList::count(std::string_view lower_case_name) const {
    std::size_t found = 0;
    for (const HttpHeader header : *this) found += is_field(header.name, lower_case_name) ? 1 : 0;
    return found;
}

BodyFraming RequestHead::framing() const {
    if (chunked) return BodyFraming::kChunked;
    return content_length.value_or(0) > 0 ? BodyFraming::kLength : BodyFraming::kNone;
}

void RequestHead::move_to(const char* copy, std::size_t bytes) {
    const char* const from = std::exchange(headers.base_, copy);
    for (std::string_view* const view : {&method, &target, &path, &query, &host}) {
        const std::size_t at = static_cast<std::size_t>(view->data() - from);
        // an empty path is a `/` of ours, and what is not there lies nowhere
        if (!view->empty() && at < bytes) *view = {copy + at, view->size()};
    }
}

BodyFraming ResponseHead::framing(std::string_view request_method) const {
    const bool bodiless = status < 200 || status == 204 || status == 304;
    if (bodiless || request_method == "HEAD" || (request_method == "CONNECT" && status < 300))
        return BodyFraming::kNone;
    if (chunked) return BodyFraming::kChunked;
    if (!content_length) return BodyFraming::kUntilClose;
    return *content_length > 0 ? BodyFraming::kLength : BodyFraming::kNone;
}

HeadOutcome parse_request_head(std::string_view bytes, RequestHead& head,
                               const HttpLimits& limits) {
    return HeadParser(bytes, head, limits).parse(head);
}

HeadOutcome parse_response_head(std::string_view bytes, ResponseHead& head,
                                const HttpLimits& limits) {
    return HeadParser(bytes, head, limits).parse(head);
}

}  // namespace crab::net
