#include "store/sqlite/outcome_columns.hpp"

#include "base/encoding.hpp"
#include "store/outcome_logs.hpp"

#include <utility>

namespace crab::store::sqlite {
namespace {

std::string text_of(std::span<const std::uint8_t> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

void bind_outcome(Statement& statement, int index, const core::Outcome& outcome) {
    if (outcome) {
        statement.bind_at(index, nullptr);
        statement.bind_at(index + 1, static_cast<std::int64_t>(outcome->kind));
        statement.bind_at(index + 2, bytes_of(outcome->content));
        statement.bind_at(index + 3, bytes_of(outcome->content_type));
        statement.bind_at(index + 4, logs_to_text(outcome->logs));
        statement.bind_at(index + 5, nullptr);
        statement.bind_at(index + 6, nullptr);
        statement.bind_at(index + 7, static_cast<std::int64_t>(outcome->usage.cpu.count()));
        statement.bind_at(index + 8, static_cast<std::int64_t>(outcome->usage.wall.count()));
        statement.bind_at(index + 9, static_cast<std::int64_t>(outcome->usage.peak_memory_bytes));
        return;
    }
    const Error& error = outcome.error();
    statement.bind_at(index, token_of(error.code));
    statement.bind_at(index + 1, std::int64_t{0});
    statement.bind_at(index + 2, bytes_of(error.message));
    statement.bind_at(index + 3, bytes_of(error.details));
    statement.bind_at(index + 4, std::string_view());
    if (error.retryable)
        statement.bind_at(index + 5, static_cast<std::int64_t>(*error.retryable));
    else
        statement.bind_at(index + 5, nullptr);
    if (error.retry_after)
        statement.bind_at(index + 6, static_cast<std::int64_t>(error.retry_after->count()));
    else
        statement.bind_at(index + 6, nullptr);
    for (int i = 7; i < kOutcomeColumnCount; ++i) statement.bind_at(index + i, std::int64_t{0});
}

std::shared_ptr<const core::Outcome> read_outcome(const Statement& statement, int column) {
    std::string first = text_of(statement.bytes(column + 2)),
                second = text_of(statement.bytes(column + 3));
    if (!statement.is_null(column)) {
        Error error{
            .code = find_error_code(statement.text_view(column)).value_or(ErrorCode::kInternal),
            .message = std::move(first),
            .details = std::move(second),
            .retryable = {},
            .retry_after = {}};
        if (!statement.is_null(column + 5)) error.retryable = statement.integer(column + 5) != 0;
        if (!statement.is_null(column + 6))
            error.retry_after = Milliseconds(statement.integer(column + 6));
        return std::make_shared<const core::Outcome>(fail(std::move(error)));
    }
    core::ToolResult result;
    const std::int64_t kind = statement.integer(column + 1);
    result.kind = kind == 1   ? core::ContentKind::kJson
                  : kind == 2 ? core::ContentKind::kBytes
                              : core::ContentKind::kText;
    result.content = std::move(first);
    result.content_type = std::move(second);
    result.logs = logs_from_text(statement.text_view(column + 4));
    result.usage = {.cpu = Milliseconds(statement.integer(column + 7)),
                    .wall = Milliseconds(statement.integer(column + 8)),
                    .peak_memory_bytes = static_cast<std::uint64_t>(statement.integer(column + 9))};
    return std::make_shared<const core::Outcome>(std::move(result));
}

}  // namespace crab::store::sqlite
