#include "cli/admin_client.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/files.hpp"
#include "cli/output/listing.hpp"
#include "cli/output/pretty_json.hpp"
#include "cli/output/terminal.hpp"
#include "net/codec/qr_code.hpp"
#include "net/codec/url.hpp"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace crab::cli {
namespace {

std::string roles_of(const json::Value& token) {
    std::string roles;
    for (const json::Value& role : items_of(token, "roles"))
        roles += (roles.empty() ? "" : ",") + (role.as_string() ? *role.as_string() : role.dump());
    return roles.empty() ? text_of(token, "roles") : roles;
}

std::string tokens_of(const json::Value& device) {
    std::string words;
    for (const json::Value& token : items_of(device, "tokens")) {
        const std::string until = text_of(token, "expires_at");
        words += fmt::format("{}{}{} ({}{})", words.empty() ? "" : "; ",
                             text_of(token, "kind") == "key" ? "key " : "", text_of(token, "id"),
                             roles_of(token),
                             flag_of(token, "revoked") ? ", revoked"
                             : until.empty()           ? ""
                                                       : ", until " + until.substr(0, 10));
    }
    return words;
}

/// How many, and which wait for an operator.
std::string tools_of(const json::Value& device) {
    std::string text = text_of(device, "tools"), waiting;
    for (const json::Value& tool : items_of(device, "waiting_tools"))
        waiting +=
            (waiting.empty() ? "" : ", ") + (tool.as_string() ? *tool.as_string() : tool.dump());
    return waiting.empty() ? text : fmt::format("{} (to approve: {})", text, waiting);
}

/// `83 %`, with what else it says: `charging`, `metered`, `in use`.
std::string battery_of(const json::Value& device) {
    const json::Value* battery = device.find("battery");
    std::string words = battery && battery->as_double()
                            ? fmt::format("{:.0f} %", *battery->as_double() * 100)
                            : std::string();
    for (const auto& [name, word] :
         {std::pair{"charging", "charging"}, std::pair{"metered", "metered"},
          std::pair{"foreground", "in use"}}) {
        if (flag_of(device, name)) words += fmt::format("{}{}", words.empty() ? "" : ", ", word);
    }
    return words;
}

/// What was refused, and where the tokens of callers are listed.
std::string notes_on_devices(const json::Value& answer) {
    std::string notes;
    for (const json::Value& device : items_of(answer, "devices")) {
        for (const json::Value& refused : items_of(device, "refused_tools")) {
            notes += printable(fmt::format("{}: tool {} is refused: {}: {}",
                                           text_of(device, "device"), text_of(refused, "tool"),
                                           text_of(refused, "code"), text_of(refused, "reason"))) +
                     "\n";
        }
    }
    if (!items_of(answer, "callers").empty())
        notes += "Callers have tokens and are no devices: crab tokens list\n";
    return notes;
}

}  // namespace

int run(const DevicesApprove& options) {
    Result<AdminClient> client = AdminClient::make(options.target);
    if (!client) return report(client.error());
    json::Value request = json::Value::object({{"device", options.device}});
    if (!options.tools.empty()) request.set("tools", json::Value::array());
    for (const std::string& tool : options.tools) request.find("tools")->push_back(tool);
    const auto reply = accepted(client->post("/v1/admin/devices/approve", request));
    if (!reply) return report(reply.error());
    if (items_of(*reply, "approved").empty()) {
        complain("none of these tools waits; crab devices list shows which do");
        return kExitFailed;
    }
    std::string sentences;
    for (const json::Value& tool : items_of(*reply, "approved"))
        sentences += fmt::format("{}approved {}", sentences.empty() ? "" : "\n",
                                 tool.as_string() ? *tool.as_string() : tool.dump());
    return show_done(*reply, options.output, options.device, sentences);
}

int run(const DevicesList& options) {
    const auto listing = [](const json::Value& answer) {
        const auto state = [](const json::Value& device) {
            return flag_of(device, "connected") ? "connected" : "away";
        };
        return Listing{.members = {"devices"},
                       .name = by_member("device"),
                       .columns = {column("DEVICE", "device"),
                                   column("NAME", "name"),
                                   {"STATE", state},
                                   {"TOOLS", tools_of},
                                   {"BATTERY", battery_of},
                                   column("LAST SEEN", "last_seen_at"),
                                   {"TOKENS", tokens_of},
                                   wide_column("PRINCIPAL", "principal")},
                       .empty = "No devices yet: crab devices pair --name phone",
                       .footer = notes_on_devices(answer)};
    };
    return show_list([&] { return fetch(options.target, "/v1/admin/devices"); }, listing,
                     options.output);
}

int run(const DevicesShow& options) {
    const auto device =
        fetch(options.target, "/v1/admin/devices/" + net::percent_encode(options.device));
    if (!device) return report(device.error());
    if (!options.output.is_text()) return show_value(*device, options.output);
    const std::string id = text_of(*device, "device");
    print_line(printable(fmt::format("{}  {} ({})", id.empty() ? text_of(*device, "caller") : id,
                                     text_of(*device, "name"), text_of(*device, "principal"))));
    const auto tell = [](std::string_view what, const std::string& text) {
        if (!text.empty()) print_line(printable(fmt::format("{:<12}{}", what, text)));
    };
    for (const json::Value& link : items_of(*device, "connections"))
        tell("connected", "since " + text_of(link, "since"));
    if (!flag_of(*device, "connected")) tell("last seen", text_of(*device, "last_seen_at"));
    tell("battery", battery_of(*device));
    tell("tokens", tokens_of(*device));
    for (const json::Value& tool : items_of(*device, "tools"))
        tell("tool", text_of(tool, "qualified_name"));
    for (const json::Value& tool : items_of(*device, "waiting"))
        tell("waits", fmt::format("{}, {}: crab devices approve {} {}", text_of(tool, "name"),
                                  tool.find("before") != nullptr ? "changed" : "new", id,
                                  text_of(tool, "name")));
    for (const json::Value& tool : items_of(*device, "rejected"))
        tell("refused", fmt::format("{} at {}: {}: {}", text_of(tool, "name"), text_of(tool, "at"),
                                    text_of(tool, "code"), text_of(tool, "message")));
    return kExitOk;
}

int run(const DevicesRename& options) {
    Result<AdminClient> client = AdminClient::make(options.target);
    if (!client) return report(client.error());
    const auto reply =
        accepted(client->patch("/v1/admin/devices/" + net::percent_encode(options.device),
                               json::Value::object({{"name", options.name}})));
    if (!reply) return report(reply.error());
    return show_done(
        *reply, options.output, text_of(*reply, "device"),
        fmt::format("{} is called {} now", text_of(*reply, "device"), text_of(*reply, "name")));
}

namespace {

json::Value pairing_request(const DevicesPair& options) {
    json::Value request = json::Value::object();
    if (!options.name.empty()) request.set("name", options.name);
    for (const std::string& role : options.roles) {
        if (!request.find("roles")) request.set("roles", json::Value::array());
        request.find("roles")->push_back(role);
    }
    if (!options.tenants.empty()) {
        request.set("tenants", json::Value::array());
        if (!options.no_default_tenant) request.find("tenants")->push_back("default");
        for (const std::string& tenant : options.tenants)
            request.find("tenants")->push_back(tenant);
    }
    if (options.expires) request.set("expires_in_s", std::int64_t{options.expires->count()});
    if (options.token || !options.out.empty()) request.set("token", true);
    if (options.trust_annotations) request.set("trust_annotations", true);
    if (options.console) {
        request.set("console", true);
        if (!request.find("roles"))
            request.set("roles", json::Value::array()).push_back("operator");
    }
    return request;
}

/// The flags with which `crab devices run` finds this gateway, as it is configured.
std::string gateway_flags(const json::Value& reply) {
    const std::string gateway = text_of(reply, "gateway"), ca_file = text_of(reply, "ca_file");
    return (gateway.empty() ? "" : " --gateway " + shell_word(gateway)) +
           (ca_file.empty() ? "" : " --ca-file " + shell_word(ca_file));
}

/// What else has to be known to use such a line.
void print_notes(const json::Value& reply) {
    const std::string ca_file = text_of(reply, "ca_file");
    if (text_of(reply, "gateway").empty())
        print_line("The public listener is off (listen.public): nothing can connect.");
    else if (flag_of(reply, "only_here"))
        print_line(
            "Only this machine reaches that address; for others see "
            "docs/how_to/connect_a_device.md.");
    if (!ca_file.empty())
        print_line(
            fmt::format("On another machine: bring {} there first, and name it where it lies.",
                        printable(ca_file)));
}

/// What the role `device` means, said where it is given.
void print_rights(const json::Value& reply) {
    if (const std::string roles = roles_of(reply);
        roles != "device" && roles != "device,trusted_device")
        return;
    print_line(
        "It may offer tools, answer their calls, and chat with a model that uses them. To let it "
        "call the tools of others: --role device,caller");
}

int show_token(const DevicesPair& options, const json::Value& reply, const Descriptor& file) {
    if (options.out.empty()) return print_line(printable(text_of(reply, "token"))), kExitOk;
    if (!file.write_and_sync(text_of(reply, "token") + "\n")) {
        complain(fmt::format("cannot write {}: {}; revoke the token with crab tokens revoke {}",
                             options.out.string(), std::strerror(errno),
                             text_of(reply, "token_id")));
        return kExitFailed;
    }
    const std::string roles = roles_of(reply), until = text_of(reply, "expires_at"),
                      path = shell_word(options.out.string());
    print_line(printable(fmt::format(
        "{} holds a token for {}{}{}.", options.out.string(), text_of(reply, "device"),
        roles.empty() ? "" : ", role " + roles, until.empty() ? "" : ", until " + until)));
    const bool is_device = roles.find("device") != std::string::npos;
    if (is_device)
        print_line(printable(
            fmt::format("  crab devices run --token-file {}{}", path, gateway_flags(reply))));
    if (std::string url = text_of(reply, "gateway"); !is_device && url.starts_with("ws")) {
        const std::string ca_file = text_of(reply, "ca_file");
        url.replace(0, 2, "http");
        print_line(printable(
            fmt::format("  curl{} -H \"Authorization: Bearer $(cat {})\" {}/v1/tools",
                        ca_file.empty() ? "" : " --cacert " + shell_word(ca_file), path, url)));
    }
    print_notes(reply);
    print_rights(reply);
    return kExitOk;
}

/// Whether the address of the device page is of no use to a camera: the gateway draws no code then.
bool leads_nowhere(const json::Value& reply) {
    const auto pages = items_of(reply, "pages");
    return !pages.empty() && items_of(pages.front(), "qr").empty();
}

/// What somebody does with the code of a browser.
int show_console_way(const json::Value& reply, const std::string& page) {
    print_line(fmt::format("Valid once, until {}. In the browser:",
                           printable(text_of(reply, "expires_at"))));
    print_line(page.empty() ? "  type the code into the console's sign-in page."
                            : fmt::format("  open {}, or type the code into that page.", page));
    print_line(
        printable(fmt::format("It gets a key of its own, with the role {}.", roles_of(reply))));
    print_notes(reply);
    return kExitOk;
}

int show_code(const DevicesPair& options, const json::Value& reply) {
    const std::string code = printable(text_of(reply, "code"));
    std::string page = printable(text_of(reply, "page"));
    if (!options.page.empty()) page = fmt::format("{}#pair={}", options.page, code);
    if (options.qr && options.page.empty() && leads_nowhere(reply)) {
        complain(
            "no QR code is drawn: whoever scans it would get nowhere, or in clear. Make a "
            "certificate (crab tls init) and name the gateway (listen.host_names), or give another "
            "address with --page");
    } else if (options.qr) {
        const auto picture = page.empty() ? std::nullopt : net::QrCode::encode(page);
        if (!picture) {
            complain(page.empty() ? "the gateway serves no such page (listen.public, "
                                    "listen.device_page); give its address with --page"
                                  : "this address is too long for a QR code");
            return kExitFailed;
        }
        print(picture->to_half_blocks());
    }
    print_line(Terminal::out().paint(Colour::kBold, code));
    print_line("");
    if (options.console) return show_console_way(reply, page);
    print_line(fmt::format("Valid once, until {}. On the device:",
                           printable(text_of(reply, "expires_at"))));
    print_line(
        printable(fmt::format("  crab devices run --pair {}{}{}", code, gateway_flags(reply),
                              options.name.empty() ? "" : " --name " + shell_word(options.name))));
    if (!page.empty()) print_line(fmt::format("or open {} in its browser,", page));
    print_line("or type the code into the app's pairing screen.");
    print_notes(reply);
    print_rights(reply);
    return kExitOk;
}

}  // namespace

int run(const DevicesPair& options) {
    if (options.console && (options.token || !options.out.empty())) {
        complain("--console makes a code for a browser's key, not a token: see crab tokens create");
        return kExitUsage;
    }
    if (options.no_default_tenant && options.tenants.empty()) {
        complain("--no-default-tenant needs a --tenant: every token belongs to one");
        return kExitUsage;
    }
    Result<AdminClient> client = AdminClient::make(options.target);
    if (!client) return report(client.error());
    Descriptor file;  // made first: a token that cannot be kept is not asked for
    if (!options.out.empty()) {
        auto made = create_private_file(options.out);
        if (!made) return report(made.error());
        file = std::move(*made);
    }
    auto reply = accepted(client->post("/v1/admin/devices/pair", pairing_request(options)));
    if (!reply) {
        std::error_code ignored;
        if (file.is_open()) std::filesystem::remove(options.out, ignored);
        return report(reply.error());
    }
    if (!options.output.is_text() && options.out.empty()) return show_value(*reply, options.output);
    return options.token || !options.out.empty() ? show_token(options, *reply, file)
                                                 : show_code(options, *reply);
}

int run(const DevicesRevoke& options) {
    if (options.device.empty() && options.token_id.empty()) {
        complain("name a device; crab devices list shows them");
        return kExitUsage;
    }
    const bool one_token = options.device.empty();
    if (!may_go_on(options.yes, one_token ? fmt::format("Revoke the token {}?", options.token_id)
                                          : fmt::format("Revoke {} with all its tokens? It has to "
                                                        "be paired again to come back.",
                                                        options.device)))
        return kExitFailed;
    Result<AdminClient> client = AdminClient::make(options.target);
    if (!client) return report(client.error());
    json::Value request = json::Value::object();
    options.token_id.empty() ? request.set("device", options.device)
                             : request.set("token_id", options.token_id);
    const auto reply = accepted(client->post("/v1/admin/devices/revoke", request));
    if (!reply) return report(reply.error());
    const std::int64_t revoked = number_of(*reply, "revoked");
    if (revoked == 0) {
        complain("nothing to revoke has that name; crab devices list shows what there is");
        return kExitNotFound;
    }
    return show_done(*reply, options.output, one_token ? options.token_id : options.device,
                     fmt::format("revoked {} token{}", revoked, revoked == 1 ? "" : "s"));
}

}  // namespace crab::cli
