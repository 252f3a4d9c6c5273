#include "cli/admin_client.hpp"
#include "cli/call_arguments.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/listing.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/terminal.hpp"

#include <fmt/format.h>

namespace crab::cli {
namespace {

/// `valid, allowed by role default; it may have effects`
std::string good_news(const json::Value& checked) {
    std::string words =
        flag_of(checked, "approval") ? "valid, but somebody has to approve it" : "valid";
    const std::string verdict = text_of(checked, "verdict"), effects = text_of(checked, "effects");
    words += fmt::format(", {} by {}", verdict == "allow" ? "allowed" : "to be asked about",
                         text_of(checked, "rule"));
    words += effects == "none" ? "; it only reads" : "; it may have effects";
    for (const json::Value& hook : items_of(checked, "hooks"))
        words +=
            fmt::format("; the hook {} may refuse it", hook.as_string() ? *hook.as_string() : "");
    return words;
}

int show_refusal(const json::Value& checked, const json::Value& refusal) {
    const std::string code = text_of(refusal, "code");
    complain(fmt::format("{}: {}", code, printable(text_of(refusal, "message"))));
    if (code == "INVALID_ARGS") return exit_code_of(code);  // says what is wrong with them
    for (const json::Value& error : items_of(checked, "errors"))
        complain("and its arguments: " + printable(text_of(error, "message")));
    return exit_code_of(code);
}

}  // namespace

int run(const ToolsCheck& options) {
    Result<json::Value> args = read_call_arguments(options.args, {});
    if (!args) return report(args.error());
    json::Value question = json::Value::object({{"tool", options.tool}});
    question.set("args", std::move(*args));
    if (!options.as.empty()) question.set("as", options.as);
    Result<AdminClient> client = AdminClient::make(options.target);
    if (!client) return report(client.error());
    const Result<json::Value> checked = accepted(client->post("/v1/admin/tools/check", question));
    if (!checked) return report(checked.error());
    const json::Value* const refusal = checked->find("refusal");
    if (!options.output.is_text()) {
        if (const int code = show_value(*checked, options.output); code != kExitOk) return code;
        return refusal == nullptr ? kExitOk : exit_code_of(text_of(*refusal, "code"));
    }
    if (refusal != nullptr) return show_refusal(*checked, *refusal);
    print_line(printable(good_news(*checked)));
    return kExitOk;
}

}  // namespace crab::cli
