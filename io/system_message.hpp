// Texts of the operating system's errors.
#pragma once

#include <string>
#include <system_error>

namespace garuda::io {

/// Returns what `error_number` (an errno) means, as the second half of a sentence: "no space left on device".
inline std::string system_message(int error_number) {
  auto message = std::generic_category().message(error_number);
  if (!message.empty() && message[0] >= 'A' && message[0] <= 'Z')
    message[0] = static_cast<char>(message[0] - 'A' + 'a');
  return message;
}

}  // namespace garuda::io
