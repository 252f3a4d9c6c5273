#include "cli/admin_client.hpp"
#include "cli/commands.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/listing.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/terminal.hpp"
#include "net/codec/url.hpp"

#include <fmt/format.h>

#include <utility>

namespace crab::cli {
namespace {

/// The rows of all pages.
Result<json::Value::Items> fetch_rows(AdminClient& client, const std::string& as) {
    json::Value::Items rows;
    std::string cursor;
    do {
        const Result<json::Value> page =
            accepted(client.get(fmt::format("/v1/admin/policy/matrix?as={}&limit=1000&cursor={}",
                                            net::percent_encode(as), net::percent_encode(cursor))));
        if (!page) return fail(page.error());
        for (const json::Value& row : items_of(*page, "tools")) rows.push_back(row);
        cursor = text_of(*page, "cursor");
    } while (!cursor.empty());
    return rows;
}

}  // namespace

int run(const PolicyMatrix& options) {
    static const Listing kRows{
        .members = {"tools"},
        .name = by_member("name"),
        .columns = {column("TOOL", "name"),
                    {"VERDICT",
                     [](const json::Value& row) {
                         return text_of(row, "verdict") +
                                (flag_of(row, "depends_on_arguments") ? " (arguments)" : "");
                     }},
                    column("RULE", "rule")},
        .empty = "No tools."};
    const auto ask_for_rows = [&]() -> Result<json::Value> {
        Result<AdminClient> client = AdminClient::make(options.target);
        if (!client) return fail(client.error());
        auto rows = fetch_rows(*client, options.as);
        if (!rows) return fail(std::move(rows.error()));
        return json::Value::object({{"tools", json::Value::array(std::move(*rows))}});
    };
    return show_list(ask_for_rows, kRows, options.output);
}

}  // namespace crab::cli
