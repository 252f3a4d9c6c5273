#include "push/sending/push_services.hpp"

#include <string>

#include <gtest/gtest.h>

namespace crab::push {
namespace {

TEST(PushServices, OnlyPublicOnesOverTlsAreAskedAndThoseThatAreNamed) {
    const PushServices services({*net::HttpUrl::parse("https://push.home.example"),
                                 *net::HttpUrl::parse("http://127.0.0.1:8090"),
                                 *net::HttpUrl::parse("http://10.0.0.7"),
                                 *net::HttpUrl::parse("https://10.0.0.8")});
    for (const std::string_view endpoint :
         {"https://fcm.googleapis.com/fcm/send/x", "https://web.push.apple.com/x",
          "https://push.home.example/x", "http://127.0.0.1:8090/x", "https://10.0.0.8/x"})
        EXPECT_TRUE(services.check(endpoint)) << endpoint;
    for (const std::string_view endpoint :
         {"http://fcm.googleapis.com/x", "http://127.0.0.1:8091/x", "https://127.0.0.1/x",
          "http://10.0.0.7/x", "https://10.0.0.9/x", "https://[::ffff:10.0.0.9]/x",
          "https://localhost/x", "ftp://push.home.example/x", "https://a@push.home.example/x", ""})
        EXPECT_FALSE(services.check(endpoint)) << endpoint;
    EXPECT_FALSE(services.check("https://push.example/" + std::string(1024, 'x')));
}

}  // namespace
}  // namespace crab::push
