#include "adapters/mcp/server/client_questions.hpp"

#include "adapters/mcp/wire/sampling.hpp"
#include "core/call/tool_schemas.hpp"
#include "json/parser.hpp"
#include "json/raw_parts.hpp"
#include "json/writer.hpp"

namespace crab::mcp {
namespace {

using Kind = core::Question::Kind;

constexpr std::size_t kMostProgram = std::size_t{256} << 10;

bool is_kept(std::string_view name, Revision revision) {
    if (name == "elicitationId") return false;  // set anew where there is one
    return name != "mode" || features_of(revision).url_elicitation;
}

std::string elicitation_params(const core::Question& question, Revision revision,
                               std::string_view elicitation_id) {
    std::string out;
    json::Writer writer(out);
    writer.begin_object();
    for (json::RawParts parts(question.params); parts.next();)
        if (is_kept(parts.name(), revision)) writer.key(parts.name()).raw(parts.value());
    const Features& has = features_of(revision);
    if (question.kind == Kind::kUrl && has.url_elicitation && has.asks_in_requests)
        writer.key("elicitationId").string(elicitation_id);
    writer.end_object();
    return out;
}

std::string_view schema_of(std::string_view params) {
    return json::find_raw(params, "requestedSchema").value_or("{}");
}

}  // namespace

bool AnswerCheck::fits_schema(std::string_view content) {
    // compiled already, by the upstream's side, which has bounded it and holds it while it waits
    if (!std::exchange(compiled_, true))
        schema_ = core::shared_schema(schema_of(params_), kMostProgram).value_or(nullptr);
    if (!schema_) return true;  // the one who asks has to judge
    json::Parser parser;
    const auto root = parser.parse(content);
    return root && schema_->is_valid(root->element());
}

bool AnswerCheck::fits_elicitation(std::string_view result) {
    const auto action = json::find_raw_string(result, "action").value_or("");
    if (action == "decline" || action == "cancel") return true;
    if (action != "accept") return false;
    if (kind_ == Kind::kUrl) return true;
    const auto content = json::find_raw(result, "content").value_or("{}");
    return content.starts_with('{') && fits_schema(content);
}

core::Inquirer::Answers answers_of(const ClientCapabilities& has, Revision revision) {
    const Features& knows = features_of(revision);
    return {.form = has.form && knows.form_elicitation,
            .url = has.url && knows.url_elicitation,
            .sampling = has.sampling,
            .sampling_tools = has.sampling_tools,
            .sampling_context = has.sampling_context,
            .roots = has.roots};
}

bool can_answer(const core::Inquirer::Answers& answers, Kind kind) {
    switch (kind) {
        case Kind::kForm: return answers.form;
        case Kind::kUrl: return answers.url;
        case Kind::kSampling: return answers.sampling;
        case Kind::kRoots: return answers.roots;
    }
    return false;
}

bool can_answer_any(const core::Inquirer::Answers& answers) {
    return answers.form || answers.url || answers.sampling || answers.roots;
}

Result<std::string> params_for(const core::Question& question, Revision revision,
                               bool client_has_tools, std::string_view elicitation_id) {
    switch (question.kind) {
        case Kind::kForm:
            if (schema_of(question.params).size() > AnswerCheck::kMostSchemaBytes)
                return fail(ErrorCode::kInvalidArgs, "requestedSchema: at most 64 KiB");
            [[fallthrough]];
        case Kind::kUrl: return elicitation_params(question, revision, elicitation_id);
        case Kind::kSampling: {
            auto params = sampling_params(question.params, revision, client_has_tools);
            if (!params) return fail(ErrorCode::kInvalidArgs, params.error().message);
            return std::move(*params);
        }
        case Kind::kRoots: break;
    }
    return question.params;
}

bool AnswerCheck::fits(std::string_view result) {
    switch (kind_) {
        case Kind::kForm:
        case Kind::kUrl: return fits_elicitation(result);
        case Kind::kSampling:
            return json::find_raw(result, "content") && json::find_raw_string(result, "role");
        case Kind::kRoots: return json::find_raw(result, "roots").value_or("").starts_with('[');
    }
    return false;
}

Result<std::string> answer_of_silence(Kind kind) {
    if (kind == Kind::kForm || kind == Kind::kUrl) return R"({"action":"cancel"})";
    return fail(ErrorCode::kTimeout, "the caller has not answered in time");
}

}  // namespace crab::mcp
