#pragma once

#include "base/task/task.hpp"
#include "bridge/dbus/watched_descriptor.hpp"

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace crab::bridge {

/// Reports when files are added, removed or rewritten in folders that may not exist yet: for a
/// missing folder the nearest parent is watched. Used on its loop's thread. Source:
/// docs/protocols/cetp.md, section 2, watching.
class FolderWatch {
public:
    struct Folder {
        std::filesystem::path path;
        std::string ending;  ///< of the watched files; hidden files are ignored
        std::function<void()> on_change;
    };
    FolderWatch(net::EventLoop& loop, std::vector<Folder> folders);

    /// Watches until its chain is cancelled. Earlier changes are not reported.
    Task<void> run();

private:
    /// The purpose of an inotify watch.
    struct Purpose {
        std::size_t folder;
        std::string next;  ///< the name below it that is waited for; empty: it is the folder itself
    };
    void watch_all();
    void watch(std::size_t folder);
    /// Reads inotify events; false when watches have to be recreated.
    bool take_events();
    bool take_event(int watch, std::uint32_t mask, std::string_view name);

    std::vector<Folder> folders_;
    std::multimap<int, Purpose> purposes_;
    WatchedDescriptor inotify_;
};

}  // namespace crab::bridge
