#include "store/postgres/stored_outcome.hpp"

#include "base/encoding.hpp"
#include "store/outcome_logs.hpp"

#include <utility>

namespace crab::store::postgres {
namespace {

Error error_from(const Rows::Row& row, int column) {
    Error error{.code = find_error_code(row.text_view(column)).value_or(ErrorCode::kInternal),
                .message = row.bytes(column + 2),
                .details = row.bytes(column + 3),
                .retryable = {},
                .retry_after = {}};
    if (!row.is_null(column + 5)) error.retryable = row.boolean(column + 5);
    if (!row.is_null(column + 6)) error.retry_after = Milliseconds(row.integer(column + 6));
    return error;
}

}  // namespace

void OutcomeArrays::add(const core::Outcome& outcome) {
    const core::Usage usage = outcome ? outcome->usage : core::Usage{};
    cpu.add_number(usage.cpu.count());
    wall.add_number(usage.wall.count());
    memory.add_number(static_cast<std::int64_t>(usage.peak_memory_bytes));
    if (outcome) {
        codes.add_null();
        kinds.add_number(static_cast<std::int64_t>(outcome->kind));
        firsts.add_bytes(bytes_of(outcome->content));
        seconds.add_bytes(bytes_of(outcome->content_type));
        logs.add(logs_to_text(outcome->logs));
        retryable.add_null();
        retry_after.add_null();
        return;
    }
    const Error& error = outcome.error();
    codes.add(token_of(error.code));
    kinds.add_number(0);
    firsts.add_bytes(bytes_of(error.message));
    seconds.add_bytes(bytes_of(error.details));
    logs.add("");
    error.retryable ? retryable.add_flag(*error.retryable) : retryable.add_null();
    error.retry_after ? retry_after.add_number(error.retry_after->count()) : retry_after.add_null();
}

std::shared_ptr<const core::Outcome> read_outcome(const Rows::Row& row, int column) {
    if (!row.is_null(column))
        return std::make_shared<const core::Outcome>(fail(error_from(row, column)));
    core::ToolResult result;
    const std::int64_t kind = row.integer(column + 1);
    result.kind = kind == 1   ? core::ContentKind::kJson
                  : kind == 2 ? core::ContentKind::kBytes
                              : core::ContentKind::kText;
    result.content = row.bytes(column + 2);
    result.content_type = row.bytes(column + 3);
    result.logs = logs_from_text(row.text_view(column + 4));
    result.usage = {.cpu = Milliseconds(row.integer(column + 7)),
                    .wall = Milliseconds(row.integer(column + 8)),
                    .peak_memory_bytes = static_cast<std::uint64_t>(row.integer(column + 9))};
    return std::make_shared<const core::Outcome>(std::move(result));
}

}  // namespace crab::store::postgres
