#include "cli/admin_client.hpp"
#include "cli/commands.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/table.hpp"
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
    Result<AdminClient> client = AdminClient::make(options.target);
    if (!client) return report(client.error());
    Result<json::Value::Items> rows = fetch_rows(*client, options.as);
    if (!rows) return report(rows.error());
    if (options.output == Output::kJson) {
        print_json(json::Value::object({{"tools", json::Value::array(std::move(*rows))}}));
        return kExitOk;
    }
    Table table({"TOOL", "VERDICT", "RULE"});
    for (const json::Value& row : *rows) {
        const bool depends = flag_of(row, "depends_on_arguments");
        table.add({text_of(row, "name"), text_of(row, "verdict") + (depends ? " (arguments)" : ""),
                   text_of(row, "rule")});
    }
    print(table.to_text(Terminal::out()));
    return kExitOk;
}

}  // namespace crab::cli
