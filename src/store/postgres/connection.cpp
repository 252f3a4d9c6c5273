#include "store/postgres/connection.hpp"

#include "base/log.hpp"

#include <libpq-fe.h>
#include <poll.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

namespace crab::store::postgres {
namespace {

/// What the log may have of a server's message: not its details, which repeat values.
std::string primary_of(const PGresult* result) {
    const char* const text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    return text != nullptr ? text : "";
}

std::string_view state_of(const PGresult* result) {
    const char* const state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    return state != nullptr ? state : "";
}

Error make(ErrorCode code, std::string_view what) {
    return Error{.code = code, .message = "database: " + std::string(what)};
}

/// By the class of the SQLSTATE (PostgreSQL documentation, appendix A).
Error error_of(const PGresult* result) {
    const std::string_view state = state_of(result);
    const std::string_view kind = state.substr(0, 2);
    log::warn("database statement failed", {{"state", state}, {"reason", primary_of(result)}});
    if (kind == "08" || kind == "57" || kind == "58")
        return make(ErrorCode::kUnavailable, "not available: repeat later");
    if (kind == "53") return make(ErrorCode::kUnavailable, "has no room: see its log");
    if (kind == "40" || kind == "55")
        return make(ErrorCode::kUnavailable, "busy with the same rows: repeat");
    if (state == "25006")
        return make(ErrorCode::kUnavailable, "is a standby: connect to the one that writes");
    if (kind == "22")
        return make(ErrorCode::kInvalidArgs, "text that cannot be stored: NUL, or no UTF-8");
    return make(ErrorCode::kInternal, "an operation failed: see the log");
}

/// Whether it has changed rows.
bool is_change(PGresult* result) {
    const std::string_view command = PQcmdStatus(result);
    const bool writes = command.starts_with("INSERT") || command.starts_with("UPDATE") ||
                        command.starts_with("DELETE");
    return writes && std::string_view(PQcmdTuples(result)) != "0";
}

void note_warning(void* warned, const PGresult* notice) {
    if (state_of(notice) == "01000") *static_cast<bool*>(warned) = true;
}

}  // namespace

void Connection::Close::operator()(pg_conn* connection) const { PQfinish(connection); }

Error Connection::lost(std::string_view what) {
    log::warn("connection to the database lost", {{"reason", what}});
    connection_.reset();
    prepared_.clear();
    return make(ErrorCode::kUnavailable, "not available: repeat later");
}

Result<void> Connection::connect() {
    if (connection_ != nullptr && PQstatus(connection_.get()) == CONNECTION_OK) return {};
    if (in_transaction_) return fail(lost("in the middle of a transaction"));
    // What the address says counts, except for what the code relies on. A process that stands still
    // in a transaction holds what others need, such as the line of events: its session ends.
    constexpr std::array<const char*, 8> kNames{
        "connect_timeout", "tcp_user_timeout", "application_name", "target_session_attrs",
        "dbname",          "client_encoding",  "options",          nullptr};
    const std::array<const char*, 8> values{
        "5",
        "3000",
        "crab",
        "read-write",
        options_.dsn.c_str(),
        "UTF8",
        "-c bytea_output=hex -c default_transaction_isolation=read\\ committed -c "
        "idle_in_transaction_session_timeout=4000",
        nullptr};
    connection_.reset(PQconnectdbParams(kNames.data(), values.data(), 1));
    prepared_.clear();
    if (PQstatus(connection_.get()) != CONNECTION_OK) return fail(lost("it cannot be reached"));
    PQsetNoticeReceiver(connection_.get(), note_warning, &warned_);
    return {};
}

Result<void> Connection::wait(Deadline deadline) {
    while (PQisBusy(connection_.get()) != 0) {
        const auto left =
            std::chrono::ceil<Milliseconds>(deadline - std::chrono::steady_clock::now());
        pollfd socket{.fd = PQsocket(connection_.get()), .events = POLLIN, .revents = 0};
        const int ready =
            left.count() <= 0 ? 0 : ::poll(&socket, 1, static_cast<int>(left.count()));
        if (ready == 0) return fail(lost("no answer in time"));
        if (ready < 0 && errno != EINTR) return fail(lost("its socket failed"));
        if (ready > 0 && PQconsumeInput(connection_.get()) == 0)
            return fail(lost("it closed the connection"));
    }
    return {};
}

Result<Rows> Connection::answer() {
    const Deadline deadline = std::chrono::steady_clock::now() + options_.limit;
    std::optional<Result<Rows>> last;
    for (;;) {
        if (auto ready = wait(deadline); !ready) return fail(std::move(ready.error()));
        PGresult* const result = PQgetResult(connection_.get());
        if (result == nullptr) break;
        Rows rows(result);
        const ExecStatusType status = PQresultStatus(result);
        if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
            has_written_ |= is_change(result);
            if (!last || *last) last.emplace(std::move(rows));
        } else {
            const std::string_view kind = state_of(result).substr(0, 2);
            refused_values_ = kind == "22" || kind == "23";
            last.emplace(fail(error_of(result)));
        }
        if (PQstatus(connection_.get()) != CONNECTION_OK)
            return fail(lost("it closed the connection"));
    }
    if (!last) return fail(lost("it answered nothing"));
    if (std::exchange(warned_, false) && *last)
        return fail(lost("a commit was not confirmed by the standbys"));
    return std::move(*last);
}

Result<std::string> Connection::prepared(const std::string& sql) {
    if (const auto known = prepared_.find(sql); known != prepared_.end()) return known->second;
    const std::string name = "s" + std::to_string(prepared_.size());
    if (PQsendPrepare(connection_.get(), name.c_str(), sql.c_str(), 0, nullptr) == 0)
        return fail(lost("a statement could not be sent"));
    if (auto done = answer(); !done) return fail(std::move(done.error()));
    prepared_.emplace(sql, name);
    return name;
}

Result<Rows> Connection::ask(const std::string& sql, const Parameters& parameters) {
    if (parameters.has_nul())
        return fail(make(ErrorCode::kInvalidArgs, "text that cannot be stored: NUL"));
    if (auto connected = connect(); !connected) return fail(std::move(connected.error()));
    const auto name = prepared(sql);
    if (!name) return fail(name.error());
    std::vector<const char*> values;
    for (std::size_t i = 0; i < parameters.size(); ++i) values.push_back(parameters.at(i));
    if (PQsendQueryPrepared(connection_.get(), name->c_str(), static_cast<int>(values.size()),
                            values.data(), nullptr, nullptr, 0) == 0)
        return fail(lost("a statement could not be sent"));
    auto answered = answer();
    if (answered && !in_transaction_) tell_written();
    return answered;
}

void Connection::tell_written() {
    if (std::exchange(has_written_, false) && options_.wrote) options_.wrote();
}

Result<void> Connection::execute(const std::string& sql) {
    if (auto connected = connect(); !connected) return connected;
    if (PQsendQuery(connection_.get(), sql.c_str()) == 0)
        return fail(lost("a statement could not be sent"));
    if (auto done = answer(); !done) return fail(std::move(done.error()));
    return {};
}

void Connection::roll_back() {
    has_written_ = false;
    if (connection_ != nullptr) (void)execute("ROLLBACK");
}

}  // namespace crab::store::postgres
