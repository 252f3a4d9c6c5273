#include "bridge/folder_watch.hpp"

#include "base/log.hpp"

#include <cerrno>
#include <set>

#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

namespace crab::bridge {
namespace {

constexpr std::uint32_t kOfFolder = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE |
                                    IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR | IN_MASK_ADD;
constexpr std::uint32_t kOfParent =
    IN_CREATE | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR | IN_MASK_ADD;

}  // namespace

FolderWatch::FolderWatch(net::EventLoop& loop, std::vector<Folder> folders)
    : folders_(std::move(folders)),
      inotify_(loop, Descriptor(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)), EPOLLIN) {
    if (inotify_.is_open())
        watch_all();
    else
        log::warn("folders are not watched: the system allows no more inotify instances");
}

Task<void> FolderWatch::run() {
    TaskChain& chain = co_await this_chain();
    while (inotify_.is_open() && !chain.cancelled()) {
        if (!take_events()) watch_all();
        co_await inotify_.ready(kNoDeadline);
    }
}

void FolderWatch::watch_all() {
    std::set<int> old;
    for (const auto& [descriptor, purpose] : purposes_) old.insert(descriptor);
    purposes_.clear();
    for (std::size_t i = 0; i < folders_.size(); ++i) watch(i);
    for (const int descriptor : old) {
        if (!purposes_.contains(descriptor)) ::inotify_rm_watch(inotify_.get(), descriptor);
    }
}

void FolderWatch::watch(std::size_t folder) {
    std::filesystem::path path = folders_[folder].path;
    std::string missing;
    while (true) {
        const int descriptor = ::inotify_add_watch(inotify_.get(), path.c_str(),
                                                   missing.empty() ? kOfFolder : kOfParent);
        if (descriptor >= 0) purposes_.emplace(descriptor, Purpose{folder, missing});
        // The level below may have come between two looks.
        if (descriptor >= 0 && (missing.empty() || !std::filesystem::is_directory(path / missing)))
            return;
        if (descriptor >= 0) {
            path /= missing;
            missing.clear();
            if (path != folders_[folder].path)
                missing = *std::next(folders_[folder].path.begin(),
                                     std::distance(path.begin(), path.end()));
            continue;
        }
        if (path == path.parent_path()) return;
        missing = path.filename();
        path = path.parent_path();
    }
}

bool FolderWatch::take_events() {
    alignas(inotify_event) char buffer[16 * 1024];
    bool good = true;
    while (true) {
        const ssize_t got = ::read(inotify_.get(), buffer, sizeof buffer);
        if (got <= 0) return good;
        for (const char* at = buffer; at < buffer + got;) {
            const auto* event = reinterpret_cast<const inotify_event*>(at);
            good =
                take_event(event->wd, event->mask,
                           event->len > 0 ? std::string_view(event->name) : std::string_view()) &&
                good;
            at += sizeof(inotify_event) + event->len;
        }
    }
}

bool FolderWatch::take_event(int watch, std::uint32_t mask, std::string_view name) {
    if ((mask & IN_Q_OVERFLOW) != 0) {
        for (const Folder& folder : folders_) folder.on_change();
        return false;
    }
    bool good = true;
    const auto [begin, end] = purposes_.equal_range(watch);
    for (auto at = begin; at != end; ++at) {
        const Folder& folder = folders_[at->second.folder];
        const bool gone = (mask & (IN_DELETE_SELF | IN_MOVE_SELF)) != 0;
        const bool counts = at->second.next.empty()
                                ? !name.starts_with('.') && name.ends_with(folder.ending) &&
                                      (mask & IN_CREATE) == 0 && !name.empty()
                                : name == at->second.next;
        if (gone || counts) folder.on_change();
        if (gone || (counts && !at->second.next.empty())) good = false;
    }
    return good;
}

}  // namespace crab::bridge
