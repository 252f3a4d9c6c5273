#include "hosts/command/slirp_network.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <linux/nsfs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

namespace crab::command {
namespace {

std::unexpected<Error> no_network(std::string_view what, int error) {
    return fail(ErrorCode::kUnavailable,
                fmt::format("no network for a command: {}: {}", what, std::strerror(error)));
}

}  // namespace

Result<std::unique_ptr<SlirpNetwork>> SlirpNetwork::start(const std::filesystem::path& program,
                                                          pid_t process) {
    const Descriptor network(
        ::open(fmt::format("/proc/{}/ns/net", process).c_str(), O_RDONLY | O_CLOEXEC));
    if (!network.is_open()) return no_network("its namespace", errno);
    // The one that owns it, which is not always the one that the process is in.
    const Descriptor user(::ioctl(network.get(), NS_GET_USERNS));
    if (!user.is_open()) return no_network("the owner of its namespace", errno);
    std::unique_ptr<SlirpNetwork> made(new SlirpNetwork);
    if (!made->ready_.open() || !made->alive_.open()) return no_network("a pipe", errno);

    std::vector<std::string> words{program.string(),
                                   "--configure",
                                   "--mtu=65520",
                                   "--disable-host-loopback",
                                   fmt::format("--ready-fd={}", made->ready_.write_end.get()),
                                   fmt::format("--exit-fd={}", made->alive_.read_end.get()),
                                   fmt::format("--userns-path=/proc/self/fd/{}", user.get()),
                                   "--netns-type=path",
                                   fmt::format("/proc/self/fd/{}", network.get()),
                                   "tap0"};
    const std::array kept{network.get(), user.get(), made->ready_.write_end.get(),
                          made->alive_.read_end.get()};
    if (const int failed =
            made->program_.start({.words = std::move(words), .file = program, .kept = kept});
        failed != 0)
        return no_network("slirp4netns", failed);
    made->ready_.write_end.close();
    made->alive_.read_end.close();
    return made;
}

bool SlirpNetwork::is_up() {
    char sign = 0;
    const bool up = ::read(ready_.read_end.get(), &sign, 1) == 1;
    ready_.read_end.close();
    return up;
}

}  // namespace crab::command
