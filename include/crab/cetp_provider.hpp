#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace crab {

/// The caller of a provider as the operating system reports it; unknown members are absent. These
/// facts may lower trust, never raise it.
struct CetpCaller {
    std::optional<unsigned> uid{};
    std::optional<int> pid{};
};

/// One call of a provider's tool. Its arguments are an object that fits the tool's schema.
class CetpCall {
public:
    CetpCall(std::string tool, std::string args, std::string request_id, CetpCaller caller);
    CetpCall(const CetpCall&) = delete;
    CetpCall& operator=(const CetpCall&) = delete;
    ~CetpCall();

    const std::string& tool() const { return tool_; }
    const std::string& args() const { return args_; }  ///< JSON, as the caller wrote it
    /// Identifies the logical call, the same in retries. May be empty.
    const std::string& request_id() const { return request_id_; }
    const CetpCaller& caller() const { return caller_; }

    /// The top-level argument of that name if it has the requested type, otherwise nullopt.
    std::optional<std::string> text(std::string_view name) const;
    std::optional<double> number(std::string_view name) const;
    std::optional<std::int64_t> integer(std::string_view name) const;
    std::optional<bool> flag(std::string_view name) const;

private:
    struct Parsed;
    std::string tool_, args_, request_id_;
    CetpCaller caller_;
    std::unique_ptr<Parsed> parsed_;
};

/// A tool's answer: data, or an error of `AUTH_REQUIRED`, `PERMISSION_DENIED`, `TOOL_NOT_FOUND`,
/// `INVALID_ARGS`, `RATE_LIMITED`, `INTERNAL_ERROR` or a code of its own. Texts hold no path and no
/// secret.
class CetpAnswer {
public:
    /// Free text, usually JSON.
    CetpAnswer(std::string data) : data_(std::move(data)) {}
    CetpAnswer(const char* data) : data_(data) {}
    static CetpAnswer error(std::string code, std::string message) {
        CetpAnswer answer{std::string()};
        answer.code_ = std::move(code);
        answer.message_ = std::move(message);
        return answer;
    }
    /// What the person can do about an error.
    CetpAnswer hint(std::string text) && { return hint_ = std::move(text), std::move(*this); }
    /// The action of the provider's own app that asks the person; see ActivateAction of
    /// org.freedesktop.Application.
    CetpAnswer intent(std::string action) && {
        return intent_ = std::move(action), std::move(*this);
    }
    CetpAnswer retry_after(std::chrono::milliseconds wait) && {
        return retry_after_ = wait, std::move(*this);
    }

    bool success() const { return code_.empty(); }
    const std::string& data() const { return data_; }
    const std::string& code() const { return code_; }
    const std::string& message() const { return message_; }
    const std::string& hint() const { return hint_; }
    const std::string& intent() const { return intent_; }
    const std::optional<std::chrono::milliseconds>& retry_after() const { return retry_after_; }

private:
    std::string data_{}, code_{}, message_{}, hint_{}, intent_{};
    std::optional<std::chrono::milliseconds> retry_after_{};
};

/// What it throws reaches the caller as `INTERNAL_ERROR`. One call runs at a time.
using CetpHandler = std::function<CetpAnswer(const CetpCall& call)>;

/// A provider of read-only tools for the bridge on its device (`crab bridge`), over the transport
/// that it is started with:
///
///     int main(int argc, char** argv) {
///         crab::CetpProvider provider("org.example.Ledger", "Ledger");
///         provider.tool("balance", "One balance", R"({"type":"object"})", [](const
///         crab::CetpCall&) { return R"({"cash":12})"; }); return provider.run(argc, argv);
///     }
///
/// Source: docs/protocols/cetp.md, section 7.
class CetpProvider {
public:
    /// `id`: also its name on the bus. `name`: for people.
    CetpProvider(std::string id, std::string name, std::string description = {});
    CetpProvider(const CetpProvider&) = delete;
    CetpProvider& operator=(const CetpProvider&) = delete;
    ~CetpProvider();

    /// Adds a tool, at any time, also from handlers; bridges are notified (`ToolsChanged`).
    /// `schema` is the JSON Schema of its arguments. Throws std::invalid_argument for an empty or
    /// used name and for a schema that does not compile.
    void tool(std::string name, std::string description, std::string schema, CetpHandler handler);
    /// Removes a tool; false when there is none.
    bool remove_tool(std::string_view name);

    /// Serves until it is done and returns an exit status.
    /// - The last word is a method (`Transport=exec`): answers one call, arguments on standard
    /// input, envelope on standard output.
    /// - `--socket PATH` (`Transport=unix`): listens there, mode 0600, until SIGTERM or SIGINT.
    /// - Otherwise takes its name on the session bus and leaves it when idle for 60 s (`--idle
    ///   SECONDS`) or when the bus disconnects.
    int run(int argc, char** argv);

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace crab
