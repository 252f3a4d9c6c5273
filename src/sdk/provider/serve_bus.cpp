#include "sdk/provider/serve_bus.hpp"

#include "adapters/cetp/manifest.hpp"
#include "base/descriptor.hpp"
#include "base/scope_exit.hpp"

#include <array>
#include <cstring>
#include <memory>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include <fmt/format.h>

namespace crab::sdk {
namespace {

constexpr const char* kInterface = "com.clawseed.Cetp.Provider1";

CetpCaller caller_of(sd_bus_message* message) {
    sd_bus_creds* creds = nullptr;
    CetpCaller caller;
    if (sd_bus_query_sender_creds(message, SD_BUS_CREDS_EUID | SD_BUS_CREDS_PID, &creds) < 0)
        return caller;
    uid_t uid = 0;
    pid_t pid = 0;
    if (sd_bus_creds_get_euid(creds, &uid) >= 0) caller.uid = uid;
    if (sd_bus_creds_get_pid(creds, &pid) >= 0) caller.pid = pid;
    sd_bus_creds_unref(creds);
    return caller;
}

int read_call(sd_bus_message* message, cetp::MethodCall& call) {
    const char* method = nullptr;
    if (const int read = sd_bus_message_read(message, "s", &method); read < 0) return read;
    call.method = method;
    if (const int entered = sd_bus_message_enter_container(message, 'a', "{sv}"); entered < 0)
        return entered;
    while (sd_bus_message_enter_container(message, 'e', "sv") > 0) {
        const char *key = nullptr, *type = nullptr, *text = nullptr;
        if (const int read = sd_bus_message_read(message, "s", &key); read < 0) return read;
        if (const int peeked = sd_bus_message_peek_type(message, nullptr, &type); peeked < 0)
            return peeked;
        if (std::strcmp(type, "s") == 0) {
            if (const int read = sd_bus_message_read(message, "v", "s", &text); read < 0)
                return read;
            call.extras.insert_or_assign(key, text);
        } else if (const int skipped = sd_bus_message_skip(message, "v"); skipped < 0) {
            return skipped;
        }
        if (const int left = sd_bus_message_exit_container(message); left < 0) return left;
    }
    return 0;
}

/// A sealed memory file that holds `text`.
Descriptor sealed(const std::string& text) {
    Descriptor file(::memfd_create("cetp-data", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!file.is_open() ||
        ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
        return Descriptor();
    if (::fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK) != 0)
        return Descriptor();
    return file;
}

void append_text(sd_bus_message* reply, const char* key, const std::string& text) {
    sd_bus_message_append(reply, "{sv}", key, "s", text.c_str());
}

int send_reply(sd_bus_message* call, const cetp::Envelope& envelope) {
    sd_bus_message* reply = nullptr;
    if (const int made = sd_bus_message_new_method_return(call, &reply); made < 0) return made;
    const std::unique_ptr<sd_bus_message,
                          decltype([](sd_bus_message* message) { sd_bus_message_unref(message); })>
        held(reply);
    sd_bus_message_open_container(reply, 'a', "{sv}");
    append_text(reply, "status", envelope.success ? "success" : "error");
    if (!envelope.success) {
        append_text(reply, "error_code", envelope.code);
        append_text(reply, "error_message", envelope.message);
        if (!envelope.hint.empty()) append_text(reply, "resolution_hint", envelope.hint);
        if (!envelope.intent.empty()) append_text(reply, "authorize_intent", envelope.intent);
        if (envelope.retry_after)
            sd_bus_message_append(reply, "{sv}", "retry_after_ms", "u",
                                  static_cast<std::uint32_t>(envelope.retry_after->count()));
    } else if (envelope.data.size() > cetp::kMaxData) {
        const Descriptor file = sealed(envelope.data);
        if (!file.is_open()) return -ENOMEM;
        // the message keeps a copy of the descriptor
        sd_bus_message_append(reply, "{sv}", "data_fd", "h", file.get());
    } else {
        append_text(reply, "data", envelope.data);
    }
    sd_bus_message_close_container(reply);
    return sd_bus_send(nullptr, reply, nullptr);
}

int on_call(sd_bus_message* message, void* tools, sd_bus_error*) {
    cetp::MethodCall call;
    if (const int read = read_call(message, call); read < 0) return read;
    return send_reply(message, static_cast<ProviderTools*>(tools)->answer(call, caller_of(message),
                                                                          cetp::kMaxDataFd));
}

// parameters: sd_bus_property_get_t has them
int get_version(sd_bus*, const char*, const char*, const char*, sd_bus_message* reply, void*,
                sd_bus_error*) {
    return sd_bus_message_append(reply, "u", 1U);
}

const sd_bus_vtable kProviderTable[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD("Call", "sa{sv}", "a{sv}", on_call, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_SIGNAL("ToolsChanged", "", 0),
    SD_BUS_PROPERTY("Version", "u", get_version, 0, SD_BUS_VTABLE_PROPERTY_CONST),
    SD_BUS_VTABLE_END};

enum class WakeReason { kBus, kChange, kIdle };

/// Waits for the bus, for a change of tools, or until nothing has come for `idle`.
WakeReason wait_for(sd_bus* bus, int changes, std::chrono::seconds idle) {
    std::array<pollfd, 2> watched{
        pollfd{sd_bus_get_fd(bus), static_cast<short>(sd_bus_get_events(bus)), 0},
        pollfd{changes, POLLIN, 0}};
    const int ready = ::poll(watched.data(), watched.size(),
                             static_cast<int>(std::chrono::milliseconds(idle).count()));
    if (ready == 0) return WakeReason::kIdle;
    return watched[1].revents != 0 ? WakeReason::kChange : WakeReason::kBus;
}

}  // namespace

int serve_bus(ProviderTools& tools, std::chrono::seconds idle) {
    sd_bus* bus = nullptr;
    int done = sd_bus_open_user(&bus);
    const std::unique_ptr<sd_bus, decltype([](sd_bus* held) { sd_bus_flush_close_unref(held); })>
        held(bus);
    const std::string path = cetp::default_object_path(tools.id());
    if (done >= 0) done = sd_bus_set_exit_on_disconnect(bus, 1);
    if (done >= 0)
        done = sd_bus_add_object_vtable(bus, nullptr, path.c_str(), kInterface, kProviderTable,
                                        &tools);
    if (done >= 0) done = sd_bus_request_name(bus, tools.id().c_str(), 0);
    const Descriptor changes(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    tools.on_change([&changes] { (void)::eventfd_write(changes.get(), 1); });
    const ScopeExit forget([&tools] { tools.on_change({}); });
    while (done >= 0) {
        done = sd_bus_process(bus, nullptr);
        if (done != 0) continue;
        switch (wait_for(bus, changes.get(), idle)) {
            case WakeReason::kBus: break;
            case WakeReason::kChange: {
                eventfd_t count = 0;
                (void)::eventfd_read(changes.get(), &count);
                done = sd_bus_emit_signal(bus, path.c_str(), kInterface, "ToolsChanged", "");
                break;
            }
            // activation brings it back
            case WakeReason::kIdle: sd_bus_release_name(bus, tools.id().c_str()); return 0;
        }
    }
    fmt::print(stderr, "{}: {}\n", tools.id(), std::strerror(-done));
    return 1;
}

}  // namespace crab::sdk
