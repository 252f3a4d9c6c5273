#include "cli/explanation.hpp"

#include "base/coded_text.hpp"
#include "base/error_code.hpp"
#include "cli/call_outcome.hpp"
#include "cli/output/durations.hpp"
#include "cli/output/pretty_json.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace crab::cli {
namespace {

std::string milliseconds_of(const json::Value& object, std::string_view key) {
    const json::Value* member = object.find(key);
    return to_words(std::chrono::microseconds(
        static_cast<std::int64_t>(1e3 * (member ? member->as_double().value_or(0) : 0))));
}

class ExplanationText {
public:
    explicit ExplanationText(const Terminal& terminal) : terminal_(terminal) {}

    void line(std::string_view label, const std::string& text) {
        if (text.empty()) return;
        out_ += fmt::format("{}{}\n", terminal_.paint(Colour::kDim, fmt::format("{:<12}", label)),
                            printable(text));
    }
    void blank() { out_ += '\n'; }
    const Terminal& terminal() const { return terminal_; }
    std::string& out() { return out_; }

private:
    const Terminal& terminal_;
    std::string out_;
};

std::string joined(std::initializer_list<std::pair<std::string_view, std::string>> parts) {
    std::string text;
    for (const auto& [label, value] : parts) {
        if (value.empty()) continue;
        if (!text.empty()) text += ", ";
        text += label;
        text += value;
    }
    return text;
}

/// "2025-11-25 (legacy)", of either end of a protocol that has revisions.
std::string revision_of(const json::Value& end) {
    const std::string revision = text_of(end, "revision");
    return revision.empty() ? "" : fmt::format("{} ({})", revision, text_of(end, "era"));
}

/// Who is at the two ends, beyond the gateway's own names for them.
void tell_ends(const json::Value& record, ExplanationText& text) {
    if (const json::Value* const client = record.find("client")) {
        const std::string name = text_of(*client, "name"), version = text_of(*client, "version");
        text.line("client", joined({{"", name.empty() ? "without a name" : name},
                                    {"version ", version},
                                    {"protocol ", revision_of(*client)},
                                    {"", "by its own account"}}));
    }
    if (const json::Value* const upstream = record.find("upstream")) {
        const std::string revision = revision_of(*upstream);
        text.line("upstream", joined({{"", text_of(*upstream, "tool")},
                                      {"protocol ", revision},
                                      {"", revision.empty() ? "not reached" : ""}}));
    }
    if (const std::int64_t rounds = number_of(record, "input_rounds"); rounds > 0)
        text.line("asked", fmt::format("its caller, {} time{}", rounds, rounds == 1 ? "" : "s"));
}

void tell_outcome(const json::Value& record, ExplanationText& text) {
    if (flag_of(record, "running")) {
        text.line("outcome",
                  fmt::format("still running, in stage {}, for {}", text_of(record, "stage"),
                              milliseconds_of(record, "elapsed_ms")));
        return;
    }
    const std::string code = text_of(record, "code"), message = text_of(record, "message");
    const bool ok = text_of(record, "status") == "ok";
    text.out() += text.terminal().paint(Colour::kDim, fmt::format("{:<12}", "outcome"));
    text.out() += text.terminal().paint(ok ? Colour::kGreen : Colour::kRed,
                                        printable(text_of(record, "status")));
    const std::string why = coded_text(code, message);
    text.out() += printable(why.empty() ? "" : " " + why) + "\n";
    if (flag_of(record, "replayed"))
        text.line("",
                  "replayed: the stored outcome of an earlier call with the same key; the tool "
                  "did not run again");
    const json::Value none = json::Value::object(), *const details = record.find("details");
    if (const auto known = find_error_code(code)) {
        if (const std::string_view next = advice_of(*known, details ? *details : none);
            !next.empty())
            text.line("next", std::string(next));
    }
}

void tell_timeline(const json::Value& record, ExplanationText& text) {
    const json::Value* timeline = record.find("timeline");
    if (!timeline || !timeline->as_object()) return;
    std::vector<std::pair<std::int64_t, std::string>> reached;
    for (const auto& [name, value] : *timeline->as_object()) {
        const auto offset = value.as_int64();
        if (offset && *offset >= 0)
            reached.emplace_back(*offset,
                                 name.ends_with("_us") ? name.substr(0, name.size() - 3) : name);
    }
    std::ranges::sort(reached);
    if (reached.empty()) return;
    text.blank();
    std::int64_t before = 0;
    for (const auto& [offset, name] : reached) {
        text.line(
            fmt::format("{:>10}", to_words(std::chrono::microseconds(offset))),
            fmt::format(
                "  {:<12}{}", name,
                offset > before ? "+" + to_words(std::chrono::microseconds(offset - before)) : ""));
        before = offset;
    }
}

}  // namespace

std::string explanation_of(const json::Value& record, const Terminal& terminal) {
    ExplanationText text(terminal);
    text.line("call", text_of(record, "call_id"));
    text.line("when", text_of(record, "time") + text_of(record, "started_at"));
    text.line("tool", joined({{"", text_of(record, "tool")}, {"at ", text_of(record, "source")}}));
    text.line("who", joined({{"", text_of(record, "principal")},
                             {"proven by ", text_of(record, "proof")},
                             {"through ", text_of(record, "front")},
                             {"tenant ", text_of(record, "tenant")}}));
    tell_ends(record, text);
    const std::string decision = text_of(record, "decision"), rule = text_of(record, "rule");
    text.line("allowed", joined({{"", decision}, {"by rule ", rule}}));
    if (const json::Value* const approval = record.find("approval")) {
        const std::string by = text_of(*approval, "by");
        const std::string how =
            flag_of(*approval, "remembered")
                ? "remembered"
                : "after " + to_words(std::chrono::microseconds(number_of(*approval, "us")));
        text.line("approval", joined({{"", text_of(*approval, "state")},
                                      {"by ", by},
                                      {"", text_of(*approval, "scope")},
                                      {"", how},
                                      {"id ", text_of(*approval, "id")}}));
    }
    for (const json::Value& hook : items_of(record, "hooks")) {
        text.line("hook", fmt::format("{} answered {} after {}", text_of(hook, "hook"),
                                      text_of(hook, "answer"),
                                      to_words(std::chrono::microseconds(number_of(hook, "us")))));
    }
    std::size_t number = 0;
    for (const json::Value& attempt : items_of(record, "attempts")) {
        const std::string code = text_of(attempt, "code");
        text.line("attempt",
                  fmt::format("{}: {}{} after {}", ++number, text_of(attempt, "status"),
                              code.empty() ? "" : " " + code,
                              to_words(std::chrono::microseconds(number_of(attempt, "us")))));
    }
    if (number == 0 && !flag_of(record, "running") && record.find("attempts"))
        text.line("attempt", "none: the tool was not asked");
    tell_outcome(record, text);
    if (const json::Value* const policy = record.find("policy")) {
        text.line("policy", joined({{"", text_of(*policy, "network_policy")},
                                    {"", text_of(*policy, "privilege_level")},
                                    {"timeout ", milliseconds_of(*policy, "timeout_ms")}}));
    }
    text.line("ended by",
              joined({{"", text_of(record, "cancelled_by")}, {"", text_of(record, "cause")}}));
    if (record.find("duration_us"))
        text.line("took", to_words(std::chrono::microseconds(number_of(record, "duration_us"))));
    if (record.find("args_bytes")) {
        text.line("size", fmt::format("arguments {}, result {}",
                                      bytes_in_words(number_of(record, "args_bytes")),
                                      bytes_in_words(number_of(record, "result_bytes"))));
    }
    tell_timeline(record, text);
    return std::move(text.out());
}

}  // namespace crab::cli
