#include "cli/later_calibration.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <array>

namespace garuda::cli {

void calibrate_later() noexcept {
  posix_spawn_file_actions_t streams;
  posix_spawnattr_t attributes;
  if (::posix_spawn_file_actions_init(&streams) != 0) return;
  if (::posix_spawnattr_init(&attributes) == 0) {
    for (auto const stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
      (void)::posix_spawn_file_actions_addopen(&streams, stream, "/dev/null", O_RDWR, 0);
#ifdef __GLIBC__
    // Whoever waits for the end of another stream of the command does not wait for this.
    (void)::posix_spawn_file_actions_addclosefrom_np(&streams, STDERR_FILENO + 1);
#endif
    (void)::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    auto const argument = [](char const* text) { return const_cast<char*>(text); };  // as exec has it
    std::array arguments{argument("garuda"), argument("calibrate"), argument("--missing"), static_cast<char*>(nullptr)};
    pid_t process = 0;
    (void)::posix_spawn(&process, "/proc/self/exe", &streams, &attributes, arguments.data(), environ);
    (void)::posix_spawnattr_destroy(&attributes);
  }
  (void)::posix_spawn_file_actions_destroy(&streams);
}

}  // namespace garuda::cli
