// UTF-8, which this project's strings are, and UTF-16, which Windows's functions take.
#pragma once

#include <string>
#include <string_view>

namespace garuda::os {

std::wstring to_wide(std::string_view utf8);
std::string to_utf8(std::wstring_view wide);

/// The reason of this thread's last failed call, as the second half of a sentence: "access is denied".
std::string last_error_message();

}  // namespace garuda::os
