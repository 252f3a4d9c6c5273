#pragma once

#include "admin/presence.hpp"
#include "json/writer.hpp"
#include "trust/tokens.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::admin {

/// The answer of `GET /v1/admin/devices`: each device, and each caller without a device, with what
/// the store and its live connections say of it. Fill it in the order of the functions, then write
/// it.
class DeviceList {
public:
    void add_device(const trust::DeviceRecord& record);
    void add_token(const trust::TokenRecord& token);
    void add_live(const Presence& live);
    /// Tools that wait for an operator, by the device's slug.
    void add_waiting(
        const std::function<std::vector<std::string>(std::string_view device)>& waiting_tools);
    void write(std::string& out) const;
    /// What is known of a token, an object: nothing secret.
    static void append_token(json::Writer& writer, const trust::TokenRecord& token);
    struct Found {
        std::string device, principal;
    };
    /// The members of the row of that device, or else of that caller, but for `connections` and
    /// `tools`; nothing: there is none.
    std::optional<Found> append_members(json::Writer& writer, std::string_view name) const;

private:
    struct Row {
        std::string device, name;
        std::size_t connections = 0, tools = 0;
        std::optional<SystemTime> last_seen;
        std::optional<double> battery;
        std::optional<bool> charging, metered, foreground;
        std::vector<trust::TokenRecord> tokens;
        std::vector<Presence::Refused> refused;
        std::vector<std::string> waiting;
    };
    /// By principal: two may have one name; a token without a device is nobody's device.
    using Rows = std::map<std::string, Row>;

    static void append_rows(json::Writer& writer, std::string_view key, const Rows& rows);
    static void append_head(json::Writer& writer, std::string_view key, const Row& row,
                            const std::string& principal);
    static void append_tools(json::Writer& writer, const Row& row);
    static void append_state(json::Writer& writer, const Row& row);
    static void append_tokens(json::Writer& writer, const Row& row);

    Rows devices_, callers_;
};

}  // namespace crab::admin
