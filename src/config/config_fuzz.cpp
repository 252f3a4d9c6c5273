// Any bytes: the file is refused with problems that name places in it, or gives a configuration
// that keeps its promises.

#include "base/fuzz_check.hpp"
#include "config/load.hpp"
#include "json/value.hpp"

using crab::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size > (16 << 10)) return 0;
    const auto nothing = [](std::string_view) -> std::optional<std::string> {
        return std::nullopt;
    };
    const auto loaded = crab::config::load_text({reinterpret_cast<const char*>(data), size},
                                                "/nonexistent/fuzz.yaml", nothing);
    if (!loaded) {
        const auto details = crab::json::Value::parse(loaded.error().details);
        require(details && details->find("errors") &&
                !details->find("errors")->as_array()->empty());
        return 0;
    }
    require(loaded->calls.default_timeout <= loaded->calls.max_timeout);
    require(!loaded->listen.public_address || loaded->listen.tls ||
            loaded->listen.public_address->is_loopback());
    return 0;
}
