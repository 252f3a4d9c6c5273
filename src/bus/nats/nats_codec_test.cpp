#include "bus/nats/nats_codec.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace crab::bus::nats {
namespace {

using Kind = FromServer::Kind;

constexpr std::size_t kMost = 1'000;

FromServer read_whole(std::string_view text) {
    const auto read = read_from_server(text, kMost);
    EXPECT_TRUE(read) << text;
    if (!read) return {};
    EXPECT_EQ(read->consumed, text.size()) << text;
    return read->item;
}

TEST(NatsCodecTest, ReadsWhatAServerSays) {
    EXPECT_EQ(read_whole("INFO {\"max_payload\":1048576} \r\n").text, "{\"max_payload\":1048576} ");
    EXPECT_EQ(read_whole("PING\r\n").kind, Kind::kPing);
    EXPECT_EQ(read_whole("pong\r\n").kind, Kind::kPong);
    EXPECT_EQ(read_whole("+OK\r\n").kind, Kind::kOk);
    const FromServer error = read_whole("-ERR 'Authorization Violation'\r\n");
    EXPECT_EQ(error.kind, Kind::kError);
    EXPECT_EQ(error.text, "'Authorization Violation'");
}

TEST(NatsCodecTest, KnowsAServerThatTakesNothingButTls) {
    EXPECT_TRUE(requires_tls(R"({"server_id":"a","tls_required":true,"port":4222})"));
    EXPECT_TRUE(requires_tls(R"({ "tls_required" : true })"));
    EXPECT_FALSE(requires_tls(R"({"server_id":"a","tls_required":false,"tls_available":true})"));
    EXPECT_FALSE(requires_tls(R"({"server_id":"a"})"));
    EXPECT_FALSE(requires_tls(R"({"tls_required")"));
}

TEST(NatsCodecTest, ReadsMessagesWithAndWithoutAReplySubject) {
    const FromServer plain = read_whole("MSG crab.f.all 9 5\r\na\r\nb!\r\n");
    EXPECT_EQ(plain.kind, Kind::kMessage);
    EXPECT_EQ(plain.subject, "crab.f.all");
    EXPECT_EQ(plain.subscription, 9u);
    EXPECT_EQ(plain.reply, "");
    EXPECT_EQ(plain.payload, std::string_view("a\r\nb!", 5));
    const FromServer asked = read_whole("MSG a.b\t12  c.d 0\r\n\r\n");
    EXPECT_EQ(asked.reply, "c.d");
    EXPECT_EQ(asked.payload, "");
}

TEST(NatsCodecTest, ReadsTheNewsThatARequestReachedNobody) {
    const FromServer nobody = read_whole("HMSG c.d 3 16 16\r\nNATS/1.0 503\r\n\r\n\r\n");
    EXPECT_EQ(nobody.status, 503);
    EXPECT_EQ(nobody.subject, "c.d");
    EXPECT_EQ(nobody.payload, "");
    const FromServer headed = read_whole("HMSG c.d 3 e.f 12 14\r\nNATS/1.0\r\n\r\nxy\r\n");
    EXPECT_EQ(headed.status, 0);
    EXPECT_EQ(headed.reply, "e.f");
    EXPECT_EQ(headed.payload, "xy");
}

TEST(NatsCodecTest, AnItemThatIsNotWholeIsWaitedForByteByByte) {
    const std::string text = "MSG a 1 3\r\nabc\r\nPING\r\n";
    for (std::size_t size = 0; size < 16; ++size) {
        const auto read = read_from_server(std::string_view(text).substr(0, size), kMost);
        ASSERT_TRUE(read) << size;
        EXPECT_EQ(read->consumed, 0u) << size;
    }
    EXPECT_EQ(read_from_server(text, kMost)->consumed, 16u);
}

TEST(NatsCodecTest, WhatNoServerSaysIsRefused) {
    for (const std::string_view text :
         {"HELLO\r\n", "MSG a 1\r\n", "MSG a x 3\r\nabc\r\n", "MSG a 1 -3\r\nabc\r\n",
          "MSG a 1 b c 3\r\nabc\r\n", "MSG a 1 3\r\nabcde\r\n", "HMSG a 1 9 4\r\nNATS\r\n",
          "HMSG a 1 12 12\r\nHTTP/1.1\r\n\r\n\r\n", "HMSG a 1 14 14\r\nNATS/1.0 x\r\n\r\n\r\n",
          "PINGS\r\n", "\r\n", "MSG a 1 99999999999999999999\r\n"})
        EXPECT_FALSE(read_from_server(text, kMost)) << text;
}

TEST(NatsCodecTest, LongLinesAndPayloadsAreRefusedBeforeTheyAreThere) {
    const auto payload = read_from_server("MSG a 1 1001\r\n", kMost);
    ASSERT_FALSE(payload);
    EXPECT_EQ(payload.error().code, ErrorCode::kOversize);
    EXPECT_TRUE(read_from_server(std::string(kMostLine, 'x'), kMost));
    EXPECT_FALSE(read_from_server(std::string(kMostLine + 1, 'x'), kMost));
}

TEST(NatsCodecTest, WritesWhatAServerReads) {
    std::string out;
    append_publish(out, "a.b", "", "xyz");
    append_publish(out, "a.b", "c", "");
    EXPECT_EQ(out, "PUB a.b 3\r\nxyz\r\nPUB a.b c 0\r\n\r\n");
    EXPECT_EQ(subscribe_line("crab.f.n.1.2.0.>", 7), "SUB crab.f.n.1.2.0.> 7\r\n");
    const std::string connect = connect_line("crab \"1\"", "u", "p\\");
    EXPECT_NE(connect.find(R"("no_responders":true)"), std::string::npos);
    EXPECT_NE(connect.find("\"name\":\"crab \\u00221\\u0022\""), std::string::npos) << connect;
    EXPECT_NE(connect.find("\"pass\":\"p\\u005c\""), std::string::npos) << connect;
    EXPECT_TRUE(connect.ends_with("}\r\n"));
    EXPECT_EQ(connect_line("n", "", "").find("user"), std::string::npos);
}

}  // namespace
}  // namespace crab::bus::nats
