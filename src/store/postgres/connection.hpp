#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "store/postgres/parameters.hpp"
#include "store/postgres/rows.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

struct pg_conn;

namespace crab::store::postgres {

struct ConnectionOptions {
    /// As libpq reads it: `host=… dbname=…`, or an address `postgresql://…`; may hold a password,
    /// which no message and no log repeats.
    std::string dsn;
    /// How long one statement may take. After that the socket is closed, never the statement
    /// cancelled: a cancelled wait for a standby would end as a commit.
    Milliseconds limit{5000};
    /// Rows have changed, durably. It only posts.
    std::function<void()> wrote{};
};

/// One session of a PostgreSQL database, connected when it is first needed and again after a
/// failure. Not thread-safe: its owner locks around it. Everything may block. Errors of all
/// functions: kUnavailable when there is no connection or no answer in time, when the server has no
/// room, or when a commit is not confirmed by the standbys; kInvalidArgs for text that PostgreSQL
/// cannot store (NUL, no UTF-8); kInternal for all else.
class Connection {
public:
    explicit Connection(ConnectionOptions options) : options_(std::move(options)) {}

    /// Connects, if it is not connected.
    Result<void> connect();
    /// One statement; it is prepared when it comes first.
    template <class... Values>
    Result<Rows> query(const std::string& sql, const Values&... values) {
        return ask(sql, Parameters(values...));
    }
    /// The same; rows are dropped.
    template <class... Values>
    Result<void> run(const std::string& sql, const Values&... values) {
        if (auto rows = ask(sql, Parameters(values...)); !rows)
            return std::unexpected(std::move(rows.error()));
        return {};
    }
    /// One or more statements without parameters.
    Result<void> execute(const std::string& sql);

    /// Runs `work()`, which returns a Result, between BEGIN and COMMIT; a failure of either rolls
    /// back. READ COMMITTED: what is read and then relied upon is read FOR UPDATE.
    template <class F>
    std::invoke_result_t<F> transaction(F work) {
        if (auto begun = execute("BEGIN"); !begun) return std::unexpected(std::move(begun.error()));
        in_transaction_ = true;
        auto result = work();
        in_transaction_ = false;
        if (!result) {
            roll_back();
            return result;
        }
        if (auto committed = execute("COMMIT"); !committed)
            return std::unexpected(std::move(committed.error()));
        tell_written();
        return result;
    }

    /// Whether the last failure was of the connection: what the statement did is not known.
    bool is_lost() const { return connection_ == nullptr; }
    /// Whether the last failure was that of a value, which fails again however often it is sent
    /// (SQLSTATE classes 22 and 23).
    bool refused_values() const { return refused_values_; }

private:
    bool refused_values_ = false;
    struct Close {
        void operator()(pg_conn* connection) const;
    };

    Result<Rows> ask(const std::string& sql, const Parameters& parameters);
    Result<std::string> prepared(const std::string& sql);
    /// What was sent last has been answered; after that, the connection takes the next.
    Result<Rows> answer();
    /// Until the next part of the answer is there.
    Result<void> wait(Deadline deadline);
    Error lost(std::string_view what);
    void roll_back();
    void tell_written();

    const ConnectionOptions options_;
    std::unique_ptr<pg_conn, Close> connection_;
    std::map<std::string, std::string, std::less<>> prepared_;  ///< statement → its name there
    bool in_transaction_ = false;
    bool has_written_ = false;
    /// A warning 01000 came with the last answer
    bool warned_ = false;
};

}  // namespace crab::store::postgres
