// The end of a process that has drivers' files open.
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "core/os/process.hpp"

namespace garuda::os {
namespace {

#if defined(SYS_close_range) && defined(SYS_pidfd_open)

constexpr unsigned kLastFile = std::numeric_limits<unsigned>::max();

/// Descriptors of devices' files that the process opened itself: what it was started with, a terminal or a file that
/// its parent left open, would not be closed for a new program.
std::vector<unsigned> device_files() {
  std::vector<unsigned> files;
  for (auto const& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    auto const file = static_cast<unsigned>(std::stoul(entry.path().filename().string()));
    struct stat status {};
    bool const is_device = ::fstat(static_cast<int>(file), &status) == 0 && S_ISCHR(status.st_mode);
    bool const is_own = (::fcntl(static_cast<int>(file), F_GETFD) & FD_CLOEXEC) != 0;
    if (is_device && is_own && file > STDERR_FILENO) files.push_back(file);
  }
  return files;
}

long close_all(unsigned first, unsigned last) noexcept { return ::syscall(SYS_close_range, first, last, 0U); }

/// State of the process that is left behind.
struct Left {
  std::vector<unsigned> files;  ///< that it keeps, ascending
  int ending = -1;              ///< readable once the process that left it has ended
  std::atomic<bool> has_closed{false};
};

/// The process that is left. It shares the memory of the one that ends, the thread-local part too: calls of the system
/// alone. With it go the last references to memory and files. Its folder is none that anybody may want to unmount.
int keep_until_end(void* argument) noexcept {
  auto& left = *static_cast<Left*>(argument);
  unsigned next = 0;
  for (auto const file : left.files) {
    if (file > next) close_all(next, file - 1);
    next = file + 1;
  }
  close_all(next, kLastFile);
  (void)::chdir("/");
  left.has_closed = true;
  pollfd ending{left.ending, POLLIN, 0};
  (void)::poll(&ending, 1, -1);
  ::_exit(0);
}

/// Starts it, if it has anything to keep, and waits until it holds nothing else.
void leave_devices() {
  // Whoever is process 1 takes care of the processes that are left, and may know of none.
  if (::getppid() == 1) return;
  // Neither is ever destroyed: this process ends, and the other still reads them.
  auto& left = *new Left;
  alignas(std::max_align_t) static std::array<std::byte, std::size_t{64} << 10> stack;
  left.files = device_files();
  if (left.files.empty() || close_all(kLastFile, kLastFile) != 0) return;
  left.ending = static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0U));
  if (left.ending < 0) return;
  left.files.push_back(static_cast<unsigned>(left.ending));
  std::ranges::sort(left.files);
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);  // of this process that ends, and so of the other
  if (::clone(keep_until_end, stack.data() + stack.size(), CLONE_VM, &left) < 0) return;
  auto const most = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);  // it may have been killed
  while (!left.has_closed && std::chrono::steady_clock::now() < most) ::sched_yield();
}

#else

/// The system's headers are older than Linux 5.9.
void leave_devices() {}

#endif

}  // namespace

void end_before_drivers(int code) noexcept {
  try {
    leave_devices();
  } catch (std::exception const&) {  // no memory, no /proc
  }
  ::_exit(code);
}

}  // namespace garuda::os
