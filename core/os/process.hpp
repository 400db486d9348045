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

}  // namespace garuda::os
