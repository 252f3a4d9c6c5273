#include "net/codec/http_head.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace crab::net {
namespace {

using namespace std::string_view_literals;
using Kind = HeadOutcome::Kind;

std::string request(std::string_view fields, std::string_view line = "GET / HTTP/1.1",
                    std::string_view host = "Host: h\r\n") {
    return std::string(line) + "\r\n" + std::string(host) + std::string(fields) + "\r\n";
}

struct Parsed {
    HeadOutcome outcome;
    RequestHead head;
};

Parsed parse(std::string_view bytes, const HttpLimits& limits = {}) {
    Parsed parsed;
    parsed.outcome = parse_request_head(bytes, parsed.head, limits);
    return parsed;
}

int status_of(std::string_view bytes, const HttpLimits& limits = {}) {
    const HeadOutcome outcome = parse(bytes, limits).outcome;
    return outcome.kind == Kind::kComplete   ? 200
           : outcome.kind == Kind::kNeedMore ? 0
                                             : outcome.status;
}

TEST(HttpHead, ATypicalPostIsTakenApartWithoutCopies) {
    const std::string bytes =
        "POST /v1/tools/call?trace=1&x=%20 HTTP/1.1\r\nHost: 127.0.0.1:42617\r\nAuthorization: "
        "Bearer abc\r\n"
        "Content-Type:application/json\r\nContent-Length: 181 \t\r\nConnection: "
        "keep-alive\r\n\r\n{\"rest\":1}";
    const Parsed parsed = parse(bytes);
    ASSERT_EQ(parsed.outcome.kind, Kind::kComplete) << parsed.outcome.reason;
    EXPECT_EQ(bytes.substr(parsed.outcome.consumed), "{\"rest\":1}");
    EXPECT_EQ(parsed.head.method, "POST");
    EXPECT_EQ(parsed.head.target, "/v1/tools/call?trace=1&x=%20");
    EXPECT_EQ(parsed.head.path, "/v1/tools/call");
    EXPECT_EQ(parsed.head.query, "trace=1&x=%20");
    EXPECT_EQ(parsed.head.host, "127.0.0.1:42617");
    EXPECT_EQ(parsed.head.minor_version, 1);
    EXPECT_EQ(parsed.head.content_length, 181U);
    EXPECT_EQ(parsed.head.framing(), BodyFraming::kLength);
    EXPECT_TRUE(parsed.head.keep_alive);
    EXPECT_FALSE(parsed.head.chunked);
    EXPECT_EQ(parsed.head.headers.size(), 5U);
    EXPECT_EQ(parsed.head.find("authorization"), "Bearer abc");
    EXPECT_EQ(parsed.head.find("content-type"), "application/json");
    EXPECT_EQ(parsed.head.find("x-missing"), std::nullopt);
    EXPECT_GE(parsed.head.method.data(), bytes.data());
    EXPECT_LT(parsed.head.method.data(), bytes.data() + bytes.size());
}

struct Case {
    std::string_view name;
    std::string bytes;
    int status;  // 200: complete, 0: need more
};

void check(const std::vector<Case>& cases, const HttpLimits& limits = {}) {
    for (const Case& c : cases) {
        const Parsed parsed = parse(c.bytes, limits);
        EXPECT_EQ(status_of(c.bytes, limits), c.status) << c.name << ": " << parsed.outcome.reason;
        if (c.status >= 400) {
            EXPECT_FALSE(parsed.outcome.reason.empty()) << c.name;
        }
    }
}

TEST(HttpHead, WhatIsRefusedOrNotWholeHasItsPathAsSoonAsItIsKnown) {
    const std::string line = "POST /v1/tools/call?x=1 HTTP/1.1\r\n";
    const HttpLimits tight{.max_head_bytes = 200, .max_target = 40};
    for (const std::string& known :
         {line + "Expect: a-pony\r\n", line + "Transfer-Encoding: gzip\r\n", line + "A b\r\n",
          line + "\r\n", line + "X: " + std::string(300, 'x'), line + "Host: ", line,
          std::string("POST /v1/tools/call?x=1 HTTP/2.0\r\n"),
          "POST /v1/tools/call?" + std::string(40, 'x')}) {
        const Parsed parsed = parse(known, tight);
        EXPECT_NE(parsed.outcome.kind, Kind::kComplete) << known;
        EXPECT_EQ(parsed.head.method, "POST") << known;
        EXPECT_EQ(parsed.head.path, "/v1/tools/call") << known;
    }
    for (const std::string& unknown :
         {std::string(), std::string("POST /v1/tools/ca"), std::string("POST v1/tools/call HTTP/"),
          "POST /v1/tools/call/" + std::string(40, 'x'), std::string(33, 'M')})
        EXPECT_EQ(parse(unknown, tight).head.path, "") << unknown;
}

TEST(HttpHead, TheRequestLineHasOneForm) {
    check({
        {"the plain form", request(""), 200},
        {"nothing yet", "", 0},
        {"half a method", "GE", 0},
        {"a method of 32 letters", request("", std::string(32, 'M') + " / HTTP/1.1"), 200},
        {"a method of 33 letters", request("", std::string(33, 'M') + " / HTTP/1.1"), 501},
        {"an endless method is refused before it ends", std::string(33, 'M'), 501},
        {"a method with every token character", request("", "!#$%&'*+-.^_`|~09az / HTTP/1.1"), 200},
        {"no method", request("", " / HTTP/1.1"), 400},
        {"a method with a separator", request("", "GE(T / HTTP/1.1"), 400},
        {"a method with a NUL", request("", std::string_view("GE\0T / HTTP/1.1", 15)), 400},
        {"two spaces before the target", request("", "GET  / HTTP/1.1"), 400},
        {"two spaces before the version", request("", "GET /  HTTP/1.1"), 400},
        {"a tab for a space", request("", "GET\t/ HTTP/1.1"), 400},
        {"a tab before the version", request("", "GET /\tHTTP/1.1"), 400},
        {"a space at the end", request("", "GET / HTTP/1.1 "), 400},
        {"no target", request("", "GET HTTP/1.1"), 400},
        {"an HTTP/0.9 request", "GET /\r\n", 400},
        {"HTTP/1.0", request("", "GET / HTTP/1.0"), 200},
        {"a later minor version counts as 1.1", request("", "GET / HTTP/1.9"), 200},
        {"HTTP/2.0", request("", "GET / HTTP/2.0"), 505},
        {"HTTP/0.9 by name", request("", "GET / HTTP/0.9"), 505},
        {"the HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400},
        {"a lower-case version", request("", "GET / http/1.1"), 400},
        {"a version with two digits", request("", "GET / HTTP/1.10"), 400},
        {"a version without digits", request("", "GET / HTTP/x.1"), 400},
        {"a bare LF after the request line", "GET / HTTP/1.1\nHost: h\r\n\r\n", 400},
        {"a bare CR after the request line", "GET / HTTP/1.1\rHost: h\r\n\r\n", 400},
        {"a TLS greeting", std::string("\x16\x03\x01\x02\x00\x01", 6), 400},
    });
}

TEST(HttpHead, TargetsArePathsOrHttpUrlsWithCleanCharacters) {
    check({
        {"a path with a query that browsers leave unescaped",
         request("", "GET /a?b={c}|^` HTTP/1.1"), 200},
        {"percent-encoding is left alone", request("", "GET /%00%zz HTTP/1.1"), 200},
        {"a backslash", request("", "GET /a\\b HTTP/1.1"), 400},
        {"a fragment", request("", "GET /a#b HTTP/1.1"), 400},
        {"a quotation mark", request("", "GET /a\"b HTTP/1.1"), 400},
        {"a less-than sign", request("", "GET /a<b HTTP/1.1"), 400},
        {"a byte above 0x7f", request("", "GET /\xc3\xa9 HTTP/1.1"), 400},
        {"a control character", request("", "GET /a\x01 HTTP/1.1"), 400},
        {"a DEL", request("", "GET /a\x7f HTTP/1.1"), 400},
        {"a NUL", request("", std::string_view("GET /a\0 HTTP/1.1", 16)), 400},
        {"an asterisk with OPTIONS", request("", "OPTIONS * HTTP/1.1"), 200},
        {"an asterisk with GET", request("", "GET * HTTP/1.1"), 400},
        {"a relative path", request("", "GET a/b HTTP/1.1"), 400},
        {"an authority for CONNECT", request("", "CONNECT h:443 HTTP/1.1"), 400},
        {"an absolute URL", request("", "GET http://h/a?b HTTP/1.1"), 200},
        {"an absolute URL in capitals", request("", "GET HTTP://H/a HTTP/1.1"), 200},
        {"an absolute URL without host", request("", "GET http:///a HTTP/1.1"), 400},
        {"an absolute URL with user information",
         request("", "GET http://u@h/a HTTP/1.1", "Host: u@h\r\n"), 400},
        {"an absolute URL of another scheme", request("", "GET ftp://h/a HTTP/1.1"), 400},
        {"an absolute URL that contradicts Host", request("", "GET http://other/a HTTP/1.1"), 400},
    });
}

TEST(HttpHead, AnAbsoluteUrlGivesHostPathAndQuery) {
    const std::string bytes = request("", "GET https://h:8?q HTTP/1.1", "Host: h:8\r\n");
    const Parsed parsed = parse(bytes);
    ASSERT_EQ(parsed.outcome.kind, Kind::kComplete) << parsed.outcome.reason;
    EXPECT_EQ(parsed.head.host, "h:8");
    EXPECT_EQ(parsed.head.path, "/");
    EXPECT_EQ(parsed.head.query, "q");
}

TEST(HttpHead, EmptyLinesBeforeTheRequestAreFewAndProper) {
    check({
        {"one", "\r\n" + request(""), 200},
        {"two", "\r\n\r\n" + request(""), 200},
        {"three", "\r\n\r\n\r\n" + request(""), 400},
        {"half of one", "\r", 0},
        {"a bare LF", "\n" + request(""), 400},
        {"a bare CR", "\r" + request(""), 400},
    });
}

TEST(HttpHead, EveryFieldIsANameAColonAndACleanValueOnOneLine) {
    check({
        {"an empty value", request("X:\r\n"), 200},
        {"a value of white space", request("X: \t \r\n"), 200},
        {"tabs and high bytes inside a value", request("X: a\tb \xc3\xa9\x80\xff\r\n"), 200},
        {"a long value with tabs at word borders",
         request("X: 12345678\t2345678\t\t345678901234567\t\r\n"), 200},
        {"a space before the colon", request("X : a\r\n"), 400},
        {"a tab before the colon", request("X\t: a\r\n"), 400},
        {"no name", request(": a\r\n"), 400},
        {"no colon", request("X\r\n"), 400},
        {"a folded line", request("X: a\r\n b\r\n"), 400},
        {"a line folded with a tab", request("X: a\r\n\tb\r\n"), 400},
        {"a space before the first field", "GET / HTTP/1.1\r\n Host: h\r\n\r\n", 400},
        {"a bare LF after a value", request("X: a\nY: b\r\n"), 400},
        {"a bare LF for the empty line", "GET / HTTP/1.1\r\nHost: h\r\n\n", 400},
        {"a bare CR in a value", request("X: a\rb\r\n"), 400},
        {"CR CR LF", request("X: a\r\r\n"), 400},
        {"a NUL in a value", request(std::string_view("X: a\0b\r\n", 8)), 400},
        {"a control character in a value", request("X: a\x1f\r\n"), 400},
        {"a DEL in a value", request("X: a\x7f\r\n"), 400},
        {"a DEL far into a value", request("X: 1234567890123\x7f\r\n"), 400},
        {"a NUL in a name", request(std::string_view("X\0: a\r\n", 7)), 400},
        {"a high byte in a name", request("X\xe9: a\r\n"), 400},
        {"a parenthesis in a name", request("X(): a\r\n"), 400},
        {"the empty line without LF", "GET / HTTP/1.1\r\nHost: h\r\n\r", 0},
        {"the empty line with CR only", "GET / HTTP/1.1\r\nHost: h\r\n\rX", 400},
    });
}

TEST(HttpHead, HostComesOnceInHttp11AndIsAHost) {
    check({
        {"none in HTTP/1.1", request("", "GET / HTTP/1.1", ""), 400},
        {"none in HTTP/1.0", request("", "GET / HTTP/1.0", ""), 200},
        {"two equal ones", request("Host: h\r\n"), 400},
        {"two in different case", request("HOST: h\r\n"), 400},
        {"an IPv6 literal with port", request("", "GET / HTTP/1.1", "Host: [::1]:8\r\n"), 200},
        {"an empty one", request("", "GET / HTTP/1.1", "Host:\r\n"), 200},
        {"two hosts in one field", request("", "GET / HTTP/1.1", "Host: a b\r\n"), 400},
        {"user information", request("", "GET / HTTP/1.1", "Host: u@h\r\n"), 400},
        {"a slash", request("", "GET / HTTP/1.1", "Host: h/a\r\n"), 400},
    });
}

TEST(HttpHead, ContentLengthIsOnePlainNumber) {
    check({
        {"zero", request("Content-Length: 0\r\n"), 200},
        {"19 digits", request("Content-Length: 9999999999999999999\r\n"), 200},
        {"20 digits", request("Content-Length: 10000000000000000000\r\n"), 400},
        {"two different ones", request("Content-Length: 1\r\nContent-Length: 2\r\n"), 400},
        {"two equal ones", request("Content-Length: 1\r\ncontent-length: 1\r\n"), 400},
        {"a list", request("Content-Length: 1, 1\r\n"), 400},
        {"empty", request("Content-Length:\r\n"), 400},
        {"a plus sign", request("Content-Length: +1\r\n"), 400},
        {"a minus sign", request("Content-Length: -1\r\n"), 400},
        {"hexadecimal", request("Content-Length: 0x1\r\n"), 400},
        {"a space inside", request("Content-Length: 1 1\r\n"), 400},
        {"a decimal point", request("Content-Length: 1.0\r\n"), 400},
    });
}

TEST(HttpHead, TransferEncodingIsChunkedOrRefused) {
    check({
        {"chunked", request("Transfer-Encoding: chunked\r\n"), 200},
        {"chunked in capitals", request("TRANSFER-ENCODING: Chunked\r\n"), 200},
        {"chunked after Content-Length",
         request("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"), 400},
        {"chunked before Content-Length",
         request("Transfer-Encoding: chunked\r\nContent-Length: 1\r\n"), 400},
        {"chunked twice", request("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
         400},
        {"chunked twice in one field", request("Transfer-Encoding: chunked, chunked\r\n"), 400},
        {"chunked not last", request("Transfer-Encoding: chunked, gzip\r\n"), 400},
        {"another coding before chunked", request("Transfer-Encoding: gzip, chunked\r\n"), 501},
        {"another coding alone", request("Transfer-Encoding: gzip\r\n"), 501},
        {"identity", request("Transfer-Encoding: identity\r\n"), 501},
        {"nearly chunked", request("Transfer-Encoding: xchunked\r\n"), 501},
        {"chunked with a parameter", request("Transfer-Encoding: chunked;a=b\r\n"), 501},
        {"chunked with a vertical tab",
         request("Transfer-Encoding: \x0b"
                 "chunked\r\n"),
         400},
        {"empty", request("Transfer-Encoding:\r\n"), 400},
        {"in HTTP/1.0", request("Transfer-Encoding: chunked\r\n", "POST / HTTP/1.0"), 400},
    });
}

TEST(HttpHead, OneAuthorizationIsTheMost) {
    check({
        {"one", request("Authorization: Bearer a\r\n"), 200},
        {"two", request("Authorization: Bearer a\r\nauthorization: Bearer b\r\n"), 400},
        {"the same twice", request("Authorization: a\r\nX: y\r\nAUTHORIZATION: a\r\n"), 400},
        {"an empty one", request("Authorization:\r\nAuthorization: a\r\n"), 400},
        {"another of that length", request("Xuthorization: a\r\nXuthorization: a\r\n"), 200},
    });
}

TEST(HttpHead, ExpectIs100ContinueOrRefused) {
    EXPECT_TRUE(parse(request("Expect: 100-Continue\r\n")).head.expect_continue);
    EXPECT_FALSE(
        parse(request("Expect: 100-continue\r\n", "POST / HTTP/1.0")).head.expect_continue);
    EXPECT_EQ(status_of(request("Expect: a-pony\r\n")), 417);
}

TEST(HttpHead, KeepAliveFollowsVersionAndConnection) {
    const auto keeps = [](std::string_view fields, std::string_view line) {
        return parse(request(fields, line)).head.keep_alive;
    };
    constexpr std::string_view k11 = "GET / HTTP/1.1";
    constexpr std::string_view k10 = "GET / HTTP/1.0";
    EXPECT_TRUE(keeps("", k11));
    EXPECT_FALSE(keeps("Connection: close\r\n", k11));
    EXPECT_FALSE(keeps("Connection: TE, Close\r\n", k11));
    EXPECT_FALSE(keeps("Connection: keep-alive\r\nConnection: close\r\n", k11));
    EXPECT_TRUE(keeps("Connection: closed\r\n", k11));
    EXPECT_FALSE(keeps("", k10));
    EXPECT_TRUE(keeps("Connection: Keep-Alive\r\n", k10));
    EXPECT_TRUE(parse(request("Connection: keep-alive, Upgrade\r\n")).head.connection_upgrade);
}

TEST(HttpHead, EveryLimitHoldsOnBothSides) {
    const std::string whole = request("X: a\r\n");
    EXPECT_EQ(status_of(whole, {.max_head_bytes = whole.size()}), 200);
    EXPECT_EQ(status_of(whole, {.max_head_bytes = whole.size() - 1}), 431);
    EXPECT_EQ(status_of(std::string_view(whole).substr(0, 20), {.max_head_bytes = 20}), 431);
    EXPECT_EQ(status_of(std::string_view(whole).substr(0, 19), {.max_head_bytes = 20}), 0);
    EXPECT_EQ(status_of(whole, {.max_headers = 2}), 200);
    EXPECT_EQ(status_of(whole, {.max_headers = 1}), 431);
    const std::string line = "GET /" + std::string(99, 'a') + " HTTP/1.1";
    EXPECT_EQ(status_of(request("", line), {.max_target = 100}), 200);
    EXPECT_EQ(status_of(request("", line), {.max_target = 99}), 414);
    EXPECT_EQ(status_of(line.substr(0, 50), {.max_target = 30}), 414);
    std::string many;
    for (std::size_t i = 1; i < HeaderList::kCapacity; ++i) many += "X: a\r\n";
    EXPECT_EQ(status_of(request(many), {.max_headers = 1000}), 200);
    EXPECT_EQ(status_of(request(many + "X: a\r\n"), {.max_headers = 1000}), 431);
    const std::string huge = request("X: " + std::string(70'000, 'a') + "\r\n");
    EXPECT_EQ(status_of(huge, {.max_head_bytes = 1'000'000}), 431);
}

TEST(HttpHead, AHeadCanBeParsedAgainAndAgainIntoTheSameObject) {
    RequestHead head;
    const std::string first =
        request("Content-Length: 5\r\nConnection: close, upgrade\r\nExpect: 100-continue\r\n");
    const std::string second = request("", "GET / HTTP/1.1");
    ASSERT_EQ(parse_request_head(first, head).kind, Kind::kComplete);
    ASSERT_EQ(parse_request_head(second, head).kind, Kind::kComplete);
    EXPECT_EQ(head.content_length, std::nullopt);
    EXPECT_TRUE(head.keep_alive);
    EXPECT_FALSE(head.connection_upgrade);
    EXPECT_FALSE(head.expect_continue);
    EXPECT_EQ(head.headers.size(), 1U);
}

TEST(HttpHead, APrefixNeedsMoreOrGivesTheAnswerOfTheWhole) {
    constexpr unsigned kSeed = 1;
    std::mt19937 random(kSeed);
    const std::string corpus[] = {
        request(""),
        request("Content-Length: 5\r\nX:\ta b\t\r\n"),
        request("Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n"),
        request("", "OPTIONS * HTTP/1.0", ""),
        "\r\n" + request("", "GET http://h/a?b=c HTTP/1.1"),
        request("Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: "
                "dGhlIHNhbXBsZSBub25jZQ==\r\n")};
    constexpr std::string_view kEdits = "\r\n\t :/\0\x7f\x80,;19aH"sv;
    for (int run = 0; run < 5000; ++run) {
        std::string bytes = corpus[random() % std::size(corpus)];
        for (unsigned edits = random() % 3; edits > 0; --edits)
            bytes[random() % bytes.size()] = kEdits[random() % kEdits.size()];
        const HttpLimits limits{.max_head_bytes = 60 + random() % 200,
                                .max_headers = 1 + random() % 4,
                                .max_target = 1 + random() % 20};
        const HeadOutcome whole = parse(bytes, limits).outcome;
        for (std::size_t size = 0; size < bytes.size(); ++size) {
            const HeadOutcome part = parse(std::string_view(bytes).substr(0, size), limits).outcome;
            if (part.kind == Kind::kNeedMore) continue;
            ASSERT_EQ(part.kind, whole.kind)
                << "seed " << kSeed << ", run " << run << ", " << size << " bytes of " << bytes;
            ASSERT_EQ(part.reason, whole.reason)
                << "seed " << kSeed << ", run " << run << ", " << size << " bytes of " << bytes;
            ASSERT_EQ(part.consumed, whole.consumed);
        }
    }
}

ResponseHead response(std::string_view bytes, HeadOutcome& outcome) {
    ResponseHead head;
    outcome = parse_response_head(bytes, head);
    return head;
}

TEST(HttpHead, AResponseHeadHasStatusReasonAndFields) {
    HeadOutcome outcome;
    constexpr std::string_view kBytes = "HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nabc";
    const ResponseHead head = response(kBytes, outcome);
    ASSERT_EQ(outcome.kind, Kind::kComplete) << outcome.reason;
    EXPECT_EQ(head.status, 404);
    EXPECT_EQ(head.reason, "Not Found");
    EXPECT_EQ(head.content_length, 3U);
    EXPECT_EQ(kBytes.substr(outcome.consumed), "abc");
}

TEST(HttpHead, ResponsesThatBreakARuleAreRefusedAs502) {
    for (const std::string_view bytes :
         {"HTTP/1.1 99 Low\r\n\r\n", "HTTP/1.1 600 High\r\n\r\n", "HTTP/1.1 2000 Long\r\n\r\n",
          "HTTP/1.1  200 Space\r\n\r\n", "HTTP/2.0 200 OK\r\n\r\n", "HTTP/1.1 200 OK\n\n",
          "HTTP/1.1 200 a\x01\r\n\r\n", "ICY 200 OK\r\n\r\n",
          "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
          "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
          "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
          "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
          "HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n"}) {
        HeadOutcome outcome;
        response(bytes, outcome);
        EXPECT_EQ(outcome.kind, Kind::kRefused) << bytes;
        EXPECT_EQ(outcome.status, 502) << bytes;
    }
}

TEST(HttpHead, AResponseMayLackItsReason) {
    for (const std::string_view bytes : {"HTTP/1.1 200 \r\n\r\n", "HTTP/1.1 200\r\n\r\n"}) {
        HeadOutcome outcome;
        const ResponseHead head = response(bytes, outcome);
        EXPECT_EQ(outcome.kind, Kind::kComplete) << outcome.reason;
        EXPECT_EQ(head.status, 200);
        EXPECT_EQ(head.reason, "");
    }
}

TEST(HttpHead, TheBodyOfAResponseDependsOnStatusAndMethod) {
    struct {
        std::string_view bytes, method;
        BodyFraming framing;
    } const cases[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "GET", BodyFraming::kLength},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "HEAD", BodyFraming::kNone},
        {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "GET", BodyFraming::kNone},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "GET", BodyFraming::kChunked},
        {"HTTP/1.1 200 OK\r\n\r\n", "GET", BodyFraming::kUntilClose},
        {"HTTP/1.1 204 No Content\r\n\r\n", "GET", BodyFraming::kNone},
        {"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", "GET", BodyFraming::kNone},
        {"HTTP/1.1 101 Switching Protocols\r\n\r\n", "GET", BodyFraming::kNone},
        {"HTTP/1.1 100 Continue\r\n\r\n", "POST", BodyFraming::kNone},
        {"HTTP/1.1 200 OK\r\n\r\n", "CONNECT", BodyFraming::kNone},
        {"HTTP/1.1 403 Forbidden\r\nContent-Length: 5\r\n\r\n", "CONNECT", BodyFraming::kLength},
    };
    for (const auto& c : cases) {
        HeadOutcome outcome;
        EXPECT_EQ(response(c.bytes, outcome).framing(c.method), c.framing) << c.bytes << c.method;
    }
}

TEST(HttpHead, ViewsMoveWithACopyOfTheBytes) {
    for (const std::string_view start :
         {"GET /path?query HTTP/1.1\r\nHost: name\r\n",
          "GET http://name?query HTTP/1.1\r\nHost: name\r\n", "OPTIONS * HTTP/1.0\r\n"}) {
        std::string bytes = std::string(start) + "Field: value\r\n\r\n";
        RequestHead head;
        ASSERT_EQ(parse_request_head(bytes, head).kind, Kind::kComplete) << start;
        const RequestHead before = head;
        const std::vector<std::string> said{std::string(head.method), std::string(head.target),
                                            std::string(head.path), std::string(head.query),
                                            std::string(head.host)};
        const std::string copy = bytes;
        head.move_to(copy.data(), copy.size());
        bytes.assign(bytes.size(), '#');
        EXPECT_EQ((std::vector<std::string>{std::string(head.method), std::string(head.target),
                                            std::string(head.path), std::string(head.query),
                                            std::string(head.host)}),
                  said);
        EXPECT_EQ(head.find("field"), "value");
        EXPECT_EQ(before.method.front(), '#') << "the bytes that were parsed are gone";
    }
}

}  // namespace
}  // namespace crab::net
