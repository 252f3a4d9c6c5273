#include "sdk/machine/machine_facts.hpp"

#include "base/scope_exit.hpp"
#include "json/writer.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace crab::sdk {
namespace {

using std::filesystem::path;

std::string read_text(const path& file) {
    std::ifstream stream(file);
    std::ostringstream text;
    text << stream.rdbuf();
    return std::move(text).str();
}
std::string first_line(const path& file) {
    std::ifstream stream(file);
    std::string line;
    std::getline(stream, line);
    return line;
}
template <class Number>
std::optional<Number> to_number(std::string_view text) {
    while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() ? std::optional(value) : std::nullopt;
}
/// The number behind `key` in a file of `Key:   123 kB` lines, in bytes; 0 when there is none.
std::uint64_t kilobytes_of(std::string_view text, std::string_view key) {
    const std::size_t at = text.find(key);
    return at == std::string_view::npos
               ? 0
               : to_number<std::uint64_t>(text.substr(at + key.size())).value_or(0) * 1024;
}

std::string os_name(const path& etc) {
    const std::string release = read_text(etc / "os-release");
    constexpr std::string_view kKey = "PRETTY_NAME=";
    const std::size_t at = release.starts_with(kKey) ? 0 : release.find("\nPRETTY_NAME=");
    if (at == std::string::npos) return "Linux";
    std::string_view value = std::string_view(release).substr(release.find('=', at) + 1);
    value = value.substr(0, value.find('\n'));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
        value = value.substr(1, value.size() - 2);
    return std::string(value);
}

std::vector<path> entries(const path& folder) {
    std::error_code missing;  // then there are none
    std::vector<path> found;
    for (std::filesystem::directory_iterator entry(folder, missing), end; !missing && entry != end;
         entry.increment(missing)) {
        found.push_back(entry->path());
    }
    std::ranges::sort(found);
    return found;
}
std::vector<path> batteries(const path& sys) {
    auto supplies = entries(sys / "class/power_supply");
    std::erase_if(supplies,
                  [](const path& supply) { return first_line(supply / "type") != "Battery"; });
    return supplies;
}

struct Process {
    int pid = 0;
    std::string name;
    std::string state;
    std::uint64_t memory = 0;
};
/// From /proc/<pid>/status; nothing when it ended meanwhile.
std::optional<Process> read_process(const path& folder) {
    const auto pid = to_number<int>(folder.filename().string());
    if (!pid) return std::nullopt;
    const std::string status = read_text(folder / "status");
    if (!status.starts_with("Name:\t")) return std::nullopt;
    Process process{.pid = *pid,
                    .name = status.substr(6, status.find('\n') - 6),
                    .memory = kilobytes_of(status, "VmRSS:")};
    if (const std::size_t at = status.find("\nState:\t"); at != std::string::npos)
        process.state = status.substr(at + 8, 1);
    return process;
}

std::optional<std::string> address_text(const sockaddr* address) {
    char text[INET6_ADDRSTRLEN] = {};
    if (address->sa_family == AF_INET) {
        return ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text,
                           sizeof text);
    }
    if (address->sa_family == AF_INET6) {
        return ::inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr,
                           text, sizeof text);
    }
    return std::nullopt;
}

}  // namespace

std::string MachineFacts::device_info() const {
    utsname system{};
    ::uname(&system);
    const std::string memory = read_text(roots_.proc / "meminfo");
    std::string out;
    json::Writer writer(out);
    writer.begin_object()
        .key("hostname")
        .string_lossy(system.nodename)
        .key("os")
        .string_lossy(os_name(roots_.etc));
    writer.key("kernel")
        .string_lossy(fmt::format("{} {}", system.sysname, system.release))
        .key("architecture")
        .string_lossy(system.machine);
    writer.key("cpus").unsigned_integer(std::max(1U, std::thread::hardware_concurrency()));
    writer.key("memory")
        .begin_object()
        .key("total_bytes")
        .unsigned_integer(kilobytes_of(memory, "MemTotal:"));
    writer.key("available_bytes")
        .unsigned_integer(kilobytes_of(memory, "MemAvailable:"))
        .end_object();
    writer.key("uptime_seconds")
        .unsigned_integer(to_number<std::uint64_t>(first_line(roots_.proc / "uptime")).value_or(0));
    writer.end_object();
    return out;
}

bool MachineFacts::has_battery() const { return !batteries(roots_.sys).empty(); }

std::string MachineFacts::battery() const {
    std::string out;
    json::Writer writer(out);
    writer.begin_object().key("batteries").begin_array();
    for (const path& supply : batteries(roots_.sys)) {
        writer.begin_object().key("name").string_lossy(supply.filename().string());
        if (const auto percent = to_number<int>(first_line(supply / "capacity")))
            writer.key("percent").integer(*percent);
        if (const std::string status = first_line(supply / "status"); !status.empty())
            writer.key("status").string_lossy(status);
        writer.end_object();
    }
    writer.end_array().end_object();
    return out;
}

DevicePresence MachineFacts::presence() const {
    DevicePresence presence;
    double charge = 0, known = 0;
    for (const path& supply : batteries(roots_.sys)) {
        if (const auto percent = to_number<int>(first_line(supply / "capacity"))) {
            charge += std::clamp(*percent, 0, 100) / 100.0;
            ++known;
        }
        const std::string status = first_line(supply / "status");
        if (!status.empty())
            presence.charging = presence.charging.value_or(false) || status == "Charging";
    }
    if (known > 0) presence.battery = charge / known;
    return presence;
}

Result<std::string> MachineFacts::disk_usage(const std::string& path) const {
    struct statvfs disk{};
    if (!path.starts_with('/') || path.find('\0') != std::string::npos)
        return fail(ErrorCode::kInvalidArgs, "path: give an absolute one");
    if (::statvfs(path.c_str(), &disk) != 0) {
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("path: {}", std::generic_category().message(errno)));
    }
    const std::uint64_t used = (disk.f_blocks - disk.f_bfree) * disk.f_frsize;
    const std::uint64_t available = disk.f_bavail * disk.f_frsize;
    std::string out;
    json::Writer writer(out);
    writer.begin_object()
        .key("path")
        .string_lossy(path)
        .key("total_bytes")
        .unsigned_integer(disk.f_blocks * disk.f_frsize);
    writer.key("used_bytes")
        .unsigned_integer(used)
        .key("available_bytes")
        .unsigned_integer(available);
    writer.key("used_percent")
        .unsigned_integer(used + available == 0 ? 0 : used * 100 / (used + available))
        .end_object();
    return out;
}

std::string MachineFacts::network_interfaces() const {
    struct Interface {
        unsigned flags = 0;
        std::vector<std::pair<std::string_view, std::string>> addresses;
    };
    std::map<std::string, Interface> interfaces;
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) != 0) list = nullptr;
    const ScopeExit free_list([&] {
        if (list != nullptr) ::freeifaddrs(list);
    });
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
        Interface& interface = interfaces[entry->ifa_name];
        interface.flags = entry->ifa_flags;
        if (entry->ifa_addr == nullptr) continue;
        if (const auto text = address_text(entry->ifa_addr)) {
            interface.addresses.emplace_back(
                entry->ifa_addr->sa_family == AF_INET ? "ipv4" : "ipv6", *text);
        }
    }
    std::string out;
    json::Writer writer(out);
    writer.begin_object().key("interfaces").begin_array();
    for (const auto& [name, interface] : interfaces) {
        writer.begin_object().key("name").string_lossy(name).key("up").boolean(
            (interface.flags & IFF_UP) != 0);
        writer.key("loopback")
            .boolean((interface.flags & IFF_LOOPBACK) != 0)
            .key("addresses")
            .begin_array();
        for (const auto& [family, address] : interface.addresses) {
            writer.begin_object()
                .key("family")
                .string(family)
                .key("address")
                .string(address)
                .end_object();
        }
        writer.end_array().end_object();
    }
    writer.end_array().end_object();
    return out;
}

std::string MachineFacts::processes(const std::string& name, std::size_t limit) const {
    std::vector<Process> found;
    for (const path& folder : entries(roots_.proc)) {
        auto process = read_process(folder);
        if (process && process->name.find(name) != std::string::npos)
            found.push_back(*std::move(process));
    }
    std::ranges::sort(found, [](const Process& a, const Process& b) {
        return a.memory != b.memory ? a.memory > b.memory : a.pid < b.pid;
    });
    std::string out;
    json::Writer writer(out);
    writer.begin_object()
        .key("total")
        .unsigned_integer(found.size())
        .key("processes")
        .begin_array();
    found.resize(std::min(found.size(), limit));
    for (const Process& process : found) {
        writer.begin_object()
            .key("pid")
            .integer(process.pid)
            .key("name")
            .string_lossy(process.name);
        writer.key("state")
            .string_lossy(process.state)
            .key("memory_bytes")
            .unsigned_integer(process.memory)
            .end_object();
    }
    writer.end_array().end_object();
    return out;
}

}  // namespace crab::sdk
