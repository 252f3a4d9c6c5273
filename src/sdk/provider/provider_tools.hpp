#pragma once

#include "adapters/cetp/envelope.hpp"
#include "adapters/cetp/method_call.hpp"
#include "adapters/cetp/tool_list.hpp"
#include "base/ordered_mutex.hpp"
#include "json/schema/schema.hpp"

#include "crab/cetp_provider.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace crab::sdk {

/// What a provider offers, and its answer to every call. Thread-safe; one handler runs at a time.
/// Source: docs/protocols/cetp.md, rules 9, 14, 15, 17, 18 and 24.
class ProviderTools {
public:
    ProviderTools(std::string id, std::string name, std::string description)
        : id_(std::move(id)), name_(std::move(name)), description_(std::move(description)) {}

    /// Throws std::invalid_argument, see CetpProvider::tool().
    void add(std::string name, std::string description, std::string schema, CetpHandler handler);
    /// False when there is none.
    bool remove(std::string_view name);
    const std::string& id() const { return id_; }
    /// Has `hook` called after each change, on the thread that made it; an empty one ends that.
    void on_change(std::function<void()> hook);

    /// Never throws. `most` is how much data the transport carries, in bytes.
    cetp::Envelope answer(const cetp::MethodCall& call, const CetpCaller& caller,
                          std::size_t most = cetp::kMaxData);

private:
    struct Tool {
        cetp::DeclaredTool declared;
        std::shared_ptr<const json::Schema> compiled;
        CetpHandler handler;
    };
    std::shared_ptr<const Tool> find(std::string_view name) const;
    void changed() const;
    std::string list() const;
    std::string info() const;
    cetp::Envelope execute(const cetp::MethodCall& call, const CetpCaller& caller);

    const std::string id_, name_, description_;
    mutable std::mutex mutex_;
    std::vector<std::shared_ptr<const Tool>> tools_;
    std::function<void()> on_change_;
    OrderedMutex<LockRank::kProviderCall> one_at_a_time_;
};

}  // namespace crab::sdk
