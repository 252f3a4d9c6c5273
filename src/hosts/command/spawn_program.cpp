#include "hosts/command/spawn_program.hpp"

#include "base/process/pipe.hpp"
#include "base/scope_exit.hpp"

#include <csignal>

#include <fcntl.h>
#include <spawn.h>

namespace crab::command {

int spawn_program(const std::filesystem::path& program, std::vector<std::string> words,
                  Inherited inherited, pid_t& pid) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    const ScopeExit free_both([&] {
        posix_spawn_file_actions_destroy(&actions);
        posix_spawnattr_destroy(&attributes);
    });
    for (int fd = 0; fd < 3; ++fd) {
        const int given = inherited.standard[static_cast<std::size_t>(fd)];
        if (given >= 0)
            posix_spawn_file_actions_adddup2(&actions, given, fd);
        else
            posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
    }
    for (const int fd : inherited.kept) {
        // onto itself: it stays open
        if (fd >= 0) posix_spawn_file_actions_adddup2(&actions, fd, fd);
    }
    sigset_t none, defaults;
    sigemptyset(&none);
    sigfillset(&defaults);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    return ::posix_spawn(&pid, program.c_str(), &actions, &attributes, pointers_to(words).data(),
                         pointers_to(inherited.environment).data());
}

}  // namespace crab::command
