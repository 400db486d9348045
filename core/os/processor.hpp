// The host's processor and operating system, by name.
#pragma once

#include <optional>
#include <string>

namespace garuda::os {

/// The processor's name by its maker; "unknown processor" where the system does not say.
std::string processor_name();

struct System {
  std::string name;     ///< "Linux", "Windows"
  std::string release;  ///< of its kernel: "6.12.3", without what whoever built it called it
  std::string machine;  ///< "x86_64"
};

std::optional<System> system();

/// The number of the processor that the calling thread is on; nullopt: the system does not say.
std::optional<unsigned> current_processor() noexcept;
/// Moves the calling thread to another processor than `from` where it may run on one; it may come back later. Linux
/// leaves a thread that was woken where another one runs for as long as that runs, however idle the others are.
void leave_processor(unsigned from) noexcept;

}  // namespace garuda::os
