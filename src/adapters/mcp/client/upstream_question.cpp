#include "adapters/mcp/client/upstream_question.hpp"

#include "adapters/mcp/wire/safe_text.hpp"
#include "adapters/mcp/wire/shown_url.hpp"
#include "json/raw_parts.hpp"
#include "json/writer.hpp"

#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace crab::mcp {
namespace {

constexpr std::size_t kMostKeyBytes = 64;
constexpr std::string_view kKeyBytes =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";

constexpr std::size_t kMostElicitation = 128 << 10;

std::unexpected<RpcError> refuse(std::int64_t code, std::string why) {
    return std::unexpected(RpcError{.code = code, .message = std::move(why), .data = {}});
}

std::expected<core::Question::Kind, RpcError> kind_of_elicitation(std::string_view params) {
    using Kind = core::Question::Kind;
    if (params.size() > kMostElicitation)
        return refuse(rpc_code::kInvalidParams, "a question of more than 128 KiB");
    const auto raw = json::find_raw(params, "mode");
    const auto mode = raw ? json::read_raw_string(*raw) : std::optional<std::string>("form");
    if (mode == "form") return Kind::kForm;
    if (mode != "url") return refuse(rpc_code::kInvalidParams, "there is no such mode");
    if (!is_shown_url(json::find_raw_string(params, "url").value_or("")))
        return refuse(rpc_code::kInvalidParams,
                      "people are asked to open https URLs, and http ones of their own machine");
    return Kind::kUrl;
}

std::expected<core::Question::Kind, RpcError> kind_of(std::string_view method,
                                                      std::string_view params) {
    using Kind = core::Question::Kind;
    if (method == "elicitation/create") return kind_of_elicitation(params);
    if (method == "sampling/createMessage") return Kind::kSampling;
    if (method == "roots/list") return Kind::kRoots;
    return refuse(rpc_code::kMethodNotFound, "the gateway has no such method");
}

}  // namespace

std::expected<core::Question, RpcError> upstream_question(std::string_view source,
                                                          std::string_view key,
                                                          std::string_view method,
                                                          std::string_view params) {
    const auto kind = kind_of(method, params);
    if (!kind) return std::unexpected(kind.error());
    core::Question question{
        .kind = *kind, .key = std::string(key), .method = std::string(method), .params = {}};
    const bool names_source =
        *kind == core::Question::Kind::kForm || *kind == core::Question::Kind::kUrl;
    json::Writer writer(question.params);
    writer.begin_object();
    if (names_source) {  // whatever the upstream says, or does not say
        const auto text = json::find_raw_string(params, "message").value_or("");
        writer.key("message").string(fmt::format("[{}] {}", source, clean_text(text).text));
    }
    for (json::RawParts members(params); members.next();) {
        if (members.name() == "_meta" || (names_source && members.name() == "message")) continue;
        writer.key(members.name()).raw(members.value());
    }
    writer.end_object();
    return question;
}

std::string suggested_key(std::string_view params) {
    const auto meta = json::find_raw(params, "_meta");
    const auto key = json::find_raw_string(meta.value_or(""), "crab/inputKey");
    const bool usable = key && !key->empty() && key->size() <= kMostKeyBytes &&
                        key->find_first_not_of(kKeyBytes) == std::string::npos;
    return usable ? *key : std::string();
}

bool may_ask(const core::Question& question, const core::Inquirer::Answers& answers,
             const Ask& ask) {
    switch (question.kind) {
        case core::Question::Kind::kForm: return ask.elicitation && answers.form;
        case core::Question::Kind::kUrl: return ask.elicitation && answers.url;
        case core::Question::Kind::kSampling: return ask.sampling && answers.sampling;
        case core::Question::Kind::kRoots: return ask.roots && answers.roots;
    }
    return false;
}

ClientCapabilities client_capabilities(const core::Inquirer::Answers& answers) {
    return {.form = answers.form,
            .url = answers.url,
            .sampling = answers.sampling,
            .sampling_tools = answers.sampling_tools,
            .sampling_context = answers.sampling_context,
            .roots = answers.roots,
            .tasks_extension = true};
}

std::optional<std::string> result_of_failed_question(const core::Question& question,
                                                     const Error& error) {
    const bool elicitation =
        question.kind == core::Question::Kind::kForm || question.kind == core::Question::Kind::kUrl;
    if (elicitation && error.code == ErrorCode::kTimeout) return R"({"action":"cancel"})";
    return std::nullopt;
}

RpcError rpc_error_of_question(const Error& error) {
    RpcError out{.message = error.message};
    if (error.code != ErrorCode::kToolFailed) return out;
    if (const auto code = json::find_raw(error.details, "code"))
        std::from_chars(code->data(), code->data() + code->size(), out.code);
    if (auto message = json::find_raw_string(error.details, "message"))
        out.message = std::move(*message);
    if (const auto data = json::find_raw(error.details, "data")) out.data = *data;
    return out;
}

}  // namespace crab::mcp
