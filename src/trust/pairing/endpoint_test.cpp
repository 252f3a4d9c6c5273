#include "trust/pairing/endpoint.hpp"

#include <gtest/gtest.h>

namespace crab::trust {
namespace {

struct Case {
    std::string_view given, stored, target;
    bool loopback;
};

TEST(PairingEndpointTest, EndpointsAreStoredInOneForm) {
    constexpr Case kTable[] = {
        {"ws://127.0.0.1:43219/v1/pair", "ws://127.0.0.1:43219/v1/pair", "/v1/pair", true},
        {"WS://LocalHost", "ws://localhost:80", "/v1/pair", true},
        {"ws://localhost/", "ws://localhost:80/", "/", true},
        {"wss://Memory.Example", "wss://memory.example:443", "/v1/pair", false},
        {"wss://memory.example:0443/A/b?C=d", "wss://memory.example:443/A/b?C=d", "/A/b?C=d",
         false},
        {"wss://memory.example?x=1", "wss://memory.example:443?x=1", "/v1/pair?x=1", false},
        {"wss://memory.example/p?", "wss://memory.example:443/p?", "/p?", false},
        {"ws://127.255.0.9:1", "ws://127.255.0.9:1", "/v1/pair", true},
        {"ws://[::1]:9000/x", "ws://[::1]:9000/x", "/x", true},
        {"ws://[0:0:0:0:0:0:0:1]", "ws://[::1]:80", "/v1/pair", true},
        {"wss://[2001:DB8::00A]:7", "wss://[2001:db8::a]:7", "/v1/pair", false},
        {"ws://[::ffff:127.0.0.1]", "ws://[::ffff:127.0.0.1]:80", "/v1/pair", false},
        {"ws://localhost.example", "ws://localhost.example:80", "/v1/pair", false},
        {"ws://127.0.0.1.example", "ws://127.0.0.1.example:80", "/v1/pair", false},
        {"ws://127.1", "ws://127.1:80", "/v1/pair", false},
        {"wss://192.0.2.7:65535", "wss://192.0.2.7:65535", "/v1/pair", false},
        {"wss://a_b-c.example/%20", "wss://a_b-c.example:443/%20", "/%20", false},
    };
    for (const Case& one : kTable) {
        const auto endpoint = PairingEndpoint::parse(one.given);
        ASSERT_TRUE(endpoint) << one.given << ": " << endpoint.error().message;
        EXPECT_EQ(endpoint->text(), one.stored);
        EXPECT_EQ(endpoint->target(), one.target) << one.given;
        EXPECT_EQ(endpoint->loopback, one.loopback) << one.given;
        EXPECT_EQ(PairingEndpoint::parse(endpoint->text())->text(), one.stored);
        EXPECT_EQ(endpoint->has_second_target(), endpoint->path.empty());
    }
}

TEST(PairingEndpointTest, OtherTextsAreRefused) {
    for (const std::string_view text : {"",
                                        "localhost",
                                        "http://localhost",
                                        "https://localhost",
                                        "ws:/localhost",
                                        "ws://",
                                        "ws:///path",
                                        "ws://user@localhost",
                                        "ws://u:p@localhost",
                                        "ws://localhost#top",
                                        "ws://localhost/#",
                                        "ws://localhost:0",
                                        "ws://localhost:65536",
                                        "ws://localhost:",
                                        "ws://localhost:+80",
                                        "ws://localhost:8o",
                                        "ws://local host",
                                        "ws://localhost/a b",
                                        "ws://localhost/\n",
                                        "ws://::1",
                                        "ws://[127.0.0.1]",
                                        "ws://[::1",
                                        "ws://[]",
                                        "ws://[fe80::1%25eth0]",
                                        "ws://a..b",
                                        "ws://.a",
                                        "wss://a.",
                                        "ws://\xc3\xa9.example",
                                        "ws://%6c.example",
                                        "wss://[localhost]"}) {
        const auto endpoint = PairingEndpoint::parse(text);
        ASSERT_FALSE(endpoint) << text;
        EXPECT_EQ(endpoint.error().code, PairingCode::kInvalidArgs) << text;
    }
    EXPECT_FALSE(PairingEndpoint::parse("wss://" + std::string(64, 'a')));
    EXPECT_FALSE(PairingEndpoint::parse("wss://a/" + std::string(2048, 'a')));
}

TEST(PairingEndpointTest, PlainWebSocketsGoToLoopbackAndOnlyIfAllowed) {
    const auto allowed = [](std::string_view text, bool allow) {
        return check_transport(*PairingEndpoint::parse(text), allow).has_value();
    };
    EXPECT_TRUE(allowed("ws://127.0.0.1", true));
    EXPECT_FALSE(allowed("ws://127.0.0.1", false));
    for (const std::string_view text : {"ws://192.0.2.7", "ws://memory.example", "ws://127.1",
                                        "ws://[::ffff:127.0.0.1]", "ws://[::2]"}) {
        EXPECT_EQ(check_transport(*PairingEndpoint::parse(text), true).error().code,
                  PairingCode::kMtlsRequired)
            << text;
    }
    EXPECT_TRUE(allowed("wss://192.0.2.7", false));
}

TEST(PairingEndpointTest, CertificatesNameTheHostAndRequestsTheAuthority) {
    EXPECT_EQ(PairingEndpoint::parse("wss://[2001:db8::1]")->names().ip_addresses,
              std::vector<std::string>{"2001:db8::1"});
    EXPECT_EQ(PairingEndpoint::parse("wss://[2001:db8::1]")->authority(), "[2001:db8::1]:443");
    EXPECT_EQ(PairingEndpoint::parse("wss://Memory.example")->names().dns_names,
              std::vector<std::string>{"memory.example"});
}

}  // namespace
}  // namespace crab::trust
