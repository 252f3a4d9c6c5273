#pragma once

#include "adapters/cetp/tool_list.hpp"
#include "base/task/blocking_pool.hpp"
#include "bridge/dbus/bus_link.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace crab::bridge {

/// Data sources of adapters. Must outlive them.
struct Sources {
    net::EventLoop& loop;
    BlockingPool& blocking;
    std::function<BusLink&(BusKind)> bus;
    /// Of the XDG Base Directory Specification, in order
    std::vector<std::filesystem::path> data_dirs;
    std::string locale;                            ///< such as `de_AT.UTF-8`; may be empty
};

/// Tools over something that the system has anyway, read-only. Used on the loop's thread; several
/// calls may be in progress. Source: docs/protocols/cetp.md, section 5.
class Adapter {
public:
    virtual ~Adapter() = default;
    /// Whether its data source is available; called whenever tools are listed. Errors: why it is
    /// not.
    virtual Task<Result<void>> check(Deadline deadline) = 0;
    /// Runs one of its tools with arguments that fit the schema. `tool` and `args` are kept
    /// by the caller.
    virtual Task<Result<json::Value>> run(const std::string& tool, const json::Value& args,
                                          Deadline deadline) = 0;
};

/// Static description of an adapter.
struct AdapterInfo {
    std::string_view label;
    std::string_view name;  ///< for people
    std::string_view reads;  ///< for people: the service behind it
    bool on = false;  ///< unless the user says otherwise
    std::vector<cetp::DeclaredTool> tools;
    std::unique_ptr<Adapter> (*make)(const Sources& sources);
};

/// The schema of a tool without arguments.
inline constexpr std::string_view kNoArgs = R"({"type":"object","additionalProperties":false})";

}  // namespace crab::bridge
