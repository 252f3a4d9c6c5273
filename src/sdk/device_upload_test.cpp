// Large answers of a whole device against a gateway that takes uploads.

#include "crab/device.hpp"

#include "base/encoding.hpp"
#include "crypto/digest.hpp"
#include "sdk/test_gateway.hpp"

#include <atomic>
#include <filesystem>
#include <fstream>

namespace crab::sdk {
namespace {

using test::FakeGateway;

class DeviceUploadTest : public ::testing::Test {
protected:
    /// A device with one tool, and a call of it.
    json::Value answer_to_call(ToolHandler handler) {
        device.tool("photo", "Takes a photo", R"({"type":"object"})", std::move(handler));
        device.start();
        gateway.wait_for("register_tools");
        gateway.request("c1", "photo");
        json::Value first = gateway.wait_for_any({"tool_result", "tool_error"});
        device.stop();
        device.wait();
        return first;
    }

    FakeGateway gateway;
    Device device{{.gateway = gateway.url("ws"), .token = "t1", .name = "Kitchen"}};
};

TEST_F(DeviceUploadTest, BytesAreUploadedAndTheAnswerNamesThem) {
    gateway.take_uploads();
    const std::string photo(3'000'000, '\xd8');
    const auto answer =
        answer_to_call([&](const ToolRequest&) { return ToolAnswer::bytes(photo, "image/jpeg"); });
    EXPECT_EQ(*answer.find("artifact"), json::Value("a1"));
    const auto uploads = gateway.uploads();
    ASSERT_EQ(uploads.size(), 1u);
    EXPECT_EQ(uploads[0].target, "/base/up?call_id=c1");
    EXPECT_EQ(uploads[0].content_type, "image/jpeg");
    EXPECT_EQ(uploads[0].digest, "sha-256=:" + to_base64(crypto::sha256(photo)) + ":");
    EXPECT_EQ(uploads[0].authorization, "Bearer t1");
    EXPECT_EQ(uploads[0].body, photo);
}

TEST_F(DeviceUploadTest, AFileIsSentWithoutBeingReadWhole) {
    gateway.take_uploads();
    const auto path =
        std::filesystem::temp_directory_path() / ("crab-upload-" + std::to_string(::getpid()));
    const std::string content(500'000, 'f');
    std::ofstream(path, std::ios::binary) << content;
    const auto answer = answer_to_call(
        [&](const ToolRequest&) { return ToolAnswer::file(path.string(), "video/mp4"); });
    std::filesystem::remove(path);
    EXPECT_EQ(*answer.find("artifact"), json::Value("a1"));
    EXPECT_EQ(gateway.uploads().at(0).body, content);
}

TEST_F(DeviceUploadTest, LongTextIsUploadedAndShortTextIsNot) {
    gateway.take_uploads();
    const auto answer = answer_to_call(
        [&](const ToolRequest&) { return ToolAnswer::text(std::string(300'000, 't')); });
    EXPECT_EQ(*answer.find("artifact"), json::Value("a1"));
    EXPECT_EQ(gateway.uploads().at(0).content_type, "text/plain; charset=utf-8");
    device.tool("photo", "Takes a photo", R"({"type":"object"})",
                [](const ToolRequest&) { return ToolAnswer::text("short"); });
    EXPECT_EQ(gateway.uploads().size(), 1u);
}

TEST_F(DeviceUploadTest, AnUploadThatBreaksIsTriedAgain) {
    gateway.take_uploads();
    gateway.break_uploads(2);
    const auto answer = answer_to_call([&](const ToolRequest&) {
        return ToolAnswer::bytes(std::string(400'000, 'b'), "image/jpeg");
    });
    EXPECT_EQ(*answer.find("artifact"), json::Value("a1"));
}

TEST_F(DeviceUploadTest, ARefusedUploadIsAFailureOfTheCall) {
    gateway.take_uploads();
    gateway.refuse_uploads(R"({"error":"the quota is used up","code":"RATE_LIMITED"})");
    const auto answer = answer_to_call([&](const ToolRequest&) {
        return ToolAnswer::bytes(std::string(400'000, 'b'), "image/jpeg");
    });
    const std::string& error = *answer.find("error")->as_string();
    // no code that a gateway may take for "nothing was done": the tool has run
    EXPECT_TRUE(error.starts_with("INTERNAL: ")) << error;
    EXPECT_NE(error.find("the quota is used up"), std::string::npos) << error;
}

TEST_F(DeviceUploadTest, ABusyGatewayIsAskedAgainForTheUploadAndTheToolRunsOnce) {
    gateway.take_uploads();
    gateway.refuse_uploads(R"({"error":"too many uploads","code":"RATE_LIMITED"})", 429, 1);
    std::atomic<int> runs{0};
    const auto answer = answer_to_call([&](const ToolRequest&) {
        ++runs;
        return ToolAnswer::bytes(std::string(400'000, 'b'), "image/jpeg");
    });
    ASSERT_NE(answer.find("artifact"), nullptr) << answer.dump();
    EXPECT_EQ(*answer.find("artifact"), json::Value("a1"));
    EXPECT_EQ(runs, 1);
}

TEST_F(DeviceUploadTest, AGatewayThatStaysBusyFailsTheCallAsOneThatHasRun) {
    gateway.take_uploads();
    gateway.refuse_uploads(R"({"error":"too many uploads","code":"RATE_LIMITED"})", 429);
    const auto answer = answer_to_call([&](const ToolRequest&) {
        return ToolAnswer::bytes(std::string(400'000, 'b'), "image/jpeg");
    });
    EXPECT_TRUE(answer.find("error")->as_string()->starts_with("INTERNAL: ")) << answer.dump();
}

TEST_F(DeviceUploadTest, AGatewayThatIsBusyForLongIsNotAskedAgainBeforeThat) {
    gateway.take_uploads();
    for (const char* until : {"3600", "Fri, 31 Dec 2100 23:59:59 GMT"}) {
        gateway.refuse_uploads(R"({"error":"too many uploads","code":"RATE_LIMITED"})", 429, 1,
                               until);
        const auto answer = answer_to_call([&](const ToolRequest&) {
            return ToolAnswer::bytes(std::string(400'000, 'b'), "image/jpeg");
        });
        EXPECT_NE(answer.find("error"), nullptr) << until << ": " << answer.dump();
    }
}

TEST_F(DeviceUploadTest, WithoutUploadsBytesAreBase64) {
    const auto answer = answer_to_call(
        [&](const ToolRequest&) { return ToolAnswer::bytes("\xff\xd8", "image/jpeg"); });
    EXPECT_EQ(answer.find("output")->dump(), R"({"content_type":"image/jpeg","base64":"/9g="})");
}

TEST_F(DeviceUploadTest, AFileThatIsNotThereIsAnInternalError) {
    gateway.take_uploads();
    const auto answer = answer_to_call(
        [&](const ToolRequest&) { return ToolAnswer::file("/nowhere/photo.jpg", "image/jpeg"); });
    EXPECT_TRUE(answer.find("error")->as_string()->starts_with("INTERNAL: "));
}

}  // namespace
}  // namespace crab::sdk
