// Linux's description of its processors, /proc/cpuinfo.
#pragma once

#include <istream>
#include <string>

namespace garuda::os {

/// The processor's name in a text in the form of /proc/cpuinfo: the first model name, or on arm64, which names no
/// model, the different cores by implementer and part, joined by " + ". Parts that the table does not know are given by
/// their numbers. "unknown processor" where there is neither.
std::string processor_in(std::istream& cpuinfo);

}  // namespace garuda::os
