#include "core/pipeline/parsed_arguments.hpp"

#include "json/duplicates.hpp"
#include "json/writer.hpp"

#include <utility>

#include <fmt/format.h>

namespace crab::core {
namespace {

/// `pointer` names a member of the arguments that is there twice.
Error repeated_name(std::string_view pointer) {
    const std::string message =
        fmt::format("{}: there are two members of this name; leave one", pointer);
    std::string details;
    json::Writer(details)
        .begin_object()
        .key("errors")
        .begin_array()
        .begin_object()
        .key("pointer")
        .string_lossy(pointer)
        .key("rule")
        .string("uniqueNames")
        .key("message")
        .string_lossy(message)
        .end_object()
        .end_array()
        .end_object();
    return fail(ErrorCode::kInvalidArgs, message, details).error();
}

}  // namespace

ParsedArguments::ParsedArguments(json::Parser& shared, Call& call)
    : parser_(shared),
      call_(call),
      read_(std::exchange(call.parsed_args, std::nullopt)),
      names_checked_(read_.has_value()) {}

Result<json::Borrowed> ParsedArguments::read() {
    if (read_ && read_->holds()) return *read_;
    if (auto parsed = parse(); !parsed) return fail(std::move(parsed.error()));
    if (read_->element().is_null()) {
        call_.args = "{}";
        if (auto parsed = parse(); !parsed) return fail(std::move(parsed.error()));
    }
    if (!read_->element().is_object()) {
        read_.reset();
        return fail(ErrorCode::kInvalidArgs, "the arguments must be a JSON object",
                    R"({"errors":[{"pointer":"","rule":"type",)"
                    R"("message":"the arguments must be a JSON object"}]})");
    }
    // Before anything is judged by them: the tool might use the other one of the two.
    if (!names_checked_) {
        if (const auto twice = json::find_duplicate(read_->element())) {
            read_.reset();
            return fail(repeated_name(*twice));
        }
    }
    names_checked_ = true;
    return *read_;
}

void ParsedArguments::replace(std::string args) {
    call_.replaced_args = std::move(args);
    call_.args = call_.replaced_args;
    call_.body_type = call_.body = {};
    read_.reset();
    names_checked_ = false;
}

Result<void> ParsedArguments::parse() {
    if (call_.args.empty()) call_.args = "{}";
    const auto root = parser_.parse(call_.args);
    if (!root)
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("the arguments are not JSON: {}", root.error().message));
    read_ = parser_.lend(root->element());
    return {};
}

}  // namespace crab::core
