#include "agent/models.hpp"

#include "agent/test_agent_world.hpp"
#include "base/test_clock.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::agent {
namespace {

using namespace test;
using testing::ElementsAre;

class ModelsTest : public testing::Test {
protected:
    ModelsTest() {
        for (std::size_t place = 0; place < 3; ++place) {
            says_[place] = [this, place](const ModelRequest&, AnswerSink& sink,
                                         Deadline) -> Task<Result<ModelAnswer>> {
                asked.push_back(place);
                if (!half_said.empty()) sink.on_text(half_said);
                if (failures[place]) co_return fail(*failures[place]);
                co_return says("fine");
            };
        }
        std::vector<std::unique_ptr<ModelClient>> clients;
        for (const auto& each : says_) clients.push_back(std::make_unique<FunctionModel>(each));
        models = std::make_unique<Models>(clock, std::move(clients), fallbacks);
    }
    Result<ModelAnswer> ask(std::vector<std::size_t> order = {0, 1, 2}) {
        std::optional<Result<ModelAnswer>> answer;
        struct Nobody final : AnswerSink {
            void on_text(std::string_view) override {}
            void on_thinking(std::string_view) override {}
        } nobody;
        const ModelRequest request{.system = "", .messages = conversation, .tools = tools};
        asked.clear();
        loop.post([&] {
            spawn(loop.executor(), models->ask(order, request, nobody, clock.steady_now() + 1h),
                  [&](const std::exception_ptr&, std::optional<Result<ModelAnswer>> made) {
                      answer = std::move(made);
                  });
        });
        while (!answer) loop.run_some(1s);
        return std::move(*answer);
    }
    static Error away(std::optional<Milliseconds> retry_after = {}) {
        return {.code = ErrorCode::kUnavailable,
                .message = "away",
                .details = {},
                .retryable = {},
                .retry_after = retry_after};
    }

    FakeClock clock;
    net::EventLoop loop{clock};
    Conversation conversation;
    std::vector<OfferedToolRef> tools;
    std::array<FunctionModel::Say, 3> says_;
    std::array<std::optional<Error>, 3> failures;
    std::string half_said;
    std::vector<std::size_t> asked;
    core::Counter fallbacks;
    std::unique_ptr<Models> models;
};

TEST_F(ModelsTest, TheFirstThatAnswersIsTheLastThatIsAsked) {
    EXPECT_TRUE(ask());
    EXPECT_THAT(asked, ElementsAre(0));
    EXPECT_EQ(fallbacks.value(), 0u);
}

TEST_F(ModelsTest, TheNextIsAskedWhenOneIsAwayAndTheOneThatWasAwayRests) {
    failures[0] = away();
    EXPECT_TRUE(ask());
    EXPECT_THAT(asked, ElementsAre(0, 1));
    EXPECT_TRUE(ask());
    EXPECT_THAT(asked, ElementsAre(1));
    failures[0].reset();
    clock.advance(Models::kRest);
    EXPECT_TRUE(ask());
    EXPECT_THAT(asked, ElementsAre(0));
}

TEST_F(ModelsTest, OneThatSaysWhenItIsBackRestsUntilThen) {
    failures[0] = away(10min);
    (void)ask();
    clock.advance(9min);
    (void)ask();
    EXPECT_THAT(asked, ElementsAre(1));
}

TEST_F(ModelsTest, OneThatRestsIsAskedAllTheSameWhenTheOthersAreAway) {
    failures = {away(), away(), away()};
    EXPECT_EQ(ask().error().code, ErrorCode::kUnavailable);
    failures[0].reset();
    EXPECT_TRUE(ask());
    EXPECT_THAT(asked, ElementsAre(0));
}

TEST_F(ModelsTest, NobodyElseFinishesWhatOneHasBegunToSay) {
    failures[0] = away();
    half_said = "I was say";
    EXPECT_FALSE(ask());
    EXPECT_THAT(asked, ElementsAre(0));
}

TEST_F(ModelsTest, ARefusalThatIsNoAbsenceIsNobodyElsesMatter) {
    failures[0] = Error{.code = ErrorCode::kUnauthenticated,
                        .message = "no",
                        .details = {},
                        .retryable = {},
                        .retry_after = {}};
    EXPECT_EQ(ask().error().code, ErrorCode::kUnauthenticated);
    EXPECT_THAT(asked, ElementsAre(0));
}

TEST_F(ModelsTest, TheOrderIsTheAgents) {
    EXPECT_TRUE(ask({2, 0}));
    EXPECT_THAT(asked, ElementsAre(2));
}

}  // namespace
}  // namespace crab::agent
