// A provider for the tests of the bridge, with everything that goes wrong: cetp_test_provider
// [provider's arguments].
#include <crab/cetp_provider.hpp>

#include <cstdlib>
#include <fstream>
#include <string>

#include <unistd.h>

int main(int argc, char** argv) {
    const char* id = std::getenv("CETP_TEST_ID");
    const char* log = std::getenv("CETP_TEST_LOG");
    crab::CetpProvider provider(id != nullptr ? id : "org.example.Test", "Test");
    const auto note = [log](const crab::CetpCall& call) {
        if (log != nullptr)
            std::ofstream(log, std::ios::app) << call.tool() << ' ' << call.request_id() << '\n';
    };
    constexpr const char* kObject = R"({"type":"object"})";
    provider.tool("echo", "Gives its arguments back", kObject, [&](const crab::CetpCall& call) {
        return note(call), crab::CetpAnswer(call.args());
    });
    provider.tool("caller", "Who calls", kObject, [](const crab::CetpCall& call) {
        return std::to_string(call.caller().uid.value_or(99999));
    });
    provider.tool(
        "fill", "So many bytes",
        R"({"type":"object","properties":{"bytes":{"type":"integer"}},"required":["bytes"]})",
        [](const crab::CetpCall& call) {
            return std::string(static_cast<std::size_t>(*call.integer("bytes")), 'x');
        });
    provider.tool(
        "crash_once", "Dies the first time that the file is not there",
        R"({"type":"object","properties":{"file":{"type":"string"}},"required":["file"]})",
        [&](const crab::CetpCall& call) -> crab::CetpAnswer {
            note(call);
            if (std::ifstream(*call.text("file"))) return "alive";
            std::ofstream(*call.text("file")) << "x";
            ::_exit(1);
        });
    provider.tool("grow", "Adds a tool", kObject, [&](const crab::CetpCall&) {
        provider.tool("grown", "New", kObject,
                      [](const crab::CetpCall&) { return crab::CetpAnswer("new"); });
        return crab::CetpAnswer("");
    });
    provider.tool("hang", "Does not answer", kObject,
                  [&](const crab::CetpCall& call) -> crab::CetpAnswer {
                      note(call);
                      for (;;) ::pause();
                  });
    return provider.run(argc, argv);
}
