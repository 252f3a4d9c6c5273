#include "cli/admin_client.hpp"
#include "cli/explanation.hpp"
#include "cli/output/durations.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/pretty_json.hpp"
#include "net/codec/url.hpp"

namespace crab::cli {

int run(const Explain& options) {
    Result<AdminClient> client = AdminClient::make(options.target);
    if (!client) return report(client.error());
    const auto record =
        accepted(client->get("/v1/admin/calls/" + net::percent_encode(options.call_id)));
    if (!record) return report(record.error());
    if (options.output == Output::kJson) return print_json(*record), kExitOk;
    print(explanation_of(*record, Terminal::out()));
    return kExitOk;
}

}  // namespace crab::cli
