// Replays spec/transcripts/clawseed against a real session; the files and their rules are described
// there.

#include "adapters/clawseed/test_support.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace crab::clawseed {
namespace {

using namespace test;

std::vector<std::filesystem::path> transcripts() {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(std::string(CRAB_SOURCE_DIR) +
                                                                 "/spec/transcripts/clawseed")) {
        if (entry.path().extension() == ".json") files.push_back(entry.path());
    }
    std::ranges::sort(files);
    return files;
}

class Transcripts : public testing::TestWithParam<std::filesystem::path> {
protected:
    void step_of_client(const Value& step) {
        const Value* text = step.find("text");
        world.send(client,
                   text != nullptr ? *text->as_string() : filled(*step.find("frame")).dump());
    }
    void step_of_server(const Value& step) {
        ASSERT_LT(next_frame_, client->frames.size())
            << "the server is silent where it should say " << step.dump();
        const Value& frame = client->frames[next_frame_++];
        EXPECT_TRUE(matches(*step.find("frame"), frame))
            << "wanted " << step.dump() << "\ngot " << frame.dump();
    }
    void step_of_caller(const Value& step) {
        if (const Value* call = step.find("call")) {
            calls_.push_back(
                world.start_call(world.owner, text_of(*call, "tool"), call->find("args")->dump()));
            return;
        }
        ASSERT_FALSE(calls_.empty());
        const auto call = std::move(calls_.front());
        calls_.pop_front();
        ASSERT_TRUE(call->outcome) << "the call has not ended at " << step.dump();
        const Value& gets = *step.find("gets");
        if (const Value* result = gets.find("result")) {
            EXPECT_EQ(call->outcome->value().content, *result->as_string());
        } else {
            EXPECT_EQ(token_of(call->outcome->error().code), text_of(gets, "code"));
            EXPECT_EQ(call->outcome->error().message, text_of(gets, "message"));
        }
    }
    /// The model does what all its steps say, one after the other, in the one turn that a
    /// transcript has.
    void prepare_model(const Value& steps) {
        std::vector<Batch*> batches;
        std::vector<std::string> chunks;
        for (const Value& step : *steps.as_array()) {
            if (text_of(step, "from") != "model") continue;
            if (const Value* calls = step.find("calls")) {
                std::vector<Batch::Item> items;
                for (const Value& call : *calls->as_array())
                    items.push_back({text_of(call, "id"), text_of(call, "name"),
                                     call.find("args")->dump(), ""});
                batches_.push_back(std::make_unique<Batch>(world, std::move(items)));
                batches.push_back(batches_.back().get());
            }
            if (const Value* says = step.find("says")) {
                for (const Value& chunk : *says->as_array()) chunks.push_back(*chunk.as_string());
            }
        }
        world.runner.scripts.push_back(
            [batches, chunks](const core::TurnRequest& request,
                              core::TurnEvents& events) -> Task<Result<std::string>> {
                for (Batch* batch : batches) {
                    if (!co_await batch->run(request, events))
                        co_return fail(ErrorCode::kCancelled, "cancelled");
                }
                std::string all;
                for (const std::string& chunk : chunks) {
                    events.on_chunk(chunk);
                    all += chunk;
                }
                co_return all;
            });
    }

    World world;
    std::shared_ptr<Client> client = world.connect("kitchen-7");

    std::size_t unread() const { return client->frames.size() - next_frame_; }

private:
    static bool is_placeholder(const std::string& text) {
        return text.starts_with('<') && text.ends_with('>');
    }
    Value filled(const Value& frame) const {
        Value made = frame;
        for (auto& [name, value] : *made.as_object()) {
            const std::string* text = value.as_string();
            if (text != nullptr && is_placeholder(*text)) value = Value(bound_.at(*text));
        }
        return made;
    }
    bool matches(const Value& wanted, const Value& got) {
        if (const std::string* text = wanted.as_string();
            text != nullptr && is_placeholder(*text)) {
            if (got.as_string() == nullptr) return false;
            return bound_.emplace(*text, *got.as_string()).first->second == *got.as_string();
        }
        if (const auto* members = wanted.as_object()) {
            if (got.as_object() == nullptr || got.as_object()->size() != members->size())
                return false;
            return std::ranges::all_of(*members, [&](const auto& member) {
                return got.find(member.first) != nullptr &&
                       matches(member.second, *got.find(member.first));
            });
        }
        if (const auto* items = wanted.as_array()) {
            if (got.as_array() == nullptr || got.as_array()->size() != items->size()) return false;
            for (std::size_t i = 0; i < items->size(); ++i) {
                if (!matches((*items)[i], (*got.as_array())[i])) return false;
            }
            return true;
        }
        return wanted == got;
    }

    std::size_t next_frame_ = 0;
    std::map<std::string, std::string> bound_;
    std::deque<std::shared_ptr<CallProbe>> calls_;
    std::vector<std::unique_ptr<Batch>> batches_;
};

TEST_P(Transcripts, AreWhatTheGatewaySays) {
    std::ifstream file(GetParam());
    std::stringstream text;
    text << file.rdbuf();
    const Value steps = Value::parse(text.str()).value();
    prepare_model(steps);
    for (const Value& step : *steps.as_array()) {
        const std::string from = text_of(step, "from");
        if (from == "client") step_of_client(step);
        if (from == "server") step_of_server(step);
        if (from == "caller") step_of_caller(step);
        if (HasFatalFailure()) return;
    }
    EXPECT_EQ(unread(), 0u) << "the server has more to say: " << client->frames.back().dump();
}

INSTANTIATE_TEST_SUITE_P(Clawseed, Transcripts, testing::ValuesIn(transcripts()),
                         [](const auto& file) { return file.param.stem().string(); });

}  // namespace
}  // namespace crab::clawseed
