#include "cli/admin_client.hpp"
#include "cli/commands.hpp"
#include "cli/login_redirect.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/listing.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/terminal.hpp"
#include "net/codec/url.hpp"

#include <fmt/format.h>
#include <unistd.h>

namespace crab::cli {
namespace {

constexpr std::chrono::minutes kLoginPatience{15};  // as long as the gateway keeps a login open

std::string login_path(std::string_view name, std::string_view rest = {}) {
    return fmt::format("/v1/mcp/servers/{}/login{}", net::percent_encode(name), rest);
}

std::string state_of(std::string_view page) {
    const std::size_t question = page.find('?');
    if (question == std::string_view::npos) return {};
    return net::find_query(page.substr(question + 1), "state").value_or("");
}

/// Only pages: what a server calls its page is printed, not run, and could be anything.
bool is_page(std::string_view url) {
    return (url.starts_with("https://") || url.starts_with("http://")) && printable(url) == url;
}

}  // namespace

int run(const McpLogin& options) {
    auto redirect = LoginRedirect::open(options.port);
    if (!redirect) return report(redirect.error());
    Result<AdminClient> client = AdminClient::make(options.target);
    if (!client) return report(client.error());
    json::Value body = json::Value::object({{"redirect_uri", redirect->uri()}});
    if (!options.principal.empty()) body.set("principal", options.principal);
    const auto begun = accepted(client->post(login_path(options.name), body));
    if (!begun) return report(begun.error());
    const std::string url = text_of(*begun, "url");
    if (!is_page(url))
        return report(
            fail(ErrorCode::kAuthRequired, "the server's page for logins is none to open").error());
    // not among the answers of -o json
    std::FILE* const out = options.output.is_text() ? stdout : stderr;
    fmt::print(out,
               "Open this page and log in:\n\n{}\n\nWaiting for the browser to come back. If it "
               "cannot, paste the address it ends at here.\n",
               url);
    std::fflush(out);
    const auto answer = redirect->wait(state_of(url), options.listen_only ? -1 : STDIN_FILENO,
                                       RealClock().steady_now() + kLoginPatience);
    if (!answer)
        return report(fail(ErrorCode::kTimeout, "nobody has logged in; log in again").error());
    const auto done = accepted(
        client->post(login_path(options.name, "/" + net::percent_encode(text_of(*begun, "login"))),
                     json::Value::object({{"redirected", *answer}})));
    if (!done) return report(done.error());
    return show_done(*done, options.output, options.name,
                     options.principal.empty()
                         ? fmt::format("{} is logged in", options.name)
                         : fmt::format("{} is logged in for {}", options.name, options.principal));
}

int run(const McpLogout& options) {
    Result<AdminClient> client = AdminClient::make(options.target);
    if (!client) return report(client.error());
    const std::string query =
        options.principal.empty() ? "" : "?principal=" + net::percent_encode(options.principal);
    const auto done = accepted(client->remove(login_path(options.name, query)));
    if (!done) return report(done.error());
    return show_done(*done, options.output, options.name,
                     fmt::format("the login of {} is forgotten", options.name));
}

}  // namespace crab::cli
