#include "net/codec/websocket_handshake.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace crab::net {
namespace {

constexpr std::string_view kKey = "dGhlIHNhbXBsZSBub25jZQ==";
constexpr std::string_view kGood =
    "Upgrade: websocket\r\nConnection: keep-alive, Upgrade\r\nSec-WebSocket-Version: "
    "13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

struct Request {
    explicit Request(std::string_view fields, std::string_view line = "GET /ws/chat HTTP/1.1")
        : bytes(std::string(line) + "\r\nHost: h\r\n" + std::string(fields) + "\r\n") {
        EXPECT_EQ(parse_request_head(bytes, head).kind, HeadOutcome::Kind::kComplete) << bytes;
    }
    int status() const {
        const auto upgrade = validate_upgrade(head);
        return upgrade ? 101 : upgrade.error().status;
    }
    std::string bytes;
    RequestHead head;
};

std::string with(std::string_view more) { return std::string(kGood) + std::string(more); }

std::string without(std::string_view name) {
    std::string fields(kGood);
    const std::size_t at = fields.find(name);
    return fields.erase(at, fields.find("\r\n", at) + 2 - at);
}

TEST(WebSocketHandshake, TheAcceptKeyIsThatOfRfc6455) {
    EXPECT_EQ(websocket_accept_key(kKey), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST(WebSocketHandshake, AGoodUpgradeGivesItsKey) {
    const Request request(kGood);
    const auto upgrade = validate_upgrade(request.head);
    ASSERT_TRUE(upgrade);
    EXPECT_EQ(upgrade->key, kKey);
    EXPECT_TRUE(upgrade->protocols.empty());
    EXPECT_EQ(
        Request("UPGRADE: h2c, WebSocket\r\nCONNECTION: UPGRADE\r\nSEC-WEBSOCKET-VERSION: 13\r\n"
                "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n")
            .status(),
        101);
}

TEST(WebSocketHandshake, WhatIsNoUpgradeIs426AndABrokenOne400) {
    EXPECT_EQ(Request(kGood, "POST / HTTP/1.1").status(), 405);
    EXPECT_EQ(Request("").status(), 426);
    EXPECT_EQ(Request("Connection: Upgrade\r\nUpgrade: h2c\r\n").status(), 426);
    EXPECT_EQ(Request(without("Upgrade:")).status(), 426);
    EXPECT_EQ(Request(without("Connection:")).status(), 400);
    EXPECT_EQ(Request(without("Sec-WebSocket-Version")).status(), 400);
    EXPECT_EQ(Request(without("Sec-WebSocket-Version") + "Sec-WebSocket-Version: 8\r\n").status(),
              426);
    EXPECT_EQ(Request(with("Sec-WebSocket-Version: 13\r\n")).status(), 400);
    EXPECT_EQ(Request(without("Sec-WebSocket-Key")).status(), 400);
    EXPECT_EQ(Request(with("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n")).status(), 400);
    for (const std::string_view key : {"", "c2hvcnQ=", "dGhlIHNhbXBsZSBub25jZQ",
                                       "dGhlIHNhbXBsZSBub25jZSE=", "!GhlIHNhbXBsZSBub25jZQ=="}) {
        EXPECT_EQ(Request(without("Sec-WebSocket-Key") + "Sec-WebSocket-Key: " + std::string(key) +
                          "\r\n")
                      .status(),
                  400)
            << key;
    }
    EXPECT_EQ(Request(kGood, "GET / HTTP/1.0").status(), 400);
    EXPECT_EQ(Request(with("Content-Length: 1\r\n")).status(), 400);
    EXPECT_EQ(Request(with("Content-Length: 0\r\n")).status(), 101);
    EXPECT_EQ(Request(with("Transfer-Encoding: chunked\r\n")).status(), 400);
}

TEST(WebSocketHandshake, ProtocolsAreReadFromEveryFieldInOrder) {
    const Request request(with(
        "Sec-WebSocket-Protocol: clawseed.v1 ,bearer.abc123\r\nSec-WebSocket-Protocol: other\r\n"));
    const auto upgrade = validate_upgrade(request.head);
    ASSERT_TRUE(upgrade);
    EXPECT_EQ(upgrade->protocols,
              (std::vector<std::string_view>{"clawseed.v1", "bearer.abc123", "other"}));
    EXPECT_TRUE(upgrade->offers("clawseed.v1"));
    EXPECT_FALSE(upgrade->offers("clawseed.v2"));
    EXPECT_EQ(Request(with("Sec-WebSocket-Protocol: a, a\r\n")).status(), 400);
    EXPECT_EQ(Request(with("Sec-WebSocket-Protocol: a b\r\n")).status(), 400);
    EXPECT_EQ(Request(with("Sec-WebSocket-Protocol: a/b\r\n")).status(), 400);
}

struct OfferCase {
    std::string_view offer;
    int window;  // 0: declined
    bool announced = false;
};

TEST(WebSocketHandshake, CompressionOffersAreHonouredInFullOrDeclined) {
    for (const OfferCase& c :
         {OfferCase{"permessage-deflate", 15},
          {"Permessage-Deflate", 15},
          {"permessage-deflate; client_max_window_bits", 15},
          {"permessage-deflate; client_max_window_bits=8", 15},
          {"permessage-deflate; client_max_window_bits=\"10\"", 15},
          {"permessage-deflate; server_no_context_takeover; client_no_context_takeover", 15},
          {"permessage-deflate;server_max_window_bits=15", 15, true},
          {"permessage-deflate; server_max_window_bits=\"10\"", 10, true},
          {"permessage-deflate; server_max_window_bits=9", 9, true},
          {"permessage-deflate; server_max_window_bits=8", 0},
          {"permessage-deflate; server_max_window_bits=7", 0},
          {"permessage-deflate; server_max_window_bits=16", 0},
          {"permessage-deflate; server_max_window_bits=09", 0},
          {"permessage-deflate; server_max_window_bits", 0},
          {"permessage-deflate; server_max_window_bits=9; server_max_window_bits=10", 0},
          {"permessage-deflate; client_max_window_bits=x", 0},
          {"permessage-deflate; client_max_window_bits; client_max_window_bits=10", 0},
          {"permessage-deflate; server_no_context_takeover=1", 0},
          {"permessage-deflate; client_no_context_takeover; client_no_context_takeover", 0},
          {"permessage-deflate; unknown", 0},
          {"x-webkit-deflate-frame", 0},
          {"permessage-bzip2, permessage-deflate", 15},
          {"permessage-deflate; server_max_window_bits=8, permessage-deflate", 15},
          {"permessage-deflate; server_max_window_bits=12, permessage-deflate", 12, true}}) {
        const Request request(with("Sec-WebSocket-Extensions: " + std::string(c.offer) + "\r\n"));
        EXPECT_EQ(request.status(), 101) << c.offer;
        const auto agreement = negotiate_deflate(request.head);
        EXPECT_EQ(agreement ? agreement->send_window_bits : 0, c.window) << c.offer;
        EXPECT_EQ(agreement && agreement->announce_window, c.announced) << c.offer;
    }
    EXPECT_FALSE(negotiate_deflate(Request(kGood).head));
}

TEST(WebSocketHandshake, BrokenExtensionListsAreABrokenUpgrade) {
    for (const std::string_view bad : {"permessage-deflate;", "permessage-deflate; ;", "; a", "a b",
                                       "a; b=", "a; b=\"", "a; b=\"x", "a; b=\"\"", "a; =b"}) {
        EXPECT_EQ(Request(with("Sec-WebSocket-Extensions: " + std::string(bad) + "\r\n")).status(),
                  400)
            << bad;
    }
}

TEST(WebSocketHandshake, TheAnswerNamesWhatWasAgreed) {
    std::string plain, full;
    append_upgrade_response(plain, kKey, "");
    EXPECT_EQ(plain,
              "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
              "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n");
    append_upgrade_response(full, kKey, "clawseed.v1",
                            DeflateAgreement{.send_window_bits = 11, .announce_window = true});
    EXPECT_TRUE(full.contains("\r\nSec-WebSocket-Protocol: clawseed.v1\r\n"));
    EXPECT_TRUE(
        full.contains("\r\nSec-WebSocket-Extensions: permessage-deflate; "
                      "server_no_context_takeover; client_no_context_takeover; "
                      "server_max_window_bits=11\r\n"));
}

TEST(WebSocketHandshake, ClientAndServerUnderstandEachOther) {
    const std::string_view protocols[] = {"clawseed.v1", "bearer.abc"};
    const HttpHeader more[] = {{"Authorization", "Bearer abc"}};
    for (const bool compress : {false, true}) {
        const UpgradeRequest request{.host = "h:1",
                                     .target = "/ws/chat?name=a",
                                     .key = kKey,
                                     .protocols = protocols,
                                     .more = more,
                                     .offer_deflate = compress};
        std::string asked, answered;
        ASSERT_TRUE(append_upgrade_request(asked, request));
        RequestHead head;
        ASSERT_EQ(parse_request_head(asked, head).kind, HeadOutcome::Kind::kComplete);
        const auto upgrade = validate_upgrade(head);
        ASSERT_TRUE(upgrade) << upgrade.error().reason;
        EXPECT_EQ(head.find("authorization"), "Bearer abc");
        append_upgrade_response(answered, upgrade->key, "clawseed.v1", negotiate_deflate(head));
        ResponseHead response;
        ASSERT_EQ(parse_response_head(answered, response).kind, HeadOutcome::Kind::kComplete);
        const auto accepted = check_upgrade_response(response, request);
        ASSERT_TRUE(accepted) << accepted.error();
        EXPECT_EQ(accepted->protocol, "clawseed.v1");
        EXPECT_EQ(accepted->deflate.has_value(), compress);
    }
}

TEST(WebSocketHandshake, AClientRefusesAnAnswerThatDoesNotFit) {
    const std::string_view protocols[] = {"clawseed.v1"};
    const UpgradeRequest plain{
        .host = "h", .target = "/", .key = kKey, .protocols = protocols, .more = {}};
    UpgradeRequest compressed = plain;
    compressed.offer_deflate = true;
    const auto fits = [](std::string_view status, std::string fields,
                         const UpgradeRequest& request) {
        const std::string bytes = "HTTP/1.1 " + std::string(status) + "\r\n" + fields + "\r\n";
        ResponseHead head;
        EXPECT_EQ(parse_response_head(bytes, head).kind, HeadOutcome::Kind::kComplete) << bytes;
        return check_upgrade_response(head, request).has_value();
    };
    const std::string good =
        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
        "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n";
    const std::string deflate =
        good + "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover";
    EXPECT_TRUE(fits("101 Yes", good, plain));
    EXPECT_TRUE(fits("101 Yes", good, compressed));
    EXPECT_TRUE(fits("101 Yes", deflate + "\r\n", compressed));
    EXPECT_TRUE(fits("101 Yes", deflate + "; server_max_window_bits=8\r\n", compressed));
    EXPECT_FALSE(fits("200 OK", good, plain));
    EXPECT_FALSE(fits(
        "101 Yes", "Connection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n",
        plain));
    EXPECT_FALSE(fits(
        "101 Yes", "Upgrade: websocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n",
        plain));
    EXPECT_FALSE(fits("101 Yes", "Upgrade: websocket\r\nConnection: Upgrade\r\n", plain));
    EXPECT_FALSE(fits(
        "101 Yes", "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: wrong\r\n",
        plain));
    EXPECT_FALSE(fits("101 Yes", good + "Sec-WebSocket-Protocol: clawseed.v2\r\n", plain));
    EXPECT_FALSE(fits(
        "101 Yes",
        good + "Sec-WebSocket-Protocol: clawseed.v1\r\nSec-WebSocket-Protocol: clawseed.v1\r\n",
        plain));
    EXPECT_FALSE(fits("101 Yes", deflate + "\r\n", plain));
    EXPECT_FALSE(
        fits("101 Yes", good + "Sec-WebSocket-Extensions: permessage-deflate\r\n", compressed));
    EXPECT_FALSE(fits("101 Yes", deflate + "; client_max_window_bits=10\r\n", compressed));
    EXPECT_FALSE(fits("101 Yes", deflate + "; unknown\r\n", compressed));
    EXPECT_FALSE(fits("101 Yes", deflate + ", other\r\n", compressed));
}

TEST(WebSocketHandshake, ARequestWithAPartThatBreaksTheHeadIsNotWritten) {
    const std::string_view bad[] = {"a b"};
    const HttpHeader more[] = {{"X", "a\r\nb"}};
    std::string out;
    EXPECT_FALSE(append_upgrade_request(
        out, {.host = "h", .target = "/ x", .key = kKey, .protocols = {}, .more = {}}));
    EXPECT_FALSE(append_upgrade_request(
        out, {.host = "h", .target = "/", .key = kKey, .protocols = bad, .more = {}}));
    EXPECT_FALSE(append_upgrade_request(
        out, {.host = "h", .target = "/", .key = kKey, .protocols = {}, .more = more}));
    EXPECT_EQ(out, "");
}

}  // namespace
}  // namespace crab::net
