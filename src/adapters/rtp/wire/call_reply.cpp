#include "adapters/rtp/wire/call_reply.hpp"

#include "json/duplicates.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>

namespace crab::rtp {
namespace {

constexpr std::size_t kMostLogLines = 1024;
constexpr std::array<std::string_view, 4> kStatuses{"ok", "error", "retryable_error", "timeout"};

bool has_only(json::Object object, std::initializer_list<std::string_view> names) {
    return std::ranges::all_of(object, [&](const auto& member) {
        return std::ranges::find(names, std::string_view(member.key)) != names.end();
    });
}

class Reader {
public:
    explicit Reader(json::Element root) : root_(root) {}

    ReplyParts read() {
        json::Object object;
        if (root_.get(object) != simdjson::SUCCESS) {
            breaks("it is not a JSON object");
            return std::move(parts_);
        }
        if (!has_only(object, {"version", "call_id", "tool_name", "status", "duration_ms", "result",
                               "error", "logs"}))
            breaks("it has a member that the schema does not know");
        if (json::find_duplicate(root_)) breaks("a member occurs twice");
        if (json::get_string(root_, "version") != "v1") breaks("version is not v1");
        read_head();
        if (const auto result = json::get(root_, "result")) {
            if (result->is_object())
                parts_.result = result;
            else
                breaks("result is not an object");
        }
        if (const auto logs = json::get(root_, "logs")) read_logs(*logs);
        if (const auto error = json::get(root_, "error")) read_error(*error);
        return std::move(parts_);
    }

private:
    void breaks(std::string_view rule) {
        if (parts_.broken_rule.empty()) parts_.broken_rule = rule;
    }

    void read_head() {
        parts_.call_id = json::get_string(root_, "call_id");
        if (!parts_.call_id) breaks("call_id is not a string");
        parts_.tool = json::get_string(root_, "tool_name");
        if (!parts_.tool) breaks("tool_name is not a string");
        const auto status = json::get_string(root_, "status");
        if (!status) breaks("status is not a string");
        parts_.duration_ms = json::get_int64(root_, "duration_ms");
        if (!parts_.duration_ms || *parts_.duration_ms < 0)
            breaks("duration_ms is not an integer from 0");
        if (!status) return;
        if (std::ranges::find(kStatuses, *status) != kStatuses.end())
            parts_.status = status;
        else
            breaks("status is none of ok, error, retryable_error, timeout");
    }

    void read_logs(json::Element logs) {
        json::Array lines;
        if (logs.get(lines) != simdjson::SUCCESS) return breaks("logs is not an array");
        for (const json::Element line : lines) {
            std::string_view text;
            if (line.get(text) != simdjson::SUCCESS)
                breaks("logs holds what is not a string");
            else if (parts_.logs.size() < kMostLogLines)
                parts_.logs.emplace_back(text);
        }
    }

    void read_error(json::Element error) {
        json::Object object;
        if (error.get(object) != simdjson::SUCCESS) return breaks("error is not an object");
        parts_.error = error;
        if (!has_only(object, {"code", "message", "details", "retryable"}))
            breaks("error has a member that the schema does not know");
        if (const auto code = json::get(error, "code"); code && code->get(parts_.code))
            breaks("error.code is not a string");
        if (const auto text = json::get(error, "message"); text && text->get(parts_.message))
            breaks("error.message is not a string");
        if (const auto details = json::get(error, "details")) {
            if (details->is_object())
                parts_.details = details;
            else
                breaks("error.details is not an object");
        }
        parts_.retryable = json::get_bool(error, "retryable");
        if (!parts_.retryable && json::get(error, "retryable"))
            breaks("error.retryable is not a boolean");
    }

    json::Element root_;
    ReplyParts parts_;
};

}  // namespace

ReplyParts read_reply(json::Element root) { return Reader(root).read(); }

}  // namespace crab::rtp
