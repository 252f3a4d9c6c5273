#include "adapters/mcp/wire/message_reader.hpp"
#include "adapters/mcp/wire/message_writer.hpp"

#include <gtest/gtest.h>

#include <unordered_set>

namespace crab::mcp {
namespace {

using Kind = Message::Kind;

class McpMessage : public testing::Test {
protected:
    MessageReading read(std::string_view text) { return read_message(text, parser); }
    std::int64_t refused(std::string_view text) {
        const auto reading = read(text);
        return reading ? 0 : reading.error().error.code;
    }

    json::Parser parser{{.max_bytes = kMaxRequest}};
};

TEST_F(McpMessage, WhatItsParamsSayIsReadWithIt) {
    const auto request =
        read(R"({"id":1,"x":{"params":{}},"method":"tools/call","params": {"name" : "t\u0041",)"
             R"("arguments":{"_meta":{"progressToken":7}, "a":["]}"] },"\u005fmeta" : {)"
             R"("io.modelcontextprotocol/protocolVersion" :"2026-07-28", "progressToken":"p" ,)"
             R"("io.modelcontextprotocol/clientCapabilities": { }}},"jsonrpc":"2.0"})");
    ASSERT_TRUE(request);
    EXPECT_EQ(request->meta.version, "2026-07-28");
    EXPECT_EQ(request->meta.progress_token, RequestId("p"));
    EXPECT_EQ(request->meta.capabilities, "{ }");
    EXPECT_EQ(request->meta.beside.name, R"("t\u0041")");
    EXPECT_EQ(request->meta.beside.arguments, R"({"_meta":{"progressToken":7}, "a":["]}"] })");
    const auto plain = read(R"({"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":[1]}})");
    ASSERT_TRUE(plain);
    EXPECT_FALSE(plain->meta.names_version);
}

TEST_F(McpMessage, EachKindIsReadWithItsBytes) {
    const auto request =
        read(R"( {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{ "a" : 1.0 },"x":[1]} )");
    ASSERT_TRUE(request);
    EXPECT_EQ(request->kind, Kind::kRequest);
    EXPECT_EQ(request->id, RequestId(7));
    EXPECT_EQ(request->method, "tools/call");
    EXPECT_EQ(request->params, R"({ "a" : 1.0 })");
    EXPECT_EQ(json::get_double(request->parsed_params->element(), "a"), 1);

    const auto notification = read(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
    ASSERT_TRUE(notification);
    EXPECT_EQ(notification->kind, Kind::kNotification);
    EXPECT_EQ(notification->id, std::nullopt);
    EXPECT_EQ(notification->params, "");

    const auto result = read(R"({"jsonrpc":"2.0","id":"a","result":{"tools": []}})");
    ASSERT_TRUE(result);
    EXPECT_EQ(result->kind, Kind::kResult);
    EXPECT_EQ(result->result, R"({"tools": []})");

    const auto error = read(
        R"({"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no","data":{"uri": "a:b"}}})");
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind, Kind::kError);
    EXPECT_EQ(error->error,
              (RpcError{.code = -32602, .message = "no", .data = R"({"uri": "a:b"})"}));
}

TEST_F(McpMessage, AnErrorToAnUnreadableIdHasNone) {
    for (const std::string_view text :
         {R"({"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request"}})",
          R"({"jsonrpc":"2.0","error":{"code":-32700,"message":"no JSON"}})"}) {
        const auto error = read(text);
        ASSERT_TRUE(error) << text;
        EXPECT_EQ(error->kind, Kind::kError);
        EXPECT_EQ(error->id, std::nullopt);
    }
    EXPECT_EQ(refused(R"({"jsonrpc":"2.0","id":null,"result":{}})"), -32600);
}

TEST_F(McpMessage, WrongShapesAreInvalidRequests) {
    for (const std::string_view text : {
             R"({"jsonrpc":"2.0","id":null,"method":"ping"})",
             R"({"jsonrpc":"1.0","id":1,"method":"ping"})",
             R"({"jsonrpc":2.0,"id":1,"method":"ping"})",
             R"({"id":1,"method":"ping"})",
             R"({"jsonrpc":"2.0","id":1,"method":"ping","params":[1]})",
             R"({"jsonrpc":"2.0","id":1,"method":"ping","params":null})",
             R"({"jsonrpc":"2.0","id":1,"method":"ping","params":"a"})",
             R"({"jsonrpc":"2.0","id":1,"method":7})",
             R"({"jsonrpc":"2.0","id":1,"method":""})",
             R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})",
             R"({"jsonrpc":"2.0","id":9007199254740992,"method":"ping"})",
             R"({"jsonrpc":"2.0","id":-9007199254740992,"method":"ping"})",
             R"({"jsonrpc":"2.0","id":1e300,"method":"ping"})",
             R"({"jsonrpc":"2.0","id":{},"method":"ping"})",
             R"({"jsonrpc":"2.0","id":true,"method":"ping"})",
             R"({"jsonrpc":"2.0","id":1})",
             R"({"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}})",
             R"({"jsonrpc":"2.0","id":1,"method":"ping","result":{}})",
             R"({"jsonrpc":"2.0","id":1,"result":7})",
             R"({"jsonrpc":"2.0","result":{}})",
             R"({"jsonrpc":"2.0","id":1,"error":{"message":"no code"}})",
             R"({"jsonrpc":"2.0","id":1,"error":"no"})",
             R"("text")",
             R"(12)",
             R"(null)",
             R"([])",
             R"([{"jsonrpc":"2.0","id":1,"method":"ping"}])",
         }) {
        EXPECT_EQ(refused(text), -32600) << text;
    }
    const std::string long_id(257, 'a');
    EXPECT_EQ(refused(R"({"jsonrpc":"2.0","id":")" + long_id + R"(","method":"ping"})"), -32600);
}

TEST_F(McpMessage, WhatIsNoJsonIsAParseError) {
    for (const std::string_view text : {"", "{", "{\"jsonrpc\":\"2.0\",}", "{'a':1}", "\xff\xfe",
                                        "{\"a\":\"\xc3\x28\"}", "{} {}", "\xef\xbb\xbf{}"}) {
        const auto reading = read(text);
        ASSERT_FALSE(reading) << text;
        EXPECT_EQ(reading.error().error.code, -32700) << text;
        EXPECT_EQ(reading.error().http_status, 400);
        EXPECT_EQ(reading.error().id, std::nullopt);
    }
}

TEST_F(McpMessage, DepthSixtyFiveIsRefused) {
    // the message and its params are the first two levels
    const auto nested = [](std::size_t depth) {
        return R"({"jsonrpc":"2.0","id":1,"method":"a","params":{"a":)" +
               std::string(depth - 2, '[') + "1" + std::string(depth - 2, ']') + "}}";
    };
    EXPECT_TRUE(read(nested(64)));
    EXPECT_EQ(refused(nested(65)), -32700);
}

TEST_F(McpMessage, WhatIsTooLargeSaysSo) {
    const std::string frame = R"({"jsonrpc":"2.0","method":""})";
    const std::string fits =
        R"({"jsonrpc":"2.0","method":")" + std::string(kMaxRequest - frame.size(), 'a') + "\"}";
    ASSERT_EQ(fits.size(), kMaxRequest);
    EXPECT_TRUE(read(fits));
    const auto large = read(fits + " ");
    ASSERT_FALSE(large);
    EXPECT_EQ(large.error().http_status, 413);
}

TEST_F(McpMessage, ARefusalCarriesTheIdIfThereIsOne) {
    const auto reading = read(R"({"jsonrpc":"2.0","id":"x","method":"a","params":3})");
    ASSERT_FALSE(reading);
    EXPECT_EQ(reading.error().id, RequestId("x"));
}

TEST_F(McpMessage, TwoMembersOfOneNameAreRefusedInRequests) {
    EXPECT_EQ(refused(R"({"jsonrpc":"2.0","id":1,"id":2,"method":"a"})"), -32600);
    EXPECT_EQ(refused(R"({"jsonrpc":"2.0","id":1,"method":"tools/call",)"
                      R"("params":{"name":"a","n\u0061me":"b"}})"),
              -32600);
    EXPECT_EQ(refused(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":)"
                      R"({"name":"a","arguments":{"x":[1,{"b":1,"b":2}]}}})"),
              -32600);
    EXPECT_EQ(refused(R"({"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{"x":1,"x":1}}})"),
              -32600);
    EXPECT_TRUE(read(R"({"jsonrpc":"2.0","id":1,"result":{"a":{"b":1,"b":2}}})"))
        << "inside a result they are checked by its reader";
}

TEST_F(McpMessage, IdsKeepTheirTypeAndTheirBytes) {
    for (const std::string_view id : {"1", "\"1\"", "0", "-5", "1.0", "1e2", "\"\"", "\"\\u0061\"",
                                      "9007199254740991", "-9007199254740991", "\"\xc3\xa9\""}) {
        const auto reading =
            read(R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"method":"ping"})");
        ASSERT_TRUE(reading) << id;
        std::string answer;
        append_result(answer, *reading->id, "{}");
        std::string response = "{}";
        make_response(response, *reading->id);
        EXPECT_EQ(response, answer);
        EXPECT_LE(response.size(), 2 + reading->id->json().size() + 40);
        EXPECT_EQ(answer, R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"result":{}})");
    }
    EXPECT_FALSE(RequestId(1) == RequestId("1"));
    const auto fraction = read(R"({"jsonrpc":"2.0","id":1.0,"method":"ping"})");
    EXPECT_EQ(fraction->id, RequestId(1));
    std::unordered_set<RequestId, RequestIdHash> running{RequestId(1), RequestId("1")};
    EXPECT_EQ(running.size(), 2U);
    EXPECT_TRUE(running.contains(*fraction->id));
    // an id is kept and repeated: its digits have an end
    EXPECT_TRUE(RequestId::read("1." + std::string(62, '0')));
    EXPECT_FALSE(RequestId::read("1." + std::string(63, '0')));
}

TEST_F(McpMessage, ABatchIsTakenOnlyWhereTheyAreTaken) {
    constexpr std::string_view kBatch =
        R"([{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":[1, 2]}},)"
        R"( {"jsonrpc":"2.0","id":null,"method":"b"}, {"jsonrpc":"2.0","method":"c"}, 7])";
    const auto refusal = read_message(kBatch, parser);
    ASSERT_FALSE(refusal);
    EXPECT_EQ(refusal.error().error.code, -32600);
    EXPECT_EQ(refusal.error().http_status, 400);

    const auto body = read_body(kBatch, parser);
    ASSERT_TRUE(body);
    EXPECT_TRUE(body->is_batch);
    ASSERT_EQ(body->messages.size(), 4U);
    EXPECT_EQ(body->messages[0]->params, R"({"x":[1, 2]})");
    EXPECT_EQ(body->messages[1].error().error.code, -32600);
    EXPECT_EQ(body->messages[2]->kind, Kind::kNotification);
    EXPECT_EQ(body->messages[3].error().error.code, -32600);
    EXPECT_EQ(body->messages[0]->parsed_params, std::nullopt);
}

TEST_F(McpMessage, ABatchHasOneToThirtyTwoMessagesAndNoInitialize) {
    const auto batch = [](std::size_t count, std::string_view method) {
        std::string text;
        for (std::size_t i = 0; i < count; ++i) {
            text += text.empty() ? "[" : ",";
            append_request(text, RequestId(static_cast<std::int64_t>(i)), method, "");
        }
        return text + "]";
    };
    EXPECT_TRUE(read_body(batch(32, "ping"), parser));
    EXPECT_FALSE(read_body(batch(33, "ping"), parser));
    EXPECT_FALSE(read_body(batch(2, "initialize"), parser));
    EXPECT_FALSE(read_body("[]", parser));
    const auto one = read_body(R"({"jsonrpc":"2.0","method":"a","params":{}})", parser);
    ASSERT_TRUE(one);
    EXPECT_FALSE(one->is_batch);
    EXPECT_TRUE(one->messages.front()->parsed_params->holds());
}

TEST_F(McpMessage, MessagesAreWrittenWithTheirPartsAsTheyAre) {
    std::string out;
    append_request(out, RequestId("a\"b"), "tools/call", R"({"x": 1})");
    EXPECT_EQ(out, R"({"jsonrpc":"2.0","id":"a\"b","method":"tools/call","params":{"x": 1}})");
    out.clear();
    append_notification(out, "notifications/initialized", "");
    EXPECT_EQ(out, R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
    out.clear();
    const RequestId id(3);
    append_error(out, &id, Era::kModern, {.code = -32601, .message = "no", .data = R"({"a":1})"});
    EXPECT_EQ(out,
              R"({"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"no","data":{"a":1}}})");
    out.clear();
    append_error(out, nullptr, Era::kLegacy, {.code = -32700, .message = "no", .data = {}});
    EXPECT_EQ(out, R"({"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}})");
    out.clear();
    append_error(out, nullptr, Era::kModern, {.code = -32700, .message = "no", .data = {}});
    EXPECT_EQ(out, R"({"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}})");
    out.clear();
    append_line(out, "{\"a\":\n1}");
    EXPECT_EQ(out, "{\"a\":1}\n");
}

}  // namespace
}  // namespace crab::mcp
