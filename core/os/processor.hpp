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

}  // namespace garuda::os
