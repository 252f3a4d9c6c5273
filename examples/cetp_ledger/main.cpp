// An app's data as tools, without a chat in the app: a ledger that a bridge can ask.
#include <crab/cetp_provider.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

int main(int argc, char** argv) {
    const std::map<std::string, double> accounts{{"cash", 12.5}, {"bank", 340.0}};
    crab::CetpProvider ledger("org.example.Ledger", "Ledger", "Balances of a household");
    ledger.tool("list_accounts", "The names of all accounts", R"({"type":"object"})",
                [&](const crab::CetpCall&) {
                    std::string names;
                    for (const auto& [name, balance] : accounts)
                        names += (names.empty() ? "[\"" : ",\"") + name + '"';
                    return names + "]";
                });
    ledger.tool(
        "balance", "The balance of one account",
        R"({"type":"object","properties":{"account":{"type":"string"}},"required":["account"]})",
        [&](const crab::CetpCall& call) -> crab::CetpAnswer {
                    // a file that the app makes when its user agrees
            const char* consent = std::getenv("LEDGER_CONSENT");
            if (consent != nullptr && !std::ifstream(consent)) {
                return crab::CetpAnswer::error("AUTH_REQUIRED", "no consent for balances")
                    .hint("Open Ledger and allow it")
                    .intent("allow-tools");
            }
            const auto found = accounts.find(call.text("account").value_or(""));
            if (found == accounts.end())
                return crab::CetpAnswer::error(
                    "INVALID_ARGS", "/account: no such account; list_accounts names them");
            char text[64];
            std::snprintf(text, sizeof text, R"({"balance":%.2f})", found->second);
            return text;
        });
    return ledger.run(argc, argv);
}
