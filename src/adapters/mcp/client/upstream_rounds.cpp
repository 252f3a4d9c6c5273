#include "adapters/mcp/client/upstream_rounds.hpp"

#include "adapters/mcp/client/upstream_question.hpp"
#include "adapters/mcp/wire/safe_text.hpp"
#include "base/cut_text.hpp"
#include "base/task/gather.hpp"
#include "json/raw_parts.hpp"
#include "json/writer.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::mcp {
namespace {

constexpr std::size_t kShownMethod = 64;

}  // namespace

Result<KeyedQuestions> read_questions(std::string_view input_requests, const QuestionRules& rules,
                                      const std::vector<std::string>& without) {
    KeyedQuestions questions;
    for (json::RawParts members(input_requests); members.next();) {
        const std::string key(members.name());
        if (std::ranges::find(without, key) != without.end()) continue;
        if (questions.size() == kMostInputRequests)
            return fail(ErrorCode::kToolFailed,
                        fmt::format("the MCP server asks more than {} questions at a time",
                                    kMostInputRequests));
        const std::string method = json::find_raw_string(members.value(), "method").value_or("");
        auto question = upstream_question(rules.source, key, method,
                                          json::find_raw(members.value(), "params").value_or(""));
        if (!question && question.error().code == rpc_code::kInvalidParams)
            return fail(ErrorCode::kToolFailed,
                        "the MCP server's question is refused: " + question.error().message);
        if (!question || !may_ask(*question, rules.answers, rules.ask))
            return fail(ErrorCode::kToolFailed,
                        fmt::format("the MCP server asks \"{}\", which this caller cannot answer",
                                    cut_text(clean_text(method).text, kShownMethod)));
        questions.emplace_back(key, *std::move(question));
    }
    return questions;
}

Task<Result<std::string>> ask_all(core::Inquirer& inquirer, KeyedQuestions questions) {
    std::vector<Task<Result<std::string>>> asked;
    for (const auto& [key, question] : questions) asked.push_back(inquirer.ask(question));
    const auto answers = co_await gather(std::move(asked));
    if ((co_await this_chain()).cancelled())
        co_return fail(ErrorCode::kCancelled, "the call was cancelled");
    std::string out;
    json::Writer writer(out);
    writer.begin_object();
    for (std::size_t i = 0; i < questions.size(); ++i) {
        const auto& [key, question] = questions[i];
        if (answers[i]) {
            writer.key(key).raw(*answers[i]);
            continue;
        }
        const Error& why = answers[i].error();
        const auto instead = result_of_failed_question(question, why);
        if (!instead && why.code == ErrorCode::kCancelled) co_return fail(why);
        if (!instead)
            co_return fail(ErrorCode::kToolFailed,
                           "the MCP server's question was not answered: " + why.message);
        writer.key(key).raw(*instead);
    }
    writer.end_object();
    co_return out;
}

}  // namespace crab::mcp
