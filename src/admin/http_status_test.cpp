#include "json/value.hpp"
#include "net/http/http_error.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace crab::admin {
namespace {

using json::Value;

TEST(HttpStatus, EveryCodeHasTheStatusThatSpecErrorsSays) {
    std::ifstream file(std::string(CRAB_SOURCE_DIR) + "/spec/errors.json");
    std::stringstream text;
    text << file.rdbuf();
    const Value spec = Value::parse(text.str()).value();
    const auto& codes = *spec.find("codes")->as_array();
    EXPECT_EQ(codes.size(), all_error_codes().size());
    for (const Value& entry : codes) {
        const auto code = find_error_code(*entry.find("token")->as_string());
        ASSERT_TRUE(code);
        EXPECT_EQ(net::http_status(*code), entry.find("http")->as_int64())
            << *entry.find("token")->as_string();
    }
}

}  // namespace
}  // namespace crab::admin
