#include "core/os/process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <unistd.h>

#include <exception>

namespace garuda::os {
namespace {

constexpr auto const* kOwnFile = "/proc/self/exe";

}  // namespace

std::uint64_t process_id() noexcept { return static_cast<std::uint64_t>(::getpid()); }

std::filesystem::path executable() {
  std::error_code error;
  auto file = std::filesystem::read_symlink(kOwnFile, error);
  return error ? std::filesystem::path() : file;
}

std::vector<std::string> utf8_arguments(int argc, char const* const* argv) { return {argv, argv + argc}; }

void lower_priority() noexcept {
  constexpr int kNice = 10;
  (void)::setpriority(PRIO_PROCESS, 0, kNice);
}

void start_detached(std::vector<std::string> arguments) noexcept {
  posix_spawn_file_actions_t streams;
  posix_spawnattr_t attributes;
  if (::posix_spawn_file_actions_init(&streams) != 0) return;
  if (::posix_spawnattr_init(&attributes) == 0) {
    for (auto const stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
      (void)::posix_spawn_file_actions_addopen(&streams, stream, "/dev/null", O_RDWR, 0);
#ifdef __GLIBC__
    // Whoever waits for the end of another stream of the process does not wait for this.
    (void)::posix_spawn_file_actions_addclosefrom_np(&streams, STDERR_FILENO + 1);
#endif
    (void)::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    try {
      std::vector<char*> words;
      for (auto& argument : arguments) words.push_back(argument.data());
      words.push_back(nullptr);
      pid_t process = 0;
      (void)::posix_spawn(&process, kOwnFile, &streams, &attributes, words.data(), environ);
    } catch (std::exception const&) {  // no memory for the words
    }
    (void)::posix_spawnattr_destroy(&attributes);
  }
  (void)::posix_spawn_file_actions_destroy(&streams);
}

void end_at_once(int code) noexcept { ::_exit(code); }

}  // namespace garuda::os
