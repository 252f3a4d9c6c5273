#include "cli/admin_client.hpp"
#include "cli/commands.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/files.hpp"
#include "cli/output/listing.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/terminal.hpp"
#include "config/load.hpp"
#include "config/paths.hpp"
#include "setup/public_address.hpp"
#include "setup/tls_certificates.hpp"

#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace crab::cli {
namespace {

/// Where the files lie, and what is said of them.
struct IssuedFiles {
    std::filesystem::path certificate, key;
    std::filesystem::path authority;  ///< empty: somebody else's
    std::string authority_fingerprint;
    bool authority_is_new = false;
    crypto::Certificate leaf;
};

Result<IssuedFiles> use_files(const TlsInit& options) {
    const auto certificate = std::filesystem::absolute(options.cert),
               key = std::filesystem::absolute(options.key);
    auto leaf = setup::check_tls_files(certificate, key, std::chrono::system_clock::now());
    if (!leaf) return fail(std::move(leaf.error()));
    return IssuedFiles{.certificate = certificate,
                       .key = key,
                       .authority = {},
                       .authority_fingerprint = {},
                       .authority_is_new = false,
                       .leaf = std::move(*leaf)};
}

Result<IssuedFiles> make_files(const TlsInit& options) {
    std::filesystem::path folder = options.directory;
    if (folder.empty()) {
        const config::Paths paths = config::Paths::find(options.system, ::getuid());
        const config::GatewayConfig config =
            config::load_first(options.config, paths).value_or(config::GatewayConfig{});
        const std::filesystem::path state = paths.state_dir_of(config);
        if (const auto made = config::ensure_private_directory(state, ::getuid()); !made)
            return fail(made.error());
        folder = state / "tls";
    }
    folder = std::filesystem::absolute(folder);
    auto made = setup::make_tls_certificates(
        folder, options.names.empty() ? setup::names_of_this_machine() : options.names,
        std::chrono::system_clock::now());
    if (!made) return fail(std::move(made.error()));
    return IssuedFiles{.certificate = folder / setup::TlsFiles::kCertificate,
                       .key = folder / setup::TlsFiles::kKey,
                       .authority = folder / setup::TlsFiles::kCa,
                       .authority_fingerprint = made->authority.fingerprint(),
                       .authority_is_new = made->authority_is_new,
                       .leaf = std::move(made->leaf)};
}

std::vector<std::string> names_of(const crypto::Certificate& leaf) {
    std::vector<std::string> names = leaf.alt_names().dns_names;
    names.insert(names.end(), leaf.alt_names().ip_addresses.begin(),
                 leaf.alt_names().ip_addresses.end());
    return names;
}

/// The names as `listen.host_names` wants them: as a Host field would have them.
std::string host_names_of(std::vector<std::string> names) {
    for (std::string& name : names)
        name = name.find(':') == std::string::npos ? fmt::format("\"{}\"", name)
                                                   : fmt::format("\"[{}]\"", name);
    return fmt::format("{}", fmt::join(names, ", "));
}

/// The listener as it will be with this certificate: the port and prefix that the configuration
/// has, on every address of the machine.
config::ListenOptions listener_with(const TlsInit& options, const IssuedFiles& made) {
    const config::Paths paths = config::Paths::find(options.system, ::getuid());
    config::ListenOptions listen =
        config::load_first(options.config, paths).value_or(config::GatewayConfig{}).listen;
    const bool elsewhere = listen.public_address && listen.public_address->port != 0 &&
                           !listen.public_address->is_loopback();
    const std::uint16_t port = listen.public_address && listen.public_address->port != 0
                                   ? listen.public_address->port
                                   : config::ListenOptions().public_address->port;
    if (!elsewhere) listen.public_address = config::HostPort{"0.0.0.0", port};
    listen.tls = config::TlsOptions{.cert = made.certificate, .key = made.key};
    listen.host_names.clear();  // those of the certificate, as the lines say
    return listen;
}

std::string day_of(std::chrono::sys_seconds when) { return to_rfc3339(when).substr(0, 10); }

json::Value as_json(const IssuedFiles& made, const std::vector<std::string>& names,
                    const std::string& gateway) {
    json::Value answer = json::Value::object({{"cert", made.certificate.string()},
                                              {"key", made.key.string()},
                                              {"names", json::Value::array()},
                                              {"not_after", to_rfc3339(made.leaf.not_after())},
                                              {"gateway", gateway}});
    for (const std::string& name : names) answer.find("names")->push_back(name);
    if (!made.authority.empty()) {
        answer.set("ca", made.authority.string());
        answer.set("ca_fingerprint", made.authority_fingerprint);
        answer.set("ca_is_new", made.authority_is_new);
    }
    return answer;
}

void print_made(const IssuedFiles& made, const std::vector<std::string>& names) {
    print_line(fmt::format("certificate  {}", printable(made.certificate.string())));
    print_line(
        fmt::format("for          {}", printable(fmt::format("{}", fmt::join(names, ", ")))));
    print_line(fmt::format("until        {}", day_of(made.leaf.not_after())));
    if (made.authority.empty()) return;
    print_line(fmt::format("authority    {}{}", printable(made.authority.string()),
                           made.authority_is_new ? "" : " (as before)"));
    print_line(fmt::format("fingerprint  {}", made.authority_fingerprint));
}

void print_configuration(const IssuedFiles& made, const std::vector<std::string>& names,
                         const config::HostPort& address) {
    print_line("");
    print_line("In the gateway's configuration, so that other machines reach it:");
    print_line("");
    print_line("listen:");
    print_line(fmt::format("  public: \"{}\"", printable(address.to_text())));
    print_line(fmt::format("  host_names: [{}]", printable(host_names_of(names))));
    print_line("  tls:");
    print_line(fmt::format("    cert: \"{}\"", printable(made.certificate.string())));
    print_line(fmt::format("    key: \"{}\"", printable(made.key.string())));
    if (made.authority.empty()) return;
    print_line("");
    print_line(made.authority_is_new
                   ? "Phones and browsers trust it after you have installed the authority "
                     "there: docs/how_to/trust_the_gateway.md."
                   : "Whoever trusts the authority already need not do anything. A running "
                     "gateway takes the new certificate on SIGHUP.");
}

void print_lines_for_others(const std::string& gateway, const std::string& ca_file) {
    const std::string trust = ca_file.empty() ? "" : " --ca-file " + shell_word(ca_file);
    std::string https = gateway;
    https.replace(0, 3, "https");
    print_line("");
    print_line(ca_file.empty() ? "Then devices and callers dial:"
                               : "Then devices and callers dial, on other machines with the "
                                 "authority's file where you have brought it:");
    print_line(
        printable(fmt::format("  crab devices run --pair CODE --gateway {}{}", gateway, trust)));
    print_line(printable(fmt::format("  crab tools list --url {}{}", https, trust)));
}

}  // namespace

int run(const TlsInit& options) {
    std::error_code ignored;
    if (!options.config.empty() && !std::filesystem::exists(options.config, ignored)) {
        return report(
            config::load_first(options.config, config::Paths::find(options.system, ::getuid()))
                .error());
    }
    if (options.cert.empty() != options.key.empty()) {
        complain("--cert and --key belong together");
        return kExitUsage;
    }
    const auto made = options.cert.empty() ? make_files(options) : use_files(options);
    if (!made) return report(made.error());
    const std::vector<std::string> names = names_of(made->leaf);
    const config::ListenOptions listen = listener_with(options, *made);
    const auto place = setup::public_address(listen, listen.public_address->port);
    const std::string gateway = place->url("ws", "wss");
    if (!options.output.is_text())
        return show_value(as_json(*made, names, gateway), options.output);
    print_made(*made, names);
    print_configuration(*made, names, *listen.public_address);
    print_lines_for_others(gateway, place->ca_file);
    return kExitOk;
}

}  // namespace crab::cli
