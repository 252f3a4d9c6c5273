#include "net/codec/http_write.hpp"

#include "net/codec/http_body.hpp"

#include <gtest/gtest.h>

#include <string>

namespace crab::net {
namespace {

TEST(HttpWrite, AResponseIsWrittenWhole) {
    std::string out = "before|";
    const HttpHeader more[] = {{"Allow", "GET"}};
    ASSERT_TRUE(append_response(out, 405, "application/json", "{}", KeepAlive::kNo, more));
    EXPECT_EQ(out,
              "before|HTTP/1.1 405 Method Not Allowed\r\nContent-Type: "
              "application/json\r\nContent-Length: 2\r\nConnection: close\r\n"
              "Allow: GET\r\n\r\n{}");
}

TEST(HttpWrite, BodilessStatusesGetNeitherBodyNorLength) {
    for (const int status : {101, 204, 304}) {
        std::string out;
        ASSERT_TRUE(append_response(out, status, "text/plain", "body"));
        EXPECT_FALSE(out.contains("Content-")) << out;
        EXPECT_TRUE(out.ends_with("\r\n\r\n")) << out;
    }
}

TEST(HttpWrite, EveryStatusFrom100To599ParsesBackToItself) {
    for (int status = 100; status < 600; ++status) {
        std::string out;
        append_status_line(out, status);
        append_head_end(out);
        ResponseHead head;
        ASSERT_EQ(parse_response_head(out, head).kind, HeadOutcome::Kind::kComplete) << out;
        EXPECT_EQ(head.status, status);
        EXPECT_EQ(head.reason, reason_phrase(status));
    }
    EXPECT_EQ(reason_phrase(200), "OK");
    EXPECT_EQ(reason_phrase(431), "Request Header Fields Too Large");
    EXPECT_EQ(reason_phrase(299), "");
}

TEST(HttpWrite, NoValueCanBringItsOwnLine) {
    for (const std::string_view bad :
         {std::string_view("a\r\nX: b"), std::string_view("a\nb"), std::string_view("a\rb"),
          std::string_view("a\0b", 3), std::string_view("\x7f"),
          std::string_view("12345678\r\n345678")}) {
        std::string out = "before";
        EXPECT_FALSE(append_header(out, "X", bad));
        const HttpHeader more[] = {{"Fine", "yes"}, {"X", bad}};
        EXPECT_FALSE(append_response(out, 200, "text/plain", "body", KeepAlive::kYes, more));
        EXPECT_FALSE(append_response(out, 200, bad, "body"));
        EXPECT_FALSE(append_request(out, "GET", "/", "h", "", "", more));
        EXPECT_FALSE(append_request(out, "GET", bad, "h", "", ""));
        EXPECT_FALSE(append_request(out, "GET", "/", bad, "", ""));
        EXPECT_FALSE(append_request(out, bad, "/", "h", "", ""));
        EXPECT_EQ(out, "before");
    }
    std::string out;
    EXPECT_FALSE(append_header(out, "", "a"));
    EXPECT_FALSE(append_header(out, "X Y", "a"));
    EXPECT_FALSE(append_header(out, "X:", "a"));
    EXPECT_TRUE(append_header(out, "X", "tab\t, caf\xc3\xa9"));
}

TEST(HttpWrite, ARequestParsesBackToItself) {
    std::string out;
    const HttpHeader more[] = {{"Authorization", "Bearer x"}};
    ASSERT_TRUE(append_request(out, "POST", "/v1/tools/call?a=b", "h:1", "application/json",
                               "{\"a\":1}", more));
    RequestHead head;
    const HeadOutcome outcome = parse_request_head(out, head);
    ASSERT_EQ(outcome.kind, HeadOutcome::Kind::kComplete) << outcome.reason;
    EXPECT_EQ(head.content_length, 7U);
    EXPECT_EQ(head.find("authorization"), "Bearer x");
    EXPECT_EQ(out.substr(outcome.consumed), "{\"a\":1}");
}

TEST(HttpWrite, OnlyMethodsThatUsuallyHaveABodySayThatTheyHaveNone) {
    std::string get, post;
    ASSERT_TRUE(append_request(get, "GET", "/", "h", "", ""));
    ASSERT_TRUE(append_request(post, "POST", "/", "h", "", ""));
    EXPECT_FALSE(get.contains("Content-Length"));
    EXPECT_TRUE(post.contains("Content-Length: 0\r\n"));
}

TEST(HttpWrite, ChunksReadBackAndAnEmptyOneDoesNotEndTheBody) {
    std::string out;
    append_chunk(out, "hello, ");
    append_chunk(out, "");
    append_chunk(out, std::string(300, 'x'));
    append_last_chunk(out);
    BodyDecoder decoder(BodyFraming::kChunked, 0);
    std::string body;
    std::string_view in = out;
    BodyEvent event = decoder.next(in);
    for (; event.kind == BodyEvent::Kind::kData; event = decoder.next(in)) body += event.data;
    EXPECT_EQ(event.kind, BodyEvent::Kind::kEnd);
    EXPECT_EQ(body, "hello, " + std::string(300, 'x'));
}

}  // namespace
}  // namespace crab::net
