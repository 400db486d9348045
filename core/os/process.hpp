// This process, and others that it starts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace garuda::os {

std::uint64_t process_id() noexcept;

/// The file that this process runs; empty where the system does not say.
std::filesystem::path executable();

/// The arguments of main, the program's name first, in UTF-8.
std::vector<std::string> utf8_arguments(int argc, char const* const* argv);

/// Makes this process yield to others that want the processor. That it cannot is no error.
void lower_priority() noexcept;

/// Starts this program with `arguments`, on its own, its streams closed; nobody waits for it. That it cannot be
/// started is no error.
void start_detached(std::vector<std::string> arguments) noexcept;

/// Ends the process at once, from a signal handler, too: no destructors, no exit handlers.
[[noreturn]] void end_at_once(int code) noexcept;

/// Ends it at once, and where it has files of devices open leaves these and its memory to a process that nobody waits
/// for: drivers take down what it had of theirs before the end of a process is seen, 40 ms by NVIDIA's (580, an H200).
/// Streams, locks and other files are closed when the process ends, as ever, but for what is mapped: the program itself
/// and its libraries. Where no such process can be started, or the one above is process 1, which may not know what to
/// do with it, this ends as without one.
[[noreturn]] void end_before_drivers(int code) noexcept;

}  // namespace garuda::os
